"""A table for reading, before it is set as text, Markdown or LaTeX: the same in all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Grid:
    """The texts of a table.

    Attributes
    ----------
    above : list of str
        What holds for the whole table.
    heads : list of tuple of str
        The heading of every column, from the coarsest level to its own; all have as many levels.
    body : list of list of str
    lead : list of int
        The columns that tell the rows apart.
    best : set of (int, int)
        Row and column of the best value of each task.
    sections : list of (str, list of int)
        Headings with the rows below them; empty: there is none, and rows come in their order.
    """

    above: list[str]
    heads: list[tuple[str, ...]]
    body: list[list[str]]
    lead: list[int] = field(default_factory=list)
    best: set[tuple[int, int]] = field(default_factory=set)
    sections: list[tuple[str, list[int]]] = field(default_factory=list)

    @property
    def measured(self) -> list[int]:
        """The other columns."""
        return [place for place in range(len(self.heads)) if place not in self.lead]

    @property
    def groups(self) -> list[tuple[str, list[int]]]:
        """The sections; without any all rows under no heading."""
        return self.sections or [("", list(range(len(self.body))))]

    def parts(self, sizes: Sequence[float], room: float) -> list[list[int]]:
        """Return the columns of parts that add up to at most `room`, each with the leading ones.

        Columns below one heading stay together if they can. `sizes` are those of all columns.
        """
        tops = [self.heads[place][:-1][:1] for place in self.measured]
        groups = [self.measured[first : last + 1] for first, last in spans(tops, 0)]
        left = room - sum(sizes[place] for place in self.lead)
        return [[*self.lead, *part] for part in packed(groups, sizes, left)] or [self.lead]

    def of(self, places: Sequence[int], rows: Sequence[int] | None = None) -> Grid:
        """Return some of its columns, and some rows or all."""
        rows = range(len(self.body)) if rows is None else rows
        new = {n: row for row, n in enumerate(rows)}
        sections = [(name, [new[n] for n in held if n in new]) for name, held in self.sections]
        return Grid(
            above=self.above,
            heads=[self.heads[i] for i in places],
            body=[[self.body[n][i] for i in places] for n in rows],
            lead=[new for new, i in enumerate(places) if i in self.lead],
            best={
                (row, column)
                for row, n in enumerate(rows)
                for column, i in enumerate(places)
                if (n, i) in self.best
            },
            sections=[(name, held) for name, held in sections if held],
        )


def sectioned(grid: Grid) -> Iterator[Grid]:
    """Yield the grid with one of its leading columns as sections, the one of fewest values first.

    A value that stands in every row by itself makes no sections.
    """
    kinds = {place: len({row[place] for row in grid.body}) for place in grid.lead}
    for place in sorted(kinds, key=lambda i: kinds[i]) if len(kinds) > 1 else ():
        if kinds[place] == len(grid.body):
            continue
        held: dict[str, list[int]] = {}
        for number, row in enumerate(grid.body):
            held.setdefault(row[place].strip(), []).append(number)
        name = grid.heads[place][-1]
        sections = [(value or f"no {name}", rows) for value, rows in held.items()]
        left = grid.of([i for i in range(len(grid.heads)) if i != place])
        yield replace(left, sections=sections)


def spans(levels: Sequence[tuple[str, ...]], level: int) -> list[tuple[int, int]]:
    """Return first and last place of neighbours that share their headings down to a level.

    Examples
    --------
    >>> spans([("",), ("RPS",), ("RPS",), ("IPD",)], 0)
    [(0, 0), (1, 2), (3, 3)]
    """
    found: list[tuple[int, int]] = []
    for place, heads in enumerate(levels):
        if found and any(heads) and heads[: level + 1] == levels[place - 1][: level + 1]:
            found[-1] = (found[-1][0], place)
        else:
            found.append((place, place))
    return found


def packed(groups: Sequence[Sequence[int]], sizes: Sequence[float], room: float) -> list[list[int]]:
    """Return places in parts whose sizes add up to at most `room`; a larger one is alone.

    A group is divided only if it is too large for a part.

    Examples
    --------
    >>> packed([[0, 1], [2, 3], [4, 5, 6]], [2.0] * 7, 5)
    [[0, 1], [2, 3], [4, 5], [6]]
    """
    parts: list[list[int]] = []
    left = 0.0
    for group in groups:
        whole = sum(sizes[place] for place in group)
        fresh = left < whole <= room
        for place in group:
            if not parts or fresh or sizes[place] > left:
                parts.append([])
                left, fresh = room, False
            parts[-1].append(place)
            left -= sizes[place]
    return parts
