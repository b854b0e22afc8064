"""Regret against fitted partners, held against the regret that is known: bias and coverage.

Plays known partners many times over, by players good and bad, fits them without their tables, and
counts how often there is an estimate, how often its 95 % interval holds the exact expected regret,
and how often the range does, from the low end of the least to the high end of the most. Prints a
table, behind docs/calibration.md; a cell has the three sizes of `SIZES`.

    python benchmarks/fitted_coverage.py [--repetitions 100]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from counting import Floats, Row, count

from tomeval.domains.matrix.games import MatrixGame, get_game
from tomeval.domains.matrix.optima import best_response
from tomeval.domains.matrix.partner_specs import get_partner
from tomeval.domains.matrix.partners import Partner
from tomeval.domains.matrix.played import Played
from tomeval.extensions.fitted.measures import fit
from tomeval.statistics import estimate


class Case(NamedTuple):
    """A known partner, who plays it, and for how long."""

    game: str
    partner: str
    player: str
    episodes: int
    horizon: int


PARTNERS = (
    ("IPD", "noisy_tit_for_tat"),
    ("IPD", "tit_for_tat"),
    ("RPS", "noisy_tit_for_tat"),
    ("IPD", "noisy_tit_for_tat(e=0.4)"),
    ("IPD", "tit_for_two_tats"),
    ("IPD", "mixture(0.8, 0.2)"),
    ("RPS", "mixture(0.5, 0.3, 0.2)"),
    ("IPD", "generous_tit_for_tat"),
    ("IPD", "win_stay_lose_shift"),
    ("IBS", "noisy_tit_for_tat"),
    ("RPS", "uniform_random"),
)
PLAYERS = ("good", "mostly 0", "mostly 1", "random", "copies")
SIZES = ((12, 30), (30, 30), (10, 15))


def policy_of(game: MatrixGame, partner: Partner, case: Case) -> Floats:
    """Return what the player does, by the partner's state and last action, shape (S, m + 1, n).

    ``good`` takes the first step's best reply in 70 % of the steps, ``mostly K`` action K in 90 %,
    and any action, or any other one, in the rest. ``copies`` is tit for tat. Place 0 of the last
    action is that of the first step.
    """
    states, n = len(partner.emissions), game.n
    chance = np.full((states, game.m + 1, n), 1 / n)
    if case.player == "good":
        best = best_response(game, partner, case.horizon).policy[0]
        chance = 0.3 * chance + 0.7 * np.eye(n)[best][:, None]
    elif case.player == "copies":
        chance[:] = np.eye(n)[[0, *range(game.m)]]
    elif case.player.startswith("mostly"):
        chance[:] = 0.1 / (n - 1)
        chance[..., int(case.player.split()[1])] = 0.9
    return chance


def regret_of(game: MatrixGame, partner: Partner, policy: Floats, horizon: int) -> float:
    """Return the exact expected regret per step."""
    state, total = np.zeros(policy.shape[:2]), 0.0
    state[partner.start, 0] = 1
    for _ in range(horizon):
        joint = state[..., None, None] * policy[..., None] * partner.emissions[:, None, None, :]
        total += float((joint * game.own).sum())
        state = np.zeros_like(state)
        for b in range(game.m):
            following = partner.next_state[:, :, b]
            np.add.at(state[:, b + 1], following, joint[..., b].sum(axis=1))
    return (best_response(game, partner, horizon).value - total) / horizon


def played(
    game: MatrixGame, partner: Partner, policy: Floats, case: Case, rng: np.random.Generator
) -> Played:
    """Play the games of one repetition."""
    shape = (case.episodes, case.horizon)
    own, theirs = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    state = np.full(case.episodes, partner.start)
    last = np.zeros(case.episodes, dtype=np.int64)
    bounds = np.cumsum(policy, axis=2)[..., :-1]
    for step in range(case.horizon):
        u = rng.random((2, case.episodes, 1))
        own[:, step] = (u[0] >= bounds[state, last]).sum(axis=1)
        theirs[:, step] = (u[1] >= partner.cumulative()[state]).sum(axis=1)
        state = partner.next_state[state, own[:, step], theirs[:, step]]
        last = 1 + theirs[:, step]
    which = np.zeros(case.episodes, dtype=np.int64)
    lengths = np.full(case.episodes, case.horizon)
    moves = (own.ravel(), theirs.ravel())
    return Played(game, (), which, lengths, *moves, None, game.own[moves])


def measure(case: Case, repetitions: int, rng: np.random.Generator) -> dict[str, float]:
    """Return what became of one case; `width` is that of the range."""
    game = get_game(case.game)
    partner = get_partner(case.partner, game)
    policy = policy_of(game, partner, case)
    truth = regret_of(game, partner, policy, case.horizon)
    means, widths, held, inside = [], [], 0, 0
    for _ in range(repetitions):
        found = fit(played(game, partner, policy, case, rng))
        ends = estimate(np.stack([found.least, found.most], axis=1))
        inside += bool(ends.low[0] - 1e-9 <= truth <= ends.high[1] + 1e-9)
        widths.append(float(ends.high[1] - ends.low[0]))
        if not found.why:
            one = estimate(found.regret)
            means.append(float(one.mean[0]))
            held += bool(one.low[0] - 1e-9 <= truth <= one.high[0] + 1e-9)
    return {
        "truth": truth,
        "mean": float(np.mean(means)) if means else float("nan"),
        "spread": float(np.std(means)) if means else float("nan"),
        "given": 100 * len(means) / repetitions,
        "held": 100 * held / len(means) if means else float("nan"),
        "range held": 100 * inside / repetitions,
        "width": float(np.mean(widths)),
    }


def row_of(game: str, partner: str, player: str, repetitions: int) -> Row:
    """Return the row of one partner and player; coverages are of 20 estimates or more."""
    found = []
    for size in SIZES:
        case = Case(game, partner, player, *size)
        found.append(measure(case, repetitions, np.random.default_rng(7)))
    for one in found:
        if one["given"] * repetitions < 2000:
            one["held"] = one["mean"] = float("nan")

    def joined(name: str, digits: int) -> str:
        values = [f"{round(one[name], digits) + 0.0:.{digits}f}" for one in found]
        return " / ".join("–" if value == "nan" else value for value in values)

    return {
        "game": game,
        "partner": partner,
        "player": player,
        "truth": joined("truth", 2),
        "mean": joined("mean", 2),
        "given, %": joined("given", 0),
        "held, %": joined("held", 1),
        "range held, %": joined("range held", 1),
        "its width": joined("width", 2),
    }


def regrets(repetitions: int) -> Iterator[Row]:
    """Regret against fits of known partners; three sizes a cell."""
    for pair in PARTNERS:
        yield from (row_of(*pair, player, repetitions) for player in PLAYERS)


if __name__ == "__main__":
    count({"regrets": regrets}, 100)
