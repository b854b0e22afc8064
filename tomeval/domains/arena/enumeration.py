"""V* and Q* of any small game of the arena from its rules alone: expectimax over what a seat knows.

What a seat knows is a *belief*: the positions that agree with all it has seen, with probabilities.
Every own action, every answer of the others and every chance move is followed, and a belief that
was valued is not valued again. A game is valued whole before it is played, or not at all, so values
do not depend on what was asked before.
"""

from __future__ import annotations

import itertools
import math
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from tomeval.domains.arena.game import TIE, Action, ArenaGame, Ask, Probe, Stage, View
from tomeval.domains.arena.policy import Choices, Policy
from tomeval.domains.arena.positions import OVER, STATED, Positions, Seen, Unlisted, Way
from tomeval.domains.arena.solver import Bound, Follower, Solver, Values

MOST = 500_000
"""Ways between positions that are looked at, in some ten seconds; games with more have no
values."""

Belief = tuple[tuple[int, float], ...]
"""Numbers of positions, ascending, with probabilities that sum to 1; empty: the game is over."""


class Next(NamedTuple):
    """A possible result of an action: a probability, the reward secured on the way, a belief."""

    chance: float
    earned: float
    belief: Belief


class TooManyError(Exception):
    """More ways than may be looked at."""


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


class _Search:
    """Values of beliefs, worked out from the end of the game back.

    Parameters
    ----------
    positions : Positions
    left : float
        How many ways may still be looked at.
    before : _Search or None
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
        before: _Search | None = None,
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
            key: Next(total, got / total, _belief(weights.get(key, {})))
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


def _belief(weights: Mapping[int, float]) -> Belief:
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


class Enumeration(Solver):
    """Exact values of one seat; see `enumeration`."""

    def __init__(
        self, game: ArenaGame[Any], seat: int, policies: Mapping[int, Policy], most: int
    ) -> None:
        self.game, self.seat, self._most = game, seat, most
        self.positions = Positions(game, seat, policies)
        self.search = _Search(self.positions, most)
        self._sighted = _Search(self.positions, before=self.search, apart=True)
        deals: dict[Seen, list[Way]] = {}
        for way in self.positions.deals():
            deals.setdefault(way.seen, []).append(way)
        self.dealt = {seen: _dealt(ways) for seen, ways in deals.items()}
        self._value = self.search.mean(self.dealt.values())
        self.search.left = math.inf  # what is asked from now on is known but for its first stage
        self._asked: dict[Belief, dict[Action, float]] = {}

    def follow(self, view: View[Any]) -> Follower:
        """Return a follower, which knows what may have been dealt."""
        return _Follower(self, view)

    def value(self) -> Bound:
        """Return V* over all deals."""
        return Bound(self._value, self._value)

    def chance(self) -> Bound:
        """Return the value of play that is drawn as `ArenaGame.random` draws it."""
        drawn = _Search(self.positions, before=self.search, pick=fmean, apart=True)
        value = math.fsum(
            dealt.chance * (dealt.earned + p * drawn.worth(((at, 1.0),)))
            for dealt in self.dealt.values()
            for at, p in dealt.belief
        )
        return Bound(value, value)

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
        search = self._sighted
        if stated or not sighted:
            before = self._sighted if sighted else self.search
            search = _Search(self.positions, self._most, before, apart=sighted)
        try:
            return {
                action: math.fsum(
                    weight * search.mean(search.after(((at, 1.0),), action, stated).values())
                    for at, weight in belief
                )
                if sighted
                else search.mean(search.after(belief, action, stated).values())
                for action in search.options(belief)
            }
        except TooManyError:
            return None


def _dealt(ways: Sequence[Way]) -> Next:
    """Return the belief after deals that look alike."""
    total = math.fsum(way.chance for way in ways)
    earned = math.fsum(way.chance * way.earned for way in ways) / total
    weights = dict[int, float]()
    for way in ways:
        weights[way.after] = weights.get(way.after, 0.0) + way.chance
    return Next(total, earned, _belief(weights))


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
        seen = (
            True,
            tuple(
                event._replace(data=game.like(before, ask, event.data))
                if ask is not None and (event.seat, event.kind) == ask
                else event
                for event in self.solver.positions.told(view.events[len(before.events) :])
            ),
        )
        after = [
            (one.earned, one.belief)
            for own in search.options(self._belief)
            if (one := search.after(self._belief, own).get(seen)) is not None
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
    def best(self) -> Bound:
        """V*."""
        return Bound(max(self.q.values()), max(self.q.values()))

    def of(self, action: Action) -> Bound:
        """Q*; a message is worth what the one is that it counts as."""
        worth = self.q[self.solver.game.like(self.view, self.ask, action)]
        return Bound(worth, worth)

    def regret(self, action: Action) -> Bound:
        """Return V* - Q*; of the best actions nothing, whatever rounding says."""
        best = self.solver.game.like(self.view, self.ask, action) in self.best_actions()
        return Bound(0.0, 0.0) if best else super().regret(action)

    def best_actions(self) -> Sequence[Action]:
        """Return the actions that attain V*."""
        return _best(self.q)

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
            return None
        q = self.solver.supposing(belief, stated, bool(hidden))
        return _best(q)[0] if q else None

    def _stated(self, at: int, doing: Mapping[Ask, Mapping[Probe, Action]]) -> dict[int, Choices]:
        """Return what others do of whom something was said; nothing if that cannot be."""
        found: dict[int, Choices] = {}
        for ask, choices in self.solver.positions.due(at).others:
            if own := doing.get(ask):
                fits = [pair for pair in choices if self._agrees(own, at, {ask.seat: pair[1]})]
                if not fits:
                    view = self.solver.positions.view(at, ask.seat)
                    options = self.solver.game.options(view, ask)
                    fits = [(1.0, x) for x in options if self._agrees(own, at, {ask.seat: x})]
                total = math.fsum(p for p, _ in fits)
                found[ask.seat] = tuple((p / total, action) for p, action in fits)
        return found

    def _agrees(self, said: Mapping[Probe, Action], at: int, did: Mapping[int, Action]) -> bool:
        """Tell whether all that was said is true of a position, and of what others do there."""
        state = self.solver.positions.found[at].state
        return all(
            self.solver.game.fact(self.view, probe, Stage(state, did), state) == answer
            for probe, answer in said.items()
        )


def _best(q: Mapping[Action, float]) -> list[Action]:
    """Return the actions with the highest value, but for rounding."""
    least = max(q.values()) - TIE * max(1.0, max(map(abs, q.values())))
    return [action for action, value in q.items() if value >= least]
