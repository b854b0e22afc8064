"""Adaptation to a partner that changes its policy: when it is noticed, and when acted upon."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.partners import Partner, change_of
from tomeval.domains.matrix.played import BoolArray, FloatArray, IntArray, Played
from tomeval.extensions.adaptation.around_change import Around, Side, around, nominal
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.outside import Group
from tomeval.statistics.bounded import FROM_ZERO, UNBOUNDED, Bounds

MARGIN = 3
"""By how many right answers must outnumber wrong ones, from the turn on, to count as a turn."""


class Window(NamedTuple):
    """What all episodes of a cell can be compared over; it depends on its partners alone."""

    # Lags above this many steps count as this many: as far as the episodes with the latest change
    # can show one. NaN if that is less than one step, or nothing can be shown.
    after: float
    before: int  # steps before the change that every episode has, at most `after`


@dataclass(frozen=True, eq=False)
class Adaptation:
    """All that is measured of a cell around the change."""

    steps: Around
    window: Window
    # When answers turned right, in steps since the change, shape (E,): infinite if it was not
    # found, NaN if it cannot be; None if nothing was predicted.
    knows: FloatArray | None
    acts: FloatArray
    totals: Mapping[str, Totals]  # by name of a measure


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


@lru_cache(maxsize=4)
def adaptation(played: Played) -> Adaptation:
    """Return what is measured of a cell's complete episodes; see docs/measures/adaptation.md."""
    laid = around(played)
    shortest = int(played.lengths.min()) if played.episodes else 0
    window = window_of(played.game, tuple(played.partners), shortest)
    knows = None if laid.predicted is None else _lags(laid, laid.predicted)
    acts = _lags(laid, laid.acted)
    return Adaptation(laid, window, knows, acts, _totals(laid, window, knows, acts))


@lru_cache(maxsize=256)
def window_of(game: MatrixGame, partners: tuple[Partner, ...], length: int) -> Window:
    """Return the window of a cell with these partners and at least `length` steps an episode."""
    lags: list[int] = []
    changes: list[int] = []
    for one in partners:
        change = change_of(one)
        if change is None or change.step > length:
            continue
        changes.append(change.step - 1)
        after = np.arange(length)[None] >= change.step - 1
        telling = nominal(game, one, change, length)
        # Which steps tell of a partner that reacts or draws depends on the play: perhaps all.
        last = (
            [length - MARGIN]
            if telling is None
            else [int(_last_start(tells, after)[0]) for tells in telling]
        )
        lags += [place - changes[-1] for place in last if place >= 0]
    most = min(lags, default=0)
    return Window(most, min(most, *changes)) if most >= 1 else Window(math.nan, 0)


def _last_start(tells: BoolArray, asked: BoolArray) -> IntArray:
    """Return the last place at which a turn can begin, per row; -1 if there is none."""
    ahead = np.cumsum(asked[:, ::-1], axis=1)[:, ::-1]
    places = np.arange(tells.shape[1])
    last: IntArray = np.where(tells & (ahead >= MARGIN), places, -1).max(axis=1, initial=-1)
    return last


def _lags(laid: Around, side: Side) -> FloatArray:
    """Return when answers of one kind turned right, as `Adaptation` has it."""
    switched = laid.switched[:, None]
    tells, asked = side.tells & switched, side.asked & switched
    turn = last_split(side.right, tells, asked) - (laid.change - 1)
    return np.where(_last_start(tells, asked) >= 0, turn, np.nan)


def _totals(
    laid: Around, window: Window, knows: FloatArray | None, acts: FloatArray
) -> dict[str, Totals]:
    """Return the measures by episode."""
    detected = np.full(len(acts), np.nan) if knows is None else np.minimum(knows, window.after)
    adapted = np.minimum(acts, window.after)
    since = np.arange(laid.loss.shape[1]) - (laid.change[:, None] - 1)
    inside = (since + laid.change[:, None] <= laid.lengths[:, None]) & laid.switched[:, None]
    # Both false where it is not known when it adapted.
    waits, acted = since < acts[:, None], since >= acts[:, None]
    return {
        "detection_steps": Totals.known(detected),
        "adaptation_steps": Totals.known(adapted),
        "knowing_lead_steps": Totals.known(adapted - detected),
        "regret_before_change_per_step": _mean(laid.loss, inside & (since < 0)),
        "regret_until_adapted_per_step": _mean(laid.loss, inside & (since >= 0) & waits),
        "regret_once_adapted_per_step": _mean(laid.loss, inside & acted),
        "change_cost": Totals.known(_cost(laid, window)),
    }


def _cost(laid: Around, window: Window) -> FloatArray:
    """Return what the change cost within the window: regret beyond that at the rate before it."""
    cost = np.full(len(laid.change), np.nan)
    if math.isnan(window.after):
        return cost
    for row in np.flatnonzero(laid.switched).tolist():
        start, loss = int(laid.change[row]) - 1, laid.loss[row]
        if start + window.after > laid.lengths[row]:
            continue  # it changed too late to show a turn, and the window does not fit either
        rate = loss[start - window.before : start].mean()
        cost[row] = loss[start : start + int(window.after)].sum() - window.after * rate
    return cost


def _mean(loss: FloatArray, among: BoolArray) -> Totals:
    """Return each episode's mean over some of its steps; episodes without any have none."""
    steps = among.sum(axis=1).astype(np.float64)
    if not steps.any():
        return Totals(np.full(len(steps), np.nan))
    return Totals((loss * among).sum(axis=1), steps)


def _of(name: str, played: Played, reference: str) -> Totals:
    return adaptation(played).totals[name]


_LIMIT = "Longer ones count as the longest that all episodes can show."


def _measure(
    name: str,
    heading: str,
    better: Literal[1, 0, -1],
    meaning: str,
    unit: str = "steps",
    bounds: Bounds = FROM_ZERO,
) -> Measure:
    source = 'this project, docs/measures/adaptation.md, "Adaptation"'
    of = partial(_of, name)
    return Measure(name, heading, meaning, unit, better, source, of, bounds=bounds)


MEASURES = (
    _measure(
        "detection_steps",
        "steps to detection",
        -1,
        "Steps from the change of the partner's policy until the predictions are mostly right "
        f"again, among steps that tell the policies apart. {_LIMIT} Lower is better.",
    ),
    _measure(
        "adaptation_steps",
        "steps to adaptation",
        -1,
        "Steps from the change of the partner's policy until the actions are mostly optimal again, "
        f"among steps that tell the policies apart. {_LIMIT} Lower is better.",
    ),
    _measure(
        "knowing_lead_steps",
        "knowing before doing",
        0,
        "Steps to adaptation minus steps to detection, per episode: above 0 the change was "
        "predicted before it was acted upon.",
        bounds=UNBOUNDED,
    ),
    _measure(
        "regret_before_change_per_step",
        "regret before change",
        -1,
        "What the actions lost per step before the change, compared with the best response to the "
        "partner at that time. In payoff units; lower is better.",
        unit="payoff",
    ),
    _measure(
        "regret_until_adapted_per_step",
        "regret until adapted",
        -1,
        "The same from the change until the actions are mostly optimal again, or to the end if "
        "they never are. Missing in episodes that adapted at once.",
        unit="payoff",
    ),
    _measure(
        "regret_once_adapted_per_step",
        "regret once adapted",
        -1,
        "The same from there to the end, in episodes that adapted.",
        unit="payoff",
    ),
    _measure(
        "change_cost",
        "cost of change",
        -1,
        "Total regret caused by the change: in the window after it, beyond that of as many steps "
        "before. In payoff units, any sign; lower is better.",
        unit="payoff",
        bounds=UNBOUNDED,
    ),
)


GROUPS = (Group("adaptation", MEASURES),)
