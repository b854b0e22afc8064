"""Values of Blotto against a known policy: exact, or bounds where many plans are told apart.

Which of three ways is taken, by the policy's memory:

- none, or its last result: a `Ladder` over a few memories, with one frontier for each;
- plans without slips, where every allocation can be beaten: the next round can be won for certain
  whatever the plan is, so that plans need not be told apart: a `Ladder` with a sure win;
- other plans: a `PlanTable` on boards of up to `plans.MOST` allocations, else a `Ladder` whose
  frontier is `Slips`: bounds.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.game import Action, ArenaGame, Ask, Probe, View
from tomeval.domains.arena.games.blotto.allocations import Allocation, count, every
from tomeval.domains.arena.games.blotto.chances import (
    against,
    all_against,
    random_against,
    winners_against_any,
)
from tomeval.domains.arena.games.blotto.commander import Commander
from tomeval.domains.arena.games.blotto.frontiers import (
    SURE_WIN,
    Corners,
    Frontier,
    Slips,
    Worth,
)
from tomeval.domains.arena.games.blotto.ladders import Ladder, played
from tomeval.domains.arena.games.blotto.mixes import Mix, Posterior
from tomeval.domains.arena.games.blotto.planners import Planner
from tomeval.domains.arena.games.blotto.plans import MOST, PlanTable
from tomeval.domains.arena.games.blotto.policies import ByResult
from tomeval.domains.arena.games.blotto.replies import always_beaten, best_reply
from tomeval.domains.arena.games.blotto.rules import Blotto, BlottoView, stated_reply
from tomeval.domains.arena.policy import Memory, Policy
from tomeval.domains.arena.solver import Bound, Follower, Solver, Values

ROUNDING = 1e-9
"""What rounding may move a value by; more is a defect."""


def solver(game: ArenaGame[Any], seat: int, others: Mapping[int, Policy]) -> BlottoSolver:
    """Return the values of a seat against the policy in the other.

    Raises
    ------
    TomevalError
        If `others` does not name a policy of Blotto for the other seat, and for no more.
    """
    assert isinstance(game, Blotto)
    policy = others.get(1 - seat)
    if not isinstance(policy, Commander) or len(others) != 1:
        raise TomevalError(f"blotto: seat {1 - seat} needs a scripted player of this game")
    policy.fits(game)
    if not isinstance(policy, Planner):
        return ByMemories(game, policy)
    known = not policy.noise and always_beaten(game.fields, game.units)
    if known or count(game.fields, game.units) > MOST:
        return WhateverThePlan(game, policy)
    return ByPlans(game, policy)


class BlottoSolver(Solver, ABC):
    """Values for one seat."""

    def __init__(self, game: Blotto, policy: Commander) -> None:
        self.game, self.policy = game, policy

    def follow(self, view: View[Any]) -> BlottoFollower:
        """Return a follower of a new match."""
        return BlottoFollower(self)

    def value(self) -> Bound:
        """Return V* of a match."""
        return self.best(0, 0, self.policy.begin(self.game))

    @abstractmethod
    def best(self, done: int, lead: int, memory: Memory) -> Bound:
        """Return V* after `done` rounds, with a lead in rounds and the other seat's memory."""

    @abstractmethod
    def after(self, done: int, lead: int, memory: Memory, own: Allocation) -> tuple[Worth, Worth]:
        """Return what the results of the next round are worth if the subject plays `own`.

        The least, and the most; they are equal where V* is known.
        """

    @abstractmethod
    def best_action(self, done: int, lead: int, memory: Memory) -> Allocation:
        """Return an action that attains V*, or its lower bound."""


class ByMemories(BlottoSolver):
    """Against a policy that has no memory, or remembers its last result."""

    def __init__(self, game: Blotto, policy: Commander) -> None:
        super().__init__(game, policy)
        self._memories: list[Memory] = [policy.begin(game)]
        following: dict[int, list[int]] = {1: [0], 0: [0], -1: [0]}
        if isinstance(policy, ByResult):
            # What the subject takes, the other seat loses.
            self._memories += [policy.after(-found) for found in (1, 0, -1)]
            following = {found: [1 + i] * 4 for i, found in enumerate((1, 0, -1))}
        self._mixes = [policy.mix(game, memory) for memory in self._memories]
        self._frontiers = [frontier(mix, game.fields, game.units) for mix in self._mixes]
        self._following = following
        self._ladder = Ladder(game.rules, self._frontiers, following)

    def best(self, done: int, lead: int, memory: Memory) -> Bound:
        """Return V*."""
        return self._ladder.best(done, lead, self._memories.index(memory))

    def after(self, done: int, lead: int, memory: Memory, own: Allocation) -> tuple[Worth, Worth]:
        """Return what the results are worth, whatever the subject plays."""
        return self._ladder.after(done, lead, self._memories.index(memory))

    def best_action(self, done: int, lead: int, memory: Memory) -> Allocation:
        """Return an allocation at a corner of the frontier."""
        place = self._memories.index(memory)
        found = self._frontiers[place].attains(self._ladder.after(done, lead, place)[0])
        assert found is not None
        return found

    def chance(self) -> Bound:
        """Return the value of drawing any allocation in every round."""
        board = self.game.fields, self.game.units
        chances = [random_against(mix, *board) for mix in self._mixes]
        found = played(self.game.rules, chances, self._following)
        return Bound(found, found)


class ByPlans(BlottoSolver):
    """Against a policy that makes plans, all of them told apart."""

    def __init__(self, game: Blotto, policy: Planner) -> None:
        super().__init__(game, policy)
        self._table = PlanTable(game, policy)

    def best(self, done: int, lead: int, memory: Memory) -> Bound:
        """Return V*."""
        found = self._table.best(done, lead, memory)
        return Bound(found, found)

    def after(self, done: int, lead: int, memory: Memory, own: Allocation) -> tuple[Worth, Worth]:
        """Return what the results are worth, given the plan that follows."""
        found = self._table.after(done, lead, memory, own)
        return found, found

    def best_action(self, done: int, lead: int, memory: Memory) -> Allocation:
        """Return an allocation that attains V*."""
        return self._table.best_action(done, lead, memory)

    def chance(self) -> Bound:
        """Return the value of drawing any allocation in every round."""
        found = self._table.chance(self.policy.begin(self.game))
        return Bound(found, found)


class WhateverThePlan(BlottoSolver):
    """Against a policy that makes plans, which are not told apart; see `frontiers.Slips`."""

    def __init__(self, game: Blotto, policy: Planner) -> None:
        super().__init__(game, policy)
        sure = always_beaten(game.fields, game.units)
        found: Frontier = SURE_WIN
        if policy.noise or not sure:
            board = game.fields, game.units
            slip = frontier(Mix({}, 1.0), *board) if policy.noise else None
            replies = winners_against_any(*board) if policy.noise and sure else None
            found = Slips(policy.noise, sure, slip, replies)
        self._ladder = Ladder(game.rules, [found], {1: [0], 0: [0], -1: [0]})

    def best(self, done: int, lead: int, memory: Memory) -> Bound:
        """Return V*."""
        return self._ladder.best(done, lead, 0)

    def after(self, done: int, lead: int, memory: Memory, own: Allocation) -> tuple[Worth, Worth]:
        """Return what the results are worth, whatever the subject plays."""
        return self._ladder.after(done, lead, 0)

    def best_action(self, done: int, lead: int, memory: Memory) -> Allocation:
        """Return the best reply to the plan."""
        return best_reply(memory)

    def chance(self) -> Bound | None:
        """Return the value of drawing any allocation, where all plans can be told apart."""
        if count(self.game.fields, self.game.units) > MOST:
            return None
        assert isinstance(self.policy, Planner)
        return ByPlans(self.game, self.policy).chance()


class BlottoFollower(Follower):
    """Follows the other seat's memory through one match."""

    def __init__(self, solver: BlottoSolver) -> None:
        self._solver = solver
        self._memory = solver.policy.begin(solver.game)

    def values(self, view: View[Any], ask: Ask) -> BlottoValues:
        """Return the values of the coming round."""
        assert isinstance(view, BlottoView)
        return BlottoValues(self._solver, view.number - 1, view.taken - view.lost, self._memory)

    def observe(self, view: View[Any]) -> None:
        """Take a round in."""
        assert isinstance(view, BlottoView)
        assert view.last is not None
        own, other = view.last
        self._memory = self._solver.policy.then(self._memory, other, own)


class BlottoValues(Values):
    """Values of one round's allocations."""

    def __init__(self, solver: BlottoSolver, done: int, lead: int, memory: Memory) -> None:
        self._solver, self._state = solver, (done, lead, memory)
        self._mix = solver.policy.mix(solver.game, memory)

    @property
    def best(self) -> Bound:
        """V*."""
        return self._solver.best(*self._state)

    def of(self, action: Action) -> Bound:
        """Return Q* of an allocation; at most V*, which rounding would otherwise exceed."""
        chances = against(self._mix, action)
        low, high = (
            sum(chance * worth for chance, worth in zip(chances, worths, strict=True))
            for worths in self._solver.after(*self._state, action)
        )
        most = self.best.high
        assert high <= most + ROUNDING * (1 + abs(most)), (action, high, most)
        return Bound(min(low, most), min(high, most))

    def best_actions(self) -> tuple[Allocation, ...]:
        """Return one allocation that attains V*, or its lower bound."""
        return (self._solver.best_action(*self._state),)

    def reply(self, said: Mapping[Probe, Action]) -> Action | None:
        """Return `replies.best_reply` to the stated allocation."""
        return stated_reply(said)

    def observer(self, probe: Probe) -> Posterior:
        """Return the distribution of the other seat's next allocation."""
        return Posterior(self._mix, self._solver.game.fields, self._solver.game.units)

    def guess(self, probe: Probe) -> Allocation:
        """Return the likeliest allocation; of several the one that `named` has first.

        If any allocation is as likely as any other, the even split.
        """
        if not self._mix.named:
            return self._solver.game.evenly
        return max(self._mix.named, key=lambda allocation: self._mix.named[allocation])

    def attainable(self, probe: Probe) -> float:
        """Return the probability of the likeliest allocation."""
        return self._mix.likeliest(self._solver.game.fields, self._solver.game.units)


def frontier(mix: Mix, fields: int, units: int) -> Frontier:
    """Return the best of one round against a distribution; kept for equal ones."""
    return _frontier(tuple(mix.named.items()), mix.uniform, fields, units)


@functools.lru_cache(maxsize=32)
def _frontier(
    named: tuple[tuple[Allocation, float], ...], uniform: float, fields: int, units: int
) -> Frontier:
    mix = Mix(dict(named), uniform)
    return Corners(all_against(mix, fields, units), every(fields, units))
