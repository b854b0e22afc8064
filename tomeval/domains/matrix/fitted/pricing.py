"""What best replies to fitted machines are worth, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tomeval.domains.matrix.fitted.limits import exact_limits, limited_rewards, rewards
from tomeval.domains.matrix.fitted.memory import CELLS, Counts, probabilities
from tomeval.domains.matrix.played import FloatArray, Played

ERROR = 0.05
"""Probability that the limits of some context miss what the other does there."""

MOST_WORK = 3e8
"""Products above which contexts are not moved one by one: some seconds."""


class Priced:
    """The best replies to machines of one memory and weight, less what was earned."""

    def __init__(self, played: Played, counts: Counts, memory: int, weight: float) -> None:
        self.game, self.lengths, self.own = played.game, played.lengths, played.own
        self.counts, self.memory, self.weight = counts, memory, weight
        self.deep = max(memory, 1)
        self.table = counts.tables[self.deep]
        starts = np.concatenate([[0], np.cumsum(played.lengths)[:-1]])
        self.reward = np.add.reduceat(played.own_reward, starts) / played.lengths
        self.found = counts.total(self.deep)[-1][0]  # (S, m)
        self.seen = self.found.sum(axis=1) > 0

    def machines(self, counts: list[FloatArray]) -> FloatArray:
        """Return the machines of some counts, in the contexts of at least memory 1: (F, S, m)."""
        probs = probabilities(counts, self.counts.tables[: self.memory + 1], self.weight)
        # A machine of memory 0 does the same in all contexts.
        return probs[:, self.table.shorter] if self.memory == 0 else probs

    def rewards(self, machines: FloatArray, policy: FloatArray | None = None) -> FloatArray:
        """Return the reward per step over the length of each episode, shape (F, E)."""
        horizon = int(self.lengths.max())
        return rewards(self.game, self.table, machines, horizon, policy)[:, self.lengths]

    def limits(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least and the most optimum per step over each episode's length, (E,) each."""
        task = self.game, self.table, low, high, int(self.lengths.max())
        least, most = (limited_rewards(*task, most)[self.lengths] for most in (False, True))
        return least, most

    def pseudo_values(self) -> FloatArray:
        """Return the jackknife's pseudo-values of regret, shape (E,)."""
        size = len(self.lengths)
        whole = self.rewards(self.machines(self.counts.total(self.memory)))[0].mean()
        without = np.empty(size)
        for place, _, others in self.counts.left_out(self.memory, self.game.n * self.game.m):
            values = self.rewards(self.machines(others))
            own = np.diagonal(values[:, place])
            without[place] = (values.sum(axis=1) - own) / (size - 1)
        pseudo: FloatArray = size * whole - (size - 1) * without - self.reward
        return pseudo

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and the most regret by episode, shape (E,) each."""
        least, most = self.limits(*exact_limits(self.found, ERROR / int(self.seen.sum())))
        return least - self.reward, most - self.reward

    def reach(self) -> float:
        """Return how far the regret per step can move within exact limits of what the other does.

        In one context after the other, each of its probabilities goes to the ends of its 95 %
        limits, the rest in proportion; the best reply is found anew, and the player does there
        what it did on average. Contexts that never occurred are moved together, to the worst and
        the best; so are all where there are too many to move alone, which reaches further.
        Moves up, and moves down, are joined by their root sum of squares, as errors that are
        independent; the larger is returned.
        """
        fitted = self.machines(self.counts.total(self.memory))[0]
        shape = len(fitted), self.game.n
        flat = self.counts.paths[self.deep] * self.game.n + self.own
        did = np.bincount(flat, minlength=fitted.shape[0] * self.game.n).reshape(shape)
        policy = (did + 1e-9) / (did + 1e-9).sum(axis=1, keepdims=True)  # any, where it never was

        def regret(machines: FloatArray) -> FloatArray:
            lost = self.rewards(machines) - self.rewards(machines, policy)
            return np.asarray(lost.mean(axis=1))

        [base] = regret(fitted[None])
        low, high = exact_limits(self.found, 0.05)
        work = 4 * fitted.size**2 * self.game.n * int(self.lengths.max())
        alone = self.seen & (work < MOST_WORK)
        seen = np.flatnonzero(alone)
        up, down = np.zeros(len(seen)), np.zeros(len(seen))
        step = max(1, CELLS // (fitted.size * self.game.n))
        for end in _moved(fitted, low, high):
            for first in range(0, len(seen), step):
                here = slice(first, first + step)
                context = np.arange(len(fitted)) == seen[here, None]
                off = regret(np.where(context[..., None], end, fitted)) - base
                up[here], down[here] = np.maximum(up[here], off), np.minimum(down[here], off)
        together = ~alone[:, None]
        least, most = self.limits(*(np.where(together, end, fitted) for end in (low, high)))
        whole = self.rewards(fitted[None]).mean()
        sums = (
            (up**2).sum() + (most.mean() - whole) ** 2,
            (down**2).sum() + (least.mean() - whole) ** 2,
        )
        return float(np.sqrt(max(sums)))


def _moved(fitted: FloatArray, low: FloatArray, high: FloatArray) -> Iterator[FloatArray]:
    """Yield machines with one action's probability at an end of its limits, shape (S, m)."""
    actions = fitted.shape[1]
    for action in range(1 if actions == 2 else actions):
        others = np.arange(actions) != action
        rest = np.where(others, fitted, 0) + 1e-12 * others
        rest /= rest.sum(axis=1, keepdims=True)
        for end in (low, high):
            share = end[:, action, None]
            yield np.where(others, rest * (1 - share), share)
