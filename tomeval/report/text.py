"""A table as text: aligned columns, fitted to a terminal, with what is bold apart from it."""

from __future__ import annotations

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
_TITLE = "\0"
"""How a cell begins that is the title of the rows below it; no other text holds it."""


def text_of(grid: Grid, width: int | None = None) -> str:
    """Return a table as text, see `text_lines`."""
    return "\n".join("".join(piece for piece, _ in line) for line in text_lines(grid, width))


def text_lines(grid: Grid, width: int | None = None) -> list[Line]:
    """Return the lines of a table.

    Without a `width` it is as wide as it is. Else the first of these that fits: with headings in
    several lines, and long texts too; with ``±`` without blanks; with one of several leading
    columns above groups of rows; the same without some of the columns that it can spare, which a
    line above it names; with all texts in several lines. If none does, it goes on below itself in
    parts, each with the columns that tell rows apart.
    """
    grid = replace(grid, body=_aligned(grid.body))
    if width is None:
        fitted = [(grid, _natural(grid))]
    else:
        width = max(width, 2 * _SHORT)
        fitted = _fitted(grid, width)
    above = "; ".join(fitted[0][0].above)
    said = [above] if width is None else wrap(above, width)
    lines: list[Line] = [[(line, False)] for line in said if above]
    for number, (part, rooms) in enumerate(fitted):
        lines += [[("", False)]] * (number > 0)
        lines += _lines(part, rooms)
    return lines


def _columns(grid: Grid) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the cells of every column."""
    return grid.heads, [[row[i] for row in grid.body] for i in range(len(grid.heads))]


def _sizes(head: str, cells: Sequence[str], fold: int) -> tuple[int, int]:
    """Return how wide the cells of a column are, and how narrow it can be: numbers stay whole.

    So do texts if `fold` is 0; if it is 1, those that are not long.
    """
    cells = [text for text in cells if not text.startswith(_TITLE)]
    most = max(map(cell_len, cells), default=0)
    least = max(min(least_room(text), _LONG) for text in head.split("\n"))
    if all(text in ("", MISSING) or VALUE.fullmatch(text.strip()) for text in cells):
        return most, max(least, most)
    parts = most
    if fold == 1 and most > _LONG:
        parts = 2 * _SHORT
    elif fold == 2:
        parts = max(_SHORT, min(2 * _SHORT, max(map(least_room, cells))))
    return most, max(least, *(least_room(text, 3) for text in cells), min(most, parts))


def _natural(grid: Grid) -> list[int]:
    """Return how wide columns are whose cells and headings have a line each."""
    return [
        max(cell_len(text) for text in (*head.split("\n"), *cells) if text[:1] != _TITLE)
        for head, cells in zip(*_columns(grid), strict=True)
    ]


def _fitted(grid: Grid, width: int) -> list[tuple[Grid, list[int]]]:
    """Return the tables to print below each other, with the widths of their columns."""
    for count in range(len(grid.spare) + 1):
        some = grid.without(count)
        tight = replace(some, body=[[_tight(text) for text in row] for row in some.body])
        for one, fold in ((some, 0), (some, 1), *((one, 0) for one in (tight, *_sectioned(tight)))):
            if rooms := _rooms(one, width, fold):
                return [(one, rooms)]
    folded = [(one, _rooms(one, width, 2)) for one in (tight, *_sectioned(tight))]
    if fitting := [fit for fit in folded if fit[1]]:
        return [min(fitting, key=lambda fit: sum(1 for _ in _lines(*fit)))]
    sizes = [_sizes(head, cells, 2)[1] for head, cells in zip(*_columns(tight), strict=True)]
    parts = tight.parts([size + _BETWEEN for size in sizes], width + _BETWEEN)
    return [fit for part in parts for fit in _squeezed(tight.of(part), width)]


def _sectioned(grid: Grid) -> Iterator[Grid]:
    """Yield it with the values of a leading column above their rows, that of fewest values first.

    A value that stands in every row by itself makes no groups.
    """
    values = {column: [row[column].strip() for row in grid.body] for column in grid.lead}
    for column in sorted(values, key=lambda i: len({*values[i]})) if len(values) > 1 else ():
        names = dict.fromkeys(values[column])
        if len(names) == len(grid.body):
            continue
        left = grid.of([i for i in range(len(grid.heads)) if i != column])
        body, best = [], set()
        for name in names:
            title = _TITLE + (name or f"no {grid.heads[column]}")
            body.append([title, *[""] * (len(left.heads) - 1)])
            for number, (first, *rest) in enumerate(left.body):
                if values[column][number] == name:
                    best |= {(len(body), place) for row, place in left.best if row == number}
                    body.append([f"  {first}", *rest])
        yield replace(left, body=body, best=best)


def _rooms(grid: Grid, width: int, fold: int) -> list[int]:
    """Return widths of columns that fit together; or none; `fold` as in `_sizes`."""
    left = width - _BETWEEN * (len(grid.heads) - 1)
    if sum(rooms := _natural(grid)) <= left:
        return rooms
    sizes = [_sizes(head, cells, fold) for head, cells in zip(*_columns(grid), strict=True)]
    for widest in range(max(width, 1), 0, -1):
        rooms = [max(least, min(most, widest)) for most, least in sizes]
        if sum(rooms) <= left:
            return rooms
    return []


def _squeezed(part: Grid, width: int) -> Iterator[tuple[Grid, list[int]]]:
    """Yield a part; where it is too wide its first column gives way, or stands by itself."""
    sizes = [_sizes(head, cells, 2) for head, cells in zip(*_columns(part), strict=True)]
    left = width - sum(least + _BETWEEN for _, least in sizes[1:])
    if rooms := _rooms(part, width, 2):
        yield part, rooms
    elif left >= max(_SHORT, *(least_room(row[0], 3) for row in part.body)):
        yield part, [left, *(least for _, least in sizes[1:])]
    else:
        for column in range(len(part.heads)):
            yield part.of([column]), [width]


def _aligned(body: list[list[str]]) -> list[list[str]]:
    """Return cells in which numbers with as many decimals stand below each other by their point."""
    columns = [_aligned_column(column) for column in zip(*body, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _aligned_column(texts: Sequence[str]) -> list[str]:
    values = [VALUE.fullmatch(text) for text in texts]
    parts = [part for part in values if part is not None]
    pairs = list(zip(texts, values, strict=True))
    words = any(part is None and text not in ("", MISSING) for text, part in pairs)
    counts = not any(part[2] or part[3] for part in parts)
    if words or counts or len({len(part[2] or "") for part in parts}) != 1:
        return list(texts)
    room = max(len(text if part is None else part[1]) for text, part in pairs)
    half = max((len(part[4]) for part in parts if part[3] == " ± "), default=0)
    return [
        text.rjust(room)
        if part is None or part[3] is None
        else part[1].rjust(room) + part[3] + part[4].rjust(half * (part[3] == " ± "))
        for text, part in pairs
    ]


def _tight(text: str) -> str:
    """Return a cell without the blanks around ``±`` and in brackets."""
    text = re.sub(r"(?<=\d) ± +(?=\d)", "±", text)
    return re.sub(r"(?<=\d) \[(\S+), (\S+)\]$", r" [\1,\2]", text)


def _lines(grid: Grid, rooms: Sequence[int]) -> Iterator[Line]:
    """Yield the lines of a table; the last line of every heading stands just above the cells."""

    def wrapped(text: str, room: int) -> list[str]:
        return [line for one in text.split("\n") for line in wrap(one, room)]

    heads = [wrapped(head, room) for head, room in zip(grid.heads, rooms, strict=True)]
    height = max(map(len, heads))
    heads = [[""] * (height - len(lines)) + lines for lines in heads]
    for texts in zip(*heads, strict=True):
        yield _line(texts, rooms, set())
    for number, row in enumerate(grid.body):
        if row[0].startswith(_TITLE):
            yield from ([(line, False)] for line in wrap(row[0][1:], sum(rooms)))
            continue
        cells = [wrapped(text, room) for text, room in zip(row, rooms, strict=True)]
        bold = {column for line, column in grid.best if line == number}
        for texts in zip_longest(*cells, fillvalue=""):
            yield _line(texts, rooms, bold)


def _line(texts: Sequence[str], rooms: Sequence[int], bold: set[int]) -> Line:
    """Return texts with blanks between them and none at the end."""
    line: Line = []
    for column, (text, room) in enumerate(zip(texts, rooms, strict=True)):
        line += [(text, column in bold), (" " * (room - cell_len(text) + _BETWEEN), False)]
    while line and not line[-1][0].strip():
        line.pop()
    return line
