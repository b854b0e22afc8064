"""Measures of stated probabilities: how good predictions are that are more than one action."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tomeval.core.outcomes import VALID
from tomeval.games.matrix.played import FloatArray, IntArray, Played, data_of, from_data
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.games.matrix.storing import read_draws
from tomeval.runs.columns import Table, fixed, flat_share
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.store import Store
from tomeval.statistics.bounded import FROM_ZERO
from tomeval.statistics.estimates import Share, clustered_share

NAME = "probabilistic"

FEWEST_DRAWS = 2
"""Readable draws that a step needs: fewer say nothing of how much draws differ."""


def log_losses(probs: FloatArray, outcomes: IntArray) -> FloatArray:
    """Return the log loss of every forecast, in nats, shape (N,): -ln p(outcome).

    0 where the outcome was certain, infinite for a probability of 0.

    Examples
    --------
    >>> log_losses(np.array([[1.0, 0.0], [0.5, 0.5], [1.0, 0.0]]), np.array([0, 1, 1])).round(3)
    array([0.   , 0.693,   inf])
    """
    with np.errstate(divide="ignore"):
        return -np.log(probs[np.arange(len(probs)), outcomes]) + 0.0


def brier_scores(probs: FloatArray, outcomes: IntArray, draws: IntArray) -> FloatArray:
    """Return the Brier score of every forecast, shape (N,): sum_b (p(b) - [b happened])^2.

    From 0 to 2, the sum over all outcomes, as Brier (1950) has it. Where `draws`, (N,), is not 0,
    `probs` are frequencies among so many draws, at least 2. Their score is too high by sum_b
    p(b)(1 - p(b)) / draws in expectation; an unbiased estimate of that is subtracted. What is left,
    the mean over all pairs of draws of the product of their errors, can be below 0.

    Examples
    --------
    >>> even, second = np.array([[0.5, 0.5]]), np.array([1])
    >>> [brier_scores(even, second, np.array([draws])).tolist() for draws in (0, 2)]
    [[0.5], [0.0]]
    """
    scores: FloatArray = ((probs - np.eye(probs.shape[1])[outcomes]) ** 2).sum(axis=1)
    spread = (probs * (1 - probs)).sum(axis=1)
    scores -= np.divide(spread, draws - 1, out=np.zeros_like(scores), where=draws > 1)
    return scores


class Stated(NamedTuple):
    """The probabilities that a subject states in each step of its complete episodes.

    `probs`, (N, m): stated, or from draws (count + 1/2) / (draws + m/2), so that none is 0
    (Krichevsky and Trofimov 1981); NaN in steps without. `shares`: the same, or the frequencies of
    draws. `draws`, (N,): how many of these are readable; 0 where probabilities are stated.
    """

    probs: FloatArray
    shares: FloatArray
    draws: IntArray


def read_stated(store: Store, cell: int, definition: Mapping[str, Any]) -> Stated:
    """Return what a cell's subject states: draws, else what stands with all readable predictions.

    Where some lack it, as the answers of players that only draw now and then, those that have
    probabilities are no sample of the steps, and none are taken.
    """
    names, size = ("predicted_probs", "predict_outcome"), len(definition["labels"]["partner"])
    rows = list(store.read("steps", names, cell, complete=True))
    probs, counts = np.full((len(rows), size), np.nan), np.zeros((len(rows), size), dtype=np.int64)
    drawn = read_draws(store, cell)
    for step, outcome, value in drawn:
        if outcome == VALID:
            counts[step, value] += 1
    draws = counts.sum(axis=1)
    if drawn:
        some, shares = draws >= FEWEST_DRAWS, probs.copy()
        probs[some] = (counts[some] + 0.5) / (draws[some, None] + 0.5 * size)
        shares[some] = counts[some] / draws[some, None]
        return Stated(probs, shares, draws)
    readable = [step for step, (_, outcome) in enumerate(rows) if outcome == VALID]
    if readable and all(rows[step][0] is not None for step in readable):
        probs[readable] = [rows[step][0] for step in readable]
    return Stated(probs, probs, draws)


def _of(score: Callable[[Stated, IntArray], FloatArray], played: Played, stated: Stated) -> Totals:
    """Return the mean score over each episode's steps with probabilities."""
    there = np.isfinite(stated.probs[:, 0])
    episode = np.repeat(np.arange(played.episodes), played.lengths)[there]
    some = Stated(stated.probs[there], stated.shares[there], stated.draws[there])
    scores = score(some, played.partner[there])
    if np.isinf(scores).any():
        # An infinite loss leaves no mean and no difference; other episodes alone would flatter.
        return Totals(np.full(played.episodes, np.nan))
    count = np.bincount(episode, minlength=played.episodes)
    total = np.bincount(episode, scores, minlength=played.episodes)
    each = played.per_step(total.astype(np.float64), count.astype(np.float64))
    return each if each.ratio else Totals.known(each.top)


MEASURES = (
    Measure(
        "log_loss",
        "log loss",
        "Surprise at what the partner did: minus the natural logarithm of the probability that the "
        "subject gave to it, mean over steps, in nats. 0 is a certain and right prediction; lower "
        "is better. Infinite, shown without a value, where what happened had probability 0.",
        "nats",
        -1,
        "Good 1952, the logarithmic score",
        from_data(NAME, partial(_of, lambda stated, y: log_losses(stated.probs, y))),
        bounds=FROM_ZERO,
    ),
    Measure(
        "brier_score",
        "Brier score",
        "Squared distance between the stated probabilities and what happened, summed over the "
        "partner's actions: 0 is certain and right, 2 certain and wrong. Lower is better.",
        "squared probability",
        -1,
        "Brier 1950",
        from_data(
            NAME, partial(_of, lambda stated, y: brier_scores(stated.shares, y, stated.draws))
        ),
        bounds=(0.0, 2.0),
    ),
)


BINS = 15
"""Bins of equal width that confidence is sorted into (Guo et al. 2017)."""


def curve(probs: FloatArray, outcomes: IntArray, episode: IntArray) -> list[tuple[float, Share]]:
    """Return the mean confidence and the share that was right of each bin with forecasts.

    Confidence is the greatest of a forecast's probabilities, (N, K); bin k holds those above k /
    BINS up to (k + 1) / BINS. Where several of the outcomes share it, each is named equally often:
    one that happens is right by 1 over their number. Intervals are Wilson's, with episodes, (N,),
    as clusters.

    Examples
    --------
    >>> [(sure, right)] = curve(np.array([[0.5, 0.5]] * 4), np.array([0, 0, 0, 1]), np.arange(4))
    >>> sure, right.share, right.items
    (0.5, 0.5, 4)
    """
    confidence = probs.max(axis=1)
    named = probs >= confidence[:, None] - 1e-9  # up to rounding
    right = named[np.arange(len(probs)), outcomes] / named.sum(axis=1)
    place = np.clip(np.ceil(np.round(confidence * BINS, 9)), 1, BINS)
    return [
        (float(confidence[here].mean()), clustered_share(right[here], episode[here]))
        for here in (place == k for k in np.unique(place))
    ]


def _rows(cell: MatrixRunCell) -> list[dict[str, Any]]:
    """Return a row per bin of confidence; none of a cell without stated probabilities."""
    played, stated = cell.played, data_of(cell.played, NAME)
    there = np.isfinite(stated.probs[:, 0])
    episode = np.repeat(np.arange(played.episodes), played.lengths)[there]
    kind = "draws" if stated.draws.any() else "stated"
    rows: list[dict[str, Any]] = []
    for confidence, right in curve(stated.probs[there], played.partner[there], episode):
        row = {**cell.columns, "probabilities": kind, "confidence_percent": 100 * confidence}
        if cell.each_once:  # episodes that are no sample have no interval
            right = right._replace(low=math.nan, high=math.nan)
        rows.append(row | flat_share("right_percent", right) | {"steps": right.items})
    return rows


TABLES = {
    NAME: Table(
        "calibration: how often the likeliest action is right, by its stated probability",
        fixed(lambda run: [row for cell in matrix_cells(run) for row in _rows(cell)]),
        needs="predictions with probabilities, from scored labels (LM) or draws = N: "
        'docs/measures/probabilistic.md, "Probabilistic predictions"',
    ),
}
