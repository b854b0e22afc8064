"""Adaptation to a partner that changes its policy: when it is noticed, and when acted upon."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tomeval.games.matrix.optima import known_best_response
from tomeval.games.matrix.partners import Partner
from tomeval.games.matrix.played import BoolArray, FloatArray, IntArray, Played
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.games.matrix.rules import NONE
from tomeval.runs.columns import Table, fixed, flat, flat_share
from tomeval.runs.measures import Measure, Totals
from tomeval.statistics.bounded import FROM_ZERO, UNBOUNDED
from tomeval.statistics.estimates import clustered_share

MARGIN = 3
"""By how many right answers must outnumber wrong ones, from the turn on, to count as a turn."""


class Side(NamedTuple):
    """Predictions, or actions: which are right, and where that tells anything; (E, T) each.

    A right prediction is an action that is most probable in the partner's state, a right action one
    that is optimal for the rest of the episode against this partner. `asked`: steps from the change
    on with an answer; those tell in which no answer is right for both policies.
    """

    right: BoolArray
    tells: BoolArray
    asked: BoolArray


class Around(NamedTuple):
    """The E complete episodes of a cell, of at most T steps, around the partner's change.

    `change`, (E,), is the first step of the second policy, from 1; 0 if that is beyond the episode
    or there is none. `most` is the longest lag that all episodes can show: as far as the latest
    change of the cell's partners leaves `MARGIN` steps; NaN if that is less than one step.
    """

    change: IntArray
    most: float
    predicted: Side
    acted: Side


@lru_cache(maxsize=4)
def around(played: Played) -> Around:
    """Return what `Around` holds of a cell; no change where partners are known by chances only."""
    count, length = played.episodes, int(played.lengths.max(initial=0))
    change = np.zeros(count, dtype=np.int64)
    sides = np.zeros((2, 3, count, length), dtype=bool)
    for partner, steps, rows, places in played.alike():
        told = partner.change
        if told is not None and told.step <= steps:
            change[rows] = told.step
            sides[:, :, rows, :steps] = _judged(played, partner, places)
    shortest = int(played.lengths.min(initial=length))
    changes = [told.step for one in played.partners if (told := one.change)]
    latest = max((step for step in changes if step <= shortest), default=shortest)
    most = shortest - MARGIN - (latest - 1)
    return Around(change, most if most >= 1 else np.nan, Side(*sides[0]), Side(*sides[1]))


def _judged(played: Played, partner: Partner, places: IntArray) -> BoolArray:
    """Return both sides of episodes against one partner, given the places of their steps."""
    own, theirs, steps = played.own[places], played.partner[places], np.arange(places.shape[1])
    said = np.full_like(own, NONE) if played.predicted is None else played.predicted[places]
    change = partner.change
    assert change is not None
    likely, best = [], []  # what is right for the partner as it is, and for its first policy
    for machine in (partner, change.first):
        state = follow(machine, own, theirs)
        table = machine.emissions
        likely.append((table >= table.max(axis=1, keepdims=True) - 1e-12)[state])
        plan = known_best_response(played.game, machine, len(steps), played.continuation)
        best.append(plan.optimal[steps, state])
    judged = []
    for (now, first), answer in ((likely, said), (best, own)):
        given = answer != NONE
        hit = np.take_along_axis(now, np.where(given, answer, 0)[..., None], axis=2)[..., 0]
        asked = (steps >= change.step - 1) & given
        judged.append([hit & given, asked & ~(now & first).any(axis=2), asked])
    return np.array(judged)


def follow(machine: Partner, own: IntArray, theirs: IntArray) -> IntArray:
    """Return the state of a machine in every step, if it saw these moves from step 1; (E, T)."""
    states = np.full(own.shape, machine.start)
    for t in range(1, own.shape[1]):
        states[:, t] = machine.next_state[states[:, t - 1], own[:, t - 1], theirs[:, t - 1]]
    return states


def last_split(
    right: ArrayLike, telling: ArrayLike, asked: ArrayLike, margin: int = MARGIN
) -> NDArray[np.float64]:
    """Return where each row is best split into a wrong part and, after it, a right part.

    The split leaves the fewest exceptions among the answers that tell: right ones before it and
    wrong ones from it on. Of several such splits the last one is taken, so that a right answer
    which a wrong one follows is no turn. It is the maximum-likelihood estimate of a turn where each
    answer has the same chance, below one half, of being such an exception.

    `right`, `telling` and `asked` have the shape (E, T): the answers of E rows, which of them tell
    a turn, and which were given at all. From the split on, right answers must outnumber wrong ones
    by `margin`, among all that were given, and by one among those that tell. Returned is the place,
    from 0, of the first telling answer after the split, shape (E,); infinite if there is none.

    Examples
    --------
    >>> rows, all_of_them = [[0, 0, 1, 1, 1, 0, 1], [0, 1, 0, 0, 1, 0, 1]], np.ones((2, 7))
    >>> last_split(rows, all_of_them, all_of_them).tolist()
    [2.0, inf]
    """
    counted, given = np.asarray(telling, dtype=bool), np.asarray(asked, dtype=bool)
    if not counted.shape[1]:
        return np.full(len(counted), np.inf)
    score = np.where(np.asarray(right, dtype=bool), 1.0, -1.0)
    told, gained = (
        np.cumsum((score * mask)[:, ::-1], axis=1)[:, ::-1] for mask in (counted, given)
    )
    told = np.where(counted, told, -np.inf)
    last = told.shape[1] - 1 - told[:, ::-1].argmax(axis=1)
    rows = np.arange(len(last))
    turned = (told[rows, last] >= 1) & (gained[rows, last] >= margin)
    return np.where(turned, last, np.inf)


def lags(change: IntArray, side: Side) -> FloatArray:
    """Return when answers of one kind turned right, in steps since the change, shape (E,).

    Infinite if they did not, NaN if no step that leaves `MARGIN` answers could show it.
    """
    tells, asked = (steps & (change > 0)[:, None] for steps in (side.tells, side.asked))
    ahead = np.cumsum(asked[:, ::-1], axis=1)[:, ::-1]
    turn = last_split(side.right, tells, asked) - (change - 1)
    return np.where((tells & (ahead >= MARGIN)).any(axis=1), turn, np.nan)


def _of(name: str, played: Played, reference: str) -> Totals:
    laid = around(played)
    sides = (laid.predicted, laid.acted)
    detected, adapted = (np.minimum(lags(laid.change, side), laid.most) for side in sides)
    steps = {"detection": detected, "adaptation": adapted, "knowing_lead": adapted - detected}
    return Totals.known(steps[name])


_SOURCE = 'this project, docs/measures/adaptation.md, "Adaptation"'
_LIMIT = "Longer ones count as the longest that all episodes can show. Lower is better."


def _lag(name: str, what: str) -> Measure:
    """Return the measure of when predictions, or actions, turn right."""
    meaning = (
        f"Steps from the change of the partner's policy until the {what} again, "
        f"among steps that tell the policies apart. {_LIMIT}"
    )
    of, heading = partial(_of, name), f"steps to {name}"
    return Measure(f"{name}_steps", heading, meaning, "steps", -1, _SOURCE, of, bounds=FROM_ZERO)


MEASURES = (
    _lag("detection", "predictions are mostly right"),
    _lag("adaptation", "actions are mostly optimal"),
    Measure(
        "knowing_lead_steps",
        "knowing before doing",
        "Steps to adaptation minus steps to detection, per episode: above 0 the change was "
        "predicted before it was acted upon.",
        "steps",
        0,
        _SOURCE,
        partial(_of, "knowing_lead"),
        bounds=UNBOUNDED,
    ),
)


def _row(cell: MatrixRunCell) -> dict[str, Any]:
    """Return what a cell comes to over its episodes, whose partners change within them."""
    laid = around(cell.played)
    row: dict[str, Any] = {**cell.columns, "episodes": len(cell.episodes)}
    row |= {"switched": int((laid.change > 0).sum()), "most_steps": laid.most}
    missed = {"detection_steps": "undetected", "adaptation_steps": "unadapted"}
    sides = {"detection_steps": laid.predicted, "adaptation_steps": laid.acted}
    for name in (measure.name for measure in MEASURES):
        values = cell.totals(name).values
        row |= flat([name], cell.mean(values, among=np.isfinite(values), bounds=cell.limits(name)))
        if name in sides:
            turns = lags(laid.change, sides[name])
            known = ~np.isnan(turns)
            share = clustered_share(np.isinf(turns)[known], cell.clusters[known])
            column = f"{missed[name]}_percent"
            # Episodes that are no sample have no interval.
            row |= {column: 100 * share.share} if cell.each_once else flat_share(column, share)
    return row


TABLES = {
    "adaptation": Table(
        "adaptation to partners that switch: detection, adaptation",
        fixed(lambda run: [_row(c) for c in matrix_cells(run) if around(c.played).change.any()]),
        notes=lambda run: ["steps are from the change; lags without a turn count as most steps"],
        needs="games with a horizon, and partners that switch within it: "
        'docs/measures/adaptation.md, "Adaptation"',
    ),
}
