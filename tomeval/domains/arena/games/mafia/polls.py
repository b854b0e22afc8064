"""The winner of an uncertain vote, without listing all ways to cast it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tomeval.domains.arena.policy import Choices


def most_voted(votes: Sequence[int]) -> list[int]:
    """Return the seats with the most votes, ascending."""
    counts: dict[int, int] = {}
    for target in votes:
        counts[target] = counts.get(target, 0) + 1
    top = max(counts.values())
    return sorted(target for target, count in counts.items() if count == top)


@lru_cache(maxsize=1 << 16)
def poll(ballots: tuple[Choices, ...]) -> Choices:
    """Return whom a vote falls on, with probabilities, ties at random; one ballot for each voter.

    Examples
    --------
    >>> poll((((1.0, 2),), ((0.5, 2), (0.5, 3))))
    ((0.75, 2), (0.25, 3))
    """
    tallies: dict[tuple[int, ...], float] = {(): 1.0}
    for ballot in ballots:
        longer: dict[tuple[int, ...], float] = {}
        for tally, weight in tallies.items():
            for p, target in ballot:
                key = tuple(sorted((*tally, target)))
                longer[key] = longer.get(key, 0.0) + weight * p
        tallies = longer
    chances: dict[int, float] = {}
    for tally, weight in tallies.items():
        top = most_voted(tally)
        for target in top:
            chances[target] = chances.get(target, 0.0) + weight / len(top)
    return tuple((chances[target], target) for target in sorted(chances))
