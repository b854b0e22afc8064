"""Measures of stated probabilities: how good predictions are that are more than one action."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from tomeval.core.outcomes import VALID
from tomeval.domains.matrix.partners import PartnerSet
from tomeval.domains.matrix.played import (
    BoolArray,
    FloatArray,
    IntArray,
    Played,
    data_of,
    from_data,
    nothing,
)
from tomeval.domains.matrix.responses import expected_response_cost
from tomeval.domains.matrix.storing import (
    RECORDED,
    read_draws,
    read_stated_probabilities,
)
from tomeval.extensions.probabilistic.forecasts import brier_scores, log_losses, smoothed, top
from tomeval.extensions.probabilistic.posterior import bayes_predictions
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.outside import Group
from tomeval.runs.store import Store
from tomeval.statistics.bounded import FROM_ZERO, Bounds

NAME = "probabilistic"
STATED, DRAWN = "stated", "draws"
"""Where probabilities come from: the prediction itself (scored labels), or repeated draws."""

FEWEST_DRAWS = 2
"""Readable draws that a step needs: fewer say nothing of how much draws differ."""


@dataclass(frozen=True, eq=False)
class Stated:
    """The probabilities that a subject states, in all steps of its complete episodes."""

    source: str  # `STATED`, `DRAWN`, or empty: none
    probs: FloatArray  # (N, m): stated, or `smoothed` from draws; rows without are NaN
    shares: FloatArray  # (N, m): the same, or the plain frequencies of draws
    draws: IntArray  # (N,): readable draws of each step; 0 where probabilities are stated
    asked: int  # draws that were asked for, in all steps
    weights: tuple[float, ...]  # the partner set's; empty: it is not known

    @property
    def there(self) -> BoolArray:
        """Which steps have probabilities, shape (N,)."""
        there: BoolArray = np.isfinite(self.probs[:, 0])
        return there


def read_stated(store: Store, cell: int, definition: Mapping[str, Any]) -> Stated:
    """Return what a cell's subject states.

    Draws go before what stands with the prediction. Else a cell states probabilities if every
    readable prediction of its complete episodes has them: where some lack them, as the answers of
    players that only draw now and then, those that have them are no sample of the steps.
    """
    rows = read_stated_probabilities(store, cell)
    size = len(definition["labels"]["partner"])
    weights = () if definition["kind"] == RECORDED else tuple(definition["partners"]["weights"])
    known = weights if definition["partners"]["tables"] else ()
    counts, asked = _counts(store, cell, len(rows), size)
    if asked:
        draws = counts.sum(axis=1)
        some = (draws >= FEWEST_DRAWS)[:, None]
        shares = counts / np.maximum(draws, 1)[:, None]
        probs = np.where(some, smoothed(counts), np.nan)
        return Stated(DRAWN, probs, np.where(some, shares, np.nan), draws, asked, known)
    probs = np.full((len(rows), size), np.nan)
    readable = [step for step, row in enumerate(rows) if row[1] == VALID]
    stated = bool(readable) and all(rows[step][0] is not None for step in readable)
    if stated:
        # As one text: a cell may have hundreds of thousands.
        probs[readable] = json.loads(f"[{','.join(rows[step][0] for step in readable)}]")
        if not (np.isfinite(probs[readable]).all() and (probs[readable] >= 0).all()):
            raise store.damaged(f"cell {cell}: stated probabilities are not a distribution")
    nothing_drawn = np.zeros(len(rows), dtype=np.int64)
    return Stated(STATED if stated else "", probs, probs, nothing_drawn, 0, known)


def _counts(store: Store, cell: int, steps: int, size: int) -> tuple[IntArray, int]:
    """Return how often each action was drawn in every step, (N, m), and how often it was asked."""
    counts = np.zeros((steps, size), dtype=np.int64)
    drawn = read_draws(store, cell)
    for step, outcome, value in drawn:
        if outcome == VALID:
            action = json.loads(value)
            if not 0 <= action < size:
                raise store.damaged(f"cell {cell}: a draw is outside 0..{size - 1}")
            counts[step, action] += 1
    return counts, len(drawn)


def bayes(played: Played) -> FloatArray | None:
    """Return the Bayes-optimal prediction of every step, (N, m); None without a partner set."""
    stated = data_of(played, NAME)
    if stated is None or not stated.weights or not played.partners:
        return None
    partners = PartnerSet(NAME, tuple(played.partners), stated.weights)
    return bayes_predictions(partners, played.own, played.partner, played.lengths)


@lru_cache(maxsize=4)
def by_step(played: Played) -> dict[str, FloatArray]:
    """Return what every step adds to each measure, shape (N,); NaN in steps without.

    Keys: those of `MEASURES`; ``bayes_log_loss`` and ``bayes_brier_score``, the Bayes
    predictor's, in steps in which the subject states probabilities.
    """
    stated: Stated = data_of(played, NAME)
    missing = np.full(len(played.own), np.nan)
    added = dict.fromkeys((*(measure.name for measure in MEASURES), *REFERENCE), missing)
    best = bayes(played)
    if best is not None:
        added["bayes_accuracy_percent"] = 100.0 * best.max(axis=1)
    there = stated.there
    if not there.any():
        return added

    def fill(values: FloatArray) -> FloatArray:
        whole = missing.copy()
        whole[there] = values
        return whole

    actual, probs, shares = played.partner[there], stated.probs[there], stated.shares[there]
    losses = log_losses(probs, actual)
    confidence, right = top(probs, actual)
    added["log_loss"] = fill(losses)
    added["brier_score"] = fill(brier_scores(shares, actual, stated.draws[there]))
    added["overconfidence"] = fill(100.0 * (confidence - right))
    cost = expected_response_cost(played.game, shares, actual)
    added["delta_tom_expected_utility_per_step"] = fill(cost)
    if best is not None:
        reference = log_losses(best[there], actual)
        added["bayes_log_loss"] = fill(reference)
        added["bayes_brier_score"] = fill(brier_scores(best[there], actual))
        added["excess_log_loss"] = fill(losses - reference)
    return added


def episode_means(played: Played, values: FloatArray) -> FloatArray:
    """Return the mean over each episode's steps that have a value, shape (E,); NaN without any."""
    episode = np.repeat(np.arange(played.episodes), played.lengths)
    there = ~np.isnan(values)
    count = np.bincount(episode[there], minlength=played.episodes)
    total = np.bincount(episode[there], values[there], minlength=played.episodes)
    means = np.full(played.episodes, np.nan)
    np.divide(total, count, out=means, where=count > 0)
    return means


def _of(name: str, played: Played, stated: Stated) -> Totals:
    values = episode_means(played, by_step(played)[name])
    if np.isinf(values).any():
        # An infinite loss leaves no mean and no difference; the other episodes alone would flatter.
        return nothing(played)
    return Totals.known(values)


def _measure(
    name: str,
    heading: str,
    unit: str,
    better: Literal[1, 0, -1],
    source: str,
    meaning: str,
    bounds: Bounds | None = None,
) -> Measure:
    of = from_data(NAME, partial(_of, name))
    return Measure(name, heading, meaning, unit, better, source, of, bounds=bounds)


_OWN = "this project, docs/measures/probabilistic.md"
REFERENCE = ("bayes_log_loss", "bayes_brier_score")

MEASURES = (
    _measure(
        "log_loss",
        "log loss",
        "nats",
        -1,
        "Good 1952, the logarithmic score",
        "Surprise at what the partner did: minus the natural logarithm of the probability that the "
        "subject gave to it, mean over steps, in nats. 0 is a certain and right prediction; lower "
        "is better. Infinite, shown without a value, where what happened had probability 0.",
        FROM_ZERO,
    ),
    _measure(
        "excess_log_loss",
        "log loss above Bayes",
        "nats",
        -1,
        _OWN,
        "Log loss beyond that of the best predictor that knows the partner set and sees the same "
        "moves, in nats per step. Its expectation is at least 0; lower is better.",
    ),
    _measure(
        "brier_score",
        "Brier score",
        "squared probability",
        -1,
        "Brier 1950",
        "Squared distance between the stated probabilities and what happened, summed over the "
        "partner's actions: 0 is certain and right, 2 certain and wrong. Lower is better.",
        (0.0, 2.0),
    ),
    _measure(
        "overconfidence",
        "overconfidence",
        "percentage points",
        0,
        _OWN,
        "How much higher the probability of the likeliest action is than the share of steps on "
        "which it was right, in percentage points. 0: calibrated; positive: overconfident.",
        (-100.0, 100.0),
    ),
    _measure(
        "delta_tom_expected_utility_per_step",
        "ΔToM/T (expected utility)",
        "payoff",
        -1,
        _OWN,
        "The regret per step of a player who maximises its payoff expected under the stated "
        "probabilities, the partner's moves held fixed: hedging is not an error. Lower is better; "
        "in payoff units.",
        FROM_ZERO,
    ),
    _measure(
        "bayes_accuracy_percent",
        "Bayes ToM %",
        "%",
        0,
        _OWN,
        "The ceiling of ToM %: how often the best predictor that knows the partner set and sees "
        "the same moves is expected to be right, 0 to 100.",
    ),
)

GROUPS = (Group(NAME, MEASURES, read=read_stated),)
