"""Types of play that moves fit: levels of reasoning in the stage game, and named policies."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.games import MatrixGame, mirrored
from tomeval.games.matrix.partner_files import partner_names
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.partners import Partner
from tomeval.games.matrix.played import FloatArray, IntArray, Played, by_episode
from tomeval.games.matrix.responses import MOST_ORDER, ROUNDING, best_responses, gains
from tomeval.games.matrix.rules import NONE
from tomeval.statistics.bounded import FEWEST, score_ends, t_quantile_975
from tomeval.statistics.paired import draw_counts

ERROR = 0.05  # of the actions of a type are uniform
TOP = 3  # the highest level
RESAMPLES = 999
_ROUNDS, _CONVERGED = 200, 1e-7


@lru_cache(maxsize=256)
def levels(game: MatrixGame) -> FloatArray:
    """Return what levels 0 to 3 play in the stage game, (4, n).

    Level 0 is uniform, level k replies best to a partner of level k - 1; ties are equally likely.
    """
    sides = game, mirrored(game)
    plays = [np.full(side.n, 1 / side.n) for side in sides]
    found = [plays[0]]
    for _ in range(TOP):
        worth = [gains(side) @ other for side, other in zip(sides, plays[::-1], strict=True)]
        best = [of >= of.max() * (1 - ROUNDING) for of in worth]
        plays = [tied / tied.sum() for tied in best]
        found.append(plays[0])
    return np.array(found)


def level_mixture(played: Played, cluster: IntArray) -> dict[str, tuple[float, float, float]] | str:
    """Return the share of episodes of each type with its interval, or why it cannot be told.

    An episode is of one type: a level of `levels`, or "said", which replies best to its own
    prediction, if there is any. Types that play alike are one, such as "1/3". `ERROR` of the
    actions are uniform. Shares are of maximum likelihood, by EM; intervals the middle 95 % of
    resamples of the sampling units, `cluster`, (E,) from 0. Where all agree, a share
    q^2 / (units + q^2) may be unseen, q being Student's quantile. NaN with fewer units than
    `FEWEST`.

    Notes
    -----
    Nagel 1995; Costa-Gomes, Crawford and Broseta 2001, where a person is of a type, with errors.
    """
    means = levels(played.game)
    if np.allclose(means[1:], means[0]):
        return "levels play alike: all replies to a uniform partner are equally good"
    if np.allclose(means[2:], means[1]):
        return "all levels from 1 on play alike"
    steps = len(played.own)
    plans = {str(level): np.tile(row, (steps, 1)) for level, row in enumerate(means)}
    said = played.predicted
    if said is not None and (said != NONE).any():
        best = best_responses(played.game).T[said]
        uniform = (said == NONE)[:, None]
        plans["said"] = np.where(uniform, means[0], best / best.sum(axis=1)[:, None])
    alike: dict[bytes, list[str]] = {}
    for name, plan in plans.items():
        alike.setdefault(plan.tobytes(), []).append(name)
    meant = np.array([plans[names[0]][np.arange(steps), played.own] for names in alike.values()])
    logs = np.log((1 - ERROR) * meant + ERROR / played.game.n)
    fits = np.stack([by_episode(played, row) for row in logs], axis=1)
    units = int(cluster.max()) + 1
    counts = draw_counts(RESAMPLES, units, np.random.default_rng(0))
    weights, *drawn = _maximised(fits, np.concatenate([np.ones((1, units)), counts])[:, cluster])
    ends = np.quantile(drawn, (0.025, 0.975), axis=0)
    unseen = score_ends(weights, 0.0, t_quantile_975(max(1, units - 1)), units, 0.0, 1.0)
    ends = np.where(np.ptp(ends, axis=0) < 1e-9, unseen, ends) if units >= FEWEST else ends * np.nan
    columns = map("/".join, alike.values()), zip(weights, *ends, strict=True)
    return dict(zip(*columns, strict=True))


def _maximised(fits: FloatArray, counts: FloatArray) -> FloatArray:
    """Return shares of maximum likelihood, (B, K), of episodes counted as in `counts`, (B, E)."""
    chances = np.exp(fits - fits.max(axis=1, keepdims=True)).round(12)
    rows, place = np.unique(chances, axis=0, return_inverse=True)
    counts = counts @ np.eye(len(rows))[place.ravel()]
    counts /= counts.sum(axis=1, keepdims=True)
    weights = np.full((len(counts), fits.shape[1]), 1 / fits.shape[1])
    for _ in range(_ROUNDS):
        chance = np.maximum(weights @ rows.T, 1e-300)  # 0 for episodes that were not drawn
        before, weights = weights, weights * ((counts / chance) @ rows)
        if np.abs(weights - before).max() < _CONVERGED:
            break
    return weights


def policies(played: Played) -> list[tuple[str, float, FloatArray]]:
    """Return the shipped partners in the subject's place, the most likely first.

    Name, log-likelihood with `ERROR` of uniform actions, and the chance that the policy gives to
    each step's action, (N,). Of equally likely ones that with the fewest states is first, and
    one that was designed last.
    """
    found = []
    order = sorted(
        named_policies(played.game),
        key=lambda one: (len(one.emissions), one.title.startswith("Designed")),
    )
    for policy in order:
        hits, state = np.empty(len(played.own)), np.full(played.episodes, policy.start)
        for t in range(int(played.lengths.max())):
            going = np.flatnonzero(played.lengths > t)
            at, now = played.starts[going] + t, state[going]
            hits[at] = policy.emissions[now, played.own[at]]
            state[going] = policy.next_state[now, played.partner[at], played.own[at]]
        chance = np.log((1 - ERROR) * hits + ERROR / played.game.n).sum()
        found.append((policy.name, round(float(chance), 6), hits))
    return sorted(found, key=lambda one: -one[1])


@lru_cache(maxsize=64)
def named_policies(game: MatrixGame) -> list[Partner]:
    """Return the shipped partners that fit the subject's side, with their default parameters."""
    several = {"always": game.n, "tom_order": MOST_ORDER + 1, "mixture": 0}
    fitting = []
    for name in partner_names():
        for k in range(several.get(name, 1)):
            spec = f"{name}({k})" if name in several else name
            with suppress(TomevalError):  # it is for games of another size
                fitting.append(get_partner(spec, mirrored(game)))
    return fitting
