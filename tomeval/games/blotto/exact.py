"""Exact values of Blotto against a known policy.

A match is solved backward over finished rounds, lead in rounds, and the other seat's memory. Plans
follow from what is played, so they are told apart by every allocation, on boards of up to `MOST`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.games.blotto.allocations import Allocation, Floats, Mix, count, every, listed
from tomeval.games.blotto.policies import Commander, Planner
from tomeval.games.blotto.rules import Blotto, BlottoView, State
from tomeval.games.game import TIE, Action, Ask, Probe
from tomeval.games.solver import Follower, Memory, Policy, Solver, Values

MOST = 500
"""The most allocations for which plans are distinguished: the work grows with their square."""


def solver(game: Blotto, seat: int, others: Mapping[int, Policy]) -> BlottoSolver | None:
    """Return the values of a seat against the other one; None: there are too many plans."""
    policy = others[1 - seat]
    assert isinstance(policy, Commander)
    few = count(game.fields, game.units) <= MOST
    return BlottoSolver(game, policy) if few or not isinstance(policy, Planner) else None


class BlottoSolver(Solver):
    """Values for one seat."""

    def __init__(self, game: Blotto, policy: Commander) -> None:
        self.game, self.policy = game, policy
        memories = policy.memories(game)
        self._numbers: dict[Memory, int] = {memory: i for i, memory in enumerate(memories)}
        #: What the other seat remembers before the first round.
        self.first: Memory = policy.start(BlottoView(game, State(), 0))

    @functools.cached_property
    def mixes(self) -> list[Mix]:
        """What the other seat does, by memory."""
        return [self.policy.mix(self.game, memory) for memory in self._numbers]

    def mix(self, memory: Memory) -> Mix:
        """Return what the other seat does with a memory."""
        return self.mixes[self._numbers[memory]]

    @functools.cached_property
    def _then(self) -> list[NDArray[np.int64]]:
        """By memory what follows each allocation, (A,); (1,) if that is the same for all."""
        then, number = self.policy.then, self._numbers
        if isinstance(self.policy, Planner):
            return [np.array([number[then(m, own)] for own in number]) for m in number]
        return [np.zeros(1, np.int64)]

    def _worths(self, best: Callable[[Floats], Any]) -> Floats:
        """Return what a match is worth, by rounds done, lead and memory, if play is the `best`."""
        rules = self.game.rules
        worths = np.empty((rules.rounds + 1, 2 * rules.rounds + 1, len(self._numbers)))
        leads = range(-rules.rounds, rules.rounds + 1)
        worths[-1] = np.array([rules.worth(lead) for lead in leads])[:, None]
        for done in range(rules.rounds - 1, -1, -1):
            for memory, number in self._numbers.items():
                for lead in range(-done, done + 1):
                    q = self.q(done, lead, memory, worths)
                    worths[done, lead + rules.rounds, number] = best(q)
        return worths

    @functools.cached_property
    def _best(self) -> Floats:
        return self._worths(np.max)

    def best(self, done: int, lead: int, memory: Memory) -> float:
        """Return V* after `done` rounds, with a lead in rounds and the other seat's memory."""
        return float(self._best[done, lead + self.game.rules.rounds, self._numbers[memory]])

    def q(
        self,
        done: int,
        lead: int,
        memory: Memory,
        worths: Floats | None = None,
        chances: Floats | None = None,
    ) -> Floats:
        """Return Q* of every allocation.

        With other worths of what follows, or chances of win, tie and loss, what it is worth then.
        """
        after = (self._best if worths is None else worths)[done + 1]
        number, at = self._numbers[memory], lead + self.game.rules.rounds
        chances = self.mixes[number].chances if chances is None else chances
        then = self._then[number]
        win, tie, loss = (chances[:, c] * after[at + r, then] for c, r in enumerate((1, 0, -1)))
        return np.asarray(win + tie + loss)

    def follow(self, view: BlottoView) -> BlottoFollower:
        """Return a follower of a new match."""
        return BlottoFollower(self)

    def value(self) -> float:
        """Return V* of a match."""
        return self.best(0, 0, self.first)

    def chance(self) -> float:
        """Return the value of drawing any allocation."""
        return self._chance

    @functools.cached_property
    def _chance(self) -> float:
        worths = self._worths(np.mean)[0, self.game.rules.rounds]
        return float(worths[self._numbers[self.first]])


class BlottoFollower(Follower):
    """Follows the other seat's memory through one match."""

    def __init__(self, solver: BlottoSolver) -> None:
        self._solver, self._memory = solver, solver.first

    def values(self, view: BlottoView, ask: Ask) -> BlottoValues:
        """Return the values of the coming round."""
        return BlottoValues(self._solver, view.number - 1, view.taken - view.lost, self._memory)

    def observe(self, view: BlottoView) -> None:
        """Take a round in."""
        assert view.last is not None
        self._memory = self._solver.policy.then(self._memory, view.last[0])


class BlottoValues(Values):
    """Values of one round's allocations."""

    def __init__(self, solver: BlottoSolver, done: int, lead: int, memory: Memory) -> None:
        self._solver, self._state = solver, (done, lead, memory)
        self._mix = solver.mix(memory)

    @functools.cached_property
    def _q(self) -> Floats:
        return self._solver.q(*self._state)

    def worths(self, said: Mapping[Probe, Action] | None = None) -> Mapping[Action, float]:
        """Return Q* of all allocations, or if the other seat plays what was stated."""
        rows = listed(*self._mix.board)
        if said is None:
            return dict(zip(rows, self._q.tolist(), strict=True)) if rows else {}
        if not said or not rows:
            return {}
        (stated,) = said.values()
        q = self._solver.q(*self._state, chances=Mix([stated]).chances)
        return dict(zip(rows, q.tolist(), strict=True))

    @property
    def best(self) -> float:
        """V*."""
        return self._solver.best(*self._state)

    def of(self, action: Action) -> float:
        """Return Q* of an allocation; at most V*, which rounding would otherwise exceed."""
        place = (every(*self._mix.board) == action).all(axis=1).argmax()
        return min(float(self._q[place]), self.best)

    def best_actions(self) -> tuple[Allocation, ...]:
        """Return one allocation that attains V*.

        Of several the one that is likeliest to win, even if a win is worth no more than a loss.
        """
        best = np.flatnonzero(self._q >= self._q.max() - TIE)
        wins = self._mix.chances[best, 0]
        likeliest = best[wins == wins.max()][-1]
        return (tuple(every(*self._mix.board)[likeliest].tolist()),)

    def reply(self, said: Mapping[Probe, Action]) -> Action | None:
        """Return `allocations.best_reply` to the stated allocation."""
        return self._solver.game.step_reply(None, said)

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
