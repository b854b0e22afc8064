"""Regret against fitted partners, held against the regret that is known: bias and coverage.

Plays known partners many times over, by players who mix the first step's best reply with chance,
fits them without their tables, and counts how often the 95 % interval holds the exact expected
regret. Prints a plain table; `undetermined` is the share of repetitions without an estimate.

    python benchmarks/fitted_coverage.py [--repetitions 1000]
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from one_thread import use_one_thread

from tomeval.domains.matrix.fitted.fit import fit
from tomeval.domains.matrix.games import MatrixGame, get_game
from tomeval.domains.matrix.optima import best_response
from tomeval.domains.matrix.partner_specs import get_partner
from tomeval.domains.matrix.partners import Partner
from tomeval.domains.matrix.played import Played
from tomeval.report.tables import render
from tomeval.statistics import estimate

Floats = NDArray[np.float64]


class Case(NamedTuple):
    """A known partner, a player who plays the best reply with probability `care`, and its games."""

    game: str
    partner: str
    care: float
    episodes: int
    horizon: int


CASES = tuple(
    Case(game, partner, care, episodes, 30)
    for game, partner, care in (
        ("IPD", "tit_for_tat", 0.5),
        ("IPD", "generous_tit_for_tat", 0.5),
        ("IPD", "noisy_tit_for_tat", 0.7),
        ("IPD", "win_stay_lose_shift", 0.7),
        ("IBS", "mixture(0.8, 0.2)", 0.5),
        ("RPS", "mixture(0.5, 0.3, 0.2)", 0.5),
        ("RPS", "uniform_random", 0.5),
        ("IPD", "tit_for_two_tats", 0.5),
        ("IPD", "grim_trigger", 0.5),
    )
    for episodes in (6, 12, 30)
)


def policy_of(game: MatrixGame, partner: Partner, case: Case) -> Floats:
    """Return what the player does in each of the partner's states, shape (S, n)."""
    plan = best_response(game, partner, case.horizon)
    chance = np.full((len(partner.emissions), game.n), (1 - case.care) / game.n)
    chance[np.arange(len(chance)), plan.policy[0]] += case.care
    return chance


def regret_of(game: MatrixGame, partner: Partner, policy: Floats, horizon: int) -> float:
    """Return the exact expected regret per step of a player who knows the partner's state."""
    state, total = np.eye(len(partner.emissions))[partner.start], 0.0
    for _ in range(horizon):
        joint = state[:, None, None] * policy[:, :, None] * partner.emissions[:, None, :]
        total += float((joint * game.own).sum())
        state = np.bincount(partner.next_state.ravel(), joint.ravel(), len(state))
    return (best_response(game, partner, horizon).value - total) / horizon


def played(
    game: MatrixGame, partner: Partner, policy: Floats, case: Case, rng: np.random.Generator
) -> Played:
    """Play the games of one repetition."""
    shape = (case.episodes, case.horizon)
    own, theirs = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    state = np.full(case.episodes, partner.start)
    bounds = np.cumsum(policy, axis=1)[:, :-1]
    for step in range(case.horizon):
        u = rng.random((2, case.episodes, 1))
        own[:, step] = (u[0] >= bounds[state]).sum(axis=1)
        theirs[:, step] = (u[1] >= partner.cumulative()[state]).sum(axis=1)
        state = partner.next_state[state, own[:, step], theirs[:, step]]
    which = np.zeros(case.episodes, dtype=np.int64)
    lengths = np.full(case.episodes, case.horizon)
    moves = (own.ravel(), theirs.ravel())
    return Played(game, (), which, lengths, *moves, None, game.own[moves])


def measure(case: Case, repetitions: int, rng: np.random.Generator) -> dict[str, object]:
    """Return the row of one case."""
    game = get_game(case.game)
    partner = get_partner(case.partner, game)
    policy = policy_of(game, partner, case)
    truth = regret_of(game, partner, policy, case.horizon)
    means, held, inside, memories = [], 0, 0, []
    for _ in range(repetitions):
        found = fit(played(game, partner, policy, case, rng))
        ends = estimate(np.stack([found.least, found.most], axis=1))
        inside += bool(ends.low[0] - 1e-9 <= truth <= ends.high[1] + 1e-9)
        memories.append(found.memory)
        if not found.why:
            one = estimate(found.regret)
            means.append(float(one.mean[0]))
            held += bool(one.low[0] - 1e-9 <= truth <= one.high[0] + 1e-9)
    counts = np.bincount(memories, minlength=3) * 100 / repetitions
    return {
        **case._asdict(),
        "truth": truth,
        "mean": float(np.mean(means)) if means else float("nan"),
        "spread": float(np.std(means)) if means else float("nan"),
        "held %": 100 * held / len(means) if means else float("nan"),
        "undetermined %": 100 - 100 * len(means) / repetitions,
        "least to most held %": 100 * inside / repetitions,
        "memory 0, 1, 2 %": ", ".join(f"{count:.0f}" for count in counts),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1000)
    repetitions = parser.parse_args().repetitions
    use_one_thread()
    rows = [measure(case, repetitions, np.random.default_rng(7)) for case in CASES]
    print(render(rows))


if __name__ == "__main__":
    main()
