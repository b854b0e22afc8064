"""Measures of planted beliefs: what subjects make of predictions whose accuracy was set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.matrix.groups import by_episode, from_data
from tomeval.domains.matrix.played import BoolArray, FloatArray, IntArray, Played
from tomeval.domains.matrix.responses import best_responses, stepwise_regret
from tomeval.domains.matrix.storing import cells_with_beliefs, has_beliefs, read_beliefs
from tomeval.extensions.planted.trust import contrast, rational_regret, slope_ceiling
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.outside import Group
from tomeval.runs.store import Store
from tomeval.statistics.bounded import FROM_ZERO
from tomeval.strategies.beliefs import propensity

NAME = "planted"


@dataclass(frozen=True, eq=False)
class Statements:
    """What was stated to a subject in the steps of its complete episodes."""

    accuracy: float
    stated: IntArray  # shape (N,): actions of the partner, in the order of `Played`
    wording: str = ""  # empty: not in words


def read_statements(store: Store, number: int, definition: Mapping[str, Any]) -> Statements | None:
    """Return what was stated in a cell; None if nothing was."""
    if number not in cells_with_beliefs(store):
        return None
    rows = read_beliefs(store, number)
    count = len(definition["game"]["payoffs"][0])
    try:
        table = np.array([row[:4] for row in rows], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise store.damaged(f"cell {number}: beliefs: {error}") from None
    said, accuracy, right, truth = table.T
    sound = np.isfinite(table).all() and ((said >= 0) & (said < count)).all()
    if not sound or len(set(accuracy.tolist())) > 1 or ((said == truth) != right).any():
        raise store.damaged(f"cell {number}: what was stated in its steps contradicts itself")
    return Statements(float(accuracy[0]), said.astype(np.int64), rows[0][4] or "")


def use_slopes(played: Played, told: Statements) -> FloatArray:
    """Return every step's estimate of the use slope, shape (N,).

    Statements are drawn with known probabilities given the partner's action, so weighting by their
    inverse makes each step's expectation the slope, whatever the subject knows of the partner: the
    mean over statements s of P(a best response to s | s is stated) less the mean over the others s'
    of P(a best response to s | s' is stated) (Horvitz and Thompson 1952). With an accuracy of 0 or
    1 some statements cannot occur, and it is not identified: NaN. So it is where its ceiling is 0.
    """
    if not 0 < told.accuracy < 1 or slope_ceiling(played.game) == 0:
        return np.full(len(played.own), np.nan)
    count = played.game.m
    chance = propensity(told.stated, played.partner, count, told.accuracy)
    found: FloatArray = contrast(played.game)[played.own, told.stated] / (count * chance)
    return found


def compliance(played: Played, told: Statements, right: bool) -> tuple[FloatArray, FloatArray]:
    """Return on which steps a right or a wrong statement was complied with, and which count.

    Both of shape (N,), 0 or 1. Right statements count if some best response to them is not best
    against every other action of the partner; complied with: the action is a best response. Wrong
    ones count if some best response to them is none to what the partner did; complied with: the
    action is such a one.
    """
    best, stated, truth = best_responses(played.game), told.stated, played.partner
    same: NDArray[np.bool_] = np.asarray(stated == truth)
    if right:
        shows: NDArray[np.bool_] = np.asarray(contrast(played.game).max(axis=0) > 0)
        tells = shows[stated] & same
        hits = best[played.own, stated] & tells
    else:
        misleads = best[:, :, None] & ~best[:, None, :]  # [action, stated, actual]
        misled: NDArray[np.bool_] = np.asarray(misleads.any(axis=0))
        tells = misled[stated, truth] & ~same
        hits = misleads[played.own, stated, truth] & tells
    return hits.astype(np.float64), tells.astype(np.float64)


def regrets(played: Played, told: Statements) -> tuple[FloatArray, FloatArray]:
    """Return the stepwise regret of the subject and of a rational believer, each of shape (N,).

    The believer hears the same statements on the same steps; where its best actions tie, their mean
    counts, so that nothing of it is drawn. See
    `tomeval.extensions.planted.trust.rational_responses`.
    """
    own = stepwise_regret(played.game)[played.own, played.partner]
    rational = rational_regret(played.game, told.accuracy)[told.stated, played.partner]
    return own, rational


def _mean(played: Played, values: FloatArray | BoolArray) -> FloatArray:
    """Return the mean over every episode's steps, shape (E,)."""
    return by_episode(played, values) / played.lengths


def _complied(right: bool, played: Played, told: Statements) -> Totals:
    hits, among = compliance(played, told, right)
    return Totals(by_episode(played, hits), by_episode(played, among), share=True)


def _slope(played: Played, told: Statements) -> Totals:
    return Totals(_mean(played, use_slopes(played, told)))


def _stated_right(played: Played, told: Statements) -> Totals:
    return Totals(100 * _mean(played, np.equal(told.stated, played.partner)))


def _rational(played: Played, told: Statements) -> Totals:
    return Totals(_mean(played, regrets(played, told)[1]))


def _excess(played: Played, told: Statements) -> Totals:
    own, rational = regrets(played, told)
    return Totals(_mean(played, own - rational))


_SOURCE = "this project, docs/measures.md"

MEASURES = (
    Measure(
        "use_slope",
        "use slope",
        "Planted beliefs: how much more probable a best response to a prediction of the partner "
        "becomes by stating it, in place of another one. 0: what is stated changes nothing; no "
        "more than the ceiling, 1 in most games. Not identified where statements are always right "
        "or always wrong, or all have the same best responses.",
        "probability",
        0,
        f"{_SOURCE}; Horvitz and Thompson 1952",
        from_data(NAME, _slope),
        bounds=(-1.0, 1.0),
    ),
    Measure(
        "compliance_right_percent",
        "complies, right %",
        "Planted beliefs: the share of steps with a right statement on which the action is a best "
        "response to it, of steps on which it could be none.",
        "%",
        0,
        _SOURCE,
        from_data(NAME, partial(_complied, True), share=True),
    ),
    Measure(
        "compliance_wrong_percent",
        "complies, wrong %",
        "Planted beliefs: the share of steps with a wrong statement on which the action is a best "
        "response to it and none to what the partner did, of steps that have such an action.",
        "%",
        0,
        _SOURCE,
        from_data(NAME, partial(_complied, False), share=True),
    ),
    Measure(
        "stated_right_percent",
        "stated right %",
        "Planted beliefs: the share of steps on which the statement was right.",
        "%",
        0,
        _SOURCE,
        from_data(NAME, _stated_right),
    ),
    Measure(
        "rational_regret_per_step",
        "rational believer's regret",
        "Planted beliefs: the stepwise regret, on the same steps, of a rational believer who knows "
        "how often statements are right and nothing else. In payoff units.",
        "payoff",
        0,
        _SOURCE,
        from_data(NAME, _rational),
        bounds=FROM_ZERO,
    ),
    Measure(
        "excess_regret_per_step",
        "regret over rational",
        "Planted beliefs: the subject's stepwise regret less that of the rational believer on the "
        "same steps. Lower is better; negative where it knows more than the statements. In payoff "
        "units.",
        "payoff",
        -1,
        _SOURCE,
        from_data(NAME, _excess),
    ),
)

GROUPS = (Group(NAME, MEASURES, has_beliefs, read_statements),)
