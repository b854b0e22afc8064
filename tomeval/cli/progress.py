"""How work goes, on standard error: a display at a terminal, else a line each minute.

A run shows what is true of it: steps, the time left, episodes, a row for each language model, and
what its server does if it is waited for. Other work, such as drawing, shows how much is done.
"""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from tomeval.core.printing import notes_handler, tell
from tomeval.core.text import in_line

if TYPE_CHECKING:
    from tomeval.runs.live import Live, ModelCount
    from tomeval.runs.timing import Took

EVERY = 60.0
"""Seconds between two lines where standard error is not a terminal."""

WIDTH = 80
"""Columns that the display of a run needs; in narrower terminals it is cut."""

_SAID = "tomeval.runs.startup"
"""The log whose notes are shown too, not only its warnings."""

_RETRIES = "tomeval.models.served"
"""The log of servers, each retry included."""

_ROWS = 8
"""So many models have a row; of more, those that play."""

OnSteps = Callable[[int, int], None]


@contextmanager
def showing_progress(live: Live, verbose: bool = False) -> Iterator[OnSteps]:
    """Show a run inside the block; yield what is to be called when steps are done.

    What the start-up questions found is shown too, and if `verbose` each retry of a request.
    """
    with _heard(_SAID), _heard(_RETRIES if verbose else ""):
        if sys.stderr.isatty():
            live.shown = "field"
            with _display(live):
                yield lambda done, total: None
        else:
            live.shown = "lines"
            with _lines(lambda: line_of(live)) as start:
                # Where cells play in several processes, these are forked before there is a thread.
                yield lambda done, total: start(live.asking)


class Working:
    """How far some work is; `working` shows it."""

    def __init__(self, what: str, total: int | None, note: Callable[[], None]) -> None:
        self._what, self._total, self._note = what, total, note
        self._started, self._done, self._name = time.monotonic(), 0, ""

    def __call__(self, name: str) -> None:
        """Hear that a thing is done."""
        self._done, self._name = self._done + 1, name
        self._note()

    def at(self, name: str, number: int, of: int) -> None:
        """Hear that a thing is begun, the first being number 1."""
        self._done, self._name, self._total = number - 1, name, of
        self._note()

    def __str__(self) -> str:
        spent = time.monotonic() - self._started
        name = f"; {in_line(self._name)}" if self._name else ""
        if not self._total:
            return f"{self._what}: {_clock(spent)} so far{name}"
        left = spent / self._done * (self._total - self._done) if self._done else None
        return f"{self._what}: {self._done:,} of {self._total:,}, {time_left(left)}{name}"


@contextmanager
def working(what: str, total: int | None = None) -> Iterator[Working]:
    """Show inside the block how far some work is; yield what to call with each thing done.

    Without a total, or calls, the time that it took so far is shown.

    Examples
    --------
    >>> with working("drawing", 2) as done:
    ...     for name in ("forest", "profiles"):
    ...         done(name)
    """
    if sys.stderr.isatty():
        state = Working(what, total, lambda: None)
        with _field(lambda: str(state)):
            yield state
    else:
        with _lines(lambda: str(state)) as start:
            state = Working(what, total, lambda: start(False))
            if total is None:  # nobody may ever call
                start(True)
            yield state


def time_left(seconds: float | None) -> str:
    """Return a time left in words.

    Examples
    --------
    >>> time_left(3725.2), time_left(0.4), time_left(None)
    ('1:02:05 left', '0:00:00 left', 'time left: not known yet')
    """
    if seconds is None or not math.isfinite(seconds):
        return "time left: not known yet"
    return f"{_clock(seconds)} left"


def time_words(found: Sequence[Took]) -> str:
    """Say how long a run will take, model by model."""
    known = [took.seconds for took in found if took.seconds is not None]
    text = f"time: about {_clock(sum(known))}" if known else "time: not known"
    if known and len(known) < len(found):
        text += " and what is not known"
    each = [
        f"{in_line(took.name)} {_clock(took.seconds)} ({took.why})"
        for took in found
        if took.seconds is not None
    ]
    for why in dict.fromkeys(took.why for took in found if took.seconds is None):
        names = [took.name for took in found if took.seconds is None and took.why == why]
        each.append(f"{in_line(', '.join(names))} not known ({why})")
    return f"{text}; {'; '.join(each)}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def short(number: float) -> str:
    """Return a count in at most six characters.

    Examples
    --------
    >>> short(999), short(12_345), short(123_456), short(1_234_567), short(99_999_999)
    ('999', '12,345', '123k', '1.23M', '100M')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e5, "k")):
        if number >= size:
            size = 1e3 if letter == "k" else size
            text = f"{number / size:.3g}" if number / size < 999.5 else f"{number / size:.0f}"
            return f"{text}{letter}"
    return f"{number:,.0f}"


def line_of(live: Live) -> str:
    """Return all that is shown of a run, in a line."""
    parts = [f"{_percent(live)} %, {_left(live)}", f"episodes: {live.counts}"]
    rows = _rows(live)
    for count, name in zip(rows, _brief(rows), strict=True):
        if count.calls:
            said = f"{count.calls:,} calls, {short(count.prompt)} tokens in, "
            said += f"{short(count.completion)} out"
            said += f", cost {count.cost:,.2f}" if count.cost is not None else ""
            said += f", {count.waiting.retries:,} retries" if count.waiting.retries else ""
            said += f", {_share(count)} unreadable" if count.answers else ""
        else:
            said = "nothing asked yet"
        said += f", {count.ended:,} of {count.wanted:,} episodes"
        parts.append(f"{in_line(name)}: {said}")
    return "; ".join([*parts, *_unseen(live), *(in_line(line) for line in _servers(live))])


def screen_of(live: Live, width: int = WIDTH) -> list[str]:
    """Return what a terminal shows below the bar: at most `width` columns wide."""
    lines = [f"episodes: {live.counts}"]
    rows = _rows(live)
    if rows:
        priced = any(count.cost is not None for count in rows)
        head = ["episodes", "calls", "in", "out", *["cost"] * priced, "retries", "unread"]
        table = [head, *([*_cells(count, priced)] for count in rows)]
        widths = [max(len(row[place]) for row in table) for place in range(len(head))]
        room = max(8, width - sum(widths) - 2 * len(widths))
        names = ["model", *(_cut(in_line(name), room) for name in _brief(rows))]
        first = max(map(len, names))
        for name, row in zip(names, table, strict=True):
            cells = (f"  {text:>{wide}}" for text, wide in zip(row, widths, strict=True))
            lines.append(name.ljust(first) + "".join(cells))
    if hidden := len(live.models) - len(rows):
        lines.append(f"and {hidden:,} more models")
    lines += _unseen(live)
    for line in _servers(live):
        lines += wrap(in_line(line), width, max_lines=2, placeholder=" …", subsequent_indent="  ")
    if live.note:
        lines += wrap(live.note, width)
    return [_cut(line, width) for line in lines]


def _percent(live: Live) -> int:
    return 100 * live.steps // live.total if live.total else 100


def _left(live: Live) -> str:
    """Return the time left; while nothing goes on it does not get less, which is said."""
    if live.note:
        return "stopping"
    left = live.left
    held = left and any(count.waiting.stalled() for count in list(live.models.values()))
    return time_left(left) + (" after the wait" if held else "")


def _unseen(live: Live) -> list[str]:
    """Return what the time left supposes, if models have not begun."""
    if not (count := live.pace.unseen) or not live.left:
        return []
    many = "1 model has" if count == 1 else f"{count:,} models have"
    return [f"{many} not begun: the time left takes the speed of the others"]


def _rows(live: Live) -> list[ModelCount]:
    """Return the models to show: if they are many, those that are at work first."""
    counts = list(live.models.values())
    if len(counts) > _ROWS:
        counts.sort(key=lambda count: (not count.calls > 0, count.ended >= count.wanted))
    return counts[:_ROWS]


def _brief(counts: list[ModelCount]) -> list[str]:
    return [count.waiting.model or count.name for count in counts]


def _cells(count: ModelCount, priced: bool) -> Iterator[str]:
    yield f"{count.ended:,}/{count.wanted:,}"
    yield from map(short, (count.calls, count.prompt, count.completion))
    if priced:
        yield "–" if count.cost is None else f"{count.cost:,.2f}"
    yield short(count.waiting.retries)
    yield _share(count)


def _share(count: ModelCount) -> str:
    share = count.unreadable_share
    return "–" if share is None else f"{100 * share:.3g} %"


def _servers(live: Live) -> Iterator[str]:
    """Yield a line for every server that is waited for."""
    for count in list(live.models.values()):
        if said := count.waiting.line():
            yield f"{count.waiting.model or count.name}: {said}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


@contextmanager
def _heard(name: str) -> Iterator[None]:
    """Tell what a log notes inside the block; nothing for an empty name."""
    log, handler = logging.getLogger(name), notes_handler()
    level = log.level
    if name:
        log.addHandler(handler)
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        if name:
            log.removeHandler(handler)
            log.setLevel(level)


@contextmanager
def _lines(state: Callable[[], str]) -> Iterator[Callable[[bool], None]]:
    """Tell a state each minute; yield what to call now and then.

    Called with true it makes a thread that tells by itself from then on.
    """
    over, last = threading.Event(), time.monotonic()
    thread = threading.Thread(target=lambda: by_itself(), daemon=True)

    def by_itself() -> None:
        while not over.wait(EVERY):
            tell(state())

    def start(alone: bool) -> None:
        nonlocal last
        if thread.is_alive():
            return
        if alone:
            thread.start()
        elif (now := time.monotonic()) - last >= EVERY:
            last = now
            tell(state())

    try:
        yield start
    finally:
        over.set()
        if thread.is_alive():
            thread.join()


@contextmanager
def _field(state: Callable[[], str]) -> Iterator[None]:
    """Show a state in one line at a terminal, which is gone afterwards."""
    from rich.console import Console
    from rich.live import Live as Shown
    from rich.text import Text

    def shown() -> Text:
        return Text(_cut(state(), WIDTH), no_wrap=True)

    console = Console(stderr=True)
    with Shown(
        get_renderable=shown,
        console=console,
        refresh_per_second=4,
        transient=True,
        redirect_stdout=False,  # to a file or a pipe it may go, which is not this console
    ):
        yield


@contextmanager
def _display(live: Live) -> Iterator[None]:
    """Show a run at a terminal: a bar with the time left, and below it the counts."""
    from rich.console import Console, Group
    from rich.live import Live as Shown
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    def shown() -> Any:
        if not live.total:  # nothing has begun, and perhaps nothing will
            return Group()
        bar = ProgressBar(total=max(1, live.total), completed=live.steps, width=24)
        steps = f"{short(live.steps)} of {short(live.total)} steps"
        grid = Table.grid(padding=(0, 1))
        grid.add_row(f"{_percent(live):>3} %", bar, steps, _left(live))
        lines = screen_of(live, console.width)
        return Group(grid, *(Text(line, no_wrap=True, overflow="crop") for line in lines))

    console = Console(stderr=True)
    with Shown(get_renderable=shown, console=console, refresh_per_second=2, redirect_stdout=False):
        yield
