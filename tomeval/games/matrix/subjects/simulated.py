"""Subjects that need no model and learn nothing: random, equilibrium, oracle, simulated ones."""

from __future__ import annotations

import warnings
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.outcomes import Decision
from tomeval.games.matrix.games import MatrixGame, check_unit
from tomeval.games.matrix.optima import known_best_response, reference_rewards, step_weights
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.responses import (
    best_responses,
    misjudgement_cost,
    rational_responses,
    stepwise_regret,
)
from tomeval.games.matrix.rules import Observation
from tomeval.games.matrix.subjects.base import (
    Answers,
    Batched,
    FloatArray,
    IntArray,
    Seat,
    Subject,
    choose,
    pick,
    stated,
)
from tomeval.strategies.beliefs import plant

_Pair = tuple[FloatArray, FloatArray]


class _Fixed(Batched):
    """Draws both answers from fixed distributions."""

    def __init__(self, seat: Seat, own: FloatArray, partner: FloatArray) -> None:
        super().__init__(seat)
        self.probs = own[None], partner[None]

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        own, predicted = (
            (one[:, None] >= np.cumsum(probs)[:-1]).sum(axis=1)
            for one, probs in zip(u, self.probs, strict=True)
        )
        return Answers(own, predicted, *self.probs)


class UniformRandom(_Fixed):
    """Acts and predicts uniformly at random."""

    draws_per_step: ClassVar[int | None] = 2

    def __init__(self, seat: Seat) -> None:
        n, m = seat.game.n, seat.game.m
        super().__init__(seat, np.full(n, 1 / n), np.full(m, 1 / m))


class EquilibriumPlayer(_Fixed):
    """Plays its side of a Nash equilibrium of the one-step game and predicts the other side.

    Of several that of the largest sum of both payoffs, then of the largest own payoff.
    """

    draws_per_step: ClassVar[int | None] = 2

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat, *equilibrium(seat.game))


class BestResponseOracle(Batched):
    """Plays the best response to the partner, whose table and state it is shown.

    It plans the steps that are left, or for a game that goes on with the probability it is told.
    Predicts the action most likely in the partner's state. Its expected ΔFunctional is 0.
    """

    draws_per_step: ClassVar[int | None] = 0
    needs_table = True

    @cached_property
    def _tables(self) -> tuple[IntArray, FloatArray]:
        """What it plays by step and state, and what the partners do by state."""
        seat, known = self.seat, self.seat.door.tables()
        many = seat.horizon or 1, seat.continuation
        plans = [known_best_response(seat.game, partner, *many) for partner in known]
        policy = np.concatenate([plan.policy for plan in plans], axis=1)
        return policy, np.concatenate([partner.emissions for partner in known])

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        policy, emissions = self._tables
        rows = emissions[state]
        return Answers(policy[t % len(policy), state], rows.argmax(axis=1), None, rows)


class SimulatedSubject(Batched):
    """A subject with two dials, which calibrates the instrument.

    It predicts the partner's action correctly with probability `p`, otherwise one of the wrong
    actions, each equally likely. It plays a best response to its own prediction with probability
    `q` (ties equally likely), else draws an own action uniformly. What it should measure is known
    in closed form: `expected`.

    Parameters
    ----------
    p : float
        Literal accuracy, 0 to 1.
    q : float
        Rationality, 0 to 1.
    """

    draws_per_step: ClassVar[int | None] = 4
    looks_ahead = True

    def __init__(self, seat: Seat, p: float = 1.0, q: float = 1.0) -> None:
        super().__init__(seat)
        self.p, self.q = check_unit("simulated: p", p), check_unit("simulated: q", q)
        self.best = best_responses(seat.game).T  # [predicted, own]
        self.policies = np.stack([simulated_policy(tied, self.q) for tied in self.best])

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        n, m = self.seat.game.n, self.seat.game.m
        shift = np.where(u[0] < self.p, 0, 1 + choose(m - 1, u[1]))
        predicted = (truth + shift) % m
        best, _ = pick(self.best[predicted], u[3])
        own = np.where(u[2] < self.q, best, choose(n, u[3]))
        return Answers(own, predicted, self.policies[predicted])


def simulated_policy(tied: NDArray[np.bool_], q: float) -> FloatArray:
    """Return the simulated subject's action distribution, shape (n,), given best responses."""
    policy: FloatArray = q * tied / tied.sum() + (1 - q) / len(tied)
    return policy


def expected(
    game: MatrixGame,
    partners: PartnerSet,
    *,
    p: float,
    q: float,
    horizon: int = 100,
    reference: str = "horizon",
    continuation: float | None = None,
) -> dict[str, float]:
    """Return the expected metrics of the simulated subject in a cell.

    Parameters
    ----------
    partners : PartnerSet
        The mean is over its weights.
    p, q : float
        Literal accuracy and rationality of `SimulatedSubject`.
    horizon, reference, continuation
        As in the experiment; with a continuation the horizon says nothing.

    Returns
    -------
    dict of str to float
        Every name in `measures.METRICS`: exact expectations, no simulation. The partner's
        state is a Markov chain under the subject's policy; its distribution is carried forward
        step by step.

    Examples
    --------
    Predicts all, acts at random: the dissociation the toolkit measures.

    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner_set
    >>> game = get_game("RPS")
    >>> truth = expected(game, get_partner_set("single_action", game), p=1, q=0)
    >>> round(truth["tom_percent"], 9), truth["delta_tom_best_response_per_step"]
    (100.0, 0.0)
    >>> round(truth["delta_functional_per_step"], 9)
    1.0
    """
    p, q = check_unit("p", p), check_unit("q", q)
    total: dict[str, float] = {}
    for partner, weight in zip(partners.partners, partners.weights, strict=True):
        steps = step_weights(horizon, continuation)
        optimum = reference_rewards(game, partner, len(steps), reference, continuation) @ steps
        for name, value in _against(game, partner, p, q, steps, float(optimum)).items():
            total[name] = total.get(name, 0.0) + weight * value
    return total


def _against(
    game: MatrixGame, partner: Partner, p: float, q: float, steps: FloatArray, optimum: float
) -> dict[str, float]:
    """Return the expected metrics against one partner, given what each step counts, (T,)."""
    best = best_responses(game)
    said = p * np.eye(game.m) + (1 - p) / (game.m - 1) * (1 - np.eye(game.m))  # [predicted, actual]
    policy = np.stack([simulated_policy(best[:, c], q) for c in range(game.m)])  # [predicted, own]
    acts = policy.T @ said  # [own, actual]
    state = np.eye(len(partner.emissions))[partner.start]
    frequency = np.zeros(game.m)  # mean over steps of P(partner plays b)
    for counts in steps:
        joint = state[:, None, None] * partner.emissions[:, None, :] * acts[None]
        frequency += joint.sum(axis=(0, 1)) * counts
        state = np.bincount(partner.next_state.ravel(), joint.ravel(), minlength=len(state))
    reward = float((game.own * acts).sum(axis=0) @ frequency)
    stepwise = float((stepwise_regret(game) * acts).sum(axis=0) @ frequency)
    belief = {
        rule: float((misjudgement_cost(game, rule) * said).sum(axis=0) @ frequency)
        for rule in ("best_response", "misprediction")
    }
    consistent = float((policy * best.T).sum(axis=1) @ said @ frequency)
    functional = optimum - reward
    return {
        "tom_percent": 100.0 * p,
        "delta_functional_per_step": functional,
        "delta_tom_best_response_per_step": belief["best_response"],
        "delta_tom_misprediction_per_step": belief["misprediction"],
        "stepwise_regret_per_step": stepwise,
        "response_gap_per_step": stepwise - belief["best_response"],
        "foresight_gap_per_step": functional - stepwise,
        "self_consistency_percent": 100.0 * consistent,
        "reward_per_step": reward,
    }


@lru_cache(maxsize=256)
def equilibrium(game: MatrixGame) -> _Pair:
    """Return the equilibrium of `EquilibriumPlayer`: own and partner's mixed strategy.

    Raises `TomevalError` if none was found: vertex enumeration can fail on degenerate games.
    """
    import nashpy

    pairs: list[_Pair] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nashpy warns of degenerate games; the check below decides
        pair = nashpy.Game(game.own, game.partner)
        for own, partner in (*pair.support_enumeration(), *_vertices(pair)):
            if _is_equilibrium(game, own, partner):
                pairs.append((np.abs(own), np.abs(partner)))
    if not pairs:
        raise TomevalError(f"equilibrium: no Nash equilibrium found for game {game.name}")

    def welfare(pair: _Pair) -> tuple[float, ...]:
        own = float(pair[0] @ game.own @ pair[1])
        both = own + float(pair[0] @ game.partner @ pair[1])
        return tuple(round(x, 9) for x in (both, own, *pair[0], *pair[1]))

    own, partner = max(pairs, key=welfare)
    return own / own.sum(), partner / partner.sum()


def _vertices(pair: Any) -> list[_Pair]:
    """Return what nashpy's vertex enumeration finds; it gives up on some degenerate games."""
    try:
        return list(pair.vertex_enumeration())
    except (TypeError, ValueError, IndexError, RuntimeError):
        return []


def _is_equilibrium(game: MatrixGame, own: FloatArray, partner: FloatArray) -> bool:
    """Check that neither side gains by deviating."""
    if not (np.isfinite(own).all() and np.isfinite(partner).all()):
        return False
    for payoffs, mine, theirs in ((game.own, own, partner), (game.partner.T, partner, own)):
        above = payoffs - payoffs.min()
        worth = above @ theirs
        if worth.max() - mine @ worth > 1e-9 * above.max():
            return False
    return True


USES = ("matching", "rational")


class Believer(Subject):
    """Is told the partner's move, right with probability `accuracy`; follows it at a known rate.

    Where it follows, it plays a best response to what it was told (ties equally likely). Where it
    does not, it acts as the simulated subject does: it predicts on its own, rightly with
    probability `p`, and plays a best response to that with probability `q`, else any action.

    Parameters
    ----------
    accuracy : float
        How often what it is told is right, 0 to 1.
    use : float or {"matching", "rational"}
        How often it follows, 0 to 1; ``matching``: as often as it is right. ``rational``: it does
        not follow but plays a best response to what the statement makes of a uniform prior.
    p, q : float
        See above, 0 to 1.
    """

    looks_ahead = True

    def __init__(
        self,
        seat: Seat,
        accuracy: float = 0.5,
        use: float | str = 1.0,
        p: float = 0.5,
        q: float = 0.0,
    ) -> None:
        super().__init__(seat)
        self.accuracy = check_unit("believer: accuracy", accuracy)
        if isinstance(use, str) and use not in USES:
            raise unknown("use", use, USES, "believer")
        follows = {"matching": self.accuracy, "rational": 1.0}.get(str(use), use)
        self.use = check_unit("believer: use", follows)
        self.p, self.q = check_unit("believer: p", p), check_unit("believer: q", q)
        game = seat.game
        self.best = best_responses(game)
        self.answers = rational_responses(game, self.accuracy) if use == "rational" else self.best
        self.prediction = -1

    def act(self, observation: Observation) -> Decision:
        """Follow the stated prediction, or ignore it."""
        game = self.seat.game
        said = self.seat.door.statement(self.accuracy)
        truth = self.seat.door.next_action()
        right, which, follows, rational, choice = self.seat.rng.random(5)
        self.prediction = plant(truth, game.m, self.p, right, which).stated
        options = np.arange(game.n)
        if follows < self.use:
            options = np.flatnonzero(self.answers[:, said.stated])
        elif rational < self.q:
            options = np.flatnonzero(self.best[:, self.prediction])
        action = int(options[min(int(choice * len(options)), len(options) - 1)])
        return Decision(action, details=stated(said, self.accuracy))

    def predict(self, observation: Observation, own_action: int | None) -> Decision:
        """Return its own prediction, which does not depend on the statement."""
        return Decision(self.prediction)
