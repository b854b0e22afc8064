"""The table of planted beliefs: a row per subject and accuracy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tomeval.domains.matrix.played import data_of
from tomeval.domains.matrix.results import MatrixRunCell, matrix_cells
from tomeval.domains.matrix.storing import cells_with_beliefs
from tomeval.domains.matrix.subject_specs import LLM
from tomeval.extensions.planted.measures import NAME
from tomeval.extensions.planted.trust import slope_ceiling, trust_threshold
from tomeval.runs.columns import Table, fixed, flat
from tomeval.runs.results import Run
from tomeval.strategies import parse_strategy

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Told:
    """A cell whose subject was given beliefs, and what of it does not depend on the accuracy."""

    cell: MatrixRunCell
    accuracy: float
    columns: Mapping[str, Any]
    key: str

    @property
    def name(self) -> str:
        """The subject, whatever the accuracy, and its model."""
        return ", ".join(filter(None, (self.columns["subject"], str(self.columns["model"]))))


def told_cells(run: Run) -> list[Told]:
    """Return the cells with beliefs and complete episodes, in the run's order."""
    planted = cells_with_beliefs(run.store)
    return [_told(cell) for cell in matrix_cells(run) if cell.number in planted]


def _told(cell: MatrixRunCell) -> Told:
    definition, statements = cell.definition, data_of(cell.played, NAME)
    options = {name: v for name, v in definition["options"].items() if name != "accuracy"}
    rated = "yes"  # a simulated subject knows it
    if definition["kind"] == LLM:
        belief = parse_strategy(definition["strategy"]).part.belief
        assert belief is not None
        rated = "yes" if belief.rated else "no"
        options["strategy"] = definition["strategy"].replace(
            belief.name, belief.name.replace(f"{belief.accuracy}% ", "")
        )
    subject = re.sub(r"Belief \d+% \(", "Belief (", str(cell.columns["subject"]))
    subject = re.sub(r"accuracy=[\d.e-]+(, )?", "", subject).replace(", )", ")").replace("()", "")
    task = ("model", "game", "labels", "partners", "horizon")
    columns = {"subject": subject, **{name: cell.columns[name] for name in task}}
    columns |= {"as": statements.wording, "rated": rated, "seed": cell.seed}
    same = [definition["kind"], options, subject, cell.seed, cell.task]
    return Told(cell, statements.accuracy, columns, json.dumps(same, sort_keys=True))


def families(cells: list[Told]) -> Iterator[list[Told]]:
    """Yield cells that differ in the accuracy only, in its order."""
    groups: dict[tuple[str, str], list[Told]] = {}
    for told in cells:
        groups.setdefault((str(told.columns["model"]), told.key), []).append(told)
    for members in groups.values():
        yield sorted(members, key=lambda told: told.accuracy)


def accuracy_rows(run: Run) -> Rows:
    """Return a row per subject, wording, task and accuracy."""
    shares = ("compliance_right_percent", "compliance_wrong_percent")
    regrets = ("stepwise_regret_per_step", "rational_regret_per_step", "excess_regret_per_step")
    rows = []
    for told in (one for members in families(told_cells(run)) for one in members):
        cell = told.cell
        row = {**told.columns, "accuracy_percent": round(100 * told.accuracy)}
        row["episodes"] = len(cell.episodes)
        row |= flat(("use_slope",), cell.estimate(("use_slope",)))
        row["use_slope_ceiling"] = slope_ceiling(cell.game)
        row["pays_from_percent"] = 100 * trust_threshold(cell.game)
        rows.append(row | flat((*shares, *regrets), cell.estimate((*shares, *regrets))))
    return rows


def accuracy_notes(run: Run) -> list[str]:
    """Say what is not identified, and where ignoring or following statements is no fault."""
    cells = told_cells(run)
    notes = [
        "pays from: the least accuracy from which always following earns as much as the best "
        "single action against a uniformly random partner"
    ]
    if any(told.accuracy in (0, 1) for told in cells):
        notes.append(
            "use slope: not identified where statements are always right or always wrong, because "
            "some of them then cannot occur"
        )
    same = dict.fromkeys(t.cell.game.name for t in cells if slope_ceiling(t.cell.game) == 0)
    if same:
        notes.append(
            f"{', '.join(same)}: every statement has the same best responses, so following one "
            "cannot be seen (the ceiling of the use slope is 0)"
        )
    if any(np.ptp(p.emissions) > 1e-12 for told in cells for p in told.cell.partners):
        notes.append(
            "the rational believer knows only how often statements are right; a subject that can "
            "predict the partner without them rightly follows them less and can have lower regret"
        )
    silent = dict.fromkeys(str(t.columns["subject"]) for t in cells if t.columns["rated"] == "no")
    if silent:
        notes.append(
            f"{'; '.join(silent)}: not told how often statements are right and not shown past "
            "ones, so their threshold for following does not reflect their judgement"
        )
    return notes


TABLES: Mapping[str, Table] = {
    "planted": Table(
        "planted beliefs: use, compliance and regret by accuracy",
        fixed(accuracy_rows),
        notes=accuracy_notes,
        needs='strategies with belief(...): docs/measures/planted.md, "Planted beliefs"',
    ),
}
