"""The best mean reward per step in the long run, by multichain policy iteration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]


def stationary_reward(rewards: _Array, transitions: _Array, start: int) -> float:
    """Return the largest long-run mean reward per step from a start state.

    Parameters
    ----------
    rewards : ndarray, shape (S, n)
        Expected reward of each action in each state.
    transitions : ndarray, shape (S, n, S)
        Probability of the next state.

    Notes
    -----
    In payoff units per step; exact up to rounding, for periodic, transient and stochastic partners
    alike. Howard's policy iteration for multichain processes: Puterman 1994, section 9.2.1. An
    action is changed only if another is better by more than rounding, so the iteration ends.
    """
    states = np.arange(len(rewards))
    # Less the smallest reward: a constant that all share must not widen what counts as equal.
    least = float(rewards.min())
    rewards = rewards - least
    tolerance = 1e-9 * float(rewards.max())
    policy = rewards.argmax(axis=1)
    while True:
        gain, bias = _evaluate(rewards[states, policy], transitions[states, policy])
        by_gain = transitions @ gain
        best_gain = by_gain.max(axis=1)
        if (best_gain > by_gain[states, policy] + tolerance).any():
            better = by_gain >= best_gain[:, None] - tolerance
        else:
            keeps_gain = by_gain >= best_gain[:, None] - tolerance
            q = np.where(keeps_gain, rewards + transitions @ bias, -np.inf)
            better = q >= q.max(axis=1, keepdims=True) - tolerance
        improved = np.where(better[states, policy], policy, better.argmax(axis=1))
        if (improved == policy).all():
            return least + float(gain[start])
        policy = improved


def _evaluate(rewards: _Array, transitions: _Array) -> tuple[_Array, _Array]:
    """Return gain and bias of a fixed policy, each of shape (S,).

    The bias is 0 at the lowest state of every recurrent class.
    """
    size = len(rewards)
    reach = _closure(transitions > 0)
    recurrent = np.array(
        [reach[i, reach[i]].size and reach[reach[i], i].all() for i in range(size)]
    )
    gain, bias = np.zeros(size), np.zeros(size)
    for first in range(size):
        members = np.flatnonzero(reach[first])
        if not recurrent[first] or members[0] != first:
            continue
        block = transitions[np.ix_(members, members)]
        # unknowns: bias of all members but the first, and the class's gain
        system = np.eye(len(members)) - block
        system[:, 0] = 1.0
        solution = np.linalg.solve(system, rewards[members])
        gain[members] = solution[0]
        bias[members] = np.concatenate([[0.0], solution[1:]])
    moving = np.flatnonzero(~recurrent)
    settled = np.flatnonzero(recurrent)
    if moving.size:
        system = np.eye(len(moving)) - transitions[np.ix_(moving, moving)]
        into = transitions[np.ix_(moving, settled)]
        gain[moving] = np.linalg.solve(system, into @ gain[settled])
        bias[moving] = np.linalg.solve(
            system, rewards[moving] - gain[moving] + into @ bias[settled]
        )
    return gain, bias


def _closure(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which states each state can reach, itself included (repeated squaring)."""
    reach = edges | np.eye(len(edges), dtype=bool)
    while True:
        further = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
        if (further == reach).all():
            return reach
        reach = further
