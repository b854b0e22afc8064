"""What the live page of a run consists of: progress, results, figures, episodes.

The parts are made by the templates of the report, whose assets the page has too.
"""

from __future__ import annotations

import json
import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

import jinja2

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE, FAILED, VOID
from tomeval.report import facts, notices
from tomeval.report.drawings import Figures
from tomeval.report.episodes import Episodes, LineBrowser, heads
from tomeval.report.headline import headline
from tomeval.report.page import environment
from tomeval.report.table import Column, Table, Value, results
from tomeval.runs.cell import RunCell
from tomeval.runs.columns import heading
from tomeval.runs.results import Run
from tomeval.runs.writer import writer_of
from tomeval.statistics.estimates import AUTO
from tomeval.web.watched import Part

_HERE = Path(__file__).parent

_COUNTED = {
    COMPLETE: "complete",
    VOID: "void",
    FAILED: "failed",
    "unfinished": "under way",
    "calls": "model calls",
    "prompt_tokens": "prompt tokens",
    "completion_tokens": "generated tokens",
    "cost": "cost",
}
"""Columns of `Run.status` that the page shows, with their headings."""


def parts(folder: Path) -> dict[str, Part]:
    """Return the parts of the page by name, in its order."""
    return {
        "progress": Part(partial(_progress, folder), least=0.5),
        "results": Part(_results, least=2),
        "figures": Part(_figures, least=5),
        "episodes": Part(_episodes, least=2),
    }


@cache
def templates() -> jinja2.Environment:
    """Return the templates of the live page and those of the report."""
    return environment(_HERE / "templates")


def _render(name: str, **values: Any) -> str:
    return templates().get_template(name).render(values)


def _progress(folder: Path, run: Run | None) -> str:
    """Say how far the run is: in all and by cell."""
    if run is None:
        return _render("progress.html.j2", run=None, state=_state(folder, done=False))
    status = run.status()
    wanted = [run.wanted(cell) for cell in run.cells]
    shown = [name for name in _COUNTED if name in status[0]]
    totals = {name: sum(row[name] for row in status) for name in shown}
    ended = totals[COMPLETE] + totals[VOID]
    whole = None if None in wanted else sum(filter(None, wanted))
    said = [(_number(totals[name]), _COUNTED[name]) for name in shown]
    return _render(
        "progress.html.j2",
        run=run,
        state=_state(folder, done=whole is not None and ended >= whole),
        ended=ended,
        whole=whole,
        said=said,
        table=_cells(run, status, wanted, shown),
        numbers=[cell.number for cell in run.cells],
    )


def _cells(
    run: Run, status: list[dict[str, Any]], wanted: list[int | None], shown: list[str]
) -> Table:
    """Return the table of progress by cell."""
    columns = [Column("cell", "cell", False), Column("task", "task", False)]
    columns += [Column("wanted", "wanted", True)]
    columns += [Column(name, _COUNTED[name], True) for name in shown]
    rows = []
    for cell, row, count in zip(run.cells, status, wanted, strict=True):
        words = [cell.title, facts.task_text(cell)]
        numbers = [count, *(row[name] for name in shown)]
        values = ["–" if number is None else _number(number) for number in numbers]
        keys = ["" if number is None else repr(number) for number in numbers]
        texts = [Value(word, "", word) for word in words]
        rows.append([*texts, *(Value(v, "", k) for v, k in zip(values, keys, strict=True))])
    return Table(columns, rows, [], [])


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _state(folder: Path, *, done: bool) -> str:
    """Say who writes the run."""
    writer = writer_of(folder)
    if not writer.who:
        return "The run is complete." if done else "No process is writing this run."
    if writer.there is False:
        return f"The run was broken off: {writer.who} is gone."
    return f"Being written by {writer.who}."


def _results(run: Run | None) -> str:
    """Return the sentences, the warnings and the table as the report has them."""
    if run is None or not run.cells:
        return ""
    rows = run.rows(AUTO)
    names = list(run.headline)
    episodes = Episodes(run, sys.maxsize)  # nothing is left out here
    return _render(
        "live.html.j2",
        headline=headline(run, rows, names),
        drawings=[],
        notices=notices.notices(run, episodes, AUTO),
        invalid=notices.invalid_rows(run),
        reasons=notices.REASONS,
        **results(run, rows, names, AUTO),
    )


def _figures(run: Run | None) -> str:
    """Return the figures that a report has by default."""
    if run is None or not any(len(cell.episodes) for cell in run.cells):
        return ""
    drawings, glyphs = Figures(run, AUTO).page()
    return _render("live_figures.html.j2", rest=drawings, glyphs=glyphs)


def _episodes(run: Run | None) -> str:
    """Return the frame of the list of episodes; the page asks for their data one by one."""
    if run is None or not run.store.query("SELECT 1 FROM episodes LIMIT 1"):
        return ""
    listed = [run.measures[name] for name in run.headline]
    drawn = heading(next(iter(run.domain.schema.episodes), ""))
    return _render("episodes.html.j2", listed=listed, drawn=drawn)


def cells(run: Run) -> str:
    """Return the list of cells as JSON."""
    return json.dumps([heads(cell) for cell in run.cells])


def cell(number: int, run: Run) -> str:
    """Return what the list of episodes shows of one cell, as JSON.

    Raises
    ------
    TomevalError
        The run has no such cell.
    """
    found = _cell(run, number)
    # The measures of the whole run, which the list has columns for, whatever this cell has.
    episodes = Episodes(run.part([found]), names=run.headline)
    return json.dumps(episodes.summary(found), allow_nan=False)


def episode(number: int, wanted: int, run: Run) -> str:
    """Return one episode with all prompts and replies, as JSON.

    Raises
    ------
    TomevalError
        The run has no such cell, or the cell no such episode.
    """
    found = _cell(run, number)
    return json.dumps(Episodes(run.part([found])).one(found, wanted), allow_nan=False)


def _cell(run: Run, number: int) -> RunCell:
    found = {one.number: one for one in run.cells}
    if number not in found:
        raise TomevalError(f"{run.folder}: has no cell {number}")
    return found[number]


def script(run: Run) -> str:
    """Return the script that shows the domain's episodes."""
    return (run.domain.browser(run, None) or LineBrowser(run)).script
