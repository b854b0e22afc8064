"""Partners of whom it is told who they are: what players make of it, true, false or withheld."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.numbers import exact
from tomeval.extensions.personas.worth import MOST, worth_of_knowing
from tomeval.games.matrix.personas import SWAPPED, TRUE, WITHHELD
from tomeval.games.matrix.played import BoolArray, IntArray, Played, by_episode
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.games.matrix.storing import has_told
from tomeval.games.matrix.subject_specs import LLM
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
ALL = "all"


class Pair(NamedTuple):
    """The episodes that a subject completed, told the truth and told otherwise.

    Where each of the P pairs of episodes with one number is in the two cells, shape (P,).
    """

    true: MatrixRunCell
    other: MatrixRunCell
    at_true: IntArray
    at_other: IntArray


def pairs(run: Run) -> Iterator[Pair]:
    """Yield each cell that was told the truth beside those of the same task that were not.

    Raises
    ------
    TomevalError
        Episodes of one number met different partners.
    """
    cells: dict[str, dict[str, MatrixRunCell]] = {}
    for cell in matrix_cells(run):
        if cell.told and cell.definition["kind"] == LLM:
            cells.setdefault(_task(cell), {})[cell.told.tell] = cell
    for told in cells.values():
        for tell in (SWAPPED, WITHHELD):
            if TRUE in told and tell in told:
                true, other = told[TRUE], told[tell]
                _, *at = np.intersect1d(true.episodes, other.episodes, return_indices=True)
                if (true.which[at[0]] != other.which[at[1]]).any():
                    raise TomevalError(f"{true.name}: episodes of one number differ in partners")
                yield Pair(true, other, *at)


def _task(cell: MatrixRunCell) -> str:
    """Return all that defines a cell but what is told, as text."""
    told = {key: value for key, value in cell.definition.items() if key != "templates"}
    partners = {key: value for key, value in told["partners"].items() if key != "name"}
    partners["told"] = {key: value for key, value in partners["told"].items() if key != "tell"}
    return json.dumps(told | {"partners": partners}, sort_keys=True)


def change(pair: Pair, among: BoolArray) -> Estimate:
    """Return the measures of `CHANGES` told the truth less told otherwise, over pairs of episodes.

    Parameters
    ----------
    among : ndarray of bool, shape (P,)
        Which pairs count.

    Returns
    -------
    Estimate
        Of each measure; percent are points. A score is the ratio over the pairs, its interval that
        of the linearised ratio; the sampling unit is a pair of episodes. Intervals end where the
        two sides are as far apart as can be; without one where every distinct episode was played
        once. NaN without a pair.
    """
    sides, limits = [], []
    for cell, at in ((pair.true, pair.at_true[among]), (pair.other, pair.at_other[among])):
        parts = []
        for name in CHANGES:
            totals = cell.totals(name)
            bottom = None if totals.bottom is None else totals.bottom[at]
            parts.append(totals._replace(top=totals.top[at], bottom=bottom).parts)
        sides.append(np.stack(parts, axis=1))
        limits.append(np.array([cell.limits(name) for name in CHANGES]))
    found = estimate(sides[0] - sides[1], bounds=limits[0] - limits[1][:, ::-1])
    return Estimate.of(found.mean) if pair.true.each_once else found


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
    return [row for pair in pairs(run) for row in _rows(pair)]


def _rows(pair: Pair) -> Iterator[dict[str, Any]]:
    cell, which = pair.true, pair.true.which[pair.at_true]
    partners, horizon = cell.setup.tables, int(cell.columns["horizon"])
    worth = worth_of_knowing(cell.game, partners, horizon)
    worth = np.full(len(partners.partners), np.nan) if worth is None else worth
    mean = float(np.array(partners.weights) @ worth)
    apart = by_episode(cell.played, differ(cell.played)) / cell.played.lengths
    assert cell.told is not None
    assert pair.other.told is not None
    columns = {name: cell.columns[name] for name in ("subject", "model", "game", "labels")}
    columns |= {"partners": partners.chance, "horizon": horizon, "seed": cell.seed}
    columns["told"] = f"{TRUE} - {pair.other.told.tell}"
    several = len(partners.partners) > 1
    whole = (ALL if several else cell.told.personas[0], which >= 0, mean)
    each = zip(cell.told.personas, (which == k for k in range(len(worth))), worth, strict=True)
    for persona, among, gain in (whole, *each) if several else (whole,):
        row: dict[str, Any] = columns | {"persona": persona, "episodes": int(among.sum())}
        row |= flat([*CHANGES.values()], change(pair, among))
        met = apart[pair.at_true[among]]
        row["members_differ_percent"] = 100 * float(met.mean()) if len(met) else np.nan
        row["worth_per_step"] = exact(float(gain))
        yield row


def notes(run: Run) -> list[str]:
    """Return what the columns are, and why some are empty."""
    said = [
        "changes: told the truth minus told otherwise, episode by episode; regret: ΔFunctional/T",
        "worth per step: what knowing this member of the set gains over knowing the set; members "
        "differ: steps on which the members would not all play alike",
    ]
    found = list(pairs(run))
    if not found:
        said = ['nothing to compare: it needs tell = ["true", "swapped"], or "withheld"']
    tasks = ((one.true.game, one.true.setup) for one in found)
    if any(worth_of_knowing(game, s.tables, s.horizon) is None for game, s in tasks):
        said.append(f"worth per step –: the set leaves more than {MOST:,} beliefs about who it is")
    return said + looked_notes(run)


TABLES: Mapping[str, Table] = {
    "personas": Table(
        "partners that say who they are: what the truth about them changes",
        fixed(rows),
        present=lambda run: has_told(run.store),
        notes=notes,
        needs='partners with a persona: docs/partners.md, "Partners that are persons"',
    ),
}
