"""Many episodes at once, for subjects that need no model: numpy over episodes, step by step.

Rows are equal to those of the loop in `play`, a batch of one, for any block of episodes.
"""

from __future__ import annotations

import numpy as np

from tomeval.core.outcomes import COMPLETE
from tomeval.games.matrix.partners import Tables
from tomeval.games.matrix.play import Setup
from tomeval.games.matrix.steps import NONE, Steps
from tomeval.games.matrix.subjects import subject_class
from tomeval.games.matrix.subjects.base import Batched, FloatArray, IntArray


def has_batch(kind: str) -> bool:
    """Tell whether a kind of subject can play many episodes at once, see `Batched`."""
    made = subject_class(kind)
    return issubclass(made, Batched) and vars(made).get("draws_per_step") is not None


def simulate(setup: Setup, first: int, count: int) -> Steps:
    """Play episodes ``first .. first + count - 1`` of a cell at once; its kind `has_batch`.

    Returns the rows that `tomeval.games.matrix.play.play_episode` gives for each of them.
    """
    horizon = setup.horizon
    rng = np.random.default_rng(0)  # never used: its chance comes by step
    subject, _ = setup.seat_subject(setup.tables.partners[0], rng, episodes=count)
    assert isinstance(subject, Batched), "it has no batch form"
    chance = _by_step(setup, "subject", first, count, subject.draws_per_step or 0)
    which = setup.draw_partners(first, count)
    table = Tables(setup.tables.partners)
    noise = _by_step(setup, "partner", first, count, int(not table.deterministic))
    state = table.start[which]
    shape = (horizon, count)
    small = np.int16
    own_action, partner_action, predicted = (np.empty(shape, small) for _ in range(3))
    states = np.empty(shape, np.int32)  # a partner may have more states than fit into 16 bits
    own_probs, predicted_probs = (np.empty(shape, np.int64) for _ in range(2))
    book: dict[tuple[float, ...], int] = {}
    for t in range(horizon):
        theirs = table.act(state, None if noise is None else noise[t, 0])
        u = np.empty((0, count)) if chance is None else chance[t]
        answers = subject.answer(t, state, theirs, u)
        states[t], partner_action[t] = state, theirs
        own_action[t] = answers.own
        own_probs[t] = _coded(answers.own_probs, book)
        predicted[t] = answers.predicted
        predicted_probs[t] = _coded(answers.predicted_probs, book)
        subject.learn(answers.own, theirs)
        state = table.next_state[state, answers.own, theirs]
    zeros = np.zeros((count, horizon), dtype=small)
    ones = np.ones((count, horizon), dtype=small)
    return Steps(
        episodes=np.arange(first, first + count),
        partners=which,
        status=COMPLETE,
        partner_state=states.T - table.offset[which][:, None],
        own_action=own_action.T,
        partner_action=partner_action.T,
        predicted_action=predicted.T,
        own_probs=own_probs.T,
        predicted_probs=predicted_probs.T,
        book=list(book),
        act_outcome=zeros,
        predict_outcome=zeros,
        act_attempts=ones,
        predict_attempts=ones,
        told=np.full((count, horizon), subject.looks_ahead or subject.needs_table),
    )


def _coded(probs: FloatArray | None, book: dict[tuple[float, ...], int]) -> IntArray | int:
    """Return where each row is in the book, which gains those that are new; -1 for sure ones."""
    if probs is None:
        return NONE
    codes = [book.setdefault(tuple(row), len(book)) for row in probs.tolist()]
    return np.where(probs.max(axis=1) == 1.0, NONE, codes)


def _by_step(setup: Setup, seat: str, first: int, count: int, draws: int) -> FloatArray | None:
    """Return a seat's uniform numbers in the shape (T, draws, E), or None for no draws."""
    if draws == 0:
        return None
    block = setup.stream(seat).block(first, count, draws * setup.horizon)
    return np.ascontiguousarray(block.T).reshape(setup.horizon, draws, count)
