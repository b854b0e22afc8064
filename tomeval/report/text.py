"""A table as text: aligned columns, fitted to a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from rich.cells import cell_len

from tomeval.core.numbers import MISSING
from tomeval.core.printing import longest_part, wrap
from tomeval.report.tables import Grid

VALUE = re.compile(r"(-?\d+(\.\d+)?)(?:( ± |±| \[)(\S.*))?")
"""A number, perhaps with its interval, as a cell."""

_BETWEEN = 2
"""Blanks between columns."""
_SHORT, _LONG = 16, 24
"""How narrow a column of texts is made, and how long a text is that is folded first."""


def text_of(grid: Grid, width: int | None = None) -> str:
    """Return a table as text.

    Without a `width` it is as wide as it is. Else long texts are folded, then columns are left out
    that it can spare, which a line above it names, then all texts are folded. If that does not
    fit, it goes on below itself in parts, each with the columns that tell rows apart.
    """
    grid = replace(grid, body=[list(row) for row in zip(*map(_aligned, grid.columns), strict=True)])
    fitted = [(grid, _natural(grid))] if width is None else _fitted(grid, width)
    above = "; ".join(fitted[0][0].above)
    said = [above] if width is None else wrap(above, width)
    parts = "\n\n".join("\n".join(_lines(part, rooms)) for part, rooms in fitted)
    return "\n".join([*(said if above else []), parts])


def _fitted(grid: Grid, width: int) -> list[tuple[Grid, list[int]]]:
    """Return the tables to print below each other, with the widths of their columns."""
    some = [grid, *(grid.without(count + 1) for count in range(len(grid.spare)))]
    for one, longest in (*((one, _LONG) for one in some), (some[-1], 0)):
        if rooms := _rooms(one, width, longest):
            return [(one, rooms)]
    parts = some[-1].parts([size + _BETWEEN for size in _least(some[-1], 0)], width + _BETWEEN)
    return [(part, _rooms(part, width, 0) or _least(part, 0)) for part in parts]


def _natural(grid: Grid) -> list[int]:
    """Return how wide columns are whose cells and headings have a line each."""
    columns = zip(grid.heads, grid.columns, strict=True)
    return [max(map(cell_len, (*head.split("\n"), *cells))) for head, cells in columns]


def _least(grid: Grid, longest: int) -> list[int]:
    """Return how narrow columns can be: numbers, and texts of at most `longest`, stay whole."""
    least = []
    for head, cells in zip(grid.heads, grid.columns, strict=True):
        most = max(map(cell_len, cells), default=0)
        if not is_numeric(cells) and most > longest:
            most = min(most, _LONG, max(_SHORT, *map(longest_part, cells)))
        least.append(max(most, min(_LONG, longest_part(head))))
    return least


def _rooms(grid: Grid, width: int, longest: int) -> list[int]:
    """Return widths of columns that fit together, or none; `longest` as in `_least`."""
    left = width - _BETWEEN * (len(grid.heads) - 1)
    natural, least = _natural(grid), _least(grid, longest)
    if sum(natural) <= left:
        return natural
    most = [max(map(cell_len, cells), default=0) for cells in grid.columns]
    for widest in range(width, 0, -1):
        rooms = [max(low, min(high, widest)) for low, high in zip(least, most, strict=True)]
        if sum(rooms) <= left:
            return rooms
    return []


def is_numeric(cells: Sequence[str]) -> bool:
    """Return whether a column holds numbers alone."""
    return all(text in ("", MISSING) or VALUE.fullmatch(text.strip()) for text in cells)


def _aligned(texts: list[str]) -> list[str]:
    """Return a column with numbers of as many decimals below each other by their point."""
    values = [VALUE.fullmatch(text) for text in texts]
    decimals = {len(value[2] or "") for value in values if value}
    several = any(value and (value[2] or value[3]) for value in values)
    if not is_numeric(texts) or len(decimals) != 1 or not several:
        return texts
    pairs = list(zip(values, texts, strict=True))
    room = max(len(value[1]) if value else len(text) for value, text in pairs)
    half = max((len(value[4]) for value in values if value and value[3] == " ± "), default=0)
    return [
        value[1].rjust(room) + value[3] + value[4].rjust(half * (value[3] == " ± "))
        if value and value[3]
        else text.rjust(room)
        for value, text in pairs
    ]


def _lines(grid: Grid, rooms: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a table; the last line of every heading stands just above the cells."""

    def wrapped(texts: Sequence[str]) -> list[list[str]]:
        return [
            [line for part in text.split("\n") for line in wrap(part, room)]
            for text, room in zip(texts, rooms, strict=True)
        ]

    heads = [lines[::-1] for lines in wrapped(grid.heads)]
    for texts in reversed(list(zip_longest(*heads, fillvalue=""))):
        yield _line(texts, rooms)
    for row in grid.body:
        for texts in zip_longest(*wrapped(row), fillvalue=""):
            yield _line(texts, rooms)


def _line(texts: Sequence[str], rooms: Sequence[int]) -> str:
    """Return texts with blanks between them and none at the end."""
    padded = [
        text + " " * (room - cell_len(text) + _BETWEEN)
        for text, room in zip(texts, rooms, strict=True)
    ]
    return "".join(padded).rstrip()
