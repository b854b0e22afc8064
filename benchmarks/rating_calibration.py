"""Do ratings keep their promises? Coverage of their intervals.

Games are drawn from players of known strength. Prints the numbers behind docs/calibration.md.

    python benchmarks/rating_calibration.py [--repetitions 400] [--only coverage,deals]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from counting import Floats, Row, count, percent
from numpy.typing import NDArray
from scipy.special import ndtr

from tomeval.core.errors import TomevalError
from tomeval.extensions.ratings.bradley_terry import ELO, Pairs, Ratings, rate

STRENGTH = np.array([0.8, 0.4, 0.1, -0.1, -0.4, -0.8])
GUESTS = np.array([np.nan, 0.5, 0.2, -0.2, -0.5])
"""A newcomer, and four players of given ratings."""

Games = list[tuple[Sequence[int], Sequence[int], float]]
"""Players of one team and of the other, and what the first won."""


def pairs_of(games: Games, players: int, deals: NDArray[np.int64] | None = None) -> Pairs:
    """Return drawn games as pairs of teams; each is a deal of its own unless they are given."""

    def share(team: Sequence[int]) -> Floats:
        return np.bincount(team, minlength=players) / len(team)

    return Pairs(
        tuple(f"player {k}" for k in range(players)),
        np.array([share(one) - share(other) for one, other, _ in games]),
        np.array([won for *_, won in games]),
        np.arange(len(games)) if deals is None else deals,
    )


def held(found: Ratings, strength: Floats) -> NDArray[np.bool_]:
    """Return which intervals hold the truth, of the players who have one."""
    truth = strength - (strength[found.base].mean() if found.base.any() else 0.0)
    inside = (found.low <= truth) & (truth <= found.high)
    return np.asarray(inside[~np.isnan(found.low)])


def coverage(repetitions: int) -> Iterator[Row]:
    """Six players in teams of one, or of two against four; independent games; coverage in %."""
    for first, size in itertools.product((1, 2), (40, 100, 300)):
        inside, without = [], []
        for number in range(repetitions):
            rng = np.random.default_rng([number, size])
            games: Games = []
            for _ in range(size):
                seats = rng.permutation(6)[: 2 if first == 1 else 6].tolist()
                one, other = seats[:first], seats[first:]
                gap = STRENGTH[one].mean() - STRENGTH[other].mean()
                games.append((one, other, float(rng.random() < 1 / (1 + np.exp(-gap)))))
            try:
                found = rate(pairs_of(games, 6), np.full(6, np.nan), rng)
            except TomevalError:  # too few games to connect all players
                continue
            inside.append(held(found, STRENGTH))
            without.append(np.isnan(found.low))
        teams = "one against one" if first == 1 else "two against four"
        row = {"teams": teams, "games": size, "rating": percent(np.concatenate(inside))}
        yield row | {"no interval %": percent(without)}


def deals(repetitions: int) -> Iterator[Row]:
    """Fifteen duels of six players on every deal, which suits some of them; coverage in %.

    `luck` is the standard deviation of a player's share in what decides its games on a deal, where
    each game's own is 1.7, as wide as a logistic variable's.
    """
    duels = list(itertools.combinations(range(6), 2))
    for luck, size in itertools.product((0.0, 1.0), (5, 12, 30)):
        by_deal: list[NDArray[np.bool_]] = []
        alone: list[NDArray[np.bool_]] = []
        for number in range(repetitions):
            rng = np.random.default_rng([number, size, int(luck)])
            games: Games = []
            for _ in range(size):
                suits = luck * rng.normal(size=6)
                for one, two in duels:
                    against = suits[two] - suits[one] + 1.7 * float(rng.normal())
                    chance = 1 / (1 + np.exp(STRENGTH[two] - STRENGTH[one]))
                    lost = ndtr(against / np.sqrt(2 * luck**2 + 1.7**2)) > chance
                    games.append(([one], [two], float(not lost)))
            unit = np.repeat(np.arange(size), len(duels))
            for kind, of_game in ((by_deal, unit), (alone, None)):
                found = rate(pairs_of(games, 6, of_game), np.full(6, np.nan), rng)
                kind.append(held(found, STRENGTH))
        yield {
            "luck": f"{luck:g}",
            "deals": size,
            "rating": percent(np.concatenate(by_deal)),
            "games taken as independent": percent(np.concatenate(alone)),
        }


def pool(repetitions: int) -> Iterator[Row]:
    """Rate a newcomer against four players of given ratings, one after the other; coverage in %."""
    for size, strength in itertools.product((30, 96, 198), (0.0, 1.0)):
        inside, width = [], []
        for number in range(repetitions):
            rng = np.random.default_rng([number, size, int(10 * strength)])
            chance = 1 / (1 + np.exp(GUESTS[1:] - strength))
            games: Games = [
                ([0], [1 + k % 4], float(rng.random() < chance[k % 4])) for k in range(size)
            ]
            found = rate(pairs_of(games, 5), GUESTS, rng)
            inside.append(bool(found.low[0] <= strength <= found.high[0]))
            width.append(ELO * float(found.high[0] - found.low[0]))
        row = {"games": size, "strength": f"{strength:g}", "rating": percent(inside)}
        yield row | {"full width, points": f"{np.median(width):.0f}"}


if __name__ == "__main__":
    count({"coverage": coverage, "deals": deals, "pool": pool}, 400)
