"""A table as text: aligned columns, fitted to a terminal, with what is bold apart from it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from rich.cells import cell_len

from tomeval.core.numbers import MISSING
from tomeval.core.text import least_room, wrap
from tomeval.report.tables import Grid

Line = list[tuple[str, bool]]
"""A line in pieces of text, each with whether it is bold."""

VALUE = re.compile(r"(-?\d+(\.\d+)?)(?:( ± |±| \[)(\S.*))?")
"""A number, perhaps with its interval, as a cell."""

_BETWEEN = 2
"""Blanks between columns."""
_SHORT, _LONG = 8, 24
"""How narrow a column of texts may be made, and how long a text is that may always be folded."""


def text_of(grid: Grid, width: int | None = None) -> str:
    """Return a table as text, see `text_lines`."""
    return "\n".join("".join(piece for piece, _ in line) for line in text_lines(grid, width))


def text_lines(grid: Grid, width: int | None = None) -> list[Line]:
    """Return the lines of a table.

    Without a `width` it is as wide as it is. Else the first of these that fits: with headings in
    several lines, and long texts too; with ``±`` without blanks; without some of the columns that
    it can spare, which a line above it names; with all texts in several lines. If none does, it
    goes on below itself in parts, each with the columns that tell rows apart.
    """
    grid = _aligned(grid)
    fitted = [(grid, _natural(grid))] if width is None else _fitted(grid, max(width, 2 * _SHORT))
    above = "; ".join(fitted[0][0].above)
    said = [above] if width is None else wrap(above, width)
    lines: list[Line] = [[(line, False)] for line in said if above]
    for number, (part, rooms) in enumerate(fitted):
        lines += [[("", False)]] * (number > 0)
        lines += _lines(part, rooms)
    return lines


def _fitted(grid: Grid, width: int) -> list[tuple[Grid, list[int]]]:
    """Return the tables to print below each other, with the widths of their columns."""
    for some in (grid, *(grid.without(count + 1) for count in range(len(grid.spare)))):
        tight = replace(some, body=[list(map(_tight, row)) for row in some.body])
        for one, longest in ((some, math.inf), (some, _LONG), (tight, math.inf)):
            if rooms := _rooms(one, width, longest):
                return [(one, rooms)]
    if rooms := _rooms(tight, width, _SHORT):
        return [(tight, rooms)]
    sizes = [
        _least(head, cells, _SHORT) for head, cells in zip(tight.heads, tight.columns, strict=True)
    ]
    fitted = []
    for part in tight.parts([size + _BETWEEN for size in sizes], width + _BETWEEN):
        if rooms := _rooms(part, width, _SHORT):
            fitted.append((part, rooms))
        else:  # a column is too wide to stand beside the one that names the rows
            fitted += [(part.of([column]), [width]) for column in range(len(part.heads))]
    return fitted


def _natural(grid: Grid) -> list[int]:
    """Return how wide columns are whose cells and headings have a line each."""
    return [
        max(map(cell_len, (*head.split("\n"), *cells)))
        for head, cells in zip(grid.heads, grid.columns, strict=True)
    ]


def _least(head: str, cells: Sequence[str], longest: float) -> int:
    """Return how narrow a column can be: numbers, and texts of at most `longest`, stay whole."""
    most = max(map(cell_len, cells), default=0)
    least = max(min(least_room(text), _LONG) for text in head.split("\n"))
    numbers = all(text in ("", MISSING) or VALUE.fullmatch(text.strip()) for text in cells)
    if numbers or most <= longest:
        return max(least, most)
    parts = min(2 * _SHORT, max(_SHORT, *map(least_room, cells)))
    return max(least, *(least_room(text, 3) for text in cells), min(most, parts))


def _rooms(grid: Grid, width: int, longest: float) -> list[int]:
    """Return widths of columns that fit together, or none; `longest` as in `_least`."""
    left = width - _BETWEEN * (len(grid.heads) - 1)
    natural = _natural(grid)
    if sum(natural) <= left:
        return natural
    columns = list(zip(grid.heads, grid.columns, strict=True))
    most = [max(map(cell_len, cells), default=0) for _, cells in columns]
    least = [_least(head, cells, longest) for head, cells in columns]
    for widest in range(width, 0, -1):
        rooms = [max(low, min(high, widest)) for low, high in zip(least, most, strict=True)]
        if sum(rooms) <= left:
            return rooms
    return []


def _aligned(grid: Grid) -> Grid:
    """Return it with numbers of as many decimals below each other by their point."""
    columns = [_aligned_column(column) for column in grid.columns]
    return replace(grid, body=[list(row) for row in zip(*columns, strict=True)])


def _aligned_column(texts: list[str]) -> list[str]:
    values = [VALUE.fullmatch(text) for text in texts]
    decimals = {len(value[2] or "") for value in values if value}
    words = any(
        value is None and text not in ("", MISSING)
        for value, text in zip(values, texts, strict=True)
    )
    if words or len(decimals) != 1 or not any(value and (value[2] or value[3]) for value in values):
        return texts
    room = max(
        len(value[1]) if value else len(text) for value, text in zip(values, texts, strict=True)
    )
    half = max((len(value[4]) for value in values if value and value[3] == " ± "), default=0)
    return [
        value[1].rjust(room) + value[3] + value[4].rjust(half * (value[3] == " ± "))
        if value and value[3]
        else text.rjust(room)
        for value, text in zip(values, texts, strict=True)
    ]


def _tight(text: str) -> str:
    """Return a cell without the blanks around ``±`` and in brackets."""
    text = re.sub(r"(?<=\d) ± +(?=\d)", "±", text)
    return re.sub(r"(?<=\d) \[(\S+), (\S+)\]$", r" [\1,\2]", text)


def _lines(grid: Grid, rooms: Sequence[int]) -> Iterator[Line]:
    """Yield the lines of a table; the last line of every heading stands just above the cells."""

    def wrapped(texts: Sequence[str]) -> list[list[str]]:
        return [
            [line for part in text.split("\n") for line in wrap(part, room)]
            for text, room in zip(texts, rooms, strict=True)
        ]

    heads = [lines[::-1] for lines in wrapped(grid.heads)]
    for texts in reversed(list(zip_longest(*heads, fillvalue=""))):
        yield _line(texts, rooms, set())
    for number, row in enumerate(grid.body):
        bold = {column for line, column in grid.best if line == number}
        for texts in zip_longest(*wrapped(row), fillvalue=""):
            yield _line(texts, rooms, bold)


def _line(texts: Sequence[str], rooms: Sequence[int], bold: set[int]) -> Line:
    """Return texts with blanks between them and none at the end."""
    line: Line = []
    for column, (text, room) in enumerate(zip(texts, rooms, strict=True)):
        line += [(text, column in bold), (" " * (room - cell_len(text) + _BETWEEN), False)]
    while line and not line[-1][0].strip():
        line.pop()
    return line
