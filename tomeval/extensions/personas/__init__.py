"""Partners of whom it is told who they are: what players make of it, true, false or withheld."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.numbers import exact
from tomeval.extensions.personas.worth import MOST, worth_of_knowing
from tomeval.games.matrix.personas import SWAPPED, TRUE, WITHHELD
from tomeval.games.matrix.played import BoolArray, IntArray, Played, by_episode
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.games.matrix.storing import has_told
from tomeval.games.matrix.subject_specs import is_model
from tomeval.runs.columns import Table, fixed, flat
from tomeval.runs.notes import looked_notes
from tomeval.runs.results import Run
from tomeval.statistics import estimate
from tomeval.statistics.estimates import Estimate

CHANGES = {
    "knows_percent": "knows_change_percent",
    "plays_percent": "plays_change_percent",
    "delta_functional_per_step": "regret_change",
}
"""Measures, and the columns of what the truth changes in them."""

Told = tuple[MatrixRunCell, IntArray]
"""A cell, and the places of its episodes that another cell completed, too, shape (P,)."""


def pairs(run: Run) -> Iterator[tuple[Told, Told]]:
    """Yield each cell that was told the truth beside those of the same task that were not."""
    cells: dict[str, dict[str, MatrixRunCell]] = {}
    for cell in matrix_cells(run):
        if cell.told and is_model(cell.definition):
            told = cell.definition["partners"]
            same = cell.definition | {"templates": "", "partners": told | {"name": ""}}
            same["partners"]["told"] = told["told"] | {"tell": ""}
            cells.setdefault(json.dumps(same, sort_keys=True), {})[cell.told.tell] = cell
    for each in cells.values():
        for tell in (SWAPPED, WITHHELD):
            if TRUE in each and tell in each:
                true, other = each[TRUE], each[tell]
                _, here, there = np.intersect1d(true.episodes, other.episodes, return_indices=True)
                if (true.which[here] != other.which[there]).any():
                    raise TomevalError(f"{true.name}: episodes of one number differ in partners")
                yield (true, here), (other, there)


def change(true: Told, other: Told) -> Estimate:
    """Return the measures of `CHANGES` told the truth less told otherwise, over P pairs.

    Percent are points. A score is the ratio over the pairs, its interval that of the linearised
    ratio; the sampling unit is a pair of episodes. Intervals end where the two sides are as far
    apart as can be; there is none where every distinct episode was played once. NaN without a pair.
    """
    sides, limits = [], []
    for cell, at in (true, other):
        every = [cell.totals(name) for name in CHANGES]
        parts = [
            one._replace(top=one.top[at], bottom=None if one.bottom is None else one.bottom[at])
            for one in every
        ]
        sides.append(np.stack([one.parts for one in parts], axis=1))
        limits.append(np.array([cell.limits(name) for name in CHANGES]))
    found = estimate(sides[0] - sides[1], bounds=limits[0] - limits[1][:, ::-1])
    return Estimate.of(found.mean) if true[0].each_once else found


def differ(played: Played) -> BoolArray:
    """Return on which steps some partner of the set would play otherwise than another, shape (N,).

    With other probabilities of its actions, after the same moves.
    """
    rows = []
    for which, partner in enumerate(played.partners):
        states = replace(played, which=np.full(played.episodes, which)).states
        rows.append(partner.emissions[states])
    apart: BoolArray = (np.ptp(rows, axis=0) > 1e-9).any(axis=1)
    return apart


def rows(run: Run) -> list[dict[str, Any]]:
    """Return a row per pair of cells, and for each persona of its set, if there are several."""
    return [row for true, other in pairs(run) for row in _rows(true, other)]


def _rows(true: Told, other: Told) -> Iterator[dict[str, Any]]:
    (cell, here), (less, there) = true, other
    partners, which, told = cell.setup.tables, cell.which[here], (cell.told, less.told)
    assert told[0]
    assert told[1]
    whose = [one["partner_persona"] for one in told[0].true]
    worth = worth_of_knowing(cell.game, partners, cell.setup.horizon)
    gains = np.full(len(partners.partners), np.nan) if worth is None else np.array(worth)
    apart = by_episode(cell.played, differ(cell.played)) / cell.played.lengths
    columns = {name: cell.columns[name] for name in ("subject", "model", "game", "labels")}
    columns |= {"partners": partners.chance, "horizon": cell.columns["horizon"], "seed": cell.seed}
    columns["told"] = f"{TRUE} - {told[1].tell}"
    each = [(who, which == k, gains[k]) for k, who in enumerate(whose)]
    if len(each) > 1:
        each.insert(0, ("all", which >= 0, float(partners.weights @ gains)))
    for persona, among, gain in each:
        row: dict[str, Any] = columns | {"persona": persona, "episodes": int(among.sum())}
        found = change((cell, here[among]), (less, there[among]))
        row |= flat([*CHANGES.values()], found)
        met = apart[here[among]]
        row["members_differ_percent"] = 100 * float(met.mean()) if len(met) else np.nan
        yield row | {"worth_per_step": exact(float(gain))}


def notes(run: Run) -> list[str]:
    """Return what the columns are, and why some are empty."""
    tasks = [cell.setup for (cell, _), _ in pairs(run)]
    if not tasks:
        return ['nothing to compare: it needs tell = ["true", "swapped"], or "withheld"']
    said = [
        "changes: told the truth minus told otherwise, episode by episode; regret: ΔFunctional/T",
        "worth per step: what knowing this member of the set gains over knowing the set; members "
        "differ: steps on which the members would not all play alike",
    ]
    if any(worth_of_knowing(one.game, one.tables, one.horizon) is None for one in tasks):
        said.append(f"worth per step –: more than {MOST:,} beliefs can be met, or no horizon")
    return said + looked_notes(run)


TABLES = {
    "personas": Table(
        "partners that say who they are: what the truth about them changes",
        fixed(rows),
        present=lambda run: has_told(run.store),
        notes=notes,
        needs='partners with a persona: docs/partners.md, "Partners that are persons"',
    ),
}
