"""Pairs of embedding players, with one embedding and with two, and the turns they last.

    python experiments/decrypto_embedding_pairs.py [GAMES]

Every pair of Alice and Bob against every Eve, K = 16, by default 1,000 games each, all with the
same deals. Intervals are of 95 %: Wilson's for shares, mean plus or minus 1.96 standard errors for
turns. `lost` counts games that ended by miscommunication, alone or with an interception.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np

from tomeval.core.outcomes import run_now
from tomeval.games.decrypto.embedding_players import MATCHINGS
from tomeval.games.decrypto.experiment import DecryptoCell
from tomeval.lexicon.embeddings import SHIPPED
from tomeval.report.rows import grid_of
from tomeval.report.tables import set_grid
from tomeval.runs.experiment import make_experiment
from tomeval.statistics.estimates import clustered_share

SEED = 1


def main(games: int) -> None:
    """Print the table."""
    rows = [
        row(matching, eve, alice, bob, games)
        for matching, eve in itertools.product(MATCHINGS, SHIPPED)
        for alice, bob in itertools.product(SHIPPED, repeat=2)
    ]
    print(f"K = 16, {games:,} games each")
    print(set_grid(grid_of(rows), "text"))


def row(matching: str, eve: str, alice: str, bob: str, games: int) -> dict[str, Any]:
    """Play one pairing."""
    seats = {"encoder": alice, "decoder": bob, "interceptor": eve}
    data = {
        "domain": "decrypto",
        "seed": SEED,
        "players": {name: {"embedding": name, "matching": matching} for name in SHIPPED},
        "pairings": [seats],
    }
    [cell] = make_experiment(data).cells
    assert isinstance(cell, DecryptoCell)
    played = [run_now(cell.play(game, {}, lambda: None)) for game in range(games)]
    turns = np.array([game.decisions[-1].round for game in played])
    lost = [game.ending in ("miscommunication", "both") for game in played]
    survived = sum(game.ending == "survived" for game in played)
    share, low, high = (100 * part for part in clustered_share(lost, range(games))[:3])
    half = 1.96 * turns.std(ddof=1) / np.sqrt(games)
    return {
        "matching": matching,
        "Eve": eve,
        "Alice": alice,
        "Bob": bob,
        "lost, %": f"{share:.1f} [{low:.1f}, {high:.1f}]",
        "survived, %": f"{100 * survived / games:.1f}",
        "turns": f"{turns.mean():.2f} ± {half:.2f}",
    }


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
