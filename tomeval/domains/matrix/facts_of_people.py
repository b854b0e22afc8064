"""What readers must know of episodes that people played: who left, who failed a check."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NamedTuple

from tomeval.core.outcomes import COMPLETE, EXCLUDED, UNFINISHED
from tomeval.domains.matrix.results import MatrixRunCell
from tomeval.domains.matrix.storing import CHECK
from tomeval.runs import tallies
from tomeval.runs.results import Run
from tomeval.runs.store import Store


class Checked(NamedTuple):
    """Answers to the checks of a study: how many, how many wrong, and people with too many."""

    answers: int
    wrong: int
    failed: int


def people_notes(run: Run) -> list[str]:
    """Say how many episodes people began, and what became of them and of the checks."""
    cells = [cell for cell in run.cells if isinstance(cell, MatrixRunCell) and cell.by_people]
    if not cells:
        return []
    counts: Counter[str] = Counter()
    begun = tallies.episodes(run.store)
    for cell in cells:
        counts.update(begun.get(cell.number, {}))
    left = f", {counts[UNFINISHED]} unfinished" if counts[UNFINISHED] else ""
    out = f", {counts[EXCLUDED]} excluded" if counts[EXCLUDED] else ""
    notes = [
        f"People: of {counts.total()} episodes begun, {counts[COMPLETE]} complete{left}{out}; "
        "measures are of the complete ones. A person remembers the first answer of a round at "
        "the second question, as no model does."
    ]
    told = [cell for cell in cells if cell.definition.get("study")]
    checked = [checks_of(run.store, cell) for cell in told]
    total = Checked(*map(sum, zip(*checked, strict=True))) if checked else Checked(0, 0, 0)
    if told:
        notes[0] += " In a study every participant plays one episode: the person is the unit."
    if total.answers:
        notes.append(_of_checks(total, told[0].definition["study"]))
    return notes


def _of_checks(found: Checked, study: dict[str, Any]) -> str:
    most, excluding = study["most_failed"], study["on_failed"] == "exclude"
    ended = "are left out of all measures" if excluding else "count in all measures"
    return (
        f"Checks of attention: {found.wrong} of {found.answers} answers "
        f"({100 * found.wrong / found.answers:.1f} %) were wrong. Rule on_failed = "
        f"{study['on_failed']!r}, most_failed = {most}: the episodes of {found.failed} people, who "
        f"had more wrong answers, {ended}."
    )


def checks_of(store: Store, cell: MatrixRunCell) -> Checked:
    """Count the answers to checks, of all episodes that ended or were left."""
    sql = (
        "SELECT episode, value FROM answers WHERE cell = ? "
        f"AND question LIKE '{CHECK} %' ORDER BY episode"
    )
    rows = store.query(sql, (cell.number,))
    wrong = Counter(episode for episode, value in rows if not json.loads(value)["right"])
    most = cell.definition["study"]["most_failed"]
    failed = sum(count > most for count in wrong.values())
    return Checked(len(rows), wrong.total(), failed)
