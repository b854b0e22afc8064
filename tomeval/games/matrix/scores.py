"""What knows, uses and plays are made of in a matrix game."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from tomeval.core.once import once_each
from tomeval.games.answer import UNKNOWN
from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.optima import known_best_response, possible_sums, reference_rewards
from tomeval.games.matrix.partners import Partner
from tomeval.games.matrix.played import BoolArray, FloatArray, IntArray, Played, by_episode
from tomeval.games.matrix.responses import ROUNDING, gains, payoff_rounding
from tomeval.games.matrix.rules import NONE
from tomeval.games.scores import Scores, Terms

SHOWS = 0.1
"""On this share of the steps a prediction must change the best move for its use to be seen."""


@once_each
def scores(played: Played) -> Scores:
    """Return what the scores of a cell are made of.

    Parameters
    ----------
    played : Played
        E episodes. With p_t the subject's prediction, a_t its action, b_t the partner's, s_t the
        partner's state, r the payoff, m the number of the partner's actions and V* the value of the
        best response over the steps that are left:

        - *knows*: [b_t = p_t] - 1/m over max_b P(b | s_t) - 1/m;
        - *replies*: 1 - loss / loss of a random action, the loss max_x r(x, p_t) - r(a_t, p_t);
        - *plans*: the same with r(x, p_t) + V*(state after x and p_t) in place of r(x, p_t);
        - *uses*: the larger of *replies* and *plans*, of those in which a prediction can show: on a
          share `SHOWS` of the steps no action is a best reply to every prediction;
        - *plays*: 1 - (V* - reward) / (V* - V of uniformly random play).

        Sums over the steps with a prediction and the episodes; *plays* over all steps. If a game
        goes on with a probability, V* of what follows has that weight, and *plays* takes what
        random play loses in the steps that were played.

    Notes
    -----
    Without a known partner there is neither *knows*, nor *plans*, nor *plays*. The definitions are
    this project's own, docs/measures.md.

    Examples
    --------
    In rock, paper, scissors a player is told Rock three times and plays Paper, Paper, Rock:

    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner
    >>> game = get_game("RPS")
    >>> own, theirs = np.array([1, 1, 0]), np.array([0, 0, 0])
    >>> played = Played(game, [get_partner("always(0)", game)], np.array([0]), np.array([3]),
    ...                 own, theirs, theirs, game.own[own, theirs])
    >>> found = scores(played)
    >>> names = ("knows", "replies", "plans", "uses", "plays")
    >>> [round(found.find(name).score, 4) for name in names]
    [1.0, 0.6667, 0.6667, 0.6667, 0.6667]
    """
    if played.predicted is None:
        asked = np.zeros(len(played.own), dtype=np.bool_)
        predicted = np.zeros(len(played.own), dtype=np.int64)
    else:
        asked = played.predicted != NONE
        predicted = np.where(asked, played.predicted, 0)
    knows, plans, shows_ahead = _against_partners(played, predicted, asked)
    worth = gains(played.game)[:, predicted].T  # (N, n)
    replies = _replying(played, worth, asked, payoff_rounding(played.game))
    shows_now = np.full(len(asked), _changes_best(gains(played.game), 0.0), dtype=np.float64)
    seen = [
        terms
        for terms, shows in ((replies, shows_now), (plans, shows_ahead))
        if asked.any() and shows[asked].mean() >= SHOWS and not np.isnan(terms.score)
    ]
    uses = max(seen, key=lambda terms: terms.score, default=None)
    return Scores(
        *(knows, replies, plans, uses, _plays(played)),
        asked=bool(asked.any()),
        lacks="" if played.partners else UNKNOWN,
    )


def _against_partners(
    played: Played, predicted: IntArray, asked: BoolArray
) -> tuple[Terms, Terms, FloatArray]:
    """Return the terms of *knows* and *plans*, and on which steps the latter can show, (N,)."""
    game, size = played.game, len(asked)
    chance = 1 / game.m
    best, worth, shows = np.zeros(size), np.zeros((size, game.n)), np.zeros(size)
    slack = np.zeros(size)
    for partner, length, _, steps in played.alike():
        s, p, t = played.states[steps], predicted[steps], np.arange(length)
        best[steps] = partner.emissions.max(axis=1)[s]
        ahead = known_best_response(game, partner, length, played.continuation).relative
        reached = partner.next_state[s, :, p]  # (K, T, n)
        worth[steps] = gains(game).T[p] + ahead[t[:, None] + 1, reached]
        shows[steps] = _plans_show(game, partner, length, played.continuation)[t, s]
        slack[steps] = _slack(game, length, played.continuation)
    known = asked & (len(played.partners) > 0)
    there = by_episode(played, known) > 0
    attainable = np.where(best - chance > ROUNDING, best - chance, 0.0)
    hits = (predicted == played.partner) - chance
    sums = [
        by_episode(played, np.where(known, steps, 0.0))
        for steps in (hits, attainable, np.full(size, -chance), np.full(size, 1 - chance))
    ]
    knows = Terms(sums[0], sums[1], sums[2], sums[3], there)
    return knows, _replying(played, worth, known, slack), shows


def _replying(
    played: Played, worth: FloatArray, asked: BoolArray, slack: FloatArray | float
) -> Terms:
    """Return the terms of a score of replies, given what each action is worth, shape (N, n)."""
    top = worth.max(axis=1)
    lost = top - worth[np.arange(len(top)), played.own]
    at_chance, at_worst = top - worth.mean(axis=1), top - worth.min(axis=1)
    lost, at_chance, at_worst = (
        by_episode(played, np.where(asked & (part > slack), part, 0.0))
        for part in (lost, at_chance, at_worst)
    )
    there = by_episode(played, asked) > 0
    return Terms(at_chance - lost, at_chance, at_chance - at_worst, at_chance, there)


def _plays(played: Played) -> Terms:
    """Return the terms of *plays*."""
    size, game = played.episodes, played.game
    if not played.partners:
        nothing = np.zeros(size)
        return Terms(nothing, nothing, nothing, nothing, np.zeros(size, dtype=np.bool_))
    optimum, at_chance, least, most = np.zeros((4, size))
    for partner, length, mine, _ in played.alike():
        ends = possible_sums(game, partner, length)
        on = played.continuation
        value = float(reference_rewards(game, partner, length, "horizon", on).sum())
        optimum[mine] = value
        at_chance[mine] = chance_regret(game, partner, length, on)
        least[mine], most[mine] = ends[0] - value, ends[1] - value
    earned = by_episode(played, played.own_reward) - optimum
    there = np.ones(size, dtype=np.bool_)
    return Terms(
        at_chance + earned, at_chance, at_chance + least, at_chance + np.maximum(most, 0.0), there
    )


def chance_regret(
    game: MatrixGame, partner: Partner, horizon: int, continuation: float | None = None
) -> float:
    """Return the expected T-step regret of uniformly random play, V* - V, in payoff units.

    The sum over steps of what a random action loses against the best one, in the states that random
    play meets; 0 where every way to play earns the same. If the game goes on with a probability, T
    is how long it went: the mean over T is V* - V.

    Examples
    --------
    Random play earns 5.75 a step in the prisoner's dilemma against tit for tat, but for the first
    step, and the optimum 8, but for the last one:

    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner
    >>> game = get_game("IPD")
    >>> chance_regret(game, get_partner("tit_for_tat", game), 2)
    3.25
    """
    longest = horizon if continuation is None else 1 << (horizon - 1).bit_length()
    return float(_chance_regrets(game, partner, longest, continuation)[horizon - 1])


@lru_cache(maxsize=256)
def _chance_regrets(
    game: MatrixGame, partner: Partner, horizon: int, continuation: float | None
) -> FloatArray:
    """Return the sums over the first 1, 2, ..., T steps of what random play loses, shape (T,)."""
    emissions, following = partner.emissions, partner.next_state
    state = np.zeros(len(emissions))
    state[partner.start] = 1.0
    mass = emissions[:, None, :] / game.n  # of an own and a partner's action, by state
    lost = np.empty(horizon)
    for t, each in enumerate(losses(game, partner, horizon, continuation)):
        lost[t] = state @ each.mean(axis=1)
        reached = np.broadcast_to(state[:, None, None] * mass, following.shape).ravel()
        state = np.bincount(following.ravel(), reached, len(state)).astype(np.float64)
    return np.cumsum(lost)


def losses(
    game: MatrixGame, partner: Partner, horizon: int, continuation: float | None = None
) -> Iterator[FloatArray]:
    """Yield for every step what each action loses against the best, shape (S, n), in payoff units.

    The value that is lost over the steps that are left, by the partner's state; what is as small as
    rounding is 0. The expected sum over the steps of a play is its regret.
    """
    plan = known_best_response(game, partner, horizon, continuation)
    emissions, slack = partner.emissions, _slack(game, horizon, continuation)
    now = emissions @ gains(game).T  # (S, n)
    for t in range(horizon):
        ahead = plan.relative[t + 1][partner.next_state]  # (S, n, m)
        worth = now + (emissions[:, None, :] * ahead).sum(axis=2)
        lost = worth.max(axis=1, keepdims=True) - worth
        yield np.where(lost > slack, lost, 0.0)


@lru_cache(maxsize=256)
def _plans_show(
    game: MatrixGame, partner: Partner, horizon: int, continuation: float | None
) -> BoolArray:
    """Return where no action is a best reply to every prediction over the steps left, (T, S)."""
    ahead = known_best_response(game, partner, horizon, continuation).relative
    slack = _slack(game, horizon, continuation)
    shows = [
        _changes_best(gains(game) + row[partner.next_state], slack)
        for row in (ahead[1:] if continuation is None else ahead[:1])
    ]
    return np.broadcast_to(np.stack(shows), ahead[1:].shape)


def _changes_best(worth: FloatArray, slack: float) -> BoolArray:
    """Return whether no row is best in all tables of own action by prediction, (..., n, m)."""
    best = worth >= worth.max(axis=-2, keepdims=True) - slack
    changes: BoolArray = ~best.all(axis=-1).any(axis=-1)
    return changes


def _slack(game: MatrixGame, horizon: int, continuation: float | None) -> float:
    """Return up to what two values over the steps left differ by rounding alone."""
    terms = horizon + 1 if continuation is None else 1 / (1 - continuation) ** 2
    return payoff_rounding(game) + terms * ROUNDING * float(np.ptp(game.own))
