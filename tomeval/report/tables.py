"""Tables as text, CSV (also for spreadsheets), JSON, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
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
    heads : list of str
        The heading of every column; line feeds part its levels, the coarsest first.
    body : list of list of str
    lead : list of int
        The columns that tell the rows apart.
    best : set of (int, int)
        Row and column of the best value of each task, if it can be told from the others.
    spare : list of int
        Columns that a narrow terminal leaves out, the first one first.
    more : str
        The option that shows them all the same.
    """

    above: list[str]
    heads: list[str]
    body: list[list[str]]
    lead: list[int] = field(default_factory=list)
    best: set[tuple[int, int]] = field(default_factory=set)
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
            best={(row, columns.index(i)) for row, i in self.best if i in columns},
        )


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
        Text only: the width to fit, see `tomeval.report.text.text_of`. Default: as wide as it
        is.

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
    return set_grid(grid_of(rows, measures, task, words=WORDS[form]), form, width)


def data(rows: Sequence[Mapping[str, Any]], form: str) -> str:
    """Return rows as JSON, as CSV, or as CSV for spreadsheets; NaN is null, or an empty field."""
    plain = [
        {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
        for row in rows
    ]
    if form == "json":
        return json.dumps(plain, indent=1)
    safe = spreadsheet if form == "spreadsheet" else lambda value: value
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for number, row in enumerate(plain):
        if number == 0:
            writer.writerow(map(safe, row))
        writer.writerow([safe(row[name]) for name in plain[0]])
    return buffer.getvalue().rstrip("\n")


def set_grid(grid: Grid, form: str, width: int | None = None) -> str:
    """Return a grid as text, Markdown or LaTeX."""
    if form == "text":
        from tomeval.report.text import text_of

        return text_of(grid, width)
    above = "; ".join([*grid.above, BEST] if grid.best else grid.above)
    if form == "latex":
        from tomeval.report.markup import latex_table

        return latex_table(above, grid)
    heads = [head.replace("\n", ", ").strip(", ") for head in grid.heads]
    marked = [
        [f"**{cell}**" if (n, i) in grid.best else cell for i, cell in enumerate(row)]
        for n, row in enumerate(grid.body)
    ]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *marked)]
    return "\n".join([*([f"{above}\n"] if above else []), *lines])
