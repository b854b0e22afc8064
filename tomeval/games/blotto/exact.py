"""Exact values of Blotto against a known policy.

A match is solved backward over finished rounds, lead in rounds, and the other seat's memory. Plans
follow from what is played, so they are told apart by every allocation, on boards of up to `MOST`.
Where a plan without slips can always be beaten, a win is sure and plans are not told apart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.games.blotto.allocations import (
    Allocation,
    count,
    every,
    place,
    result,
)
from tomeval.games.blotto.commander import Commander
from tomeval.games.blotto.mixes import Floats, Mix
from tomeval.games.blotto.planners import Planner
from tomeval.games.blotto.replies import best_reply, best_result
from tomeval.games.blotto.rules import Blotto, BlottoRules, BlottoView, stated_reply
from tomeval.games.game import TIE, Action, Ask, Probe
from tomeval.games.policy import Memory, Policy
from tomeval.games.solver import Bound, Follower, Solver, Values

MOST = 500
"""The most allocations for which plans are distinguished: the work grows with their square."""

Menu = tuple[Floats, NDArray[np.int64]]
"""What a round offers against one memory: chances of win, tie and loss, and the number of the
memory that follows each, both of shape (A, 3); the second (1, 3) if it is the same for all."""

_SAME = np.zeros((1, 3), np.int64)


class Match:
    """The values of a match in every state, if a round is worth the `best` of its menu."""

    def __init__(
        self, rules: BlottoRules, menus: Sequence[Menu], best: Callable[..., Any] = np.max
    ) -> None:
        self.rounds = rules.rounds
        leads = range(-rules.rounds, rules.rounds + 1)
        self._values = np.empty((rules.rounds + 1, len(leads), len(menus)))
        self._values[-1] = np.array([rules.worth(lead) for lead in leads])[:, None]
        for done in range(rules.rounds - 1, -1, -1):
            for memory, menu in enumerate(menus):
                for lead in range(-done, done + 1):
                    self._values[done, lead + self.rounds, memory] = best(self.q(done, lead, menu))

    def value(self, done: int, lead: int, memory: int) -> Bound:
        """Return the value after `done` rounds."""
        value = float(self._values[done, lead + self.rounds, memory])
        return Bound(value, value)

    def q(self, done: int, lead: int, menu: Menu) -> Floats:
        """Return the values of all that a menu offers."""
        (chances, then), at = menu, lead + self.rounds
        win, tie, loss = (
            chances[:, c] * self._values[done + 1, at + r, then[:, c]]
            for c, r in enumerate((1, 0, -1))
        )
        return np.asarray(win + tie + loss)


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
    found = BlottoSolver(game, policy)
    return found if found.sure or not found.plans or found.few else None


class BlottoSolver(Solver):
    """Values for one seat.

    Attributes
    ----------
    plans, sure, few : bool
        Whether the other seat makes plans; whether each can be foreseen and beaten; whether the
        board is so small that they are told apart.
    """

    def __init__(self, game: Blotto, policy: Commander) -> None:
        self.game, self.policy = game, policy
        self.plans = isinstance(policy, Planner)
        self.sure = self.plans and policy.without_chance and best_result(game.evenly) == 1
        self.few = count(game.fields, game.units) <= MOST
        listed = () if self.sure and not self.few else policy.memories(game)
        self._numbers: dict[Memory, int] = {memory: i for i, memory in enumerate(listed)}

    @functools.cached_property
    def _match(self) -> Match:
        """The match, played as well as it can be."""
        if self.sure:
            return Match(self.game.rules, [(np.array([[1.0, 0.0, 0.0]]), _SAME)])
        menus = self._menus
        if not self.plans:
            places = {memory: self.policy.mix(self.game, memory).corners for memory in menus}
            menus = {m: (chances[places[m]], then) for m, (chances, then) in menus.items()}
        return Match(self.game.rules, list(menus.values()))

    @functools.cached_property
    def _menus(self) -> dict[Memory, Menu]:
        """What all allocations can come to, by the memory of the other seat."""
        game, then, number = self.game, self.policy.then, self._numbers
        menus = {}
        for memory in number:
            if self.plans:
                after = [[number[then(memory, own, 0)]] * 3 for own in number]
            else:
                after = [[number[then(memory, game.evenly, -r)] for r in (1, 0, -1)]]
            menus[memory] = self.policy.mix(game, memory).chances, np.array(after)
        return menus

    def follow(self, view: BlottoView) -> BlottoFollower:
        """Return a follower of a new match."""
        return BlottoFollower(self)

    def value(self) -> Bound:
        """Return V* of a match."""
        return self.best(0, 0, self.policy.begin(self.game))

    def chance(self) -> Bound | None:
        """Return the value of drawing any allocation; None where plans are too many to list."""
        if self.plans and not self.few:
            return None
        drawn = Match(self.game.rules, [_mean(menu) for menu in self._menus.values()], np.mean)
        return drawn.value(0, 0, self._numbers[self.policy.begin(self.game)])

    def best(self, done: int, lead: int, memory: Memory) -> Bound:
        """Return V* after `done` rounds, with a lead in rounds and the other seat's memory."""
        return self._match.value(done, lead, 0 if self.sure else self._numbers[memory])

    def q(self, done: int, lead: int, memory: Memory) -> Floats:
        """Return Q* of every allocation."""
        sure = self.policy.mix(self.game, memory).chances, _SAME
        return self._match.q(done, lead, sure if self.sure else self._menus[memory])


def _mean(menu: Menu) -> Menu:
    """Return the mean of a menu, where nothing else follows from an allocation."""
    chances, then = menu
    return menu if len(then) > 1 else (chances.mean(axis=0, keepdims=True), then)


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
        self._memory = self._solver.policy.then(self._memory, own, result(other, own))


class BlottoValues(Values):
    """Values of one round's allocations."""

    def __init__(self, solver: BlottoSolver, done: int, lead: int, memory: Memory) -> None:
        self._solver, self._state = solver, (done, lead, memory)
        self._mix = solver.policy.mix(solver.game, memory)

    @functools.cached_property
    def _q(self) -> Floats:
        return self._solver.q(*self._state)

    @property
    def best(self) -> Bound:
        """V*."""
        return self._solver.best(*self._state)

    def of(self, action: Action) -> Bound:
        """Return Q* of an allocation; at most V*, which rounding would otherwise exceed."""
        value = min(float(self._q[place(action)]), self.best.low)
        return Bound(value, value)

    def best_actions(self) -> tuple[Allocation, ...]:
        """Return one allocation that attains V*.

        Of several the one that is likeliest to win, even if a win is worth no more than a loss.
        """
        if self._solver.sure:
            return (best_reply(self._state[2]),)
        chances = self._mix.chances
        kept = np.arange(len(chances)) if self._solver.plans else self._mix.corners
        best = kept[self._q[kept] >= self._q[kept].max() - TIE]
        return (tuple(every(*self._mix.board)[best[chances[best, 0].argmax()]].tolist()),)

    def reply(self, said: Mapping[Probe, Action]) -> Action | None:
        """Return `replies.best_reply` to the stated allocation."""
        return stated_reply(said)

    def observer(self, probe: Probe) -> Mix:
        """Return the distribution of the other seat's next allocation."""
        return self._mix

    def answer(self, probe: Probe) -> tuple[Allocation, float]:
        """Return the likeliest allocation; of several the one that the mix names first.

        If any allocation is as likely as any other, the even split.
        """
        named = self._mix.named
        said = max(named, key=lambda one: named[one]) if named else self._solver.game.evenly
        return said, self._mix[said]
