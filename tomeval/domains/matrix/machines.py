"""Deterministic machines in numbers, and the smallest of those that behave alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.partners import Partner
from tomeval.domains.matrix.played import BoolArray, IntArray


class Machines(NamedTuple):
    """Deterministic machines, B of them, with K states each; state 0 is the start.

    The partner's own move is its state's, so next states need to know the subject's action alone.
    States may be out of reach or behave alike, see `reduced`.
    """

    plays: IntArray  # shape (B, K): the partner's action in each state
    follows: IntArray  # shape (B, K, n): the next state after each of the subject's actions

    @property
    def total(self) -> int:
        """Number of machines."""
        return len(self.plays)

    def keys(self) -> list[bytes]:
        """Return a key per machine: equal for equal tables."""
        rows = np.concatenate([self.plays, self.follows.reshape(self.total, -1)], axis=1)
        return [row.tobytes() for row in rows.astype(np.int16)]


def different_states(machines: Machines) -> BoolArray:
    """Tell which two states of each machine behave differently, shape (B, K, K)."""
    plays, follows = machines
    different: BoolArray = plays[:, :, None] != plays[:, None, :]
    rows = np.arange(machines.total)[:, None, None]
    for _ in range(plays.shape[1] - 1):
        for a in range(follows.shape[2]):
            after = follows[:, :, a]
            different = different | different[rows, after[:, :, None], after[:, None, :]]
    return different


def renumbered(machines: Machines) -> tuple[Machines, IntArray]:
    """Return machines with states in the order of their tables, and how many are within reach.

    States are in the order in which they are first named when the table is read row by row. Those
    out of reach come last and are all the same: play 0 and lead to state 0.
    """
    plays, follows = machines
    count, size = plays.shape
    rows = np.arange(count)
    number = np.full((count, size), -1)
    order = np.zeros((count, size), dtype=np.int64)
    number[:, 0] = 0
    named = np.ones(count, dtype=np.int64)
    for state in range(size):
        for a in range(follows.shape[2]):
            target = follows[rows, order[:, state], a]
            new = np.flatnonzero((number[rows, target] < 0) & (state < named))
            number[new, target[new]] = named[new]
            order[new, named[new]] = target[new]
            named[new] += 1
    within = np.arange(size) < named[:, None]
    renamed = number[rows[:, None, None], follows[rows[:, None], order]]
    return Machines(
        np.where(within, plays[rows[:, None], order], 0),
        np.where(within[:, :, None], renamed, 0),
    ), named


def reduced(plays: IntArray, follows: IntArray) -> Machines:
    """Return the smallest machine that behaves like the given one, shape (K,) and (K, n).

    Examples
    --------
    Two of three states of this tit for tat behave alike:

    >>> small = reduced(np.array([0, 0, 1]), np.array([[1, 2], [1, 2], [1, 2]]))
    >>> small.plays.tolist(), small.follows.tolist()
    ([[0, 1]], [[[0, 1], [0, 1]]])
    """
    one = Machines(plays[None], follows[None])
    first = (~different_states(one)[0]).argmax(axis=1)  # of the states that behave alike
    ordered, named = renumbered(Machines(plays[None], first[follows][None]))
    size = int(named[0])
    return Machines(ordered.plays[:, :size], ordered.follows[:, :size])


def as_partner(machine: Machines, game: MatrixGame, name: str) -> Partner:
    """Return a single machine, with all states within reach, as a partner."""
    plays, follows = machine.plays[0], machine.follows[0]
    next_state = np.repeat(follows[:, :, None], game.m, axis=2)
    states = tuple(f"s{number + 1}" for number in range(len(plays)))
    return Partner(name, np.eye(game.m)[plays], next_state, 0, states)
