"""Search for the sets of machines of the largest relevance."""

from __future__ import annotations

from math import comb

import numpy as np

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.played import FloatArray, IntArray
from tomeval.extensions.design.machines import (
    Machines,
    count_connected,
    every_machine,
    joined,
    neighbours,
    random_machines,
    renumbered,
)
from tomeval.extensions.design.search import Searched
from tomeval.extensions.design.sets import best_sets, losses, plans_for

PAIR_STEPS = 4_000_000
"""Pairs of machines times steps up to which every pair is compared: some five seconds."""

MOST_SETS = 200_000
"""Sets up to which all are compared."""

IMPROVED = 10
"""How many sets of a sample are improved."""


def search_sets(
    game: MatrixGame, states: int, horizon: int, size: int, rng: np.random.Generator, keep: int
) -> Searched:
    """Return sets of machines of large relevance, the largest first.

    If all pairs of machines of up to `states` states are few enough, all sets of them are compared;
    of more than two machines, where those are too many, sets are grown from the best pairs by the
    machine that adds most, and then improved by exchanging one member at a time. If there are too
    many machines, a sample is treated so (all of the smaller sizes that fit, and random ones), and
    the best sets of it are improved by changing one entry of one member at a time.

    Parameters
    ----------
    size : int
        Machines per set, at least 2.
    keep : int
        How many sets to return, at most.
    """
    room = int(np.sqrt(PAIR_STEPS / horizon))
    machines, whole = _pool(game, states, room, rng)
    count = machines.total
    pairs = np.indices((count, count)).reshape(2, -1).T
    plans = plans_for(game, machines, horizon)
    loss = losses(game, machines, plans, pairs).reshape(count, count)
    size = min(size, count)
    all_sets = comb(count, size) <= MOST_SETS
    if all_sets:
        sets, relevance = best_sets(loss, size, keep)
        how = f"all {comb(count, size):,} sets of {size} of "
    else:
        sets, relevance = _grown(loss, size, keep)
        how = f"sets of {size} grown from the {len(sets):,} best pairs, improved by exchanges, of "
    how += f"{'all ' * whole}{count:,} {'ways to behave' if whole else 'machines'} with up to "
    how += f"{states} states"
    if not whole:
        machines, sets, relevance = _improved(game, machines, sets[:IMPROVED], horizon)
        how += ", drawn at random, then improved entry by entry"
    if not (whole and all_sets):
        how += "; better ones may have been missed"
    return Searched(machines, sets, relevance, how, whole and all_sets)


def _pool(
    game: MatrixGame, states: int, room: int, rng: np.random.Generator
) -> tuple[Machines, bool]:
    """Return all machines, or as many as there is room for, and whether they are all."""
    parts: list[Machines] = []
    for size in range(1, states + 1):
        left = room - sum(part.total for part in parts)
        few = count_connected(game.n, game.m, size) <= 2 * left  # some of them behave alike
        part = every_machine(game.n, game.m, size) if few else None
        if part is None or part.total > left:
            drawn = random_machines(game.n, game.m, states, max(2, left), rng)
            return joined([*parts, renumbered(drawn)[0]]), False
        parts.append(part)
    return joined(parts), True


def _grown(loss: FloatArray, size: int, keep: int) -> tuple[IntArray, FloatArray]:
    """Return sets grown from the best pairs, without two alike, and their relevance."""
    both = loss + loss.T
    pairs, _ = best_sets(loss, 2, keep)
    found: dict[tuple[int, ...], float] = {}
    for pair in pairs.tolist():
        members = list(pair)
        while len(members) < size:
            added = both[members].sum(axis=0)
            added[members] = -1.0
            members.append(int(added.argmax()))
        total, last = _total(both, members), -1.0
        while total > last * (1 + 1e-9):
            last = total
            for place in range(size):
                others = members[:place] + members[place + 1 :]
                added = both[others].sum(axis=0)
                added[others] = -1.0
                if added.max() > added[members[place]] * (1 + 1e-9):
                    members[place] = int(added.argmax())
            total = _total(both, members)
        found[tuple(sorted(members))] = total / size**2
    order = sorted(found, key=lambda members: (-round(found[members], 10), members))
    return np.array(order), np.array([found[members] for members in order])


def _total(both: FloatArray, members: list[int]) -> float:
    return float(both[np.ix_(members, members)].sum()) / 2


def _improved(
    game: MatrixGame, machines: Machines, sets: IntArray, horizon: int
) -> tuple[Machines, IntArray, FloatArray]:
    """Change one entry of one member at a time, as long as that raises the set's relevance."""
    found: dict[bytes, tuple[Machines, float]] = {}
    for chosen in sets:
        members, value = machines.take(chosen), -1.0
        while True:
            options = [_varied(members, place, game.m) for place in range(members.total)]
            scores = [_relevances(game, option, len(chosen), horizon) for option in options]
            place = int(np.argmax([score.max() for score in scores]))
            best = int(scores[place].argmax())
            if scores[place][best] <= value + 1e-9 * abs(value):
                break
            value = float(scores[place][best])
            members = options[place].take(slice(best * len(chosen), (best + 1) * len(chosen)))
        found.setdefault(b"".join(sorted(members.keys())), (members, value))
    ranked = sorted(found.values(), key=lambda pair: -pair[1])
    size = sets.shape[1]
    return (
        joined([members for members, _ in ranked]),
        np.arange(size * len(ranked)).reshape(-1, size),
        np.array([value for _, value in ranked]),
    )


def _varied(members: Machines, place: int, m: int) -> Machines:
    """Return the set and all that differ in one entry of one member, one set after another."""
    one = members.take([place])
    near = joined([one, renumbered(neighbours(one, m))[0]])
    plays = np.repeat(members.plays[None], near.total, axis=0)
    follows = np.repeat(members.follows[None], near.total, axis=0)
    plays[:, place], follows[:, place] = near.plays, near.follows
    return Machines(plays.reshape(-1, plays.shape[2]), follows.reshape(-1, *follows.shape[2:]))


def _relevances(game: MatrixGame, flat: Machines, size: int, horizon: int) -> FloatArray:
    """Return the relevance of sets of machines that lie one after another."""
    plans = plans_for(game, flat, horizon)
    inside = np.argwhere(~np.eye(size, dtype=bool))
    first = np.arange(0, flat.total, size)
    pairs = (first[:, None, None] + inside).reshape(-1, 2)
    found = losses(game, flat, plans, pairs).reshape(len(first), -1).sum(axis=1)
    relevance: FloatArray = found / size**2
    return relevance
