"""What a seat knows of a small game, and what that is worth: expectimax with a memory.

A belief that was valued is not valued again, however it came about.
"""

from __future__ import annotations

import itertools
import math
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

from tomeval.games.game import Action
from tomeval.games.policy import Choices
from tomeval.games.positions import OVER, STATED, Positions, Seen, Way

Belief = tuple[tuple[int, float], ...]
"""Numbers of positions, ascending, with probabilities that sum to 1; empty: the game is over."""


class Next(NamedTuple):
    """A possible result of an action: a probability, the reward secured on the way, a belief."""

    chance: float
    earned: float
    belief: Belief


class TooManyError(Exception):
    """More ways than may be looked at."""


class Search:
    """Values of beliefs, worked out from the end of the game back.

    Parameters
    ----------
    positions : Positions
    left : float
        How many ways may still be looked at.
    before : Search or None
        What was worked out already, which is used and not added to.
    pick : callable
        What a decision is worth, given Q* of its actions: the most, or the mean of random play.
    apart : bool
        Whether the seat sees all, so that it knows the position after every stage.
    """

    def __init__(
        self,
        positions: Positions,
        left: float = math.inf,
        before: Search | None = None,
        pick: Callable[[Iterable[float]], float] = max,
        apart: bool = False,
    ) -> None:
        self.positions, self.left, self.pick, self.apart = positions, left, pick, apart
        self.known: MutableMapping[Belief, float] = {(): 0.0}
        self.ways: MutableMapping[tuple[int, Action], list[Way]] = {}
        if before is not None:
            self.ways = ChainMap({}, before.ways)
            self.known = ChainMap({}, before.known) if before.apart == apart else self.known

    def options(self, belief: Belief) -> Sequence[Action]:
        """Return what the seat can do in the coming stage."""
        positions = self.positions
        return (positions.options if self.pick is max else positions.drawn)(belief[0][0])

    def after(
        self,
        belief: Belief,
        action: Action,
        stated: Mapping[int, Mapping[int, Choices]] = {},
    ) -> dict[Any, Next]:
        """Return what may follow an action, by what the seat then sees.

        `stated` is by position what others do for certain.
        """
        weights: dict[Any, dict[int, float]] = {}
        totals: dict[Any, tuple[float, float]] = {}
        for at, weight in belief:
            ways = self._ways(at, action, stated.get(at, STATED))
            self.left -= len(ways)
            for p, seen, earned, following in ways:
                key = (following, seen[0]) if self.apart else seen
                chance = weight * p
                total, got = totals.get(key, (0.0, 0.0))
                totals[key] = total + chance, got + chance * earned
                if following != OVER:
                    after = weights.setdefault(key, {})
                    after[following] = after.get(following, 0.0) + chance
        if self.left < 0:
            raise TooManyError
        return {
            key: Next(total, got / total, belief_of(weights.get(key, {})))
            for key, (total, got) in totals.items()
        }

    def _ways(self, at: int, action: Action, stated: Mapping[int, Choices]) -> list[Way]:
        """Return what may follow an action in one position, equal ways as one."""
        key = at, action
        if stated or key not in self.ways:
            merged: dict[tuple[Seen, int], Way] = {}
            for way in self.positions.ways(at, action, stated):
                self.left -= 1
                if self.left < 0:
                    raise TooManyError
                same = merged.get((way.seen, way.after))
                chance = way.chance + (0.0 if same is None else same.chance)
                merged[way.seen, way.after] = way._replace(chance=chance)
            if stated:
                return list(merged.values())
            self.ways[key] = list(merged.values())
        return self.ways[key]

    def mean(self, following: Iterable[Next]) -> float:
        """Return the expected value of what may follow, reward secured on the way included."""
        return math.fsum(
            after.chance * (after.earned + self.worth(after.belief)) for after in following
        )

    def worth(self, root: Belief) -> float:
        """Return what a belief is worth from now on; games may be too long to recurse."""
        known, waiting, branches = self.known, [root], dict[Belief, list[list[Next]]]()
        while waiting:
            belief = waiting[-1]
            if belief in known:
                waiting.pop()
                continue
            if belief not in branches:
                branches[belief] = [
                    list(self.after(belief, own).values()) for own in self.options(belief)
                ]
            following = itertools.chain.from_iterable(branches[belief])
            if unknown := [after.belief for after in following if after.belief not in known]:
                waiting += unknown
                continue
            known[belief] = self.pick(
                math.fsum(after.chance * (after.earned + known[after.belief]) for after in one)
                for one in branches.pop(belief)
            )
        return known[root]


def belief_of(weights: Mapping[int, float]) -> Belief:
    """Return positions with weights as a belief.

    Ratios to the largest are rounded to 46 bits, so that one belief that is met on two ways is
    equal, and even chances stay even.
    """
    if len(weights) < 2:
        return tuple((at, 1.0) for at in weights)
    largest = max(weights.values())
    ratios = [(at, _rounded(weight / largest)) for at, weight in sorted(weights.items())]
    unit = math.fsum(ratio for _, ratio in ratios)
    return tuple((at, ratio / unit) for at, ratio in ratios)


def _rounded(value: float) -> float:
    """Return a number without its last 7 bits, after Veltkamp (1968)."""
    large = value * (2**7 + 1)
    return large - (large - value)
