"""Subjects in random games against random partners: what intervals over games are tried on.

A population is a pool of played games. Sweeps are drawn from it with replacement, so the truth of a
sweep is the pool's mean, exactly, whatever subjects, games and noise are like.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from counting import Floats
from coverage import metrics_of

from tomeval.domains.matrix.games import Labels, MatrixGame
from tomeval.domains.matrix.measures import METRICS
from tomeval.domains.matrix.partners import Partner, PartnerSet, reachable
from tomeval.domains.matrix.play import Setup

LABELS = Labels("plain", ("A", "B", "C"), ("X", "Y", "Z"))
PARTNERS, EPISODES, SKEW = 3, 5, 1.5
SUBJECTS: dict[str, tuple[str, dict[str, Any]]] = {
    "baseline": ("simulated", {"p": 0.8, "q": 0.5}),
    "its equal": ("simulated", {"p": 0.8 - 1e-12, "q": 0.5}),  # draws other numbers
    "p = 0.9": ("simulated", {"p": 0.9, "q": 0.5}),
    "fictitious play": ("fictitious_play", {}),
    "best response": ("best_response", {}),
    "random": ("random", {}),
}


class Pool(NamedTuple):
    """Played games: means by game, partner, subject and metric, and each game's payoff range."""

    values: Floats  # (games, PARTNERS, subjects, metrics)
    ranges: Floats  # (games,)


def played_pool(payoffs: str, games: int, seed: int) -> Pool:
    """Play every subject in random 3 x 3 games; payoffs are ``normal`` or ``lognormal``."""
    rng = np.random.default_rng(seed)
    values = np.empty((games, PARTNERS, len(SUBJECTS), len(METRICS)))
    ranges = np.empty(games)
    for number in range(games):
        drawn = rng.normal(size=(3, 3, 2))
        table = drawn if payoffs == "normal" else np.exp(SKEW * drawn)
        game = MatrixGame(f"game {number}", table, {"plain": LABELS})
        ranges[number] = np.ptp(game.own)
        for place in range(PARTNERS):
            partner = random_partner(f"partner {place}", rng, states=1 + 2 * (place > 0))
            for column, (kind, options) in enumerate(SUBJECTS.values()):
                setup = Setup(
                    kind,
                    options,
                    game=game,
                    labels=LABELS,
                    partners=PartnerSet(partner.name, (partner,), (1.0,)),
                    horizon=100,
                    seed=number,
                )
                values[number, place, column] = metrics_of(setup, 0, EPISODES)[0].mean(axis=0)
    return Pool(values, ranges)


def random_partner(name: str, rng: np.random.Generator, states: int) -> Partner:
    """Return a deterministic machine of at most `states` states that reacts to both moves."""
    emissions = np.eye(3)[rng.integers(3, size=states)]
    following = rng.integers(states, size=(states, 3, 3))
    kept = np.flatnonzero(reachable(emissions, following, 0))
    number = np.zeros(states, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    return Partner(name, emissions[kept], number[following[kept]])
