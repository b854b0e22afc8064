"""Tables as text, CSV (also for spreadsheets), JSON, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tomeval.core.errors import unknown
from tomeval.core.text import in_line, markdown, spreadsheet, visible
from tomeval.runs.measures import Measure


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
        Row and column of the best value of each task, if it can be told from the others.
    sections : list of (str, list of int)
        Headings with the rows below them; empty: there is none, and rows come in their order.
    spare : list of int
        Columns that a narrow terminal leaves out, the first one first.
    more : str
        The option that shows them all the same.
    """

    above: list[str]
    heads: list[tuple[str, ...]]
    body: list[list[str]]
    lead: list[int] = field(default_factory=list)
    best: set[tuple[int, int]] = field(default_factory=set)
    sections: list[tuple[str, list[int]]] = field(default_factory=list)
    spare: list[int] = field(default_factory=list)
    more: str = "--format csv"

    @property
    def measured(self) -> list[int]:
        """The other columns."""
        return [column for column in range(len(self.heads)) if column not in self.lead]

    @property
    def groups(self) -> list[tuple[str, list[int]]]:
        """The sections; without any all rows under no heading."""
        return self.sections or [("", list(range(len(self.body))))]

    def parts(self, sizes: Sequence[float], room: float) -> list[list[int]]:
        """Return the columns of parts that add up to at most `room`, each with the leading ones.

        Columns below one heading stay together if they can. `sizes` are those of all columns.
        """
        tops = [self.heads[column][:-1][:1] for column in self.measured]
        groups = [self.measured[first : last + 1] for first, last in spans(tops, 0)]
        left = room - sum(sizes[column] for column in self.lead)
        return [[*self.lead, *part] for part in packed(groups, sizes, left)] or [self.lead]

    def without(self, count: int) -> Grid:
        """Return it without the first `count` columns that it can spare, which it names above."""
        gone = sorted(self.spare[:count])
        left = self.of([i for i in range(len(self.heads)) if i not in gone])
        names = ", ".join(" ".join(filter(None, self.heads[i])) for i in gone)
        said = [f"{self.more} or a wider terminal shows {names}"] if gone else []
        return replace(left, above=[*self.above, *said])

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
    kinds = {column: len({row[column] for row in grid.body}) for column in grid.lead}
    for column in sorted(kinds, key=lambda i: kinds[i]) if len(kinds) > 1 else ():
        if kinds[column] == len(grid.body):
            continue
        held: dict[str, list[int]] = {}
        for number, row in enumerate(grid.body):
            held.setdefault(row[column].strip(), []).append(number)
        name = grid.heads[column][-1]
        sections = [(value or f"no {name}", rows) for value, rows in held.items()]
        left = grid.of([i for i in range(len(grid.heads)) if i != column])
        yield replace(left, sections=sections)


def spans(levels: Sequence[tuple[str, ...]], level: int) -> list[tuple[int, int]]:
    """Return first and last place of neighbours that share their headings down to a level.

    Examples
    --------
    >>> spans([("",), ("RPS",), ("RPS",), ("IPD",)], 0)
    [(0, 0), (1, 2), (3, 3)]
    """
    neighbours: list[tuple[int, int]] = []
    for column, heads in enumerate(levels):
        if neighbours and any(heads) and heads[: level + 1] == levels[column - 1][: level + 1]:
            neighbours[-1] = (neighbours[-1][0], column)
        else:
            neighbours.append((column, column))
    return neighbours


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
        whole = sum(sizes[member] for member in group)
        fresh = left < whole <= room
        for member in group:
            if not parts or fresh or sizes[member] > left:
                parts.append([])
                left, fresh = room, False
            parts[-1].append(member)
            left -= sizes[member]
    return parts


FORMATS = ("text", "csv", "json", "markdown", "latex", "spreadsheet")
DATA = ("csv", "json", "spreadsheet")
"""The formats for programs, which carry every column at full precision."""

BEST = "bold: best of its task, with an interval that overlaps no other"

WORDS: dict[str, Callable[[str], str]] = {"text": in_line, "markdown": markdown, "latex": visible}
"""Makes a text safe for each format for reading."""


def render(
    rows: Sequence[Mapping[str, Any]],
    form: str = "text",
    measures: Mapping[str, Measure] | None = None,
    task: Sequence[str] | None = None,
    width: int | None = None,
    aside: Sequence[str] = (),
) -> str:
    """Render rows of equal keys as a table.

    Parameters
    ----------
    rows : sequence of mapping
        Numbers may be NaN: shown as a dash, an empty CSV field, JSON null.
    form : {"text", "csv", "json", "markdown", "latex", "spreadsheet"}
        CSV and JSON carry every column at full precision, and texts as they are; spreadsheet is CSV
        in which no text can be taken for a formula. The others are for reading: a measure and
        its interval share a column, and columns in which all rows agree are shown once, above the
        table (text and Markdown) or in the caption (LaTeX).
    measures : mapping of str to Measure, optional
        Headings, decimals and better sides of the columns that are measures: `Run.measures`.
    task : sequence of str, optional
        Columns that say which rows are of one task: Markdown and LaTeX print the best mean of each
        measure within a task in bold, where its interval meets no other's of the task. Default:
        nothing is bold.
    width : int, optional
        Text only: the width to fit, see `tomeval.report.text.text_lines`. Default: as wide as it
        is.
    aside : sequence of str, optional
        Measures that are left out where all rows share one value or where an earlier column says
        enough, see `Show.aside`: that is said above the table. Any measure is, if an earlier one
        has the same values and intervals. Not in CSV and JSON.

    Examples
    --------
    >>> print(render([{"game": "RPS", "tom_percent": 97.41, "tom_percent_ci95": 0.4}]))
    game  tom %
    RPS   97.41 ± 0.40
    """
    from tomeval.report.rows import grid_of

    if form not in FORMATS:
        raise unknown("format", form, FORMATS)
    if form in DATA:
        return data(rows, form)
    if not rows:
        return "nothing to show"
    return set_grid(grid_of(rows, measures, task, aside, words=WORDS[form]), form, width)


def data(rows: Sequence[Mapping[str, Any]], form: str) -> str:
    """Return rows as JSON, as CSV, or as CSV for spreadsheets."""
    if form == "json":
        return json.dumps([{k: _plain(v) for k, v in row.items()} for row in rows], indent=1)
    return _csv(rows, spreadsheet if form == "spreadsheet" else lambda value: value)


def set_grid(
    grid: Grid, form: str, width: int | None = None, caption: str | None = None, label: str = ""
) -> str:
    """Return a grid as text, Markdown or LaTeX; caption and label are LaTeX's, see `latex_table`.

    Default for the caption: what holds for the whole table.
    """
    if form == "text":
        from tomeval.report.text import text_of

        return text_of(grid, width)
    above = [*grid.above, BEST] if grid.best else grid.above
    if form == "markdown":
        return _markdown(above, grid)
    from tomeval.report.latex import latex_table

    return latex_table("; ".join(above) if caption is None else caption, grid, label)


def _csv(rows: Sequence[Mapping[str, Any]], safe: Callable[[Any], Any]) -> str:
    """Return rows as CSV with a header."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if rows:
        writer.writerow(map(safe, rows[0]))
        for row in rows:
            values = [_plain(row[name]) for name in rows[0]]
            writer.writerow(["" if value is None else safe(value) for value in values])
    return buffer.getvalue().rstrip("\n")


def _plain(value: Any) -> Any:
    """Return a JSON-ready value; NaN and infinity become None."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _markdown(above: list[str], grid: Grid) -> str:
    """Return a Markdown table."""

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    heads = [", ".join(level for level in levels if level) for levels in grid.heads]
    marked = [
        [f"**{cell}**" if (n, i) in grid.best else cell for i, cell in enumerate(row)]
        for n, row in enumerate(grid.body)
    ]
    said = [f"{'; '.join(above)}\n"] if above else []
    return "\n".join([*said, line(heads), line(["---"] * len(heads)), *map(line, marked)])
