"""Tables as text, CSV (also for spreadsheets), JSON, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tomeval.core.errors import unknown
from tomeval.core.text import in_line, markdown, spreadsheet, visible
from tomeval.report.grid import Grid
from tomeval.report.latex import latex_table
from tomeval.report.rows import Rows, grid_of
from tomeval.report.text import text_of
from tomeval.runs.measures import Measure

FORMATS = ("text", "csv", "json", "markdown", "latex", "spreadsheet")
DATA = ("csv", "json", "spreadsheet")
"""The formats for programs, which carry every column at full precision."""

BEST = "bold: best mean of its task"

WORDS: dict[str, Callable[[str], str]] = {"text": in_line, "markdown": markdown, "latex": visible}
"""Makes a text safe for each format for reading."""


def render(
    rows: Rows,
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
        measure within a task in bold, ties included, whatever the intervals. Default: nothing is
        bold.
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
    if form not in FORMATS:
        raise unknown("format", form, FORMATS)
    if form in DATA:
        return data(rows, form)
    if not rows:
        return "nothing to show"
    return set_grid(grid_of(rows, measures, task, aside, words=WORDS[form]), form, width)


def data(rows: Rows, form: str) -> str:
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
        return text_of(grid, width)
    above = [*grid.above, BEST] if grid.best else grid.above
    if form == "markdown":
        return _markdown(above, grid)
    return latex_table("; ".join(above) if caption is None else caption, grid, label)


def _csv(rows: Rows, safe: Callable[[Any], Any]) -> str:
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
