"""Do moves depend on the partner's move beyond the stated prediction? A test over episodes."""

from __future__ import annotations

import numpy as np

from tomeval.games.matrix.played import FloatArray, IntArray, Played, by_episode
from tomeval.games.matrix.responses import gains
from tomeval.games.matrix.rules import NONE
from tomeval.games.matrix.scores import chance_regret
from tomeval.statistics.bounded import FEWEST
from tomeval.statistics.paired import ENUMERATED, sign_flip, sign_flip_exact

RESAMPLES = 9_999


def unsaid(played: Played, cluster: IntArray) -> tuple[FloatArray, float] | str:
    """Return what moves earn against the true moves beyond what the predictions explain, and p.

    Among the steps of an episode with equal predictions, the payoff of each action against the true
    move is compared with what later actions earn against it, and both with what they earn against
    the moves before: D(a, b) less the mean of D(a, b') over b' before and a uniform move, where
    D(a, b) is r(a, b) less the mean of r(a', b) over a' later. If the action depends on the
    prediction alone the expectation is 0, also against partners that react; shuffled moves of an
    episode would find too much there.

    Returns
    -------
    points : ndarray, shape (E,)
        Parts whose mean is the extra payoff of all steps, in points of *plays*: 100 lie between
        random play and the optimum.
    p : float
        Two-sided, by flips of the sign of the sum of each sampling unit (`cluster`, (E,), from 0):
        all, or `RESAMPLES`. NaN with fewer than `FEWEST`. Or a text: why there is no test.

    Notes
    -----
    A small p says that the action tells something of the partner's move that the prediction does
    not. It cannot tell an unstated belief from a habit that the partner answers (tit for tat copies
    the last action), nor from learning while the prediction stays the same, which can make the
    effect negative. Deviations from later steps: Arellano and Bover 1995.
    """
    if played.predicted is None or not (played.predicted != NONE).any():
        return "nothing was predicted"
    stake = np.zeros(played.episodes)
    for partner, length, mine, _ in played.alike():
        stake[mine] = chance_regret(played.game, partner, length, played.continuation)
    if not stake.any():
        return "nothing is at stake" if played.partners else "the partner's policy is not known"
    episode = np.repeat(np.arange(played.episodes), played.lengths)
    stratum = np.where(played.predicted == NONE, -1, episode * played.game.m + played.predicted)
    order = np.argsort(stratum, kind="stable")[int((stratum < 0).sum()) :]
    size = np.unique(stratum[order], return_counts=True)[1]
    theirs, first = played.partner[order], np.cumsum(size) - size
    if (np.minimum.reduceat(theirs, first) == np.maximum.reduceat(theirs, first)).all():
        return "where predictions are equal the partner's moves are too"
    extra = np.zeros(len(played.own))
    extra[order] = _beyond(gains(played.game)[played.own[order]], theirs, size)
    total = by_episode(played, extra)
    ratio = total.sum() / stake.sum()
    points = 100 * (ratio + (total - ratio * stake) / stake.mean())
    sums = np.bincount(cluster, points).astype(np.float64)[:, None]
    if len(sums) < FEWEST:
        return points, np.nan
    if len(sums) <= ENUMERATED:
        return points, float(sign_flip_exact([sums])[0])
    how = np.ones((1, 1)), np.full((1, 1), len(sums)), RESAMPLES, np.random.default_rng(0)
    return points, float(sign_flip([sums[:, None]], *how)[0][0, 0])


def _beyond(worth: FloatArray, theirs: IntArray, size: IntArray) -> FloatArray:
    """Return the terms of `unsaid`, (K,), of strata of these sizes that follow each other.

    `worth`, (K, m), is what the action of each step earns against each move.
    """
    start = np.repeat(np.cumsum(size) - size, size)
    before = np.arange(len(worth)) - start
    later = np.repeat(size, size) - 1 - before
    worth = worth - worth.mean(axis=1, keepdims=True)
    seen = np.eye(worth.shape[1])[theirs]
    sums, moves = (np.cumsum(part, axis=0) for part in (worth, seen))
    after = (sums[start + before + later] - sums) / np.maximum(later, 1)[:, None]
    past = (moves - seen - (moves - seen)[start] + 1 / worth.shape[1]) / (before + 1)[:, None]
    terms: FloatArray = ((worth - after) * (seen - past)).sum(axis=1)
    return np.where(later > 0, terms, 0.0)
