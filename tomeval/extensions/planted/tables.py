"""The table of planted beliefs: a row per subject and accuracy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tomeval.extensions.planted.measures import NAME, slope_ceiling, trust_threshold
from tomeval.games.matrix.played import data_of
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.games.matrix.storing import cells_with_beliefs
from tomeval.games.matrix.subject_specs import LLM
from tomeval.runs.columns import Table, fixed, flat
from tomeval.runs.results import Run
from tomeval.strategies import parse_strategy

OTHERS = (
    *("compliance_right_percent", "compliance_wrong_percent"),
    *("stepwise_regret_per_step", "rational_regret_per_step", "excess_regret_per_step"),
)


def accuracy_rows(run: Run) -> list[dict[str, Any]]:
    """Return a row per subject, wording, task and accuracy; those of a subject stand together."""
    planted = cells_with_beliefs(run.store)
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for cell in matrix_cells(run):
        if cell.number in planted:
            columns = _columns(cell)
            row = columns | _numbers(cell)
            rows.setdefault(tuple(columns.values()), []).append(row)
    return [
        row for mine in rows.values() for row in sorted(mine, key=lambda r: r["accuracy_percent"])
    ]


def _columns(cell: MatrixRunCell) -> dict[str, Any]:
    """Return what tells a subject and its task apart, whatever the accuracy."""
    rated = "yes"  # a simulated subject knows it
    if cell.definition["kind"] == LLM:
        belief = parse_strategy(cell.definition["strategy"]).part.belief
        rated = "yes" if belief is not None and belief.rated else "no"
    subject = re.sub(r"Belief \d+% \(", "Belief (", str(cell.columns["subject"]))
    subject = re.sub(r"accuracy=[\d.e-]+(, )?", "", subject).replace(", )", ")").replace("()", "")
    task = {name: cell.columns[name] for name in ("model", "game", "labels", "partners", "horizon")}
    wording = data_of(cell.played, NAME).wording
    return {"subject": subject, **task, "as": wording, "rated": rated, "seed": cell.seed}


def _numbers(cell: MatrixRunCell) -> dict[str, Any]:
    """Return the accuracy, and what the subject made of statements that are right so often."""
    accuracy = data_of(cell.played, NAME).accuracy
    row: dict[str, Any] = {
        "accuracy_percent": round(100 * accuracy),
        "episodes": len(cell.episodes),
    }
    row |= flat(("use_slope",), cell.estimate(("use_slope",)))
    row["use_slope_ceiling"] = slope_ceiling(cell.game)
    row["pays_from_percent"] = 100 * trust_threshold(cell.game)
    return row | flat(OTHERS, cell.estimate(OTHERS))


NOTE = (
    "pays from: the least accuracy from which always following earns as much as the best single "
    "action against a uniformly random partner; rated no: the subject is not told how often "
    "statements are right, so where it follows them does not reflect its judgement"
)

TABLES: Mapping[str, Table] = {
    "planted": Table(
        "planted beliefs: use, compliance and regret by accuracy",
        fixed(accuracy_rows),
        notes=lambda run: [NOTE],
        needs='strategies with belief(...): docs/measures/planted.md, "Planted beliefs"',
    ),
}
