"""What is said of a run while it goes: the time left, a line, or the lines of a display."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from tomeval.core.text import in_line

if TYPE_CHECKING:
    from tomeval.runs.live import Live, ModelCount
    from tomeval.runs.timing import Took

WIDTH = 80
"""Columns that the display of a run needs; in narrower terminals it is cut."""

_ROWS = 8
"""So many models have a row; of more, those that play."""


def time_left(seconds: float | None) -> str:
    """Return a time left in words.

    Examples
    --------
    >>> time_left(3725.2), time_left(0.4), time_left(None)
    ('1:02:05 left', '0:00:00 left', 'time left: not known yet')
    """
    if seconds is None or not math.isfinite(seconds):
        return "time left: not known yet"
    return f"{clock(seconds)} left"


def time_words(found: Sequence[Took]) -> str:
    """Say how long a run will take, model by model."""
    known = [took.seconds for took in found if took.seconds is not None]
    text = f"time: about {clock(sum(known))}" if known else "time: not known"
    if known and len(known) < len(found):
        text += " and what is not known"
    each = [
        f"{in_line(took.name)} {clock(took.seconds)} ({took.why})"
        for took in found
        if took.seconds is not None
    ]
    for why in dict.fromkeys(took.why for took in found if took.seconds is None):
        names = [took.name for took in found if took.seconds is None and took.why == why]
        each.append(f"{in_line(', '.join(names))} not known ({why})")
    return f"{text}; {'; '.join(each)}"


def clock(seconds: float) -> str:
    """Return seconds as hours, minutes and seconds."""
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
    parts = [f"{percent(live)} %, {left_words(live)}", f"episodes: {live.counts}"]
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
        names = ["model", *(cut(in_line(name), room) for name in _brief(rows))]
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
    return [cut(line, width) for line in lines]


def percent(live: Live) -> int:
    """Return the share of steps that are done."""
    return 100 * live.steps // live.total if live.total else 100


def left_words(live: Live) -> str:
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


def cut(text: str, width: int) -> str:
    """Return a line in at most so many columns."""
    return text if len(text) <= width else text[: width - 1] + "…"
