"""Exact best, worst and stationary responses to a partner, by dynamic programming.

A game lasts T steps, or goes on after every step with a probability, its `continuation`: then the
best response depends on the partner's state alone, and a `Plan` shows its first T steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, unknown
from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.responses import ROUNDING, gains, payoff_rounding, stationary_reward

REFERENCES = ("horizon", "stationary")
MAX_CONTINUATION = 0.999
BEYOND = (
    f"must be above 0 and at most {MAX_CONTINUATION}, where 1,000 steps are expected, is {{:g}}"
)
MAX_DENSE_STATES = 4_000
"""Partner states up to which the long-run optimum is solved; memory grows with their square."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A T-step response to a partner and what it earns."""

    # Expected sum of the subject's rewards over the T steps from the partner's start state, or over
    # all steps until the game ends.
    value: float
    # Shape (T + 1, S): expected sum over the steps t .. T - 1 from each state, less that of the
    # best (worst) one, so that differences of large sums keep their digits. If the game goes on
    # with a probability: of all steps from t on, times that probability.
    relative: NDArray[np.float64]
    # Shape (T, S): the subject's action; the lowest index where several tie.
    policy: NDArray[np.int64]
    optimal: NDArray[np.bool_]  # shape (T, S, n): all actions that attain the value
    # Shape (T,): expected reward of each step under `policy` from the start state; sums to `value`,
    # in a game that goes on weighted by the probability that the step is played.
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


def best_response(
    game: MatrixGame, partner: Partner, horizon: int, continuation: float | None = None
) -> Plan:
    """Return the best T-step response to a partner: the optimum that regret is measured from.

    Backward induction over T (at least 1) steps and the partner's states. The subject knows the
    partner's table and sees both actions, so it always knows the state; no policy earns more in
    expectation. With a `continuation` the game goes on after every step with that probability, from
    above 0 to below 1, and T is only how many steps the plan shows: policy iteration with exact
    linear solutions (Puterman 1994, section 6.4).

    Examples
    --------
    Cooperate with tit for tat, and defect once it can no longer answer:

    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner
    >>> game = get_game("IPD")
    >>> best_response(game, get_partner("tit_for_tat", game), 100).value
    802.0

    If the game goes on with a probability of 0.95, 8 points in each of 20 expected steps:

    >>> round(best_response(game, get_partner("tit_for_tat", game), 1, 0.95).value, 9)
    160.0
    """
    return _response(game, partner, horizon, continuation, sign=1.0)


known_best_response = lru_cache(maxsize=256)(best_response)
"""`best_response`, solved once for each set of arguments; objects count by identity."""


def worst_response(
    game: MatrixGame, partner: Partner, horizon: int, continuation: float | None = None
) -> Plan:
    """Return the T-step response that earns least; parameters as for `best_response`."""
    return _response(game, partner, horizon, continuation, sign=-1.0)


def _response(
    game: MatrixGame, partner: Partner, horizon: int, continuation: float | None, sign: float
) -> Plan:
    _check_horizon(horizon)
    _check_sizes(game, partner)
    if continuation is None:
        return _induction(game, partner, horizon, sign)
    # Plans of one game that differ in how many steps they show are one: the longest, cut.
    plan = _until_it_ends(game, partner, 1 << (horizon - 1).bit_length(), continuation, sign)
    laid = (plan.relative[: horizon + 1], plan.policy[:horizon], plan.optimal[:horizon])
    return Plan(plan.value, *laid, plan.rewards[:horizon])


def _induction(game: MatrixGame, partner: Partner, horizon: int, sign: float) -> Plan:
    """Maximise ``sign`` times the expected sum of rewards.

    Actions are compared by what they gain over the least payoff and over the best next state, so
    that the numbers compared stay as small as what is at stake. Two actions tie if they differ by
    no more than the rounding that has built up from the last step to this one.
    """
    chance, following = partner.emissions[:, None, :], partner.next_state  # both (S, n or 1, m)
    gain = sign * (partner.emissions @ gains(game).T)
    size, n = gain.shape
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
    return Plan(value, relative, policy, optimal, _earned(game, partner, policy))


@lru_cache(maxsize=256)
def _until_it_ends(
    game: MatrixGame, partner: Partner, shown: int, continuation: float, sign: float
) -> Plan:
    """Maximise the same in a game that goes on with a probability; `shown`: steps of the plan.

    An action is changed only if another is better by more than rounding, so the iteration ends.
    """
    check_continuation(continuation)
    _, transitions = dynamics(game, partner)
    gain = sign * (partner.emissions @ gains(game).T)
    rows, policy = np.arange(len(gain)), gain.argmax(axis=1)
    rounding = payoff_rounding(game) + ROUNDING * float(np.ptp(game.own)) / (1 - continuation) ** 2
    while True:
        system = np.eye(len(gain)) - continuation * transitions[rows, policy]
        worth = np.linalg.solve(system, gain[rows, policy])
        ahead = continuation * (worth - worth.max())
        q = gain + transitions @ ahead
        best = q >= q.max(axis=1, keepdims=True) - rounding
        improved = np.where(best[rows, policy], policy, best.argmax(axis=1))
        if (improved == policy).all():
            break
        policy = improved
    value = sign * float(worth[partner.start]) + float(game.own.min()) / (1 - continuation)
    laid = np.broadcast_to(best.argmax(axis=1), (shown, len(gain)))
    return Plan(
        value,
        np.broadcast_to(sign * ahead, (shown + 1, len(gain))),
        laid,
        np.broadcast_to(best, (shown, *best.shape)),
        _earned(game, partner, laid),
    )


def _earned(game: MatrixGame, partner: Partner, policy: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the expected reward of each step, shape (T,), of a policy of shape (T, S)."""
    rewards, gain = partner.emissions @ game.own.T, partner.emissions @ gains(game).T
    size, least, rows = len(gain), float(game.own.min()), np.arange(len(gain))
    state = np.zeros(size, dtype=np.float64)
    state[partner.start] = 1.0
    per_step = np.empty(len(policy))
    for t, chosen in enumerate(policy):
        if partner.is_deterministic:  # one payoff, as it is
            per_step[t] = state @ rewards[rows, chosen]
        else:  # probabilities add up to 1 but for rounding, which a large payoff would multiply
            per_step[t] = least + float(state @ gain[rows, chosen])
        mass = state[:, None] * partner.emissions
        reached = partner.next_state[rows, chosen].ravel()
        state = np.bincount(reached, mass.ravel(), size).astype(np.float64)
    return per_step


@lru_cache(maxsize=64)
def reference_rewards(
    game: MatrixGame,
    partner: Partner,
    horizon: int,
    reference: str,
    continuation: float | None = None,
) -> NDArray[np.float64]:
    """Return the rewards r*_t that ΔFunctional is measured from, shape (T,).

    Under ``horizon`` the expected rewards of the `best_response` (the definition); under
    ``stationary`` the best mean reward per step in the long run, the same for every step. Solved
    once while several cells of a game and a partner set are read one after the other.
    """
    if reference == "horizon":
        rewards = best_response(game, partner, horizon, continuation).rewards
    elif reference == "stationary":
        rewards = np.full(horizon, stationary_reward(*dynamics(game, partner), partner.start))
    else:
        raise unknown("reference", reference, REFERENCES)
    rewards.setflags(write=False)  # shared by all who ask
    return rewards


def possible_sums(game: MatrixGame, partner: Partner, horizon: int) -> tuple[float, float]:
    """Return the smallest and the largest sum of rewards that play over T steps can come to.

    Unlike `worst_response` and `best_response`, which are expectations, this also lets chance fall
    any way it can. For a deterministic partner they agree.
    """
    least, most = sums_by_length(game, partner, 1 << (horizon - 1).bit_length())[:, horizon - 1]
    return float(least), float(most)


@lru_cache(maxsize=64)
def sums_by_length(game: MatrixGame, partner: Partner, longest: int) -> NDArray[np.float64]:
    """Return the `possible_sums` over 1, 2, ..., `longest` steps, shape (2, longest)."""
    possible = np.where(partner.emissions > 0, 0.0, -np.inf)[:, None, :]
    sums = np.empty((2, longest))
    for row, sign in zip(sums, (-1.0, 1.0), strict=True):
        value = np.zeros(len(partner.emissions))
        for t in range(longest):
            value = (possible + sign * game.own + value[partner.next_state]).max(axis=(1, 2))
            row[t] = sign * value[partner.start]
    return sums


def step_weights(horizon: int, continuation: float | None = None) -> NDArray[np.float64]:
    """Return what each step counts in a mean per step, shape (T,).

    1 / T; or, if the game goes on with a probability, how probable it is that the step is played
    over the number of steps that are expected, up to where what follows adds up to 1e-12.

    Examples
    --------
    >>> step_weights(4).tolist(), step_weights(4, 0.5)[:3].tolist()
    ([0.25, 0.25, 0.25, 0.25], [0.5, 0.25, 0.125])
    """
    if continuation is None:
        return np.full(horizon, 1 / horizon)
    check_continuation(continuation)
    steps = np.arange(math.ceil(math.log(1e-12) / math.log(continuation)))
    return (1 - continuation) * np.power(float(continuation), steps)


def relevance(
    game: MatrixGame, partners: PartnerSet, horizon: int = 100, continuation: float | None = None
) -> float:
    """Return the regret per step of the best response to the wrong partner.

    The mean over two partners π', π'' drawn independently from the set of the expected
    ΔFunctional/T of a subject that plays the `best_response` to π' against π''. It tells how
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
    weights = step_weights(horizon, continuation)
    plans = [best_response(game, one, len(weights), continuation) for one in partners.partners]
    total = 0.0
    for believed, plan, p in zip(partners.partners, plans, partners.weights, strict=True):
        for actual, optimum, q in zip(partners.partners, plans, partners.weights, strict=True):
            if believed is not actual:
                earned = _rewards_against(game, believed, plan, actual)
                total += p * q * float((optimum.rewards - earned) @ weights)
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


def check_continuation(continuation: float) -> None:
    """Raise `TomevalError` unless a game can go on with this probability."""
    if not 0 < continuation <= MAX_CONTINUATION:
        raise TomevalError(f"continuation {BEYOND.format(continuation)}")


def _check_horizon(horizon: int) -> None:
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
        raise TomevalError(f"horizon must be a whole number of at least 1, is {horizon!r}")


def _check_sizes(game: MatrixGame, partner: Partner) -> None:
    if (partner.n, partner.m) != (game.n, game.m):
        raise TomevalError(
            f"partner {partner.name!r} is for {partner.n} x {partner.m} actions, "
            f"game {game.name} has {game.n} x {game.m}"
        )
