"""V* and Q* of any small game of the arena from its rules alone: expectimax over what a seat knows.

What a seat knows is a *belief*: the positions that agree with all it has seen, with probabilities.
Every own action, every answer of the others and every chance move is followed, and a belief that
was valued is not valued again. A game is valued whole before it is played, or not at all, so values
do not depend on what was asked before.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from tomeval.games.game import TIE, Action, ArenaGame, Ask, Probe, Stage, View
from tomeval.games.positions import (
    Belief,
    Next,
    Positions,
    Search,
    TooManyError,
    Unlisted,
)
from tomeval.games.solver import Choices, Follower, Policy, Solver, Values

MOST = 500_000
"""Ways between positions that are looked at, in some ten seconds; games with more have no
values."""


def enumeration(
    game: ArenaGame[Any], seat: int, policies: Mapping[int, Policy], most: int = MOST
) -> Enumeration | None:
    """Return the solver of a seat, as `Kind.solver` wants it.

    None for games with more ways than `most`, with own decisions that list no actions
    (`ArenaGame.distinct`), or whose deals are not listed by `ArenaGame.starts`. Hidden may be what
    others decide in the same stage, what the deal leaves open, and events. What a seat does itself
    it must be able to tell from the events that it sees.
    """
    try:
        return Enumeration(game, seat, policies, most) if game.starts() else None
    except (TooManyError, Unlisted):
        return None


class Enumeration(Solver):
    """Exact values of one seat; see `enumeration`."""

    def __init__(
        self, game: ArenaGame[Any], seat: int, policies: Mapping[int, Policy], most: int
    ) -> None:
        self.game, self.seat, self._most = game, seat, most
        self.positions = Positions(game, seat, policies)
        self.search = Search(self.positions, most)
        self._sighted = Search(self.positions, before=self.search, apart=True)
        self.dealt = self.search.seen((1.0, way) for way in self.positions.deals())
        self._value = self.search.mean(self.dealt.values())
        self.search.left = math.inf  # what is asked from now on is known but for its first stage
        self._asked: dict[Belief, dict[Action, float]] = {}
        self._supposed: dict[Any, dict[Action, float] | None] = {}

    def follow(self, view: View[Any]) -> Follower:
        """Return a follower, which knows what may have been dealt."""
        return _Follower(self, view)

    def value(self) -> float:
        """Return V* over all deals."""
        return self._value

    def chance(self) -> float:
        """Return the value of play that is drawn as `ArenaGame.random` draws it."""
        return self._chance

    @functools.cached_property
    def _chance(self) -> float:
        drawn = Search(self.positions, before=self.search, pick=fmean, apart=True)
        return math.fsum(
            dealt.chance * (dealt.earned + p * drawn.worth(((at, 1.0),)))
            for dealt in self.dealt.values()
            for at, p in dealt.belief
        )

    def q(self, belief: Belief) -> dict[Action, float]:
        """Return Q* of the coming decision's actions, from now on."""
        if belief not in self._asked:
            self._asked[belief] = {
                action: self.search.mean(self.search.after(belief, action).values())
                for action in self.search.options(belief)
            }
        return self._asked[belief]

    def supposing(
        self, belief: Belief, stated: Mapping[int, Mapping[int, Choices]], sighted: bool
    ) -> dict[Action, float] | None:
        """Return Q* if the others now do what is `stated`, by position; None: it takes too long.

        `sighted`: and if the seat sees all from now on.
        """
        told = frozenset((at, ways) for at, others in stated.items() for ways in others.items())
        key = belief, told, sighted
        if key not in self._supposed:
            self._supposed[key] = self._supposing(belief, stated, sighted)
        return self._supposed[key]

    def _supposing(
        self, belief: Belief, stated: Mapping[int, Mapping[int, Choices]], sighted: bool
    ) -> dict[Action, float] | None:
        search = self._sighted
        parts: list[tuple[Belief, float]] = [(((at, 1.0),), weight) for at, weight in belief]
        if not sighted:
            search, parts = self.search, [(belief, 1.0)]
        if stated:
            search = Search(self.positions, self._most, search, apart=sighted)
        try:
            return {
                action: math.fsum(
                    weight * search.mean(search.after(part, action, stated).values())
                    for part, weight in parts
                )
                for action in search.options(belief)
            }
        except TooManyError:
            return None

    def best(self, q: Mapping[Action, float]) -> list[Action]:
        """Return the actions with the highest value, but for rounding."""
        least = max(q.values()) - TIE * max(self.positions.most, max(map(abs, q.values())))
        return [action for action, value in q.items() if value >= least]


class _Follower(Follower):
    """Keeps the belief of a seat: none once it saw what the rules or the policies rule out."""

    def __init__(self, solver: Enumeration, view: View[Any]) -> None:
        self.solver, self._view = solver, view
        dealt = solver.dealt.get((True, solver.positions.told(view.events)), Next(0.0, 0.0, ()))
        self._earned: float = dealt.earned
        self._belief: Belief = dealt.belief

    def values(self, view: View[Any], ask: Ask) -> EnumeratedValues | None:
        """Return the values of a decision; None without a belief."""
        if not self._belief:
            return None
        return EnumeratedValues(self.solver, self._belief, self._earned, view, ask)

    def observe(self, view: View[Any]) -> None:
        """Update the belief by a stage; the seat's own action must follow from what it saw."""
        game, search, before = self.solver.game, self.solver.search, self._view
        self._view = view
        if not self._belief:
            return
        ask = self.solver.positions.due(self._belief[0][0]).own
        told = tuple(
            event._replace(data=game.like(before, ask, event.data))
            if ask is not None and (event.seat, event.kind) == ask
            else event
            for event in self.solver.positions.told(view.events[len(before.events) :])
        )
        after = [
            (one.earned, one.belief)
            for own in search.options(self._belief)
            if (one := search.after(self._belief, own).get((True, told))) is not None
        ]
        earned, self._belief = after[0] if len(set(after)) == 1 else (0.0, ())
        self._earned += earned


class EnumeratedValues(Values):
    """Exact values of one decision of a seat with a belief."""

    def __init__(
        self, solver: Enumeration, belief: Belief, earned: float, view: View[Any], ask: Ask
    ) -> None:
        self.solver, self.belief, self.view, self.ask = solver, belief, view, ask
        self.q = {action: earned + worth for action, worth in solver.q(belief).items()}

    @property
    def best(self) -> float:
        """V*."""
        return max(self.q.values())

    def of(self, action: Action) -> float:
        """Q*; a message is worth what the one is that it counts as."""
        return self.q[self.solver.game.like(self.view, self.ask, action)]

    def regret(self, action: Action) -> float | None:
        """Return V* - Q*; of the best actions nothing, whatever rounding says."""
        best = self.solver.game.like(self.view, self.ask, action) in self.best_actions()
        return 0.0 if best else super().regret(action)

    def best_actions(self) -> Sequence[Action]:
        """Return the actions that attain V*."""
        return self.solver.best(self.q)

    def observer(self, probe: Probe) -> Mapping[Action, float] | None:
        """Return the chances of what is true; of what a decision leads to, given that decision.

        None in games that say themselves what is true of a whole game, see `ArenaGame.truth`.
        """
        game, positions = self.solver.game, self.solver.positions
        if type(game).truth is not ArenaGame.truth:
            return None
        own = next(iter(self.q)) if probe.given is None else probe.given
        chances: dict[Action, float] = {}
        for at, weight in self.belief:
            state = positions.found[at].state
            for p, did, after in positions.stages(at, own):
                true = game.fact(self.view, probe, Stage(state, did), after)
                chances[true] = chances.get(true, 0.0) + weight * p
        chances.pop(None, None)
        return chances or None

    def answer(self, probe: Probe) -> tuple[Action, float] | None:
        """Return the answer that scores most in expectation, and its score."""
        if (chances := self.observer(probe)) is None:
            return None
        game = self.solver.game
        said = game.likeliest(probe, chances)
        return said, math.fsum(p * game.hit(probe, said, true) for true, p in chances.items())

    def reply(self, said: Mapping[Probe, Action]) -> Action | None:
        """Return the first best action if what was said is true; None if it cannot be.

        Others of whom a part is said do as the observer expects given that; if they never do that,
        all their options that agree are equally likely. If what is hidden was stated, positions
        that contradict it are dropped, and in each of the others the seat sees all from now on.
        What follows from the decision is no reason for it.
        """
        q, _ = self._supposing(said)
        return self.solver.best(q)[0] if q else None

    def worths(self, said: Mapping[Probe, Action] | None = None) -> Mapping[Action, float]:
        """Return Q* of all options, or what they are worth if what was said is true; see `reply`.

        Nothing of messages, which are not listed.
        """
        q, weight = (self.q, 1.0) if said is None else self._supposing(said)
        game, options = self.solver.game, self.solver.game.options(self.view, self.ask)
        return {x: q[game.like(self.view, self.ask, x)] / weight for x in options} if q else {}

    def _supposing(self, said: Mapping[Probe, Action]) -> tuple[Mapping[Action, float], float]:
        """Return the values of actions if what was said is true, times the weight of that."""
        plain = {probe: answer for probe, answer in said.items() if probe.given is None}
        hidden = {probe: answer for probe, answer in plain.items() if probe.about is None}
        belief = tuple((at, weight) for at, weight in self.belief if self._agrees(hidden, at, {}))
        asks = [ask for ask, _ in self.solver.positions.due(belief[0][0]).others] if belief else []
        doing = {
            ask: own
            for ask in asks
            if (own := {p: answer for p, answer in plain.items() if p.about == ask.seat})
        }
        stated = {at: self._stated(at, doing) for at, _ in belief if doing}
        if not (hidden or doing) or not belief or not all(all(s.values()) for s in stated.values()):
            return {}, 1.0
        q = self.solver.supposing(belief, stated, bool(hidden))
        return q or {}, math.fsum(weight for _, weight in belief)

    def _stated(self, at: int, doing: Mapping[Ask, Mapping[Probe, Action]]) -> dict[int, Choices]:
        """Return what others do of whom something was said; nothing if that cannot be."""
        answers: dict[int, Choices] = {}
        for ask, choices in self.solver.positions.due(at).others:
            if own := doing.get(ask):
                fits = [pair for pair in choices if self._agrees(own, at, {ask.seat: pair[1]})]
                if not fits:
                    view = self.solver.positions.view(at, ask.seat)
                    options = self.solver.game.options(view, ask)
                    fits = [(1.0, x) for x in options if self._agrees(own, at, {ask.seat: x})]
                total = math.fsum(p for p, _ in fits)
                answers[ask.seat] = tuple((p / total, action) for p, action in fits)
        return answers

    def _agrees(self, said: Mapping[Probe, Action], at: int, did: Mapping[int, Action]) -> bool:
        """Return whether all that was said is true of a position, and of what others do there."""
        state = self.solver.positions.found[at].state
        return all(
            self.solver.game.fact(self.view, probe, Stage(state, did), state) == answer
            for probe, answer in said.items()
        )
