"""Do ratings keep their promises? Coverage of intervals and ranks, and recovery of true orders.

Games are drawn from players of known strength. Prints the numbers behind docs/calibration.md.

    python benchmarks/rating_calibration.py [--repetitions 400] [--only coverage,guest]
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from one_thread import use_one_thread
from scipy.special import ndtr
from scipy.stats import kendalltau

from tomeval.core.errors import TomevalError
from tomeval.extensions.ratings.contests import Contests
from tomeval.extensions.ratings.fit import PRIOR, Fit
from tomeval.extensions.ratings.rating import ELO, Ratings, ranks, rate
from tomeval.report.tables import render

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = list[dict[str, Any]]
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


def percent(held: Any) -> str:
    return f"{100 * float(np.mean(held)):.1f}" if np.size(held) else "–"


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


def coverage(repetitions: int) -> None:
    """Coverage of ratings and of ranks; games are independent."""
    print("Six players, an advantage of the first side, independent games; coverage in %")
    rows: Rows = []
    for name, draw in DRAWS.items():
        for count in (40, 100, 300):
            held, ranked, opened, failed = [], [], 0, 0
            for number in range(repetitions):
                rng = np.random.default_rng([number, count])
                table = contests_of(draw(count, STRENGTH, rng), len(STRENGTH))
                try:
                    one = rate(table, rng)
                except TomevalError:  # too few games to connect all players
                    failed += 1
                    continue
                held.append(rating_held(one, STRENGTH))
                opened += any(one.open)
                ranked.append(rank_held(one, STRENGTH))
            rows.append(
                {
                    "games of": name,
                    "games": count,
                    "rating": percent(np.concatenate(held)),
                    "rank": percent(ranked),
                    "open %": percent(opened / repetitions),
                    "not rated %": percent(failed / repetitions),
                }
            )
    print(render(rows))


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


def deals(repetitions: int) -> None:
    """Coverage where games share deals and all players meet on each, by number of deals."""
    print("Fifteen duels of six players on every deal; coverage in %")
    rows: Rows = []
    pairs = list(itertools.combinations(range(6), 2))
    for luck in (0.0, 1.0):
        for count in (1, 2, 3, 5, 12, 30):
            drawn = [rated([pairs] * count, STRENGTH, luck, k) for k in range(repetitions)]
            drawn = [found for found in drawn if found]
            equal = [rated([pairs] * count, 0 * STRENGTH, luck, k) for k in range(repetitions)]
            by_deal, alone = (
                np.concatenate([rating_held(found[k], STRENGTH) for found in drawn])
                for k in range(2)
            )
            rows.append(
                {
                    "luck": f"{luck:g}",
                    "deals": count,
                    "games taken as independent": percent(alone),
                    "rating": percent(by_deal),
                    "rank": percent([rank_held(found[0], STRENGTH) for found in drawn]),
                    "rank of equals": percent([rank_held(f[0], 0 * STRENGTH) for f in equal if f]),
                    "open %": percent([[bool(o) for o in found[0].open] for found in drawn]),
                    "no interval %": percent([np.isnan(found[0].low) for found in drawn]),
                }
            )
    print(render(rows))


def guest(repetitions: int) -> None:
    """Coverage for a player seen in few deals among five who are seen in many."""
    print("A guest against five regulars, who meet in ten duels on each of 12 deals; coverage in %")
    rows: Rows = []
    regular = [list(itertools.combinations(range(5), 2))] * 12
    for luck in (0.0, 1.0):
        for count, games in itertools.product((1, 2, 3, 5, 12), (1, 4, 12)):
            mine = [[(5, (k + deal) % 5) for k in range(games)] for deal in range(count)]
            held, others, ranked, equals = [], [], [], []
            opened, none = [], []
            for number in range(repetitions):
                strength = np.append(STRENGTH[:5], (-0.8, 0.0, 0.8)[number % 3])
                for found in rated([*regular, *mine], strength, luck, number)[:1]:
                    missing = bool(np.isnan(found.low[5]))
                    inside = rating_held(found, strength)
                    held.append(inside[5:])
                    others.append(inside[:5])
                    ranked.append(rank_held(found, strength)[5])
                    opened.append(bool(found.open[5]))
                    none.append(missing)
                if games < 12:  # one is enough to see that it is sharp
                    continue
                for found in rated([*regular, *mine], 0 * strength, luck, number)[:1]:
                    equals.append(rank_held(found, 0 * strength)[5])
            rows.append(
                {
                    "luck": f"{luck:g}",
                    "deals": count,
                    "games on each": games,
                    "guest": percent(np.concatenate(held)),
                    "open %": percent(opened),
                    "no interval %": percent(none),
                    "rank": percent(ranked),
                    "rank among equals": percent(equals),
                    "regulars": percent(np.concatenate(others)),
                }
            )
    print(render(rows))


def pool(repetitions: int) -> None:
    """Coverage and width of a newcomer's rating against a frozen pool, by number of games."""
    print("A newcomer against four players of given ratings, one after the other; coverage in %")
    rows: Rows = []
    given = np.array([np.nan, 0.5, 0.2, -0.2, -0.5])
    for count in (30, 36, 96, 198):
        for strength in (0.0, 1.0):
            held, width = [], []
            for number in range(repetitions):
                rng = np.random.default_rng([number, count, int(10 * strength)])
                games: Games = []
                for k in range(count):
                    other = 1 + k % 4
                    games.append(([[0], [other]], won(strength - given[other], rng)))
                table = contests_of(games, 5, sides=False)
                found = rate(table, rng, given)
                held.append(bool(found.low[0] <= strength <= found.high[0]))
                width.append(ELO * float(found.high[0] - found.low[0]))
            row = {"games": count, "strength": f"{strength:g}", "rating": percent(held)}
            rows.append(row | {"full width, points": f"{np.median(width):.0f}"})
    print(render(rows))


def uneven(count: int, strength: Floats, rng: np.random.Generator, leaning: Floats) -> Games:
    """Draw games of two against four in which some players more often sit with the two."""
    games: Games = []
    for _ in range(count):
        seated = rng.choice(len(strength), 6, replace=False)
        weight = np.exp(leaning[seated])
        few = rng.choice(seated, 2, replace=False, p=weight / weight.sum())
        many = np.setdiff1d(seated, few)
        gap = strength[few].mean() - strength[many].mean() + SIDE
        games.append(([few.tolist(), many.tolist()], won(gap, rng)))
    return games


def order(repetitions: int) -> None:
    """Kendall's tau of the rating with the true order, where sides are uneven."""
    print("Twelve players, two against four, the two at an advantage: Kendall's tau with the truth")
    rows: Rows = []
    for count in (100, 300, 600):
        taus: dict[str, list[float]] = {}
        for number in range(repetitions):
            rng = np.random.default_rng([number, count, 3])
            strength = rng.normal(size=12)
            games = uneven(count, strength, rng, rng.normal(size=12))
            taken: dict[str, Floats] = {}
            taken["Bradley-Terry, team = sum"] = summed(games, 12)
            taken["Bradley-Terry, team = mean"] = strengths(contests_of(games, 12, False))
            taken["with a side term"] = strengths(contests_of(games, 12))
            for name, value in taken.items():
                taus.setdefault(name, []).append(kendalltau(value, strength).statistic)
        for name, values in sorted(taus.items(), key=lambda item: np.mean(item[1])):
            error = np.std(values, ddof=1) / np.sqrt(len(values))
            row = {"games": count, "rating": name, "Kendall": f"{np.mean(values):.3f}"}
            rows.append({**row, "standard error": f"{error:.3f}"})
    print(render(rows))


def strengths(contests: Contests) -> Floats:
    """Return ratings with the weak prior, without intervals."""
    fit = Fit(contests, np.full(len(contests.names) + len(contests.sides), np.nan))
    found: Floats = fit.players @ fit.choices.peak(1 / PRIOR**2).place
    return found


def summed(games: Games, players: int) -> Floats:
    """Return ratings with the team as the sum of its players, and no side."""
    table = contests_of(games, players, sides=False)
    sizes = np.array([len(who) for teams, _ in games for who in teams])
    return strengths(replace(table, players=table.players * sizes[:, None]))


PARTS: dict[str, Callable[[int], None]] = {
    "coverage": coverage,
    "deals": deals,
    "guest": guest,
    "pool": pool,
    "order": order,
}


def main(arguments: Sequence[str] | None = None) -> None:
    use_one_thread()
    parser = argparse.ArgumentParser(description="Coverage and recovery of ratings.")
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--only", default=",".join(PARTS))
    options = parser.parse_args(arguments)
    print(f"{options.repetitions} repetitions")
    for name in options.only.split(","):
        start = time.process_time()
        print()
        PARTS[name](options.repetitions)
        print(f"({time.process_time() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
