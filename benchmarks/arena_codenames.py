"""How often Codenames values are exact, how wide bounds are, and what a decision costs.

    python benchmarks/arena_codenames.py [GAMES]

The subject and all others are embedding players. One row per board, role and kind of players.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from tomeval.games.codenames import KIND
from tomeval.games.codenames.policies import EmbeddingPlayer
from tomeval.games.codenames.rules import Codenames
from tomeval.games.solver import Policy

BOARDS = {"9 words": KIND.presets["small"], "25 words": {}}
MINILM, WORDNET = EmbeddingPlayer(), EmbeddingPlayer("wordnet")
PLAYERS = {
    "greedy": (MINILM, MINILM),
    "greedy, mate with another embedding": (WORDNET, MINILM),
}
"""Mate and foes."""


def line_up(seat: int, pair: tuple[EmbeddingPlayer, EmbeddingPlayer]) -> dict[int, Policy]:
    """Return the other seats' players."""
    others = (other for other in range(4) if other != seat)
    return {other: pair[0] if other // 2 == seat // 2 else pair[1] for other in others}


def row(
    game: Codenames, seat: int, pair: tuple[EmbeddingPlayer, EmbeddingPlayer], games: int
) -> str:
    """Play some games and return what came of the subject's decisions."""
    policies = line_up(seat, pair)
    made = KIND.solver(game, seat, policies)
    assert made is not None
    exact, widths, seconds = 0, [], []
    for index in range(games):
        rng = np.random.default_rng(index)
        state = game.deal(rng)
        follower = made.follow(game.view(state, seat))
        while due := game.due(state):
            (ask,) = due
            view = game.view(state, ask.seat)
            action = (policies | {seat: MINILM})[ask.seat].act(view, ask, None, rng)
            if ask.seat == seat:
                start = time.perf_counter()
                values = follower.values(view, ask)
                assert values is not None
                best = values.best
                values.of(action)
                seconds.append(time.perf_counter() - start)
                exact += best.exact
                widths.append(best.high - best.low)
            state = game.after(state, {ask.seat: action}, rng)[1]
    share = f"{100 * exact / len(widths):.0f} % of {len(widths)}"
    return f"{share} | {np.mean(widths):.2f} | {np.mean(seconds):.2f} | {max(seconds):.1f}"


def main(games: int) -> None:
    """Print the table."""
    print("| board | subject | others | exact V* | mean width | s per decision | longest |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for board, rules in BOARDS.items():
        game = KIND.make(KIND.rules(**rules))
        assert isinstance(game, Codenames)
        for role, seat in (("spymaster", 0), ("operative", 1)):
            for name, pair in PLAYERS.items():
                print(f"| {board} | {role} | {name} | {row(game, seat, pair, games)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
