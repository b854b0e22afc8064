"""One-step best responses of a game and what misjudging the partner costs, as lookup tables."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import unknown
from tomeval.games.matrix.games import MatrixGame, mirrored

RULES = ("best_response", "misprediction", "mean_misprediction")
ROUNDING = 16 * float(np.finfo(np.float64).eps)
"""What one sum of few terms may be off by, relative to the largest of them, with a margin."""


def gains(game: MatrixGame) -> NDArray[np.float64]:
    """Return the subject's payoffs less the smallest one, shape (n, m).

    They ask for the same decisions as the payoffs, whatever is added to those, but sums of them are
    no larger than what is at stake: comparisons then see differences, not the rounding of a
    constant that all actions share.
    """
    above: NDArray[np.float64] = game.own - game.own.min()
    return above


def payoff_rounding(game: MatrixGame) -> float:
    """Return how far a payoff may be from the number that was meant, in payoff units."""
    return ROUNDING * float(np.abs(game.own).max())


@lru_cache(maxsize=256)
def best_responses(game: MatrixGame) -> NDArray[np.bool_]:
    """Return which of the subject's actions are best against each partner action, shape (n, m).

    ``[a, b]`` is true where a maximises the subject's payoff against b. Ties are all true.
    """
    best: NDArray[np.bool_] = game.own == game.own.max(axis=0)
    best.setflags(write=False)  # shared by all who ask
    return best


MOST_ORDER = 3
"""The highest order of theory of mind that partners know."""


def order_replies(game: MatrixGame, order: int) -> NDArray[np.int64]:
    """Return what a player of a theory-of-mind order plays, by a last action.

    The subject is the player. Order 0 expects the partner's last action again, and order k that the
    partner is of order k - 1; each plays its best reply to that, the lowest index where several
    tie. So even orders look at the partner's last action, odd ones at the player's own.

    Parameters
    ----------
    order : int
        0 to `MOST_ORDER`.

    Returns
    -------
    ndarray of int, shape (m,) for even orders, (n,) for odd ones
        The player's action, by the index of the last action that the order looks at.

    Notes
    -----
    The agents of de Weerd, Verbrugge and Verheij 2013 (Artificial Intelligence 199-200), section 3,
    with learning speed 1, so that a belief is the last action, and sure of their order.

    Examples
    --------
    >>> from tomeval.games.matrix.games import get_game
    >>> [order_replies(get_game("RPS"), order).tolist() for order in range(4)]
    [[1, 2, 0], [2, 0, 1], [0, 1, 2], [1, 2, 0]]
    """
    expected = order_replies(mirrored(game), order - 1) if order else np.arange(game.m)
    replies: NDArray[np.int64] = game.own.argmax(axis=0)[expected]
    return replies


@lru_cache(maxsize=256)
def stepwise_regret(game: MatrixGame) -> NDArray[np.float64]:
    """Return what each action loses in one step, the partner's move held fixed, shape (n, m).

    ``max_a' r(a', b) - r(a, b)``, in payoff units, at least 0.
    """
    regret: NDArray[np.float64] = game.own.max(axis=0) - game.own
    regret.setflags(write=False)
    return regret


@lru_cache(maxsize=256)
def misjudgement_cost(game: MatrixGame, rule: str) -> NDArray[np.float64]:
    """Return the regret of one step when the subject trusts a prediction.

    Parameters
    ----------
    rule : {"best_response", "misprediction", "mean_misprediction"}
        ``best_response``: the subject plays a best response to the prediction (ΔToM one step at a
        time; over T steps it is `tomeval.games.matrix.planned`).
        ``misprediction``: a right prediction costs nothing and a wrong one leads
        to an action that is not best: the one that is best against the prediction among those that
        are not best against the actual action. The two differ only where a best response to a
        wrong prediction is still best, as defecting always is in the prisoner's dilemma.
        ``mean_misprediction``: every wrong prediction costs the same, the mean over all wrong pairs
        of what they cost under ``misprediction``. Reported ΔToM follows the second rule for
        single-action partners and the third for tit for tat. Tied actions count by their mean.

    Returns
    -------
    ndarray, shape (m, m)
        ``[predicted, actual]``, in payoff units, at least 0; the diagonal is 0.

    Examples
    --------
    >>> from tomeval.games.matrix.games import get_game
    >>> misjudgement_cost(get_game("RPS"), "best_response")[0].tolist()
    [0.0, 1.0, 2.0]
    >>> misjudgement_cost(get_game("IPD"), "best_response").max()
    np.float64(0.0)
    >>> misjudgement_cost(get_game("IPD"), "misprediction").tolist()
    [[0.0, 5.0], [2.0, 0.0]]
    """
    if rule not in RULES:
        raise unknown("ΔToM rule", rule, RULES)
    if rule == "mean_misprediction":
        wrong = ~np.eye(game.m, dtype=bool)
        return np.where(wrong, misjudgement_cost(game, "misprediction")[wrong].mean(), 0.0)
    best, regret = best_responses(game), stepwise_regret(game)
    cost = np.zeros((game.m, game.m))
    for predicted in range(game.m):
        for actual in range(game.m):
            if predicted == actual:
                continue
            played = best[:, predicted]
            if rule == "misprediction":
                not_best = ~best[:, actual]
                if not not_best.any():
                    continue  # every action is best against the actual one: nothing to lose
                payoff = np.where(not_best, game.own[:, predicted], -np.inf)
                played = payoff == payoff.max()
            cost[predicted, actual] = regret[played, actual].mean()
    cost.setflags(write=False)
    return cost


@lru_cache(maxsize=256)
def rational_responses(game: MatrixGame, accuracy: float) -> NDArray[np.bool_]:
    """Return what a rational believer plays: its best actions by statement, shape (n, m).

    It knows how often statements are right, and nothing else of the partner: before the statement
    all of the partner's actions are equally probable to it. After statement s, s has probability
    `accuracy` and every other action (1 - accuracy) / (m - 1). Ties are all true.

    Examples
    --------
    Below one in three, told Rock, it plays against the other two.

    >>> from tomeval.games.matrix.games import get_game
    >>> game = get_game("RPS")
    >>> [rational_responses(game, p)[:, 0].tolist() for p in (0.2, 0.5)]
    [[False, False, True], [False, True, False]]
    """
    above = gains(game)
    wrong = (1 - accuracy) / (game.m - 1)
    worth = accuracy * above + wrong * (above.sum(axis=1, keepdims=True) - above)
    best: NDArray[np.bool_] = worth >= worth.max(axis=0) - ROUNDING * above.max()
    best.setflags(write=False)
    return best


_Array = NDArray[np.float64]


def stationary_reward(rewards: _Array, transitions: _Array, start: int) -> float:
    """Return the largest long-run mean reward per step from a start state.

    Parameters
    ----------
    rewards : ndarray, shape (S, n)
        Expected reward of each action in each state.
    transitions : ndarray, shape (S, n, S)
        Probability of the next state.

    Notes
    -----
    In payoff units per step; exact up to rounding, for periodic, transient and stochastic partners
    alike. Howard's policy iteration for multichain processes: Puterman 1994, section 9.2.1. An
    action is changed only if another is better by more than rounding, so the iteration ends.
    """
    states = np.arange(len(rewards))
    # Less the smallest reward: a constant that all share must not widen what counts as equal.
    least = float(rewards.min())
    rewards = rewards - least
    tolerance = 1e-9 * float(rewards.max())
    policy = rewards.argmax(axis=1)
    while True:
        gain, bias = _evaluate(rewards[states, policy], transitions[states, policy])
        by_gain = transitions @ gain
        best_gain = by_gain.max(axis=1)
        if (best_gain > by_gain[states, policy] + tolerance).any():
            better = by_gain >= best_gain[:, None] - tolerance
        else:
            keeps_gain = by_gain >= best_gain[:, None] - tolerance
            q = np.where(keeps_gain, rewards + transitions @ bias, -np.inf)
            better = q >= q.max(axis=1, keepdims=True) - tolerance
        improved = np.where(better[states, policy], policy, better.argmax(axis=1))
        if (improved == policy).all():
            return least + float(gain[start])
        policy = improved


def _evaluate(rewards: _Array, transitions: _Array) -> tuple[_Array, _Array]:
    """Return gain and bias of a fixed policy, each of shape (S,).

    The bias is 0 at the lowest state of every recurrent class.
    """
    from scipy.sparse.csgraph import connected_components

    size = len(rewards)
    _, group = connected_components(transitions > 0, connection="strong")
    leaves = (transitions > 0) & (group[:, None] != group)
    recurrent = ~np.isin(group, group[leaves.any(axis=1)])
    gain, bias = np.zeros(size), np.zeros(size)
    for one in np.unique(group[recurrent]):
        members = np.flatnonzero(group == one)
        block = transitions[np.ix_(members, members)]
        # unknowns: bias of all members but the first, and the class's gain
        system = np.eye(len(members)) - block
        system[:, 0] = 1.0
        solution = np.linalg.solve(system, rewards[members])
        gain[members] = solution[0]
        bias[members] = np.concatenate([[0.0], solution[1:]])
    moving = np.flatnonzero(~recurrent)
    settled = np.flatnonzero(recurrent)
    if moving.size:
        system = np.eye(len(moving)) - transitions[np.ix_(moving, moving)]
        into = transitions[np.ix_(moving, settled)]
        gain[moving] = np.linalg.solve(system, into @ gain[settled])
        bias[moving] = np.linalg.solve(
            system, rewards[moving] - gain[moving] + into @ bias[settled]
        )
    return gain, bias
