"""Steps around the change of a partner's policy: what was right, and what could show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.optima import Plan, known_best_response
from tomeval.domains.matrix.partners import Change, Partner, change_of
from tomeval.domains.matrix.played import BoolArray, FloatArray, IntArray, Played
from tomeval.domains.matrix.responses import gains
from tomeval.domains.matrix.steps import NONE


class Side(NamedTuple):
    """Answers of one kind, predictions or actions: which are right, and where that tells anything.

    All of shape (E, T). A step tells if no answer is right for both policies.
    """

    right: BoolArray  # whether the answer is right for the partner as it is
    tells: BoolArray  # steps from the change on that tell
    asked: BoolArray  # steps from the change on with an answer


@dataclass(frozen=True, eq=False)
class Around:
    """The complete episodes of a cell, E of them, of at most T steps."""

    change: IntArray  # shape (E,): first step of the second policy, from 1; 0: the partner has none
    lengths: IntArray  # shape (E,)
    predicted: Side | None  # None if nothing was predicted
    acted: Side
    # Shape (E, T): what each action lost, max_a Q(a) - Q(a_t) in the partner's true state, with
    # optimal play after it; 0 beyond an episode's length.
    loss: FloatArray

    @property
    def switched(self) -> BoolArray:
        """Whether the change came within the episode, shape (E,)."""
        return (self.change > 0) & (self.change <= self.lengths)


def around(played: Played) -> Around:
    """Return what `Around` holds of a cell.

    Right predictions are the actions that are most probable in the partner's state, right actions
    those that are optimal for the rest of the episode against this partner. Both know the table:
    of a partner that draws its moves, a right prediction need not be what was drawn. Episodes whose
    partner does not change, or is known only up to probabilities, have the change 0.
    """
    count, longest = played.episodes, int(played.lengths.max(initial=0))
    shape = (count, longest)
    starts = (np.cumsum(played.lengths) - played.lengths).astype(np.int64)
    change, loss = np.zeros(count, dtype=np.int64), np.zeros(shape)
    predicted, acted = (Side(*np.zeros((3, *shape), dtype=bool)) for _ in range(2))
    pairs = np.unique(np.column_stack([played.which, played.lengths]), axis=0).tolist()
    for index, length in pairs if played.partners and played.mixture is None else ():
        told = change_of(played.partners[index])
        if told is None:
            continue
        rows = np.flatnonzero((played.which == index) & (played.lengths == length))
        change[rows] = told.step
        steps = starts[rows][:, None] + np.arange(length)
        own, theirs = played.own[steps], played.partner[steps]
        said = None if played.predicted is None else played.predicted[steps]
        *sides, lost = _judged(played.game, played.partners[index], told, own, theirs, said)
        for whole, part in zip((predicted, acted), sides, strict=True):
            for array, values in zip(whole, part, strict=True):
                array[rows, :length] = values
        loss[rows, :length] = lost
    known = None if played.predicted is None else predicted
    return Around(change, played.lengths, known, acted, loss)


def _judged(
    game: MatrixGame,
    partner: Partner,
    told: Change,
    own: IntArray,
    theirs: IntArray,
    said: IntArray | None,
) -> tuple[Side, Side, FloatArray]:
    """Return predictions, actions and losses of episodes against one partner, (E, T) each."""
    machines = (partner, told.first)
    steps = np.arange(own.shape[1])
    plans = [known_best_response(game, machine, len(steps)) for machine in machines]
    states = [follow(machine, own, theirs) for machine in machines]
    likely = [_likely(machine)[s] for machine, s in zip(machines, states, strict=True)]
    best = [plan.optimal[steps, s] for plan, s in zip(plans, states, strict=True)]
    loss = _losses(game, partner, plans[0])[steps, states[0], own]

    def side(right: list[BoolArray], answer: IntArray) -> Side:
        """Judge answers by what is right for the partner and for its first policy, (E, T, k)."""
        now, first = right
        given = answer != NONE
        hit = np.take_along_axis(now, np.where(given, answer, 0)[..., None], axis=2)[..., 0]
        asked = (steps >= told.step - 1) & given
        return Side(hit & given, asked & ~(now & first).any(axis=2), asked)

    unasked = np.full_like(own, NONE)
    return side(likely, unasked if said is None else said), side(best, own), loss


def nominal(
    game: MatrixGame, partner: Partner, told: Change, length: int
) -> list[BoolArray] | None:
    """Return the steps that tell by predictions and by actions, whatever is played; (1, T) each.

    None for a partner that reacts or draws its moves: which ones tell depends on the play.
    """
    machines = (partner, told.first, told.second)
    if any(machine.reacts or not machine.is_deterministic for machine in machines):
        return None
    own = np.zeros((1, length), dtype=np.int64)
    theirs, state = own.copy(), partner.start
    for t in range(length):
        theirs[0, t] = partner.emissions[state].argmax()
        state = int(partner.next_state[state, 0, theirs[0, t]])
    predicted, acted, _ = _judged(game, partner, told, own, theirs, own)
    return [predicted.tells, acted.tells]


def follow(machine: Partner, own: IntArray, theirs: IntArray) -> IntArray:
    """Return the state of a machine in every step, if it saw these moves from step 1; (E, T)."""
    states = np.empty(own.shape, dtype=np.int64)
    now = np.full(len(own), machine.start)
    for t in range(own.shape[1]):
        states[:, t] = now
        now = machine.next_state[now, own[:, t], theirs[:, t]]
    return states


def _likely(machine: Partner) -> BoolArray:
    """Tell which actions are most probable in each state, shape (S, m)."""
    table = machine.emissions
    likely: BoolArray = table >= table.max(axis=1, keepdims=True) - 1e-12
    return likely


def _losses(game: MatrixGame, partner: Partner, plan: Plan) -> FloatArray:
    """Return what every action loses, by step and state, shape (T, S, n); 0 for optimal ones."""
    gain = partner.emissions @ gains(game).T
    chance = partner.emissions[:, None, :]
    losses = np.empty(plan.optimal.shape)
    for t in range(len(losses)):
        q = gain + (chance * plan.relative[t + 1][partner.next_state]).sum(axis=2)
        losses[t] = q.max(axis=1, keepdims=True) - q
    return np.where(plan.optimal, 0.0, losses)
