"""How work goes, on standard error: a display at a terminal, else a line each minute.

A run shows what is true of it: steps, the time left, episodes, a row for each language model, and
what its server does if it is waited for. Other work, such as drawing, shows how much is done.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from tomeval.core.numbers import MISSING
from tomeval.core.printing import notes_handler, tell
from tomeval.core.text import in_line
from tomeval.core.ticking import Ticking

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from tomeval.runs.live import Live, ModelCount, State

EVERY = 60.0
"""Seconds between two lines where standard error is not a terminal."""

_ROWS = 8
"""So many models have a row: of more, those at work."""

_RETRIES = "tomeval.models.served"
"""The log of servers, with each retry."""

HEAD = ("episodes", "calls", "tokens", "cost", "retries", "unread", "left")
"""The columns of a model, after its name."""


@contextmanager
def showing_progress(live: Live, verbose: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show a run inside the block; yield what is to be called when steps are done.

    If `verbose`, each retry of a request is shown too.
    """
    with ExitStack() as stack:
        if verbose:
            stack.enter_context(_heard(logging.getLogger(_RETRIES)))
        if sys.stderr.isatty():
            live.shown = "field"
            stack.enter_context(
                _shown(lambda: screen(live.now()) if live.total else _line("starting"))
            )
            yield lambda done, total: None
        else:
            live.shown = "lines"
            ticking = Ticking(EVERY, lambda: tell("\n".join(lines_of(live.now()))))
            stack.enter_context(ticking)
            yield lambda done, total: ticking.step(live.asking)


class Working:
    """How far some work is; `working` shows it."""

    def __init__(self, what: str) -> None:
        self._what, self._started = what, time.monotonic()
        self._done, self._total, self._name = 0, 0, ""
        self.note: Callable[[], None] = lambda: None

    def at(self, name: str, number: int, of: int) -> None:
        """Record that a thing is begun, the first being number 1."""
        self._done, self._name, self._total = number - 1, name, of
        self.note()

    def __str__(self) -> str:
        spent = time.monotonic() - self._started
        if not self._total:
            return f"{self._what}: {clock(spent)} so far"
        left = spent / self._done * (self._total - self._done) if self._done else None
        done = f"{self._done:,} of {self._total:,}, {time_left(left)}; {in_line(self._name)}"
        return f"{self._what}: {done}"


@contextmanager
def working(what: str) -> Iterator[Working]:
    """Show inside the block how far some work is, or how long it took; yield what tells it so.

    Examples
    --------
    >>> with working("drawing") as drawing:
    ...     drawing.at("forest", 1, 2)
    """
    state = Working(what)
    if sys.stderr.isatty():
        with _shown(lambda: _line(str(state)), transient=True):
            yield state
        return
    with Ticking(EVERY, lambda: tell(str(state))) as ticking:
        state.note = lambda: ticking.step(False)
        ticking.step(True)
        yield state


@contextmanager
def _heard(log: logging.Logger) -> Iterator[None]:
    """Print a log's records inside the block."""
    handler, level = notes_handler(), log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


@contextmanager
def _shown(render: Callable[[], Group | Text], transient: bool = False) -> Iterator[None]:
    """Show at a terminal what `render` returns, again and again; if `transient`, it then goes."""
    from rich.console import Console
    from rich.live import Live as Shown

    with Shown(
        get_renderable=render,
        console=Console(stderr=True),
        refresh_per_second=2,
        transient=transient,
        redirect_stdout=False,  # to a file or a pipe it may go, which is not this console
    ):
        yield


# What is said of a run


def clock(seconds: float) -> str:
    """Return seconds as hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def time_left(seconds: float | None, unseen: int = 0) -> str:
    """Return a time left in words; it is longer by the kinds of cells that were not seen yet.

    Examples
    --------
    >>> time_left(3725.2), time_left(0.4, unseen=2), time_left(None)
    ('1:02:05 left', '> 0:00:00 left', 'time left: not known yet')
    """
    if seconds is None:
        return "time left: not known yet"
    return f"{'> ' * bool(unseen)}{clock(seconds)} left"


def short(number: float) -> str:
    """Return a count in at most six characters.

    Examples
    --------
    >>> short(999), short(12_345), short(123_456), short(1_234_567), short(99_999_999)
    ('999', '12,345', '123k', '1.23M', '100M')
    """
    if number < 100_000:
        return f"{number:,.0f}"
    size, letter = next(p for p in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if number >= 0.9995 * p[0])
    return f"{number / size:.3g}{letter}"


def money(cost: float | None) -> str:
    """Return a cost; a dash if there is no price."""
    return MISSING if cost is None else f"{cost:,.2f}"


def percent(state: State) -> str:
    """Return the share of steps that are done."""
    return f"{100 * state.steps // state.total if state.total else 100} %"


def left_words(state: State) -> str:
    """Return the time left, or that the run has ended or is about to."""
    if state.note:
        return "stopping"
    finished = state.total and state.steps == state.total
    return "finished" if finished else time_left(state.left, state.unseen)


def _models(state: State) -> tuple[dict[str, list[str]], list[str]]:
    """Return the cells of the models to show, of many those at work, and that others are not."""
    models = list(state.models.values())
    if len(models) > _ROWS:
        models.sort(key=lambda model: (not model.asked.calls, model.ended >= model.wanted))
    more = len(models) - _ROWS
    rows = {model.name: _cells(model) for model in models[:_ROWS]}
    return rows, [f"and {more:,} more models"] if more > 0 else []


def _cells(model: ModelCount) -> list[str]:
    asked, unread = model.asked, model.unreadable_share
    left = time_left(model.left, model.unseen).removesuffix(" left")
    return [
        f"{model.ended:,}/{model.wanted:,}",
        *map(short, (asked.calls, asked.prompt + asked.completion)),
        money(asked.cost),
        short(model.retries),
        MISSING if unread is None else f"{100 * unread:.3g} %",
        MISSING if model.left is None else left,
    ]


def _others(state: State) -> list[str]:
    """Return a line for each server that is waited for, and those of the replicas."""
    waits = [f"{model.name}: {model.waits}" for model in state.models.values() if model.waits]
    return [*waits, *state.replicas]


def lines_of(state: State) -> list[str]:
    """Return all that is shown of a run as lines, as a log has them."""
    cost = "" if state.cost is None else f"; cost {money(state.cost)}"
    first = f"{percent(state)}, {left_words(state)}; episodes: {state.counts}{cost}"
    models, hidden = _models(state)
    told = []
    for name, row in models.items():
        cells = zip(HEAD, row, strict=True)
        said = ", ".join(f"{what} {cell}" for what, cell in cells if cell != MISSING)
        told.append(f"{name}: {said}")
    return [in_line(first), *(in_line(f"  {line}") for line in (*told, *hidden, *_others(state)))]


def screen(state: State) -> Group:
    """Return what a terminal shows of a run: a bar with the time left, below it the rest."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    head = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=max(1, state.total), completed=state.steps, width=24)
    steps = f"{short(state.steps)} of {short(state.total)} steps"
    head.add_row(f"{percent(state):>5}", bar, steps, left_words(state))
    parts: list[Text | Table] = [head, _line(f"episodes: {state.counts}")]
    models, hidden = _models(state)
    if models:
        parts.append(table_of(["model", *HEAD], [[name, *row] for name, row in models.items()]))
    return Group(*parts, *map(_line, [*hidden, *_others(state), *filter(None, [state.note])]))


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table of names and numbers; names give way where there is too little room.

    Columns without a number other than 0 are left out.
    """
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="")
    table.add_column(head[0], overflow="ellipsis", min_width=8)
    told = [n for n in range(1, len(head)) if {row[n] for row in rows} - {"", "0", MISSING}]
    for number in told:
        table.add_column(head[number], justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(_line(row[number]) for number in (0, *told)))
    return table


def _line(text: str) -> Text:
    """Return a text in one line, which is cut where there is too little room."""
    from rich.text import Text

    return Text(in_line(text), no_wrap=True, overflow="ellipsis")
