"""Memory-one vectors of symmetric 2 x 2 games, and partners, rivals and defectors among them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.played import BoolArray, FloatArray, IntArray, Played
from tomeval.statistics.bounded import FEWEST
from tomeval.statistics.paired import draw_counts

OUTCOMES = ("cc", "cd", "dc", "dd")  # the own move first: c cooperates, d defects
RESAMPLES, TOLD = 499, 0.95  # and the share of them that must agree on a class
_SQUARINGS, _TIE = 40, 1e-9


@lru_cache(maxsize=256)
def cooperation(game: MatrixGame) -> tuple[int, int] | None:
    """Return the own and the partner's action that cooperate; None where a game has none.

    A 2 x 2 game is symmetric if both sides have the same payoffs once actions are paired, up to the
    zero and the unit of each side. The pair that pays more when both play it cooperates.

    Examples
    --------
    >>> from tomeval.games.matrix.games import get_game
    >>> [cooperation(get_game(name)) for name in ("IPD", "deadlock", "IBS", "RPS")]
    [(0, 0), (1, 1), None, None]
    """
    if (game.n, game.m) != (2, 2) or not np.ptp(game.own) or not np.ptp(game.partner):
        return None
    own, partner = ((side - side.min()) / np.ptp(side) for side in (game.own, game.partner))
    for like in ((0, 1), (1, 0)):  # the partner's action that is like each of the own
        both = own[(0, 1), like]
        if np.allclose(own[:, like], partner[:, like].T) and abs(both[0] - both[1]) > _TIE:
            return int(both.argmax()), like[int(both.argmax())]
    return None


def moves(played: Played, roles: tuple[int, int]) -> tuple[BoolArray, IntArray]:
    """Return who cooperated, by step, and after which of `OUTCOMES` (-1: first step); (N,) each."""
    own, theirs = played.own == roles[0], played.partner == roles[1]
    before = np.roll(2 * ~own + ~theirs, 1).astype(np.int64)
    before[played.starts] = -1
    return own, before


def classify(
    payoffs: FloatArray, own: BoolArray, before: IntArray, cluster: IntArray
) -> tuple[str, str]:
    """Return the class, as in `named`, of the memory-one strategy that moves show, and why if none.

    `own` and `before` are those of `moves`, `cluster`, (N,), the sampling units from 0; `payoffs`
    as for `named`. The class is that of the observed shares and of `TOLD` of the resamples of
    units, whatever the player would do after outcomes that never came; else it is empty.
    """
    units = int(cluster.max()) + 1
    if units < FEWEST:
        return "", f"fewer than {FEWEST} sampling units"
    kinds = np.arange(-1, 4) == before[:, None]
    hits, items = np.zeros((2, units, 5))
    np.add.at(items, cluster, kinds)
    np.add.at(hits, cluster, kinds & own[:, None])
    counts = draw_counts(RESAMPLES, units, np.random.default_rng(0))
    counts = np.concatenate([np.ones((1, units), dtype=np.int64), counts])
    with np.errstate(invalid="ignore"):
        shares = (counts @ hits) / (counts @ items)
    bits = np.insert((np.arange(16)[:, None] >> np.arange(4)) & 1, 0, 0, axis=1)  # for unseen ones
    filled = np.where(np.isnan(shares), bits[:, None, :], shares).reshape(-1, 5)
    rows, place = np.unique(filled, axis=0, return_inverse=True)
    names = named(rows[:, 1:], rows[:, 0], payoffs)[place.ravel()].reshape(16, -1)
    found = np.where((names == names[0]).all(axis=0), names[0], "")
    if not found[0]:
        return "", "it depends on moves after outcomes that never came"
    agree = np.mean(found[1:] == found[0]) >= TOLD
    return (str(found[0]), "") if agree else ("", "resamples of the episodes do not agree")


def named(vectors: FloatArray, first: FloatArray, payoffs: FloatArray) -> NDArray[np.str_]:
    """Return the class of each memory-one strategy, shape (R,).

    `vectors`, (R, 4), has the probability of cooperation after each of `OUTCOMES`, `first`, (R,),
    that in the first step; `payoffs`, (2, 2), the own ones, cooperation first: the other's are the
    transposed ones. "partner": with itself it earns what mutual cooperation pays, and nobody earns
    more against it. "rival": nobody earns more than it does. "partner, rival" is both. "defector":
    it never cooperates. "none". In the long run, from any outcome, without errors.

    Notes
    -----
    Hilbe, Chatterjee and Nowak 2018. Of the 16 deterministic memory-one strategies one is a best
    reply, to payoffs and to differences of payoffs: the other faces a decision process of 4 states.
    """
    own = np.stack([vectors, 1 - vectors], axis=2)  # (R, 4, move)
    mine, other = payoffs.ravel(), payoffs.T.ravel()
    best, ahead = np.full((2, len(vectors)), -np.inf)
    for reply in np.eye(2)[(np.arange(16)[:, None] >> np.arange(4)) & 1]:
        often = _long_run(own[:, :, :, None] * reply[:, None, :])
        best = np.maximum(best, (often @ other).max(axis=1))
        ahead = np.maximum(ahead, (often @ (other - mine)).max(axis=1))
    often = _long_run(own[:, :, :, None] * own[:, [0, 2, 1, 3]][:, :, None, :])
    start = np.stack([first, 1 - first], axis=1)
    alone = np.einsum("ra,rb,rabs,s->r", start, start, often.reshape(-1, 2, 2, 4), mine)
    slack, mutual = _TIE * np.ptp(payoffs), payoffs[0, 0]
    partner = (alone >= mutual - slack) & (best <= mutual + slack)
    never = (vectors[:, 2:].max(axis=1) <= 0) & (first <= 0)  # cc and cd then never come
    names = np.array(["none", "partner", "rival", "partner, rival"])[partner + 2 * (ahead <= slack)]
    return np.where(never, "defector", names)


def _long_run(joint: FloatArray) -> FloatArray:
    """Return how often outcomes come in the long run, by the first; from the next, (R, 4, 4)."""
    # A chain that waits in half of its steps has the same shares and no period: powers converge.
    chain: FloatArray = (joint.reshape(-1, 4, 4) + np.eye(4)) / 2
    for _ in range(_SQUARINGS):
        chain = chain @ chain
        chain /= chain.sum(axis=2, keepdims=True)
    return chain
