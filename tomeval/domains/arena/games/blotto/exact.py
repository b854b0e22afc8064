"""Exact values of Blotto against a known policy.

A match is solved backward over finished rounds, lead in rounds, and the other seat's memory. For
each memory a `Menu` says what the subject can choose from:

- against a policy without memory, or with its last result as memory: the corners of the convex hull
  of all allocations' chances;
- against plans, on boards of up to `MOST` allocations: all allocations, as the plan that follows
  depends on what is played;
- against plans without slips, where every allocation can be beaten: a sure win, whatever the plan.

Against other plans there are no values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.games.blotto.allocations import (
    Allocation,
    count,
    every,
)
from tomeval.domains.arena.games.blotto.chances import (
    Floats,
    against,
    all_against,
    at_corners,
)
from tomeval.domains.arena.games.blotto.commander import Commander
from tomeval.domains.arena.games.blotto.mixes import Posterior
from tomeval.domains.arena.games.blotto.planners import Planner
from tomeval.domains.arena.games.blotto.policies import ByResult
from tomeval.domains.arena.games.blotto.replies import always_beaten, best_reply
from tomeval.domains.arena.games.blotto.rules import Blotto, BlottoRules, BlottoView, stated_reply
from tomeval.games.game import Action, Ask, Probe
from tomeval.games.policy import Memory, Policy
from tomeval.games.solver import Bound, Follower, Solver, Values

MOST = 500
"""The most allocations for which plans are distinguished: the work grows with their square."""

TINY = 1e-12
"""Values that differ by less are taken as equal where one of them is chosen."""

ROUNDING = 1e-9
"""What rounding may move a value by; more is a defect."""

_SAME = np.zeros((1, 3), np.int64)


class Menu(NamedTuple):
    """What a round offers against one memory.

    Attributes
    ----------
    chances : array, shape (A, 3)
        Of win, tie and loss.
    then : array of int, shape (A, 3), or (1, 3) if it is the same for all
        The memory that follows.
    rows : array, shape (A, fields), or None
        The allocations.
    """

    chances: Floats
    then: NDArray[np.int64] = _SAME
    rows: NDArray[np.int16] | None = None


class Match:
    """The values of a match in every state, if a round is worth the `best` of its menu."""

    def __init__(
        self, rules: BlottoRules, menus: Sequence[Menu], best: Callable[..., Any] = np.max
    ) -> None:
        self.rounds, self.menus = rules.rounds, menus
        leads = range(-rules.rounds, rules.rounds + 1)
        ends = np.array([rules.worth(lead) for lead in leads])
        self._values = np.empty((rules.rounds + 1, len(leads), len(menus)))
        self._values[-1] = ends[:, None]
        for done in range(rules.rounds - 1, -1, -1):
            for memory in range(len(menus)):
                here = slice(rules.rounds - done, rules.rounds + done + 1)
                self._values[done, here, memory] = best(self._q(done, here, memory), axis=1)

    def best(self, done: int, lead: int, memory: int) -> float:
        """Return the value after `done` rounds."""
        return float(self._values[done, lead + self.rounds, memory])

    def q(self, done: int, lead: int, memory: int) -> Floats:
        """Return the values of all that a menu offers."""
        here = lead + self.rounds
        return np.asarray(self._q(done, slice(here, here + 1), memory)[0])

    def _q(self, done: int, here: slice, memory: int) -> Floats:
        """Return the values of a menu for some leads, shape (leads, A)."""
        later, (chances, then, _) = self._values[done + 1], self.menus[memory]
        shifted = (later[here.start + r : here.stop + r] for r in (1, 0, -1))
        parts = [chances[:, c] * part[:, then[:, c]] for c, part in enumerate(shifted)]
        return np.asarray(parts[0] + parts[1] + parts[2])

    def worth(self, done: int, lead: int, memory: int, place: int) -> Floats:
        """Return what win, tie and loss of a round are worth after what a menu has at a place."""
        here, then = lead + self.rounds, self.menus[memory].then
        following = then[place if len(then) > 1 else 0]
        return np.asarray(self._values[done + 1, [here + 1, here, here - 1], following])


def solver(game: Blotto, seat: int, others: Mapping[int, Policy]) -> BlottoSolver | None:
    """Return the values of a seat against the policy in the other; None: there are too many plans.

    Raises
    ------
    TomevalError
        If `others` does not name a policy of Blotto for the other seat, and for no more.
    """
    policy = others.get(1 - seat)
    if not isinstance(policy, Commander) or len(others) != 1:
        raise TomevalError(f"blotto: seat {1 - seat} needs a scripted player of this game")
    policy.fits(game)
    plans = isinstance(policy, Planner) and not _beaten(game, policy)
    return None if plans and count(game.fields, game.units) > MOST else BlottoSolver(game, policy)


def _beaten(game: Blotto, policy: Planner) -> bool:
    """Tell whether some reply to any plan of a player is sure to win."""
    return not policy.noise and always_beaten(game.fields, game.units)


class BlottoSolver(Solver):
    """Values for one seat.

    Attributes
    ----------
    memories : dict
        The number of every distinguished memory; empty if there are none.
    """

    def __init__(self, game: Blotto, policy: Commander) -> None:
        self.game, self.policy = game, policy
        self.board = game.fields, game.units
        self.memories: dict[Memory, int] = {}
        if not isinstance(policy, Planner):
            self._then = _SAME
            listed = [policy.begin(game)]
            if isinstance(policy, ByResult):
                # What the subject takes, the other seat loses.
                listed += [policy.after(-outcome) for outcome in (1, 0, -1)]
                self._then = np.array([[1, 2, 3]])
            self.memories = {memory: index for index, memory in enumerate(listed)}
            best = [at_corners(policy.mix(game, m), *self.board) for m in listed]
            menus = [Menu(chances, self._then, rows) for chances, rows in best]
        elif _beaten(game, policy):
            menus = [Menu(np.array([[1.0, 0.0, 0.0]]))]
        else:
            self.memories, menus = dict(self._plans[0]), self._plans[1]
        self.match = Match(game.rules, menus)

    @functools.cached_property
    def _plans(self) -> tuple[dict[Memory, int], list[Menu]]:
        """All plans with their numbers, and the menu of each."""
        assert isinstance(self.policy, Planner)
        rows = every(*self.board)
        number: dict[Memory, int] = {tuple(row): i for i, row in enumerate(rows.tolist())}
        menus = []
        for plan in number:
            then = np.array([number[self.policy.plan(plan, own)] for own in number])
            chances = all_against(self.policy.mix(self.game, plan), *self.board)
            menus.append(Menu(chances, np.repeat(then[:, None], 3, axis=1), rows))
        return number, menus

    def follow(self, view: BlottoView) -> BlottoFollower:
        """Return a follower of a new match."""
        return BlottoFollower(self)

    def value(self) -> Bound:
        """Return V* of a match."""
        return self.best(0, 0, self.policy.begin(self.game))

    def chance(self) -> Bound | None:
        """Return the value of drawing any allocation; None where plans are too many to list."""
        memory = self.policy.begin(self.game)
        if isinstance(self.policy, Planner):
            if count(*self.board) > MOST:
                return None
            number, menus = self._plans
            value = Match(self.game.rules, menus, np.mean).best(0, 0, number[memory])
        else:
            mixes = [self.policy.mix(self.game, m) for m in self.memories]
            mean = [all_against(mix, *self.board).mean(axis=0, keepdims=True) for mix in mixes]
            menus = [Menu(chances, self._then) for chances in mean]
            value = Match(self.game.rules, menus).best(0, 0, 0)
        return Bound(value, value)

    def best(self, done: int, lead: int, memory: Memory) -> Bound:
        """Return V* after `done` rounds, with a lead in rounds and the other seat's memory."""
        best = self.match.best(done, lead, self.memories.get(memory, 0))
        return Bound(best, best)

    def of(self, done: int, lead: int, memory: Memory, own: Allocation) -> Bound:
        """Return Q* of an allocation; at most V*, which rounding would otherwise exceed."""
        at, plan = self.memories.get(memory, 0), 0
        if len(self.match.menus[at].then) > 1:
            plan = self._plans[0][own]
        chances = against(self.policy.mix(self.game, memory), own)
        value = float(chances @ self.match.worth(done, lead, at, plan))
        most = self.match.best(done, lead, at)
        assert value <= most + ROUNDING * (1 + abs(most)), (own, value, most)
        return Bound(min(value, most), min(value, most))

    def best_action(self, done: int, lead: int, memory: Memory) -> Allocation:
        """Return an action that attains V*.

        Of several the one that is likeliest to win, even if a win is worth no more than a loss.
        """
        at = self.memories.get(memory, 0)
        chances, _, rows = self.match.menus[at]
        if rows is None:
            return best_reply(memory)
        values = self.match.q(done, lead, at)
        best = np.flatnonzero(values >= values.max() - TINY)
        return tuple(rows[best[chances[best, 0].argmax()]].tolist())


class BlottoFollower(Follower):
    """Follows the other seat's memory through one match."""

    def __init__(self, solver: BlottoSolver) -> None:
        self._solver = solver
        self._memory = solver.policy.begin(solver.game)

    def values(self, view: BlottoView, ask: Ask) -> BlottoValues:
        """Return the values of the coming round."""
        return BlottoValues(self._solver, view.number - 1, view.taken - view.lost, self._memory)

    def observe(self, view: BlottoView) -> None:
        """Take a round in."""
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
        """Return Q* of an allocation."""
        return self._solver.of(*self._state, action)

    def best_actions(self) -> tuple[Allocation, ...]:
        """Return one allocation that attains V*."""
        return (self._solver.best_action(*self._state),)

    def reply(self, said: Mapping[Probe, Action]) -> Action | None:
        """Return `replies.best_reply` to the stated allocation."""
        return stated_reply(said)

    def observer(self, probe: Probe) -> Posterior:
        """Return the distribution of the other seat's next allocation."""
        return Posterior(self._mix, *self._solver.board)

    def guess(self, probe: Probe) -> Allocation:
        """Return the likeliest allocation; of several the one that `named` has first.

        If any allocation is as likely as any other, the even split.
        """
        if not self._mix.named:
            return self._solver.game.evenly
        return max(self._mix.named, key=lambda allocation: self._mix.named[allocation])

    def attainable(self, probe: Probe) -> float:
        """Return the probability of the likeliest allocation."""
        return self._mix.likeliest(*self._solver.board)
