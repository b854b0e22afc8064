"""What the live page of a run consists of: progress, results, figures, episodes.

The parts are made by the templates of the report, whose assets the page has too. Intervals are
sequences, which hold at every look.
"""

from __future__ import annotations

import json
import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

import jinja2

from tomeval.cli.progress import lines_of
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE, FAILED, VOID
from tomeval.extensions.live.changes import Part
from tomeval.report import facts, notices
from tomeval.report.episodes import Episodes, heads
from tomeval.report.facts import headline
from tomeval.report.page import environment, page_figures
from tomeval.report.table import Column, Table, Value, results
from tomeval.runs import tallies
from tomeval.runs.cell import RunCell
from tomeval.runs.columns import heading
from tomeval.runs.live import read_live
from tomeval.runs.results import Run
from tomeval.runs.writer import writer_of
from tomeval.statistics.estimates import SEQUENCE

_COUNTED = {
    "wanted": "wanted",
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
        "progress": Part(partial(_progress, folder), live=True),
        "results": Part(_results),
        "figures": Part(_figures),
        "episodes": Part(_episodes),
    }


@cache
def _templates() -> jinja2.Environment:
    """Return the templates of the live page and those of the report."""
    return environment(Path(__file__).parent / "templates")


def render(template: str, /, **values: Any) -> str:
    """Return a page or a part by the name of its template."""
    return _templates().get_template(template).render(values)


def _progress(folder: Path, run: Run | None) -> str:
    """Say how far the run is: in all, by what the process that plays says, and by cell."""
    experiment = "" if run is None else str(run.store.meta()["sha256"])
    live = read_live(folder, experiment)
    lines = [] if live is None or live.over or not live.total else lines_of(live)
    status = [] if run is None else run.status()
    shown = [name for name in _COUNTED if status and name in status[0]]
    sums = {name: sum(row[name] or 0 for row in status) for name in shown}
    known = bool(status) and all(row["wanted"] is not None for row in status)
    ended = sums.get(COMPLETE, 0) + sums.get(VOID, 0)
    whole = sums["wanted"] if known else None
    done = whole is not None and ended >= whole
    return render(
        "progress.html.j2",
        run=run,
        state=_state(folder, done=done),
        lines=lines,
        ended=ended,
        whole=whole,
        said=[(_number(sums[name]), _COUNTED[name]) for name in shown if name != "wanted"],
        table=None if run is None else _cells(run, status, shown),
        numbers=[] if run is None else [cell.number for cell in run.cells],
    )


def _cells(run: Run, status: list[dict[str, Any]], shown: list[str]) -> Table:
    """Return the table of progress by cell."""
    columns = [Column("cell", "cell", False), Column("task", "task", False)]
    columns += [Column(name, _COUNTED[name], True) for name in shown]
    rows = []
    for cell, row in zip(run.cells, status, strict=True):
        texts = [Value(word, "", word) for word in (cell.title, facts.task_text(cell))]
        numbers = [row[name] for name in shown]
        rows.append(texts + [Value(_number(n), "", "" if n is None else repr(n)) for n in numbers])
    return Table(columns, rows, [], [])


def _number(value: float | None) -> str:
    if value is None:
        return "–"
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
    rows = run.rows(SEQUENCE)
    names = list(run.headline)
    episodes = Episodes(run, sys.maxsize)  # nothing is left out here
    return render(
        "live.html.j2",
        headline=headline(run, rows, names),
        drawings=[],
        notices=notices.notices(run, episodes, SEQUENCE),
        **notices.of_answers(run),
        **results(run, rows, names, SEQUENCE),
    )


def _figures(run: Run | None) -> str:
    """Return the figures that a report has by default."""
    if run is None or not any(len(cell.episodes) for cell in run.cells):
        return ""
    return render("live_figures.html.j2", rest=page_figures(run, SEQUENCE))


def _episodes(run: Run | None) -> str:
    """Return the frame of the list of episodes; the page asks for their data one by one."""
    if run is None or not any(tallies.episodes(run.store).values()):
        return ""
    listed = [run.measures[name] for name in run.headline]
    drawn = heading(next(iter(run.domain.read.schema.episodes), ""))
    return render("episodes.html.j2", listed=listed, drawn=drawn)


def cells(run: Run) -> str:
    """Return the list of cells as JSON."""
    return json.dumps([heads(cell) for cell in run.cells])


def cell(run: Run, cell: int) -> str:
    """Return what the list of episodes shows of one cell, as JSON.

    Raises
    ------
    TomevalError
        The run has no such cell.
    """
    one = _cell(run, cell)
    # The measures of the whole run, which the list has columns for, whatever this cell has.
    episodes = Episodes(run.part([one]), names=run.headline)
    return json.dumps(episodes.summary(one), allow_nan=False)


def episode(run: Run, cell: int, episode: int) -> str:
    """Return one episode with all prompts and replies, as JSON.

    Raises
    ------
    TomevalError
        The run has no such cell, or the cell no such episode.
    """
    one = _cell(run, cell)
    return json.dumps(Episodes(run.part([one])).one(one, episode), allow_nan=False)


def _cell(run: Run, number: int) -> RunCell:
    for one in run.cells:
        if one.number == number:
            return one
    raise TomevalError(f"{run.folder}: has no cell {number}")
