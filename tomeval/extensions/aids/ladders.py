"""The ladders of aids of a run: which cells are their rungs, and what every aid removes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tomeval.core.numbers import between, number
from tomeval.core.text import visible
from tomeval.domains.matrix.results import MatrixRunCell, matrix_cells
from tomeval.extensions.aids.climb import NO_EPISODE, NO_LOSS, ONE_EPISODE, Climb, climb
from tomeval.runs.results import Run
from tomeval.statistics import Estimate
from tomeval.strategies.compose import parse_strategy, recorded_strategy
from tomeval.strategies.ladder import RUNGS

LADDERED = "laddered"
"""The kind of subject that stands on a rung by an option."""

AIDS = ("nothing", "payoffs", "own prediction", "true action", "best reply")
"""What each rung tells more than the one before it, in the order of `RUNGS`."""

LINKS = ("computing", "using", "knowing", "choosing", "obeying")
"""The link that each part of the regret is named after: the first four by the aid that removes it,
the last by what remains where the best reply is told."""

REGRET, STEPWISE = "delta_functional_per_step", "stepwise_regret_per_step"

_WHY = {
    NO_EPISODE: "no episode is complete on every rung",
    ONE_EPISODE: "one episode gives no interval",
    NO_LOSS: "the 95 % interval of its regret without aids is not above 0, and a share of what may "
    "be nothing has no bounded interval; more episodes, or a partner that costs more to ignore",
}


@dataclass(frozen=True, eq=False)
class Ladder:
    """One subject in one task on every rung; `cells` are in the order of `RUNGS`."""

    cells: tuple[MatrixRunCell, ...]

    @property
    def ground(self) -> MatrixRunCell:
        """The cell without aids."""
        return self.cells[0]

    @property
    def subject(self) -> str:
        """The subject without aids."""
        name = str(self.ground.columns["subject"])
        for said in (f"rung={RUNGS[0]}", f"strategy={self.ground.columns['strategy']}"):
            for text in (f"({said})", f"{said}, ", f", {said}"):
                name = name.replace(text, "", 1)
        return name

    @property
    def who(self) -> str:
        """The subject and its model."""
        return ", ".join(filter(None, (self.subject, str(self.ground.columns["model"]))))

    @property
    def task(self) -> str:
        """The task in words."""
        return self.ground.domain.compare.words(self.ground.shown_task)

    @property
    def name(self) -> str:
        """The ladder in words."""
        return ", ".join(filter(None, (self.who, self.task)))

    @cached_property
    def _common(self) -> list[np.ndarray[Any, Any]]:
        """The places of the episodes that are complete on every rung, by cell."""
        shared = set.intersection(*(set(cell.episodes.tolist()) for cell in self.cells))
        return [np.isin(cell.episodes, sorted(shared)) for cell in self.cells]

    @property
    def lost(self) -> int:
        """How many episodes are complete on some rung but not on all."""
        every = set.union(*(set(cell.episodes.tolist()) for cell in self.cells))
        return len(every) - int(self._common[0].sum())

    def loss(self, k: int, measure: str) -> Estimate:
        """Return a rung's mean of a measure over the common episodes, with Student's interval."""
        cell, among = self.cells[k], self._common[k]
        values, bounds = cell.totals(measure).values, cell.limits(measure)
        return cell.mean(values, "t", among=among, bounds=bounds)

    def climbed(self, measure: str = REGRET) -> Climb:
        """Split the regret without aids, by episode, over the links."""
        columns = [
            cell.totals(measure).values[common]
            for cell, common in zip(self.cells, self._common, strict=True)
        ]
        return climb(np.stack(columns, axis=1), all(cell.each_once for cell in self.cells))


def verdict(found: Climb) -> tuple[str, str]:
    """Return the failing link and its share in words, or an empty text and why it is not known.

    Examples
    --------
    >>> verdict(climb([[2.0, 0.1, 0.1, 0.1, 0.0], [2.0, 0.0, 0.0, 0.0, 0.0]]))
    ('computing', '98 % of the regret without aids (66 to 129)')
    >>> verdict(climb([[2.0, 0.1, 0.1, 0.1, 0.0], [2.0, 1.9, 0.0, 0.0, 0.0]]))
    ('', 'most goes with computing, but its share is not above 0 at 95 %')
    >>> verdict(climb([[1.0, 0.0, 0.0, 0.0, 0.0]]))
    ('', 'one episode gives no interval')
    """
    if found.unknown:
        return "", _WHY[found.unknown]
    if found.largest is not None:
        k = found.largest
        said = f"{number(100 * float(found.share[k]), 0)} % of the regret without aids"
        low, high = 100 * float(found.share_low[k]), 100 * float(found.share_high[k])
        return LINKS[k], said if np.isnan(low) else f"{said} ({between(low, high, 0)})"
    top = int(np.argmax(found.part))
    if found.rival is None:
        return "", f"most goes with {LINKS[top]}, but its share is not above 0 at 95 %"
    return "", (
        f"most goes with {LINKS[top]}, but its lead over {LINKS[found.rival]} is not above 0 at "
        "95 %"
    )


def ladders(run: Run) -> list[Ladder]:
    """Return the whole ladders of a run, in the order of its cells."""
    return [
        Ladder(tuple(rungs[k] for k in range(len(RUNGS))))
        for rungs in _families(run).values()
        if len(rungs) == len(RUNGS)
    ]


def unfinished(run: Run) -> list[str]:
    """Say which subjects stand on some rungs with aids, but not on all."""
    notes = []
    for rungs in _families(run).values():
        missing = [AIDS[k] for k in range(len(RUNGS)) if k not in rungs]
        if missing and set(rungs) != {0}:
            first = rungs[min(rungs)]
            notes.append(
                f"{visible(first.name)}: no ladder, which has every rung; missing: "
                f"{', '.join(missing)}"
            )
    return notes


def has_ladders(run: Run) -> bool:
    """Tell whether any cell of a run has aids of the ladder; looks at the definitions only."""
    return any((_rung(cell.definition) or 0) > 0 for cell in run.cells)


def _families(run: Run) -> dict[str, dict[int, MatrixRunCell]]:
    """Return the cells that differ in their rung alone, by rung."""
    families: dict[str, dict[int, MatrixRunCell]] = {}
    for cell in matrix_cells(run):
        rung = _rung(cell.definition)
        if rung is not None:
            families.setdefault(_family(cell), {})[rung] = cell
    return families


def _rung(definition: Mapping[str, Any]) -> int | None:
    """Return the rung that a cell's subject stands on, None for subjects that could not."""
    if definition.get("strategy"):
        strategy = recorded_strategy(definition["strategy"])
        return RUNGS.index(strategy.advice) if strategy and strategy.advice in RUNGS else None
    if definition["kind"] == LADDERED:
        return RUNGS.index(definition["options"].get("rung", RUNGS[0]))
    return None


def _family(cell: MatrixRunCell) -> str:
    """Return what the rungs of one ladder have in common, as text."""
    told = cell.definition
    apart = ("strategy", "rung")
    options = {key: value for key, value in told["options"].items() if key not in apart}
    point: list[str] = []
    if told.get("strategy"):
        strategy = parse_strategy(told["strategy"])
        point = [strategy.context, strategy.answer]
    task = {key: told[key] for key in ("kind", "model", "game", "labels", "partners", "horizon")}
    more = [point, options, cell.seed, cell.reference, told["on_invalid"]]
    return json.dumps([task, more], sort_keys=True)
