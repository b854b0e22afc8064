"""The dataset card of a run on the Hub."""

from __future__ import annotations

import json
import math
from typing import Any

from tomeval import __version__
from tomeval.core.text import markdown
from tomeval.report import exchange
from tomeval.report.tables import render
from tomeval.runs.columns import is_interval
from tomeval.runs.results import Run


def dataset_card(run: Run, repo: str, *, report: bool = False) -> str:
    """Return the README.md of a run's dataset: what it holds, its table, how to read it.

    Names from the experiment are quoted in the front matter and escaped in the text.
    """
    name = run.name or repo.partition("/")[2]
    rows = run.rows()
    headline = [run.measures[measure] for measure in run.headline]
    named = sorted({model for cell in run.cells for model in cell.models.values()})
    invalid = [row["invalid_rate"] for row in rows if not math.isnan(row["invalid_rate"])]
    models_said = markdown(", ".join(named)) or "none"
    worst = f"{100 * max(invalid):.1f} %" if invalid else "unknown"
    lines = [
        f"# {markdown(name)}",
        "",
        f"Functional and literal theory of mind measured on the same steps with tomeval "
        f"{__version__}: {run.domain.title}.",
        "",
        f"- {len(run.cells)} cells, {sum(row['episodes'] for row in rows):,} complete episodes; "
        f"largest invalid rate of a cell: {worst}",
        f"- models: {models_said}",
        f"- played: {exchange.started(run).date().isoformat()}",
        f"- identity of the experiment (SHA-256): `{run.store.meta().get('sha256', '')}`",
        "",
        _table(run, rows),
        "",
        "Over complete episodes, with 95 % intervals.",
        "",
        *(f"- {markdown(f'{m.heading}: {m.meaning}')}" for m in headline),
        "",
        "## Files",
        "",
        "- `run.sqlite`: every step, and every prompt and reply of a language model",
        "- `cells.csv`, `episodes.csv`: measures per cell and per episode",
        "- `experiment.json`, `sessions.json`: what was run, with which versions",
        *(["- `report.html`: everything above to read and browse, in one file"] if report else []),
        "",
        "## Reading it",
        "",
        "```bash",
        f"hf download {repo} --repo-type dataset --local-dir run",
        "tomeval table run",
        "tomeval report run -o report.html",
        "```",
        "",
    ]
    return "\n".join([*_front_matter(name), *lines])


def _front_matter(name: str) -> list[str]:
    """Return the lines that the Hub reads."""
    return [
        "---",
        f"pretty_name: {json.dumps(f'tomeval run: {name}')}",
        "tags:",
        *(f"- {tag}" for tag in ("theory-of-mind", "repeated-games", "evaluation", "tomeval")),
        "configs:",
        "- config_name: cells",
        "  data_files: cells.csv",
        "- config_name: episodes",
        "  data_files: episodes.csv",
        "---",
    ]


def _table(run: Run, rows: list[dict[str, Any]]) -> str:
    """Return the table of cells with the headline measures."""
    hidden = set(run.measures) - set(run.headline)
    kept: list[str] = []
    gone = False
    for column in rows[0]:
        if not is_interval(column):  # which follows its measure
            gone = column in hidden
        kept += [] if gone else [column]
    shown = [{key: row[key] for key in kept} for row in rows]
    return render(shown, "markdown", run.measures, (*run.domain.compare.task, "seed"))
