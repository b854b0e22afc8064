"""How often the intervals of levels and orders hold the truth; see docs/measures/levels.md.

Players of known level in Decrypto, and of known mixtures of levels, are played in many games of
eight turns, and placed by 12 of them at a time: experiments that share no game. Then players of a
known order of theory of mind, in rock, paper, scissors.

    python benchmarks/level_coverage.py [EXPERIMENTS PER PLAYER] [OF ORDERS]
"""

from __future__ import annotations

import sys
import tempfile
from typing import Any

import numpy as np

import tomeval
from tomeval.domains.matrix.results import matrix_cells
from tomeval.extensions.levels.choices import choices_of
from tomeval.extensions.levels.fit import place
from tomeval.extensions.levels.likelihoods import Choices
from tomeval.extensions.levels.orders import ACTIONS, placed
from tomeval.lexicon.embeddings import shipped_embedding

TRUTHS = {"0": (1.0, 0.0, 0.0), "1": (0.0, 1.0, 0.0), "2": (0.0, 0.0, 1.0)}
TRUTHS |= {"half 0, half 2": (0.5, 0.0, 0.5), "a third each": (0.34, 0.33, 0.33)}
SIZE = 12
"""Games per experiment."""
RATIONALITY = {"encoder": 2.0, "decoder": 1.0, "interceptor": 1.0}


def experiment(games: int) -> dict[str, Any]:
    """Return games in which all three seats have the same level."""
    players = {
        f"{role} {name}": {"kind": "rsa", "level": list(shares), "alpha": alpha}
        for role, alpha in RATIONALITY.items()
        for name, shares in TRUTHS.items()
    }
    return {
        "domain": "decrypto",
        "episodes": games,
        "players": players,
        "pairings": [{role: f"{role} {name}" for role in RATIONALITY} for name in TRUTHS],
        "rules": {"turns": 8, "miscommunications": 8, "interceptions": 8},
    }


def some(choices: Choices, deals: set[str]) -> Choices:
    """Return the choices in some deals."""
    kept = [place for place, deal in enumerate(choices.deals) if deal in deals]
    found = Choices()
    for name in ("deals", "turns", "logs", "sizes", "said"):
        getattr(found, name).extend(getattr(choices, name)[i] for i in kept)
    return found


def coverage(choices: Choices, shares: tuple[float, ...]) -> tuple[str, list[bool], list[bool]]:
    """Place a player by every 12 games in turn; say how often the intervals held the truth."""
    truth = float(np.arange(3) @ shares)
    every = list(dict.fromkeys(choices.deals))
    rng = np.random.default_rng(SIZE)
    held, inside, means, widths = list[bool](), list[bool](), list[float](), list[float]()
    for first in range(0, len(every), SIZE):
        found = place(some(choices, set(every[first : first + SIZE])), rng)
        level, weights = found.level, found.weights
        held.append(bool(level.low[0] <= truth <= level.high[0]))
        inside += ((weights.low <= shares) & (shares <= weights.high)).tolist()
        means.append(float(level.mean[0]))
        widths.append(float(level.high[0] - level.low[0]))
    told = f"{truth:5.2f} {np.mean(means):6.2f} {np.std(means):6.2f} {np.mean(widths):6.2f}"
    return f"{told} {sum(held):4d} of {len(held)} {sum(inside):4d} of {len(inside)}", held, inside


def order_coverage(episodes: int, count: int) -> tuple[float, float, float]:
    """Return how often the order is named, and its interval and those of shares hold the truth."""
    data = {
        "games": "RPS",
        "partners": "uniform_random",
        "subjects": {"kind": "tom_order", "order": [0, 1, 2, 3], "rationality": 1.0},
        "horizon": 20,
        "episodes": episodes,
        "seed": list(range(count)),
    }
    named, held, shares = list[bool](), list[bool](), list[bool]()
    with tempfile.TemporaryDirectory() as folder, tomeval.run(data, folder) as run:
        for cell in matrix_cells(run):
            order = int(cell.definition["options"]["order"])
            one = placed(cell, ACTIONS)
            named.append(order in one.likely)
            held.append(bool(one.level.low[0] <= order <= one.level.high[0]))
            truth = np.eye(4)[order]
            shares += ((one.weights.low <= truth) & (truth <= one.weights.high)).tolist()
    return float(np.mean(named)), float(np.mean(held)), float(np.mean(shares))


def main() -> None:
    """Print a row per seat and truth, and the sums over all."""
    count, orders = (int(text) for text in (sys.argv[1:] + ["40", "100"][len(sys.argv) - 1 :]))
    made = experiment(count * SIZE)
    with tempfile.TemporaryDirectory() as folder, tomeval.run(made, folder) as run:
        every = choices_of(run, shipped_embedding("minilm"), most=10**9)
    print("player: true level, mean, sd, width, intervals of the level and of shares that hold it")
    levels, weights = list[bool](), list[bool]()
    for (role, player), choices in every.items():
        told, held, inside = coverage(choices, TRUTHS[player.removeprefix(f"{role} ")])
        levels, weights = levels + held, weights + inside
        print(f"{player:28s} {told}", flush=True)
    for name, hits in (("level", levels), ("shares", weights)):
        print(f"{name}: {sum(hits)} of {len(hits)}, {100 * np.mean(hits):.1f} %")
    print("orders: % named, % of intervals of the order, and of shares, that hold it, by episodes")
    for episodes in (10, 30):
        print(f"{episodes:3d}", *(f"{100 * x:.1f}" for x in order_coverage(episodes, orders)))


if __name__ == "__main__":
    main()
