"""V* and Q* of any small game of the arena from its rules alone: expectimax over what a seat knows.

What a seat knows is a *belief*: the positions that agree with all it has seen, with probabilities.
Every own action, every answer of the others and every chance move is followed. Positions that play
on alike are one (`ArenaGame.essence`), and a belief that was valued is not valued again. A game is
valued whole before it is played, or not at all, so values do not depend on what was asked before.
"""

from __future__ import annotations

import itertools
import math
from collections import ChainMap, defaultdict
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from tomeval.games.game import Action, ArenaGame, Ask, Event, Probe, View
from tomeval.games.policy import Choices, Memory, Policy
from tomeval.games.solver import Bound, Follower, ListedValues, Solver

MOST = 100_000
"""Outcomes of stages that are looked at, in some ten seconds; games with more have no values."""

_SAME = 14
"""Digits of probabilities in which equal beliefs agree, however they came about."""

_NOTHING: Mapping[int, Action] = {}


class Position(NamedTuple):
    """A state, and what the other seats remember, in the order of the policies."""

    state: Any
    memories: tuple[Memory, ...]


Belief = Mapping[Position, float]
"""Positions with their probabilities, which sum to 1."""

Seen = tuple[bool, tuple[Event, ...]]
"""What a seat learns of a stage: whether the game goes on, and events."""


class Next(NamedTuple):
    """A possible result of an action: a belief, its probability, and the reward secured."""

    chance: float
    earned: float
    belief: Belief


class TooManyError(Exception):
    """More outcomes than may be looked at, or an own decision without a list of options."""


def enumeration(
    game: ArenaGame[Any], seat: int, policies: Mapping[int, Policy], most: int = MOST
) -> Enumeration | None:
    """Return the solver of a seat, as `Kind.solver` wants it.

    None for games with more outcomes than `most`, with own decisions that list no `options`, or
    whose deals are not listed by `ArenaGame.starts`. Hidden may be what others decide in the same
    stage, what the deal leaves open, and events. What a seat does itself it must be able to tell
    from the events that it sees.
    """
    try:
        return Enumeration(game, seat, policies, max, most) if game.starts() else None
    except TooManyError:
        return None


class Enumeration(Solver):
    """Exact values of one seat; see `enumeration`.

    Parameters
    ----------
    pick : callable
        What a decision is worth, given Q* of its actions: the most, or the mean of random play.
    """

    def __init__(
        self,
        game: ArenaGame[Any],
        seat: int,
        policies: Mapping[int, Policy],
        pick: Callable[[Iterable[float]], float],
        most: int,
    ) -> None:
        self.game, self.seat, self.policies, self.pick = game, seat, policies, pick
        self._most, self._left = most, float(most)
        self._known: MutableMapping[Any, float] = {}
        self.dealt = self._dealt()
        self._value = self._mean(self.dealt.values(), self._known)
        self._left = math.inf  # what is asked from now on is known but for its first stage

    def follow(self, view: View[Any]) -> Follower:
        """Return a follower, which knows what may have been dealt."""
        return _Follower(self, view)

    def value(self) -> Bound:
        """Return V* over all deals."""
        return Bound(self._value, self._value)

    def chance(self) -> Bound:
        """Return the value of options at random, all equally likely."""
        return Enumeration(self.game, self.seat, self.policies, fmean, self._most).value()

    def q(self, belief: Belief) -> dict[Action, float]:
        """Return Q* of the coming decision's options, from now on."""
        return self._q(belief, self._known)

    def supposing(self, belief: Belief, stated: Mapping[int, Action]) -> dict[Action, float] | None:
        """Return the same if the others now do what is stated; None if that takes too long."""
        self._left = self._most
        try:
            return self._q(belief, ChainMap({}, self._known), stated)
        except TooManyError:
            return None
        finally:
            self._left = math.inf

    def options(self, belief: Belief) -> Sequence[Action]:
        """Return what the seat can do in the coming stage; None alone if it is not due."""
        for position in belief:
            for ask in self.game.due(position.state):
                if ask.seat == self.seat:
                    options = self.game.options(self.game.view(position.state, self.seat), ask)
                    if not options:
                        raise TooManyError
                    return options
        return (None,)

    def choices(self, position: Position, ask: Ask) -> Choices:
        """Return what another seat does in a position, with probabilities."""
        memory = position.memories[list(self.policies).index(ask.seat)]
        view = self.game.view(position.state, ask.seat)
        return self.policies[ask.seat].choices(view, ask, memory)

    def after(
        self, belief: Belief, action: Action, stated: Mapping[int, Action] = _NOTHING
    ) -> dict[Seen, Next]:
        """Return what follows an own action, by what the seat then sees; nothing after the end.

        Others of whom it is `stated` do that.
        """
        weights: dict[Seen, dict[Position, float]] = defaultdict(lambda: defaultdict(float))
        for position, weight in belief.items():
            due = self.game.due(position.state)
            others = [ask for ask in due if ask.seat != self.seat]
            own = {self.seat: action} if len(others) < len(due) else {}
            past = len(self._events(position.state))
            answers = [
                ((1.0, stated[ask.seat]),) if ask.seat in stated else self.choices(position, ask)
                for ask in others
            ]
            for drawn in itertools.product(*answers) if due else ():
                said = {ask.seat: what for ask, (_, what) in zip(others, drawn, strict=True)}
                chance = weight * math.prod(p for p, _ in drawn)
                for p, state in self.game.outcomes(position.state, {**own, **said}):
                    after = Position(state, self._remembered(position.memories, state))
                    weights[self._seen(state, past)][after] += chance * p
                    self._left -= 1
            if self._left < 0:
                raise TooManyError
        return {seen: self._next(positions) for seen, positions in weights.items()}

    def _dealt(self) -> dict[Seen, Next]:
        """Return the belief after every deal, by what the seat sees of it."""
        weights: dict[Seen, dict[Position, float]] = defaultdict(dict)
        for p, state in self.game.starts():
            memories = (x.start(self.game.view(state, s)) for s, x in self.policies.items())
            weights[self._seen(state, 0)][Position(state, tuple(memories))] = p
        return {seen: self._next(positions) for seen, positions in weights.items()}

    def _next(self, weights: Mapping[Position, float]) -> Next:
        """Return positions as a belief, without what no longer matters."""
        total, earned = math.fsum(weights.values()), []
        belief: dict[Position, float] = defaultdict(float)
        for position, weight in weights.items():
            state, got = self.game.essence(position.state, self.seat)
            belief[position._replace(state=state)] += weight / total
            earned.append(got * weight / total)
        return Next(total, math.fsum(earned), belief)

    def _remembered(self, memories: tuple[Memory, ...], state: Any) -> tuple[Memory, ...]:
        return tuple(
            policy.observe(self.game.view(state, seat), memory) if policy.remembers else memory
            for (seat, policy), memory in zip(self.policies.items(), memories, strict=True)
        )

    def _events(self, state: Any) -> tuple[Event, ...]:
        events: tuple[Event, ...] = self.game.view(state, self.seat).events
        return events

    def _seen(self, state: Any, past: int) -> Seen:
        return bool(self.game.due(state)), self._events(state)[past:]

    def _q(
        self,
        belief: Belief,
        known: MutableMapping[Any, float],
        stated: Mapping[int, Action] = _NOTHING,
    ) -> dict[Action, float]:
        return {
            action: self._mean(self.after(belief, action, stated).values(), known)
            for action in self.options(belief)
        }

    def _mean(self, following: Iterable[Next], known: MutableMapping[Any, float]) -> float:
        return math.fsum(
            after.chance * (after.earned + self._worth(after.belief, known)) for after in following
        )

    def _worth(self, root: Belief, known: MutableMapping[Any, float]) -> float:
        """Return what a belief is worth from now on; games may be too long to recurse."""
        waiting, branches = [root], {}
        while waiting:
            belief = waiting[-1]
            if (key := _key(belief)) in known:
                waiting.pop()
                continue
            if not any(self.game.due(position.state) for position in belief):  # it is over
                known[key] = math.fsum(
                    p * self.game.rewards(position.state)[self.seat]
                    for position, p in belief.items()
                )
                continue
            if key not in branches:
                branches[key] = [
                    [(after, _key(after.belief)) for after in self.after(belief, own).values()]
                    for own in self.options(belief)
                ]
            following = itertools.chain.from_iterable(branches[key])
            if unknown := [after.belief for after, later in following if later not in known]:
                waiting += unknown
                continue
            known[key] = self.pick(
                math.fsum(after.chance * (after.earned + known[later]) for after, later in one)
                for one in branches.pop(key)
            )
        return known[_key(root)]


def _key(belief: Belief) -> frozenset[tuple[Position, float]]:
    """Return what tells beliefs apart."""
    return frozenset((position, round(p, _SAME)) for position, p in belief.items())


class _Follower(Follower):
    """Keeps the belief of a seat: empty once it saw what the rules or the policies rule out."""

    def __init__(self, solver: Enumeration, view: View[Any]) -> None:
        self.solver, self._past = solver, len(view.events)
        dealt = solver.dealt.get((True, view.events), Next(0.0, 0.0, {}))
        self._earned: float = dealt.earned
        self._belief: Belief = dealt.belief

    def values(self, view: View[Any], ask: Ask) -> EnumeratedValues | None:
        """Return the values of a decision; None without a belief."""
        if not self._belief:
            return None
        return EnumeratedValues(self.solver, self._belief, self._earned, view)

    def observe(self, view: View[Any]) -> None:
        """Update the belief by a stage; the seat's own action must follow from what it saw."""
        seen = True, view.events[self._past :]
        self._past = len(view.events)
        after = [
            following[seen]
            for own in (self.solver.options(self._belief) if self._belief else ())
            if seen in (following := self.solver.after(self._belief, own))
        ]
        if len({(_key(one.belief), one.earned) for one in after}) == 1:
            self._belief, self._earned = after[0].belief, self._earned + after[0].earned
        else:
            self._belief = {}


class EnumeratedValues(ListedValues):
    """Exact values of one decision of a seat with a belief."""

    def __init__(self, solver: Enumeration, belief: Belief, earned: float, view: View[Any]) -> None:
        self.solver, self.belief, self.view = solver, belief, view
        expected: dict[int, dict[Action, float]] = defaultdict(lambda: defaultdict(float))
        for position, weight in belief.items():
            for ask in solver.game.due(position.state):
                for p, action in solver.choices(position, ask) if ask.seat != solver.seat else ():
                    expected[ask.seat][action] += weight * p
        super().__init__(
            {action: earned + worth for action, worth in solver.q(belief).items()},
            {
                seat: [(p / sum(mixed.values()), action) for action, p in mixed.items()]
                for seat, mixed in expected.items()
            },
        )

    def observer(self, probe: Probe) -> Mapping[Action, float] | None:
        """Return what is expected of the seat that a probe is about, if it is due at all.

        None in games that say themselves what is true of a probe: it need not be what a seat does.
        """
        plain = type(self.solver.game).truth is ArenaGame.truth
        return super().observer(probe) if plain else None

    def reply(self, said: Mapping[Probe, Action]) -> Action | None:
        """Return the first best action if the others do as stated."""
        stated = self.solver.game.supposed(self.view, said)
        q = None if stated is None else self.solver.supposing(self.belief, stated)
        return max(q, key=lambda action: q[action]) if q else None
