"""The dataset card of a run on the Hub."""

from __future__ import annotations

import html
import json
import math
from typing import Any

from tomeval import __version__
from tomeval.interchange import common
from tomeval.report.tables import render
from tomeval.runs.results import Run


def dataset_card(run: Run, repo: str, *, report: bool = False) -> str:
    """Return the README.md of a run's dataset: what it holds, its table, how to read it.

    Names come from the experiment: they are quoted in the front matter and escaped in the text.
    """
    name = str(run.store.meta().get("name", "")) or repo.partition("/")[2]
    models = [cell.definition.get("model", "") for cell in run.cells]
    rows = run.rows()
    named = sorted({model for model in models if model})
    invalid = [row["invalid_rate"] for row in rows if not math.isnan(row["invalid_rate"])]
    models_said = html.escape(", ".join(named), quote=False) or "none, simulated subjects only"
    worst = f"{100 * max(invalid):.1f} %" if invalid else "unknown"
    lines = [
        f"# {html.escape(name, quote=False)}",
        "",
        "Functional and literal theory of mind measured on the same steps with "
        f"tomeval {__version__}: regret against fixed partners, and prediction accuracy.",
        "",
        f"- {len(run.cells)} cells, {sum(row['episodes'] for row in rows):,} complete episodes; "
        f"largest invalid rate of a cell: {worst}",
        f"- models: {models_said}",
        f"- played: {common.started(run).date().isoformat()}",
        f"- identity of the experiment (SHA-256): `{run.store.meta().get('sha256', '')}`",
        "",
        html.escape(_table(rows), quote=False),
        "",
        "Means over complete episodes, ± 1.96 standard errors. Regret (ΔFunctional/T) is in payoff "
        "units per step: lower is better.",
        "",
        "## Files",
        "",
        "- `run.sqlite`: every step, and every prompt and reply of a language model",
        "- `cells.csv`, `episodes.csv`: metrics per cell and per episode",
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


def _table(rows: list[dict[str, Any]]) -> str:
    """Return the table of cells, without the parts of the regret."""
    left_out = ("delta_tom", "stepwise", "response", "foresight", "self_", "reaction")
    kept = [key for key in rows[0] if not key.startswith(left_out)]
    return render([{key: row[key] for key in kept} for row in rows], "markdown")
