"""A table as text: aligned columns, fitted to a terminal, with what is bold apart from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from rich.cells import cell_len

from tomeval.core.numbers import MISSING
from tomeval.core.text import least_room, wrap
from tomeval.report.cells import VALUE, aligned, tightened
from tomeval.report.tables import Grid, sectioned, spans

Line = list[tuple[str, bool]]
"""A line in pieces of text, each with whether it is bold."""

_BETWEEN = 2
"""Blanks between columns."""
_LONG, _LEAST, _SHORT = 24, 16, 8
"""How wide a text is that may always be set in several lines; how wide these are at least; and how
wide those of other texts are at least, where nothing else makes room."""
_NARROWEST = 16
"""A terminal is taken to be at least as wide as this."""


@dataclass(frozen=True)
class _Table:
    """A grid with its shape.

    Headings are in one line each, or `wrapped` over their cells. The texts of the columns in
    `rooms` are in several lines of that width.
    """

    grid: Grid
    wrapped: bool = False
    rooms: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def body(self) -> list[list[list[str]]]:
        """The cells in lines, with the first column indented below headings of sections."""
        return [[self._cell(text, i) for i, text in enumerate(row)] for row in self.grid.body]

    def _cell(self, text: str, place: int) -> list[str]:
        indent = "  " if place == 0 and self.grid.sections else ""
        if place not in self.rooms:
            return [indent + text]
        return wrap(indent + text, self.rooms[place], indent)

    @cached_property
    def heads(self) -> list[list[str]]:
        """Every column's own heading in lines."""
        texts = [levels[-1] for levels in self.grid.heads]
        if not self.wrapped:
            return [[text] for text in texts]
        rooms = zip(texts, self._room_of_cells, strict=True)
        return [heading_lines(text, room, _LONG) for text, room in rooms]

    @cached_property
    def _room_of_cells(self) -> list[int]:
        columns = zip(*self.body, strict=True)
        return [max(cell_len(line) for cell in column for line in cell) for column in columns]

    @property
    def levels(self) -> list[tuple[str, ...]]:
        """What stands above each column's own heading, coarsest first."""
        return [levels[:-1] for levels in self.grid.heads]

    @cached_property
    def widths(self) -> list[int]:
        """The width of every column."""
        widths = [
            max(room, *map(cell_len, head))
            for room, head in zip(self._room_of_cells, self.heads, strict=True)
        ]
        for level in range(len(self.levels[0])):
            for first, last in spans(self.levels, level):
                room = sum(widths[first : last + 1]) + _BETWEEN * (last - first)
                widths[last] += max(0, cell_len(self.levels[first][level]) - room)
        return widths

    @property
    def width(self) -> int:
        """The width of the whole."""
        return sum(self.widths) + _BETWEEN * (len(self.widths) - 1)

    @property
    def height(self) -> int:
        """How many lines the cells and the headings of sections take."""
        return len(self.grid.sections) + sum(max(map(len, row)) for row in self.body)

    @cached_property
    def floors(self) -> dict[int, int]:
        """How narrow the columns that hold any names can be, by column."""
        floors = {}
        for place, cells in enumerate(zip(*self.grid.body, strict=True)):
            if all(text in ("", MISSING) or VALUE.fullmatch(text.strip()) for text in cells):
                continue
            whole = max(least_room(text, 3) for text in cells)
            named = min(_LEAST, max(least_room(text, 0) for text in cells))
            head = self.grid.heads[place][-1]
            least = max(_SHORT, whole, named, min(least_room(head), _LONG))
            least += 2 * (place == 0 and bool(self.grid.sections))
            floors[place] = min(self.widths[place], least)
        return floors

    def folded(self, room: int, floors: Mapping[int, int], among: Iterable[int] = ()) -> _Table:
        """Return it with the columns that have `floors` as wide as fits `room`, or at their floor.

        `among` are the columns that share the room; default: all.
        """
        places = list(among) or list(range(len(self.widths)))
        sizes = {i: self.widths[i] for i in places}
        left = room - sum(sizes[i] for i in places if i not in floors)
        left -= _BETWEEN * (len(places) - 1)
        rooms: dict[int, int] = {}
        for most in range(max(room, 1), 0, -1):
            rooms = {i: max(floors[i], min(sizes[i], most)) for i in places if i in floors}
            if sum(rooms.values()) <= left:
                break
        return replace(self, rooms={**self.rooms, **rooms})

    def parts(self, width: int) -> list[_Table]:
        """Return it in parts of at most `width`, if that is possible.

        Names that tell rows apart take at most half of it, unless they are longer at their floor.
        """
        lead, measured, table = self.grid.lead, self.grid.measured, self
        if lead and sum(self.widths[i] + _BETWEEN for i in lead) > width // 2:
            table = self.folded(width // 2 - _BETWEEN, self.floors, lead)
        left = width - sum(table.widths[i] + _BETWEEN for i in lead)
        wide = {i: max(self.floors[i], left) for i in measured if i in self.floors}
        rooms = {i: room for i, room in wide.items() if room < self.widths[i]}
        table = replace(table, rooms={**table.rooms, **rooms})
        sizes = [size + _BETWEEN for size in table.widths]
        made = []
        for part in self.grid.parts(sizes, width + _BETWEEN):
            rooms = {new: table.rooms[i] for new, i in enumerate(part) if i in table.rooms}
            made.append(_Table(self.grid.of(part), True, rooms))
        return made


def text_of(grid: Grid, width: int | None = None) -> str:
    """Return a table as text, see `text_lines`."""
    return "\n".join("".join(piece for piece, _ in line) for line in text_lines(grid, width))


def text_lines(grid: Grid, width: int | None = None) -> list[Line]:
    """Return the lines of a table.

    Without a `width` it is as wide as it is. Else the first of these that fits: as it is; with
    headings and long texts in several lines; with ``±`` without blanks; with the values of one
    leading column above groups of rows; the same without some of the columns that it can spare,
    which a line above it names; with names in several lines. If none does, it goes on below itself
    in parts, each with the columns that tell rows apart. Where even that is too wide, and of a list
    of texts, every cell has a line of its own.
    """
    width = width and max(width, _NARROWEST)
    tables = _fitted(grid, width)
    narrow = width is not None and any(table.width > width for table in tables)
    above = grid.above if narrow else tables[0].grid.above
    lines: list[Line] = [[(line, False)] for line in _sentences(above, width)]
    if width is not None and narrow:
        return [*lines, *_records(grid, width)]
    for number, table in enumerate(tables):
        lines += [[("", False)]] * (number > 0)
        lines += _lines(table, width)
    return lines


def _sentences(said: Sequence[str], width: int | None) -> list[str]:
    """Return what holds for the whole table, in lines that end after a semicolon if possible."""
    if width is None or not said:
        return ["; ".join(said)] if said else []
    lines = [""]
    for number, text in enumerate(said):
        text += ";" * (number < len(said) - 1)
        joined = f"{lines[-1]} {text}".lstrip()
        if cell_len(joined) <= width or not lines[-1]:
            lines[-1] = joined
        else:
            lines.append(text)
    return [part for line in lines for part in wrap(line, width)]


def _fitted(grid: Grid, width: int | None) -> list[_Table]:
    """Return the tables to print below each other."""
    grid = replace(grid, body=aligned(grid.body))
    whole = _Table(grid)
    if width is None or whole.width <= width:
        return [whole]
    for count in range(len(grid.spare) + 1):
        some = grid.without(count)
        table, tight = (
            _Table(some, wrapped=True),
            _Table(replace(some, body=tightened(some.body)), wrapped=True),
        )
        long = [i for i in table.floors if table.widths[i] > _LONG and i not in grid.lead[:1]]
        gentle = table.folded(width, {i: max(_LEAST, table.floors[i]) for i in long})
        narrow = [tight]
        if grid.measured:
            narrow += [_Table(one, wrapped=True) for one in sectioned(tight.grid)]
        for one in (_Table(some), table, gentle, *narrow):
            if one.width <= width:
                return [one]
    if not grid.measured:  # a list of texts, which are easier to read below each other
        return [whole]
    folded = [table.folded(width, table.floors) for table in narrow]
    if fitting := [table for table in folded if table.width <= width]:
        return [min(fitting, key=lambda table: table.height)]
    parts = [table.parts(width) for table in narrow]
    return min(parts, key=lambda tables: (len(tables), tables[0].height))


def heading_lines(text: str, room: int, most: int | None = None) -> list[str]:
    """Return a heading in lines as wide as `room`, or as its longest part, but at most `most`.

    Examples
    --------
    >>> heading_lines("single_action", 9), heading_lines("ΔToM/T (best response)", 13)
    (['single_', 'action'], ['ΔToM/T (best', 'response)'])
    """
    least = least_room(text)
    return wrap(text, max(room, least if most is None else min(least, most)))


def _records(grid: Grid, width: int) -> Iterator[Line]:
    """Yield every row as its first text, with the others below it under their headings."""
    names = [" ".join(filter(None, levels)) for levels in grid.heads]
    most = max((least_room(t, 3) for row in grid.body for t in row[1:]), default=0)
    room = max(map(cell_len, names[1:]), default=0)
    below = room + 4 + max(most, _SHORT) > width  # values stand below their headings
    for row in grid.body:
        yield from ([(line, False)] for line in wrap(row[0], width, "  "))
        for name, text in zip(names[1:], row[1:], strict=True):
            if not text:
                continue
            if below:
                lines = [*wrap(f"  {name}", width, "  "), *wrap(f"    {text}", width, "    ")]
            else:
                lines = wrap(f"  {_filled(name, room)}  {text}", width, " " * (room + 4))
            yield from ([(line, False)] for line in lines)


def _lines(table: _Table, width: int | None) -> Iterator[Line]:
    """Yield the lines of a table."""
    widths, heads, best = table.widths, table.heads, table.grid.best
    for level in range(len(table.levels[0])):
        pieces = []
        for first, last in spans(table.levels, level):
            room = sum(widths[first : last + 1]) + _BETWEEN * (last - first)
            pieces.append(_filled(table.levels[first][level], room))
        yield _line([(piece, False) for piece in pieces])
    height = max(map(len, heads))
    for number in range(height):  # the last line of every heading stands just above the cells
        texts = [([""] * (height - len(head)) + head)[number] for head in heads]
        yield _line([(_filled(t, w), False) for t, w in zip(texts, widths, strict=True)])
    for heading, rows in table.grid.groups:
        if heading:
            yield from ([(line, False)] for line in wrap(heading, width or cell_len(heading)))
        for row in rows:
            for number in range(max(map(len, table.body[row]))):
                texts = [cell[number] if number < len(cell) else "" for cell in table.body[row]]
                cells = enumerate(zip(texts, widths, strict=True))
                yield _line([(_filled(text, room), (row, i) in best) for i, (text, room) in cells])


def _filled(text: str, room: int) -> str:
    return text + " " * (room - cell_len(text))


def _line(pieces: list[tuple[str, bool]]) -> Line:
    """Return pieces with blanks between them and none at the end."""
    line: Line = []
    for text, bold in pieces:
        bare = text.rstrip()
        line += [(" " * _BETWEEN, False)] if line else []
        line += [(bare, bold), (text[len(bare) :], False)]
    while line and not line[-1][0].strip():
        line.pop()
    return line
