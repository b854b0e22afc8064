"""Tables as text, CSV, JSON, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from rich.cells import cell_len

from tomeval.core.numbers import MISSING
from tomeval.core.printing import longest_part, wrap
from tomeval.core.text import in_line, markdown, visible


@dataclass(frozen=True)
class Grid:
    """The texts of a table.

    Attributes
    ----------
    above : list of str
        What holds for the whole table.
    heads : list of str
        The heading of every column; line feeds part its levels, the coarsest first.
    body : list of list of str
    lead : list of int
        The columns that tell the rows apart.
    spare : list of int
        Columns that a narrow terminal leaves out, the first one first.
    more : str
        The option that shows them all the same.
    """

    above: list[str]
    heads: list[str]
    body: list[list[str]]
    lead: list[int] = field(default_factory=list)
    spare: list[int] = field(default_factory=list)
    more: str = "--format csv"

    @property
    def columns(self) -> list[list[str]]:
        """The cells of every column."""
        return [[row[i] for row in self.body] for i in range(len(self.heads))]

    def parts(self, sizes: Sequence[float], room: float) -> list[Grid]:
        """Return it in parts of at most `room`, each with the leading columns if they fit.

        `sizes` are those of all columns. Where all leading ones would take more than half of the
        room, only the first one is in every part.
        """
        lead = list(self.lead)
        if sum(sizes[i] for i in lead) > room / 2:
            lead = lead[:1]
        parts: list[list[int]] = []
        left = 0.0
        for column in range(len(self.heads)):
            if column in lead:
                continue
            if not parts or sizes[column] > left:
                parts.append([*lead])
                left = room - sum(sizes[i] for i in lead)
            parts[-1].append(column)
            left -= sizes[column]
        return [self.of(part) for part in parts or [lead]]

    def without(self, count: int) -> Grid:
        """Return it without the first `count` columns that it can spare, which it names above."""
        gone = sorted(self.spare[:count])
        names = ", ".join(self.heads[i].replace("\n", " ") for i in gone)
        left = self.of([i for i in range(len(self.heads)) if i not in gone])
        said = f"{self.more} or a wider terminal shows {names}"
        return replace(left, above=[*self.above, said])

    def of(self, columns: Sequence[int]) -> Grid:
        """Return some of its columns."""
        return Grid(
            above=self.above,
            heads=[self.heads[i] for i in columns],
            body=[[row[i] for i in columns] for row in self.body],
            lead=[new for new, i in enumerate(columns) if i in self.lead],
        )


DATA = ("csv", "json")
"""The formats for programs, which carry every column at full precision."""

WORDS: dict[str, Callable[[str], str]] = {"text": in_line, "markdown": markdown, "latex": visible}
"""Makes a text safe for each format for reading."""


def data(rows: Sequence[Mapping[str, Any]], form: str) -> str:
    """Return rows as JSON or as CSV; NaN is null, or an empty field."""
    plain = [
        {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
        for row in rows
    ]
    if form == "json":
        return json.dumps(plain, indent=1)
    buffer = io.StringIO()
    if plain:
        writer = csv.DictWriter(buffer, list(plain[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(plain)
    return buffer.getvalue().rstrip("\n")


def set_grid(grid: Grid, form: str, width: int | None = None) -> str:
    """Return a grid as text, Markdown or LaTeX."""
    if form == "text":
        return text_of(grid, width)
    above = "; ".join(grid.above)
    if form == "latex":
        return latex_table(above, grid)
    heads = [head.replace("\n", ", ").strip(", ") for head in grid.heads]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *grid.body)]
    return "\n".join([*([f"{above}\n"] if above else []), *lines])


VALUE = re.compile(r"((?:[<>] )?-?\d+(\.\d+)?)(?:( ± |±| \[)(\S.*))?")
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
    lines = [*reversed(list(zip_longest(*heads, fillvalue="")))]
    for row in grid.body:
        lines += zip_longest(*wrapped(row), fillvalue="")
    for texts in lines:
        padded = [
            text + " " * (room - cell_len(text) + _BETWEEN)
            for text, room in zip(texts, rooms, strict=True)
        ]
        yield "".join(padded).rstrip()


ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "Δ": r"$\Delta$",
    "±": r"$\pm$",
    "–": "--",
    "−": r"$-$",
    "√": r"$\surd$",
}


def escape(text: str) -> str:
    r"""Return text with LaTeX's special characters written out; a line break becomes a space.

    What acts or is not seen stands as an escape, see `tomeval.core.text.visible`.

    Examples
    --------
    >>> print(escape("50 %\n\x1b"))
    50 \% \textbackslash{}x1b
    """
    return "".join(ESCAPES.get(char, char) for char in " ".join(visible(text).split()))


def latex_table(caption: str, grid: Grid) -> str:
    r"""Return a table in booktabs style: a longtable, which goes on over pages.

    Columns of numbers stand at the right.

    Examples
    --------
    >>> print(latex_table("", Grid([], ["x"], [["1.5 ± 0.25"]])).splitlines()[-2])
    1.5 $\pm$ 0.25 \\
    """
    import pandas

    body = [list(map(escape, cells)) for cells in grid.body]
    frame = pandas.DataFrame(body, columns=list(map(_heading, grid.heads)))
    sides = "".join("r" if is_numeric(cells) else "l" for cells in grid.columns)
    made = frame.to_latex(
        index=False,
        escape=False,
        longtable=True,
        column_format=sides,
        caption=escape(caption) or None,
    )
    return f"% needs: \\usepackage{{booktabs, longtable}}\n{made.strip()}"


def _heading(text: str) -> str:
    """Return a heading, its levels below each other."""
    levels = [escape(level) for level in text.split("\n") if level]
    stacked = r" \\ ".join(levels)
    return stacked if len(levels) == 1 else rf"\shortstack{{{stacked}}}"
