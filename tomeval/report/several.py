"""The report of several runs of one domain: what they have in common on one page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tomeval.comparing.comparison import compare
from tomeval.comparing.scales import pooled_scale
from tomeval.core.errors import TomevalError
from tomeval.core.files import replacing
from tomeval.report import facts, notices
from tomeval.report.compared import shown_comparison
from tomeval.report.episodes import Episodes
from tomeval.report.facts import counted
from tomeval.report.page import ReportOptions, environment, frame_of, page_figures
from tomeval.report.table import interval_words, main_table, valued
from tomeval.runs.results import Run, joined, joined_rows
from tomeval.runs.selection import choose_measures, first_part

Row = dict[str, Any]

_SCRIPTS = ("theme", "dom", "tables")


def write_joint_report(runs: Sequence[Run], out: Path, options: ReportOptions) -> Path:
    """Write what several runs of one domain have in common as one HTML file.

    Results and figures are of all of them, with the run's name beside each player; games, invalid
    answers one by one and a domain's further tables are in each run's own report.

    Raises
    ------
    TomevalError
        Runs of different domains; a run twice; a wrong option; see `write_report`.
    """
    parts, left_out = zip(*(first_part(run) for run in runs), strict=True)
    known = {name: measure for run in parts for name, measure in run.measures.items()}
    chosen = choose_measures(known, options.metrics)
    # Before players who are in several runs get the names of their runs:
    compared = _comparison(parts, chosen, options)
    headline = [
        f"{run.folder.name}: {said}" for run in parts for said in _headline(run, chosen, options)
    ]
    whole = joined(parts)
    if not whole.cells:
        raise TomevalError("these runs have no cells to report")
    names = chosen or list(whole.shown)
    rows = joined_rows(parts, None, options.interval, options.reference)
    drawings: list[Row] = []
    if options.figures and any(row["episodes"] for row in rows):
        how = (options.interval, options.reference, options.only, options.all_figures)
        drawings = page_figures(whole, *how)
    measures = valued(whole, rows)
    episodes = [Episodes(run, 0, options.reference, names) for run in parts]
    others = [one for one in measures if one.name not in names]
    context: Row = {
        **frame_of(_SCRIPTS),
        "blocks": [],
        "name": ", ".join(run.folder.name for run in parts),
        "kind": whole.domain.title,
        "sizes": [(str(len(parts)), "runs"), *_sizes(whole, episodes)],
        "headline": headline,
        "notices": [
            *_overlaps(parts),
            *(
                one._replace(text=f"{run.folder.name}: {one.text}")
                for run, mine, left in zip(parts, episodes, left_out, strict=True)
                for one in notices.notices(run, mine, options.interval, left, transcripts=False)
            ),
        ],
        "table": main_table(rows, whole.measures, names),
        "more": main_table(rows, whole.measures, [one.name for one in others]) if others else None,
        "others": len(others),
        "further": [],
        "numbers": [],
        "interval": interval_words(whole, options.interval),
        "comparison": compared,
        "drawings": drawings,
        "rest": drawings[1:],
        "runs": [_about(run) for run in parts],
        "meanings": facts.meanings(whole, measures),
    }
    with replacing(out) as draft:
        page = environment().get_template("several.html.j2")
        draft.write_text(page.render(context), encoding="utf-8", newline="\n")
    return out


def _headline(run: Run, chosen: Sequence[str], options: ReportOptions) -> list[str]:
    """Return what one run amounts to, see `facts.headline`."""
    names = [name for name in chosen or run.shown if name in run.measures][: facts.SPOKEN]
    return facts.headline(run, run.rows(reference=options.reference, names=names), names)


def _sizes(whole: Run, episodes: Sequence[Episodes]) -> list[tuple[str, str]]:
    """Return the figures at the top of the page, as (number, of what)."""
    tasks = {facts.task_text(cell) for cell in whole.cells}
    total, steps = (sum(getattr(one, what) for one in episodes) for what in ("total", "steps"))
    counts = {"task": len(tasks), "cell": len(whole.cells), "episode": total, "step": steps}
    said = (counted(count, what).split(" ", 1) for what, count in counts.items())
    return [(number, what) for number, what in said]


def _about(run: Run) -> Row:
    """Return what the page says of how one run was made."""
    return {
        "name": run.folder.name,
        "settings": facts.settings(run),
        "facts": run.domain.show.facts(run),
        "sessions": facts.sessions(run),
    }


def _comparison(runs: Sequence[Run], chosen: Sequence[str], options: ReportOptions) -> Row:
    """Return what can be compared between the runs, and sentences on what cannot.

    Default: the runs themselves, player by player on the tasks that both have.
    """
    by = options.by or "run"
    scale = pooled_scale([cell for run in runs for cell in run.cells], options.reference)
    left = _not_shared(runs)
    try:
        metrics = chosen or list(runs[0].scores or runs[0].headline)
        comparison = compare(
            runs,
            by,
            options.baseline,
            metrics=[name for name in metrics if all(name in run.measures for run in runs)],
            reference=options.reference,
            scale=scale,
            by_task=False,
        )
    except TomevalError as error:
        if options.by or options.baseline:
            raise
        return {"reason": f"No comparison of the runs: {error}. {' '.join(left)}".strip()}
    group = shown_comparison("", comparison)
    group["notes"] = [*(text.rstrip(".") for text in left), *group["notes"]]
    return {"reason": "", "by": by, "baseline": comparison.baseline, "groups": [group]}


def _overlaps(runs: Sequence[Run]) -> list[notices.Notice]:
    """Say that players of one task and seed are in several runs, which are then not one sample."""
    often = Counter(
        (cell.player, facts.task_text(cell), cell.definition["seed"])
        for run in runs
        for cell in run.cells
    )
    same = list(dict.fromkeys(key[0] for key, count in often.items() if count > 1))
    if not same:
        return []
    text = (
        f"{', '.join(same[:3])}{f' and {len(same) - 3} more' * (len(same) > 3)}: in several runs "
        "with the same task and seed; figures that compare players over all runs are left out."
    )
    return [notices.Notice("note", text)]


def _not_shared(runs: Sequence[Run]) -> list[str]:
    """Say which tasks and measures only some of the runs have."""
    said = []
    for what, of_runs in (
        ("task", [{facts.task_text(cell) for cell in run.cells} for run in runs]),
        ("measure", [{run.measures[name].heading for name in run.headline} for run in runs]),
    ):
        every = set[str]().union(*of_runs)
        for run, mine in zip(runs, of_runs, strict=True):
            if lacks := sorted(every - mine):
                some = "; ".join(lacks[:3]) + f" and {len(lacks) - 3} more" * (len(lacks) > 3)
                said.append(
                    f"{run.folder.name} lacks {counted(len(lacks), what)} that other runs have and "
                    f"that are not compared with it: {some}."
                )
    return said
