"""How often the intervals of levels in Decrypto hold the truth; see docs/measures.md.

Players of known level, and of known mixtures of levels, are played once in many games of eight
turns; each experiment then draws some of the games and places every player by them.

    python benchmarks/level_coverage.py [GAMES OF THE POOL] [EXPERIMENTS]
"""

from __future__ import annotations

import sys
import tempfile
from typing import Any

import numpy as np

import tomeval
from tomeval.domains.decrypto.level_choices import Choices, choices_of
from tomeval.domains.decrypto.level_fit import place
from tomeval.lexicon.embeddings import shipped_embedding

TRUTHS = {"0": (1.0, 0.0, 0.0), "1": (0.0, 1.0, 0.0), "2": (0.0, 0.0, 1.0)}
TRUTHS |= {"half 0, half 2": (0.5, 0.0, 0.5), "a third each": (0.34, 0.33, 0.33)}
SIZES = (12, 32)
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


def coverage(choices: Choices, shares: tuple[float, ...], size: int, count: int) -> str:
    """Place a player `count` times by `size` deals each, and say how often that was right."""
    truth = float(np.arange(3) @ shares)
    every = sorted(set(choices.deals))
    rng = np.random.default_rng(size)
    held, inside, means, widths = [], [], [], []
    for _ in range(count):
        mine = set(rng.choice(every, size, replace=False).tolist())
        found = place(some(choices, mine), rng)
        level, weights = found.level, found.weights
        held.append(level.low[0] <= truth <= level.high[0])
        inside.append((weights.low <= shares) & (shares <= weights.high))
        means.append(level.mean[0])
        widths.append(level.high[0] - level.low[0])
    told = " ".join(f"{100 * part:.0f}" for part in np.mean(inside, axis=0))
    return (
        f"{truth:5.2f} {np.mean(means):6.2f} {np.std(means):6.2f} {np.mean(widths):6.2f} "
        f"{100 * np.mean(held):5.0f} %   {told}"
    )


def main() -> None:
    """Print a row per seat, truth and number of games."""
    games, count = (int(text) for text in (*sys.argv[1:], "240", "200")[:2])
    with tempfile.TemporaryDirectory() as folder, tomeval.run(experiment(games), folder) as run:
        every = choices_of(run, shipped_embedding("minilm"), most=10**9)
    print("seat, level, games: truth, mean, sd, width, covered; shares of levels covered, %")
    for (role, player), choices in every.items():
        for size in SIZES:
            shares = TRUTHS[player.removeprefix(f"{role} ")]
            print(f"{player:26s} {size:3d} {coverage(choices, shares, size, count)}", flush=True)


if __name__ == "__main__":
    main()
