"""Do ratings keep their promises? Coverage of intervals and ranks.

Games are drawn from players of known strength. Prints the numbers behind docs/calibration.md.

    python benchmarks/rating_calibration.py [--repetitions 400] [--only coverage,deals]
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from counting import Floats, Row, count, percent
from numpy.typing import NDArray
from scipy.special import ndtr

from tomeval.core.errors import TomevalError
from tomeval.extensions.ratings.contests import Contests
from tomeval.extensions.ratings.rating import ELO, Ratings, ranks, rate

Ints = NDArray[np.int64]
Games = list[tuple[list[list[int]], Floats]]
"""Teams of players by number, and the teams' places."""

STRENGTH = np.array([0.8, 0.4, 0.1, -0.1, -0.4, -0.8])
SIDE = 0.6
"""Advantage of the first team over the second, in logits."""


def contests_of(
    games: Games, players: int, sides: bool = True, deals: Ints | None = None
) -> Contests:
    """Return drawn games as contests; a team's side is its place at the table."""
    most = max(len(teams) for teams, _ in games)
    share, terms, place, game = [], [], [], []
    for number, (teams, came) in enumerate(games):
        for team, who in enumerate(teams):
            share.append(np.bincount(who, minlength=players) / len(who))
            terms.append(np.eye(most)[team])
            place.append(came[team])
            game.append(number)
    return Contests(
        tuple(f"player {k}" for k in range(players)),
        tuple(f"side {k}" for k in range(most)) if sides else (),
        np.array(game, dtype=np.int64),
        np.array(place, dtype=np.float64),
        np.array(share),
        np.array(terms) if sides else np.zeros((len(game), 0)),
        np.zeros(len(games), dtype=np.int64),
        np.arange(len(games)) if deals is None else deals,
    )


def won(first: float, rng: np.random.Generator) -> Floats:
    """Return the places of two teams, the first of which is stronger by so many logits."""
    return np.array([0.0, 1.0] if rng.random() < 1 / (1 + np.exp(-first)) else [1.0, 0.0])


def duels(count: int, strength: Floats, rng: np.random.Generator) -> Games:
    """Draw games of two; the first seat has an advantage."""
    games: Games = []
    for _ in range(count):
        one, two = rng.choice(len(strength), 2, replace=False).tolist()
        games.append(([[one], [two]], won(strength[one] - strength[two] + SIDE, rng)))
    return games


def two_against_four(
    count: int, strength: Floats, rng: np.random.Generator, side: float = SIDE
) -> Games:
    """Draw games of two players against four; teams are as strong as their mean."""
    games: Games = []
    for _ in range(count):
        seated = rng.choice(len(strength), 6, replace=False)
        few, many = seated[:2], seated[2:]
        gap = strength[few].mean() - strength[many].mean() + side
        games.append(([few.tolist(), many.tolist()], won(gap, rng)))
    return games


def threes(count: int, strength: Floats, rng: np.random.Generator) -> Games:
    """Draw games of three, with ties as in Turner et al. 2020: of two at 0.5, of three at 0.3."""
    games: Games = []
    tie = {1: 1.0, 2: 0.5, 3: 0.3}
    for _ in range(count):
        seated = rng.choice(len(strength), 3, replace=False)
        worth = np.exp(strength[seated] + SIDE * np.array([0.5, 0.0, -0.5]))
        left, place, rank = [0, 1, 2], np.zeros(3), 0
        while left:
            sets = [
                [left[i] for i in range(len(left)) if bits >> i & 1]
                for bits in range(1, 2 ** len(left))
            ]
            weight = np.array([tie[len(s)] * np.prod(worth[s]) ** (1 / len(s)) for s in sets])
            chosen = sets[int(rng.choice(len(sets), p=weight / weight.sum()))]
            place[chosen] = rank
            rank += 1
            left = [k for k in left if k not in chosen]
        games.append(([[k] for k in seated.tolist()], place))
    return games


DRAWS: dict[str, Callable[[int, Floats, np.random.Generator], Games]] = {
    "duels": duels,
    "two against four": two_against_four,
    "threes with ties": threes,
}


def rating_held(found: Ratings, strength: Floats) -> NDArray[np.bool_]:
    """Return which intervals hold the truth, of the players who have one."""
    truth = strength - strength[found.base].mean()
    given = ~np.isnan(found.low)
    held: NDArray[np.bool_] = ((found.low <= truth) & (truth <= found.high))[given]
    return held


def rank_held(found: Ratings, strength: Floats) -> NDArray[np.bool_]:
    """Return which intervals hold the rank; of equals, all ranks that they share."""
    worst = len(strength) - (strength < strength[:, None]).sum(axis=1)
    held: NDArray[np.bool_] = (found.rank_low <= ranks(strength)) & (worst <= found.rank_high)
    return held


def coverage(repetitions: int) -> Iterator[Row]:
    """Six players, an advantage of the first side, independent games; coverage in %."""
    for name, draw in DRAWS.items():
        for size in (40, 100, 300):
            held, ranked, opened, failed = [], [], 0, 0
            for number in range(repetitions):
                rng = np.random.default_rng([number, size])
                table = contests_of(draw(size, STRENGTH, rng), len(STRENGTH))
                try:
                    one = rate(table, rng)
                except TomevalError:  # too few games to connect all players
                    failed += 1
                    continue
                held.append(rating_held(one, STRENGTH))
                opened += any(one.open)
                ranked.append(rank_held(one, STRENGTH))
            yield {
                "games of": name,
                "games": size,
                "rating": percent(np.concatenate(held)),
                "rank": percent(ranked),
                "open %": percent(opened / repetitions),
                "not rated %": percent(failed / repetitions),
            }


Deals = Sequence[Sequence[tuple[int, int]]]
"""The duels on each deal."""


def dealt(deals: Deals, strength: Floats, rng: np.random.Generator, luck: float) -> Contests:
    """Draw duels on common deals, which suit some players and one seat, for all their games.

    The chance of each game alone is exactly that of the strengths: only what is drawn against it
    is shared. `luck` is the standard deviation of a player's and of a seat's share in it, where
    each game's own is 1.7, as wide as a logistic variable's.
    """
    games: Games = []
    own = 1.7
    for pairs in deals:
        suits, seat = luck * rng.normal(size=len(strength)), luck * float(rng.normal())
        for one, two in pairs:
            first, second = (one, two) if rng.random() < 0.5 else (two, one)
            against = suits[second] - suits[first] - seat + own * float(rng.normal())
            chance = 1 / (1 + np.exp(-(strength[first] - strength[second] + SIDE)))
            lost = ndtr(against / np.sqrt(3 * luck**2 + own**2)) > chance
            games.append(([[first], [second]], np.array([1.0, 0.0] if lost else [0.0, 1.0])))
    cluster = np.repeat(np.arange(len(deals)), [len(pairs) for pairs in deals])
    return contests_of(games, len(strength), deals=cluster)


def rated(deals: Deals, strength: Floats, luck: float, number: int) -> list[Ratings]:
    """Return ratings of drawn games, with the deal and the game as unit; none if not rated."""
    rng = np.random.default_rng([number, len(deals), sum(map(len, deals)), int(luck)])
    table = dealt(deals, strength, rng, luck)
    alone = replace(table, cluster=np.arange(table.games))
    try:
        return [rate(table, rng), rate(alone, rng)]
    except TomevalError:
        return []


def deals(repetitions: int) -> Iterator[Row]:
    """Fifteen duels of six players on every deal; coverage in %."""
    pairs = list(itertools.combinations(range(6), 2))
    for luck in (0.0, 1.0):
        for size in (1, 2, 3, 5, 12, 30):
            drawn = [rated([pairs] * size, STRENGTH, luck, k) for k in range(repetitions)]
            drawn = [found for found in drawn if found]
            equal = [rated([pairs] * size, 0 * STRENGTH, luck, k) for k in range(repetitions)]
            by_deal, alone = (
                np.concatenate([rating_held(found[k], STRENGTH) for found in drawn])
                for k in range(2)
            )
            yield {
                "luck": f"{luck:g}",
                "deals": size,
                "games taken as independent": percent(alone),
                "rating": percent(by_deal),
                "rank": percent([rank_held(found[0], STRENGTH) for found in drawn]),
                "rank of equals": percent([rank_held(f[0], 0 * STRENGTH) for f in equal if f]),
                "open %": percent([[bool(o) for o in found[0].open] for found in drawn]),
                "no interval %": percent([np.isnan(found[0].low) for found in drawn]),
            }


def pool(repetitions: int) -> Iterator[Row]:
    """Newcomers against four players of given ratings, one after the other; coverage in %."""
    given = np.array([np.nan, 0.5, 0.2, -0.2, -0.5])
    for size in (30, 36, 96, 198):
        for strength in (0.0, 1.0):
            held, width = [], []
            for number in range(repetitions):
                rng = np.random.default_rng([number, size, int(10 * strength)])
                games: Games = []
                for k in range(size):
                    other = 1 + k % 4
                    games.append(([[0], [other]], won(strength - given[other], rng)))
                table = contests_of(games, 5, sides=False)
                found = rate(table, rng, given)
                held.append(bool(found.low[0] <= strength <= found.high[0]))
                width.append(ELO * float(found.high[0] - found.low[0]))
            row = {"games": size, "strength": f"{strength:g}", "rating": percent(held)}
            yield row | {"full width, points": f"{np.median(width):.0f}"}


if __name__ == "__main__":
    count({"coverage": coverage, "deals": deals, "pool": pool}, 400)
