"""Where a small game may stand as one seat meets it, what may follow, and what that is worth.

Positions that play on alike are one (`ArenaGame.essence`). They are numbered, so that beliefs over
them stay small, and what follows an action is worked out once.
"""

from __future__ import annotations

import itertools
import math
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

from tomeval.games.game import Action, ArenaGame, Ask, Event
from tomeval.games.solver import Choices, Memory, Policy

OVER = -1
"""In place of the number of a position: the game is over."""

STATED: Mapping[int, Choices] = {}
"""Nothing is known of what others do now, but their policies."""


class Position(NamedTuple):
    """A state, and what the other seats remember, in the order of the policies."""

    state: Any
    memories: tuple[Memory, ...]


Seen = tuple[bool, tuple[Event, ...]]
"""What a seat learns of a stage: whether the game goes on, and events."""


class Way(NamedTuple):
    """What may follow an action: a probability, what is seen, what is earned, and a position."""

    chance: float
    seen: Seen
    earned: float
    after: int


class Due(NamedTuple):
    """The seat's own decision in a stage, if any; the others', each with probabilities."""

    own: Ask | None
    others: tuple[tuple[Ask, Choices], ...]


class Unlisted(Exception):
    """A decision of the seat lists no actions."""


class Positions:
    """Positions of a game as `seat` may meet them; `policies` play the other seats.

    Attributes
    ----------
    found : list of Position
        By number.
    most : float
        The largest size of what is earned at once.
    """

    def __init__(self, game: ArenaGame[Any], seat: int, policies: Mapping[int, Policy]) -> None:
        self.game, self.seat, self.policies = game, seat, policies
        self.found: list[Position] = []
        self.most = 0.0
        self._known: dict[Position, tuple[int, float]] = {}  # numbers, and rewards at the end
        self._place = {other: place for place, other in enumerate(policies)}
        self._forget = not any(policy.remembers for policy in policies.values())
        self._due: dict[int, Due] = {}

    def deals(self) -> Iterator[Way]:
        """Yield all that may be dealt."""
        for p, state in self.game.starts():
            views = {seat: self.game.view(state, seat) for seat in self.policies}
            memories = tuple(policy.start(views[s]) for s, policy in self.policies.items())
            yield self._way(p, state, memories, 0)

    def view(self, at: int, seat: int | None = None) -> Any:
        """Return what a seat knows of a position, the past apart; default: the seat itself."""
        return self.game.view(self.found[at].state, self.seat if seat is None else seat)

    def due(self, at: int) -> Due:
        """Return who is due in the coming stage, and what the others do."""
        if at not in self._due:
            state, memories = self.found[at]
            own, others = None, []
            for ask in self.game.due(state):
                if ask.seat == self.seat:
                    own = ask
                    continue
                memory, view = memories[self._place[ask.seat]], self.game.view(state, ask.seat)
                others.append((ask, self.policies[ask.seat].choices(view, ask, memory)))
            self._due[at] = Due(own, tuple(others))
        return self._due[at]

    def options(self, at: int) -> Sequence[Action]:
        """Return what the seat can do in the coming stage; None alone if it is not due."""
        if (ask := self.due(at).own) is None:
            return (None,)
        if not (options := self.game.distinct(self.view(at), ask)):
            raise Unlisted
        return options

    def drawn(self, at: int) -> Sequence[Action]:
        """Return the seat's actions as random play draws them, equally likely."""
        if (ask := self.due(at).own) is None:
            return (None,)
        view = self.view(at)
        options = self.game.options(view, ask) or (self.game.default(view, ask),)
        return [self.game.like(view, ask, option) for option in options]

    def stages(
        self, at: int, action: Action, stated: Mapping[int, Choices] = STATED
    ) -> Iterator[tuple[float, dict[int, Action], Any]]:
        """Yield all that may happen: a probability, what everybody does, and the state after it.

        Others of whom it is `stated` do that.
        """
        state, (ask, others) = self.found[at].state, self.due(at)
        own = {} if ask is None else {self.seat: action}
        answers = [stated.get(other.seat, choices) for other, choices in others]
        for drawn in itertools.product(*answers):
            chance, did = 1.0, own.copy()
            for (other, _), (p, what) in zip(others, drawn, strict=True):
                chance *= p
                did[other.seat] = what
            for p, after in self.game.outcomes(state, did):
                yield chance * p, did, after

    def ways(
        self, at: int, action: Action, stated: Mapping[int, Choices] = STATED
    ) -> Iterator[Way]:
        """Yield what may follow an action, one way for all that happens."""
        state, memories = self.found[at]
        past = len(self._events(state))
        for chance, _, after in self.stages(at, action, stated):
            yield self._way(chance, after, self._remembered(memories, after), past)

    def told(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """Return the events that tell the seat something."""
        sums = self.game.sums
        return tuple(event for event in events if event.kind not in sums) if sums else events

    def _way(self, chance: float, state: Any, memories: tuple[Memory, ...], past: int) -> Way:
        events = self.told(self._events(state)[past:])
        state, earned = self.game.essence(state, self.seat)
        position = Position(state, memories)
        if (known := self._known.get(position)) is None:
            if self.game.due(state):
                known = len(self.found), 0.0
                self.found.append(position)
            else:
                known = OVER, self.game.rewards(state)[self.seat]
            self._known[position] = known
        number, reward = known
        self.most = max(self.most, abs(earned + reward))
        return Way(chance, (number != OVER, events), earned + reward, number)

    def _remembered(self, memories: tuple[Memory, ...], state: Any) -> tuple[Memory, ...]:
        if self._forget:
            return memories
        return tuple(
            policy.observe(self.game.view(state, seat), memory) if policy.remembers else memory
            for (seat, policy), memory in zip(self.policies.items(), memories, strict=True)
        )

    def _events(self, state: Any) -> tuple[Event, ...]:
        events: tuple[Event, ...] = self.game.view(state, self.seat).events
        return events


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
        found: list[tuple[float, Way]] = []
        for at, weight in belief:
            ways = self._ways(at, action, stated.get(at, STATED))
            found += [(weight, way) for way in ways]
        self.left -= len(found)
        if self.left < 0:
            raise TooManyError
        return self.seen(found)

    def seen(self, ways: Iterable[tuple[float, Way]]) -> dict[Any, Next]:
        """Return ways, each of a weight, by what the seat then sees."""
        weights: dict[Any, dict[int, float]] = {}
        totals: dict[Any, tuple[float, float]] = {}
        for weight, (p, seen, earned, following) in ways:
            key = (following, seen[0]) if self.apart else seen
            chance = weight * p
            total, got = totals.get(key, (0.0, 0.0))
            totals[key] = total + chance, got + chance * earned
            if following != OVER:
                after = weights.setdefault(key, {})
                after[following] = after.get(following, 0.0) + chance
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
