"""Where a small game may stand as one seat meets it, and what may follow, against known policies.

Positions that play on alike are one (`ArenaGame.essence`). They are numbered, so that beliefs over
them stay small, and what follows an action is worked out once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tomeval.games.game import Action, ArenaGame, Ask, Event
from tomeval.games.policy import Choices, Memory, Policy

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
