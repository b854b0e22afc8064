"""Numbers and columns of what a display shows, in little room."""

from __future__ import annotations

from collections.abc import Sequence

from tomeval.core.numbers import MISSING


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


def per_second(speed: float, what: str) -> str:
    """Say how many there are in a second, or in an hour if they are few.

    Examples
    --------
    >>> per_second(12.34, "episode"), per_second(0.02, "episode"), per_second(0, "episode")
    ('12.3 episodes/s', '72 episodes/h', '0 episodes/s')
    """
    if 0 < speed < 0.1:
        return f"{speed * 3600:.3g} {what}s/h"
    return f"{rate(speed)} {what}s/s"


def rate(speed: float | None) -> str:
    """Return how many there are in a second as a cell; a dash if that is not known.

    Examples
    --------
    >>> rate(0.0123), rate(12.345), rate(123_456), rate(None)
    ('0.0123', '12.3', '123k', '–')
    """
    if speed is None:
        return MISSING
    return f"{speed:.3g}" if speed < 1000 else short(speed)


def money(cost: float | None) -> str:
    """Return a cost; a dash if there is no price.

    Examples
    --------
    >>> money(1234.5), money(None)
    ('1,234.50', '–')
    """
    return MISSING if cost is None else f"{cost:,.2f}"


def size(number: int) -> str:
    """Return a number of bytes in at most eight characters; a dash for 0, which is not known.

    Examples
    --------
    >>> size(0), size(734_003_200), size(43_100_000_000)
    ('–', '734 MB', '43.1 GB')
    """
    if not number:
        return MISSING
    for unit, letters in ((1e12, "TB"), (1e9, "GB")):
        if number >= unit:
            return f"{number / unit:.3g} {letters}"
    return f"{number / 1e6:.0f} MB"


def columns(names: Sequence[str], table: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the lines of a table: names, cut to what is left of a width, and right of them cells.

    Examples
    --------
    >>> columns(["model", "a-long-name"], [["calls"], ["12"]], 18)
    ['model        calls', 'a-long-name     12']
    """
    widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))]
    room = max(8, width - sum(widths) - 2 * len(widths))
    names = [cut(name, room) for name in names]
    first = max(map(len, names))
    return [
        name.ljust(first)
        + "".join(f"  {text:>{wide}}" for text, wide in zip(row, widths, strict=True))
        for name, row in zip(names, table, strict=True)
    ]


def cut(text: str, width: int) -> str:
    """Return a line in at most so many columns."""
    return text if len(text) <= width else text[: width - 1] + "…"
