"""Values of information states: exact by expectimax where it ends in time, else bounds.

A belief is what a seat knows, as far as it matters for the rest of the game: positions with
probabilities. Two pasts with one belief share one value, whatever game they came up in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tomeval.domains.arena.games.mafia.positions import Positions, TooMany
from tomeval.domains.arena.games.mafia.scripts import Script
from tomeval.games.game import Action
from tomeval.games.solver import Bound

Belief = tuple[tuple[int, float], ...]
"""Positions, ascending, and their probabilities."""

Children = tuple[float, list[tuple[float, Belief]]]
"""Expected reward of ways without another decision; the others' probabilities and beliefs."""


def belief(weights: Iterable[tuple[int, float]]) -> tuple[float, Belief]:
    """Return the sum of weights, and the belief that they stand for.

    Ratios to the largest are rounded to 46 bits, so that one belief that is met on two ways is
    equal, and even chances stay even.
    """
    ordered = sorted(weights)
    total = math.fsum(weight for _, weight in ordered)
    largest = max(weight for _, weight in ordered)
    ratios = [_rounded(weight / largest) for _, weight in ordered]
    unit = math.fsum(ratios)
    return total, tuple((at, r / unit) for (at, _), r in zip(ordered, ratios, strict=True))


def _rounded(value: float) -> float:
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, 46)), exponent - 46)


class Beliefs:
    """Values of the beliefs of one seat.

    Parameters
    ----------
    positions : Positions
    models : sequence of Script
        Whom the seat could copy: the best of them bounds its value from below. Those that listen to
        what nobody else listens to are left out.
    most : int
        Steps of an exact solution; if it takes more, there are bounds; if what they stand on takes
        as many again, they are the least and the greatest reward. A step is a combination of
        what others do, or a way from one position to the next.
    look : int
        Combinations of what others do that are looked at for the bounds of one decision.
    """

    def __init__(
        self, positions: Positions, models: Sequence[Script], most: int, look: int
    ) -> None:
        self.positions, self.most, self.look = positions, most, look
        self.models = [m for m in models if m.reads <= positions.reads]
        self.whole = _Search(self, math.inf)
        self._hopeless: set[tuple[str, tuple[int, ...]]] = set()
        self._bounds: dict[Belief, dict[Action, Bound]] = {}

    def solve(self, root: Belief, times: int = 1) -> bool:
        """Solve a belief and all that may follow; False if that takes too many steps.

        These are `times` as many as `most`, and again as many to work out bounds.

        Whether it does is not to depend on what else was solved: solve every root before its values
        are asked. No belief, and no position, follows two roots.
        """
        self.positions.allowed = self.most * times
        try:
            self.whole.value(root, math.inf)
        except TooMany:
            self._survey(root, times)
            return False
        finally:
            self.positions.allowed = math.inf
        return True

    def _survey(self, root: Belief, times: int) -> None:
        """Work out what the bounds after a root stand on, with as many steps again."""
        self.positions.allowed = self.most * times
        try:
            self.leaf(root)
        except TooMany:
            self._hopeless.add(self._family(root))

    def _family(self, at: Belief) -> tuple[str, tuple[int, ...]]:
        """Return what tells the root of a belief: the seat's role and fellows."""
        view = self.positions.view(at[0][0])
        return view.role, view.fellows

    def different(self, at: Belief) -> list[Action]:
        """Return the seat's actions, of those that lead to the same only the first."""
        return list(dict.fromkeys(self.same(at).values()))

    def same(self, at: Belief) -> dict[Action, Action]:
        """Return for every action the first that leads to the same, as speech acts may.

        What an act changes is public, so that one position tells for all.
        """
        options, position = self.options(at), at[0][0]
        if self.positions.states[position].phase != "talk":
            return {action: action for action in options}
        first: dict[int, Action] = {}
        for action in options:
            first.setdefault(self.positions.stage(position, action)[0][2], action)
        return {a: first[self.positions.stage(position, a)[0][2]] for a in options}

    def options(self, at: Belief) -> tuple[Action, ...]:
        """Return the seat's actions; (None,) if it is not due."""
        position = at[0][0]
        return (None,) if self.positions.ask(position) is None else self.positions.legal(position)

    def children(self, at: Belief, action: Action) -> Children:
        """Return what may follow an action."""
        done, after = 0.0, dict[int, dict[int, float]]()
        for position, weight in at:
            moves = self.positions.moves(position, action)
            done += weight * moves.done
            self.positions.work(len(moves.ways))
            for p, sight, following in moves.ways:
                children = after.setdefault(sight, {})
                children[following] = children.get(following, 0.0) + weight * p
        merged: dict[Belief, float] = {}
        for weights in after.values():
            total, now = belief(weights.items())
            merged[now] = merged.get(now, 0.0) + total
        return done, [(weight, now) for now, weight in merged.items()]

    # Decisions

    def values(self, at: Belief) -> dict[Action, Bound]:
        """Return Q* of all actions."""
        if at not in self._bounds:
            if (at, math.inf) in self.whole.found:
                bounds = {a: self.whole.q(at, a, math.inf) for a in self.different(at)}
            elif self._family(at) in self._hopeless:
                bounds = dict.fromkeys(self.different(at), Bound(-1.0, 1.0))
            else:
                bounds = {a: _closed(b) for a, b in self._deepened(at).items()}
            self._bounds[at] = {a: bounds[first] for a, first in self.same(at).items()}
        return self._bounds[at]

    def _deepened(self, at: Belief) -> dict[Action, Bound]:
        """Return bounds from looking ahead, one decision deeper each time while `look` allows."""
        bounds = {a: self._leaf(at, a) for a in self.different(at)}
        for depth in range(1, 100):
            search = _Search(self, self.look)
            try:
                deeper = {a: search.q(at, a, depth) for a in bounds}
            except TooMany:
                break
            bounds = {a: _both(bounds[a], bound) for a, bound in deeper.items()}
            if not search.cut:
                break
        return bounds

    def _leaf(self, at: Belief, action: Action) -> Bound:
        """Bound an action: going on as the best model, and as a player that sees all roles."""
        lows = [self._expected(at, action, model) for model in self.models]
        return Bound(max(lows), self._expected(at, action, "all-seeing"))

    def _expected(self, at: Belief, action: Action, way: Script | str) -> float:
        return sum(w * self.positions.after(way, position, action) for position, w in at)

    def leaf(self, at: Belief) -> Bound:
        """Bound a belief in the same way, without looking at its actions."""
        lows = [sum(w * self.positions.value(m, p) for p, w in at) for m in self.models]
        return Bound(max(lows), sum(w * self.positions.value("all-seeing", p) for p, w in at))


class _Search:
    """A search through all that may follow, or a look ahead some decisions deep.

    Attributes
    ----------
    left : float
        Combinations of what others do that may still be looked at.
    cut : bool
        Whether anything was left to the bounds at its end.
    found : dict
        Values by belief and depth.
    """

    def __init__(self, beliefs: Beliefs, look: float) -> None:
        self.beliefs, self.left, self.cut = beliefs, look, False
        self.found: dict[tuple[Belief, float], Bound] = {}

    def q(self, at: Belief, action: Action, depth: float) -> Bound:
        if self.left < math.inf:
            for position, _ in at:
                self.left -= self.beliefs.positions.moves(position, action, self.left).cost
        low, following = self.beliefs.children(at, action)
        high = low
        for weight, after in following:
            bound = self.value(after, depth - 1)
            low, high = low + weight * bound.low, high + weight * bound.high
        return Bound(low, high)

    def value(self, at: Belief, depth: float) -> Bound:
        key = (at, depth)
        if key not in self.found:
            if depth == 0:
                self.cut = True
                self.found[key] = self.beliefs.leaf(at)
            else:
                self.found[key] = best([self.q(at, a, depth) for a in self.beliefs.different(at)])
        return self.found[key]


def best(bounds: Iterable[Bound]) -> Bound:
    """Return the bounds of the best of several actions."""
    each = list(bounds)
    return _closed(Bound(max(b.low for b in each), max(b.high for b in each)))


def _closed(bound: Bound) -> Bound:
    """Return bounds that differ by rounding alone as one number."""
    return Bound(bound.low, bound.low) if bound.high - bound.low < 1e-12 else bound


def _both(one: Bound, other: Bound) -> Bound:
    """Return what two proofs say together; rounding must not put low above high."""
    low, high = max(one.low, other.low), min(one.high, other.high)
    return Bound(low, high) if low <= high else Bound(other.low, other.high)
