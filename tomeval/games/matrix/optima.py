"""Exact best, worst and stationary responses to a partner, by dynamic programming."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, unknown
from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.responses import ROUNDING, gains, payoff_rounding, stationary_reward

REFERENCES = ("horizon", "stationary")
MAX_DENSE_STATES = 4_000
"""Partner states up to which the long-run optimum is solved; memory grows with their square."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A T-step response to a partner and what it earns."""

    # Expected sum of the subject's rewards over the T steps from the partner's start state.
    value: float
    # Shape (T + 1, S): expected sum over the steps t .. T - 1 from each state, less that of the
    # best (worst) one, so that differences of large sums keep their digits.
    relative: NDArray[np.float64]
    # Shape (T, S): the subject's action; the lowest index where several tie.
    policy: NDArray[np.int64]
    optimal: NDArray[np.bool_]  # shape (T, S, n): all actions that attain the value
    # Shape (T,): expected reward of each step under `policy` from the start state; sums to `value`.
    rewards: NDArray[np.float64]


def dynamics(game: MatrixGame, partner: Partner) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the decision process that a partner makes of a game.

    Expected rewards by partner state and own action, shape (S, n), and probabilities of the
    partner's next state, shape (S, n, S).
    """
    _check_sizes(game, partner)
    rewards = partner.emissions @ game.own.T
    size = len(partner.emissions)
    if size > MAX_DENSE_STATES:
        raise TomevalError(
            f"partner {partner.name!r} has {size} states; the stationary optimum can be solved "
            f"for at most {MAX_DENSE_STATES}"
        )
    transitions = np.zeros((size, game.n, size))
    s, a = np.ogrid[:size, : game.n]
    for b in range(game.m):
        np.add.at(transitions, (s, a, partner.next_state[:, :, b]), partner.emissions[:, None, b])
    return rewards, transitions


def best_response(game: MatrixGame, partner: Partner, horizon: int) -> Plan:
    """Return the best T-step response to a partner: the optimum that regret is measured from.

    Backward induction over T (at least 1) steps and the partner's states. The subject knows the
    partner's table and sees both actions, so it always knows the state; no policy earns more in
    expectation.

    Examples
    --------
    Cooperate with tit for tat, and defect once it can no longer answer:

    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner
    >>> game = get_game("IPD")
    >>> best_response(game, get_partner("tit_for_tat", game), 100).value
    802.0
    """
    return _induction(game, partner, horizon, sign=1.0)


known_best_response = lru_cache(maxsize=256)(best_response)
"""`best_response`, solved once for each (game, partner, horizon); objects count by identity."""


def worst_response(game: MatrixGame, partner: Partner, horizon: int) -> Plan:
    """Return the T-step response that earns least; parameters as for `best_response`."""
    return _induction(game, partner, horizon, sign=-1.0)


def _induction(game: MatrixGame, partner: Partner, horizon: int, sign: float) -> Plan:
    """Maximise ``sign`` times the expected sum of rewards.

    Actions are compared by what they gain over the least payoff and over the best next state, so
    that the numbers compared stay as small as what is at stake. Two actions tie if they differ by
    no more than the rounding that has built up from the last step to this one.
    """
    _check_horizon(horizon)
    _check_sizes(game, partner)
    rewards = partner.emissions @ game.own.T
    chance, following = partner.emissions[:, None, :], partner.next_state  # both (S, n or 1, m)
    gain = sign * (partner.emissions @ gains(game).T)
    size, n = rewards.shape
    relative = np.zeros((horizon + 1, size))
    policy = np.zeros((horizon, size), dtype=np.int64)
    optimal = np.zeros((horizon, size, n), dtype=bool)
    least, total, rounding = float(game.own.min()), 0.0, payoff_rounding(game)
    for t in range(horizon - 1, -1, -1):
        q = gain + (chance * relative[t + 1][following]).sum(axis=2)
        top = q.max(axis=1)
        rounding += ROUNDING * float(np.ptp(q))
        optimal[t] = q >= top[:, None] - rounding
        policy[t] = optimal[t].argmax(axis=1)
        relative[t] = top - top.max()
        total += float(top.max())
    value = sign * float(relative[0, partner.start] + total) + least * horizon
    relative *= sign
    state = np.zeros(size, dtype=np.float64)
    state[partner.start] = 1.0
    per_step = np.empty(horizon)
    rows = np.arange(size)
    for t in range(horizon):
        if partner.is_deterministic:  # one payoff, as it is
            per_step[t] = state @ rewards[rows, policy[t]]
        else:  # probabilities add up to 1 but for rounding, which a large payoff would multiply
            per_step[t] = least + sign * float(state @ gain[rows, policy[t]])
        mass = state[:, None] * partner.emissions
        reached = following[rows, policy[t]].ravel()
        state = np.bincount(reached, mass.ravel(), size).astype(np.float64)
    return Plan(value, relative, policy, optimal, per_step)


@lru_cache(maxsize=64)
def reference_rewards(
    game: MatrixGame, partner: Partner, horizon: int, reference: str
) -> NDArray[np.float64]:
    """Return the rewards r*_t that ΔFunctional is measured from, shape (T,).

    Under ``horizon`` the expected rewards of the best T-step response (the definition); under
    ``stationary`` the best mean reward per step in the long run, the same for every step. Solved
    once while several cells of a game and a partner set are read one after the other.
    """
    if reference == "horizon":
        rewards = best_response(game, partner, horizon).rewards
    elif reference == "stationary":
        rewards = np.full(horizon, stationary_reward(*dynamics(game, partner), partner.start))
    else:
        raise unknown("reference", reference, REFERENCES)
    rewards.setflags(write=False)  # shared by all who ask
    return rewards


@lru_cache(maxsize=64)
def possible_sums(game: MatrixGame, partner: Partner, horizon: int) -> tuple[float, float]:
    """Return the smallest and the largest sum of rewards that play over T steps can come to.

    Unlike `worst_response` and `best_response`, which are expectations, this also lets chance fall
    any way it can. For a deterministic partner they agree.
    """
    possible = np.where(partner.emissions > 0, 0.0, -np.inf)[:, None, :]
    sums = []
    for sign in (-1.0, 1.0):
        value = np.zeros(len(partner.emissions))
        for _ in range(horizon):
            value = (possible + sign * game.own + value[partner.next_state]).max(axis=(1, 2))
        sums.append(sign * float(value[partner.start]))
    return sums[0], sums[1]


def relevance(game: MatrixGame, partners: PartnerSet, horizon: int = 100) -> float:
    """Return the regret per step of the best response to the wrong partner.

    The mean over two partners π', π'' drawn independently from the set of the expected
    ΔFunctional/T of a subject that plays the best T-step response to π' against π''. It tells how
    much a task rewards telling its partners apart; 0 for a set of one.
    Where several actions are best against π', each is equally likely.

    Examples
    --------
    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner_set
    >>> rps = get_game("RPS")
    >>> round(relevance(rps, get_partner_set("single_action", rps)), 12)
    1.0
    """
    plans = [best_response(game, partner, horizon) for partner in partners.partners]
    total = 0.0
    for believed, plan, p in zip(partners.partners, plans, partners.weights, strict=True):
        for actual, optimum, q in zip(partners.partners, plans, partners.weights, strict=True):
            if believed is not actual:
                earned = _rewards_against(game, believed, plan, actual)
                total += p * q * float((optimum.rewards - earned).mean())
    return total


def _rewards_against(
    game: MatrixGame, believed: Partner, plan: Plan, actual: Partner
) -> NDArray[np.float64]:
    """Return the expected rewards, shape (T,), of a plan for `believed` against `actual`."""
    own = plan.optimal / plan.optimal.sum(axis=2, keepdims=True)  # (T, S', n)
    joint = np.zeros((len(believed.emissions), len(actual.emissions)))
    joint[believed.start, actual.start] = 1.0
    rewards = np.empty(len(own))
    for t, row in enumerate(own):
        # Of two partners that count steps few pairs of states are possible at a time.
        s, z = np.nonzero(joint)
        # mass[pair, a, b]: the two tables' states and the joint action of this step
        mass = joint[s, z, None, None] * row[s][:, :, None] * actual.emissions[z][:, None, :]
        rewards[t] = (mass * game.own).sum()
        joint = np.zeros_like(joint)
        np.add.at(joint, (believed.next_state[s], actual.next_state[z]), mass)
    return rewards


def _check_horizon(horizon: int) -> None:
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
        raise TomevalError(f"horizon must be a whole number of at least 1, is {horizon!r}")


def _check_sizes(game: MatrixGame, partner: Partner) -> None:
    if (partner.n, partner.m) != (game.n, game.m):
        raise TomevalError(
            f"partner {partner.name!r} is for {partner.n} x {partner.m} actions, "
            f"game {game.name} has {game.n} x {game.m}"
        )
