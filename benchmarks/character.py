"""How often the intervals of λ hold it, and how often the test of unsaid knowledge errs.

``python benchmarks/character.py [REPEATS]`` simulates logit players of known λ, T = 20, whose
predictions are right in 60 % of steps, and players that act on random statements alone.
"""

from __future__ import annotations

import sys

import numpy as np

from tomeval.extensions.character.gap import unsaid
from tomeval.extensions.character.quantal import fit, worth_said, worth_true
from tomeval.games.matrix.games import MatrixGame, get_game
from tomeval.games.matrix.optima import known_best_response
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.played import Played
from tomeval.games.matrix.responses import gains

GAMES, EPISODES, STEPS = ("RPS", "IBS", "IPD"), (6, 20), 20
LAMBDAS = (0.0, 1.0, 3.0, 10.0)


def play(
    game: MatrixGame,
    partner: str,
    episodes: int,
    rng: np.random.Generator,
    *,
    said: float = 0.0,
    true: float = 0.0,
    right: float = 0.6,
    keeps: float = 0.0,
) -> Played:
    """Return episodes of logit players that predict rightly with probability `right`.

    `said` and `true` are λ of replies to the prediction and to the partner; with probability
    `keeps` the last prediction and the last move stand.
    """
    machine = get_partner(partner, game)
    ahead = known_best_response(game, machine, STEPS).relative
    table, scale = gains(game), float(np.ptp(game.own))
    state, moves = np.full(episodes, machine.start), np.zeros((3, episodes, STEPS), dtype=np.int64)
    for t in range(STEPS):
        chances = machine.emissions[state]
        theirs = (rng.random(episodes)[:, None] > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
        wrong = (theirs + rng.integers(1, game.m, episodes)) % game.m
        guess = np.where(rng.random(episodes) < right, theirs, wrong)
        after = ahead[t + 1][machine.next_state[state]]  # (E, n, m)
        worth = true * (chances[:, None, :] * (table + after)).sum(axis=2)
        stay = (rng.random(episodes) < keeps) & (t > 0)
        guess = np.where(stay, moves[2, :, t - 1], guess)
        worth = (worth + said * table.T[guess]) / scale + rng.gumbel(size=(episodes, game.n))
        own = np.where(stay, moves[0, :, t - 1], worth.argmax(axis=1))
        moves[:, :, t] = own, theirs, guess
        state = machine.next_state[state, own, theirs]
    own, theirs, guess = moves.reshape(3, -1)
    lengths, which = np.full(episodes, STEPS), np.zeros(episodes, dtype=np.int64)
    return Played(game, [machine], which, lengths, own, theirs, guess, game.own[own, theirs])


def holds(name: str, kind: str, value: float, episodes: int, repeats: int) -> float:
    """Return the share of simulated cells whose interval holds λ."""
    game, rng, held = get_game(name), np.random.default_rng(1), 0
    cluster = np.repeat(np.arange(episodes), STEPS)
    for _ in range(repeats):
        if kind == "said":
            played = play(game, "uniform_random", episodes, rng, said=value)
        else:
            played = play(game, "tit_for_tat", episodes, rng, true=value)
        worth = worth_said(played) if kind == "said" else worth_true(played)
        _, low, high = fit(worth, np.eye(game.n)[played.own], cluster)
        held += low <= value <= high
    return held / repeats


def rejects(partner: str, keeps: float, episodes: int, repeats: int, true: float = 0.0) -> float:
    """Return the share of cells in rock, paper, scissors with p of at most 0.05.

    Random predictions; moves follow them, or with `true` the partner.
    """
    game, rng, found = get_game("RPS"), np.random.default_rng(2), 0
    for _ in range(repeats):
        how = {"right": 1 / 3, "keeps": keeps, "true": true, "said": 0.0 if true else 3.0}
        result = unsaid(play(game, partner, episodes, rng, **how), np.arange(episodes))
        found += not isinstance(result, str) and result[1] <= 0.05
    return found / repeats


def main(repeats: int) -> None:
    """Print both tables."""
    for kind in ("said", "true"):
        for name in GAMES:
            for episodes in EPISODES:
                rates = [holds(name, kind, value, episodes, repeats) for value in LAMBDAS]
                told = "  ".join(f"{100 * rate:5.1f}" for rate in rates)
                print(f"lambda {kind}  {name}  {episodes:2} episodes  % held: {told}")
    for partner, keeps in (("cycler", 0.0), ("cycler", 0.8), ("noisy_tit_for_tat", 0.0)):
        rates = [rejects(partner, keeps, episodes, repeats) for episodes in EPISODES]
        told = "  ".join(f"{100 * rate:5.1f}" for rate in rates)
        print(f"unsaid, {partner}, repeats itself {keeps:.0%}  % with p <= 0.05: {told}")
    for true in LAMBDAS[1:3]:
        rates = [rejects("cycler", 0.0, episodes, repeats, true) for episodes in EPISODES]
        told = "  ".join(f"{100 * rate:5.1f}" for rate in rates)
        print(f"unsaid, replies to the truth with lambda {true:g}  % with p <= 0.05: {told}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
