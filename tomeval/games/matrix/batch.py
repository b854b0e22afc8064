"""Many episodes at once, by numpy, of subjects that need no model."""

from __future__ import annotations

from typing import Any

import numpy as np

from tomeval.core.outcomes import COMPLETE, VALID
from tomeval.games.matrix.partners import Tables
from tomeval.games.matrix.play import Setup
from tomeval.games.matrix.rules import NONE
from tomeval.games.matrix.storing import drawn_length
from tomeval.games.matrix.subjects import subject_class
from tomeval.games.matrix.subjects.base import Batched, FloatArray, IntArray
from tomeval.runs.record import Record


def has_batch(kind: str) -> bool:
    """Return whether a kind of subject can play many episodes at once, see `Batched`."""
    made = subject_class(kind)
    return issubclass(made, Batched) and vars(made).get("draws_per_step") is not None


def simulate(setup: Setup, first: int, count: int) -> list[Record]:
    """Play episodes ``first .. first + count - 1`` of a cell at once; its kind `has_batch`.

    By numpy over episodes, step by step, for subjects that need no model. Returns the records that
    `tomeval.games.matrix.play.play_episode`, a batch of one, gives for each of them, whatever the
    block of episodes. Those whose drawn length is over are played on with the others, and cut.
    """
    lengths, payoffs = setup.lengths(first, count), setup.game.payoffs
    longest = int(lengths.max())
    rng = np.random.default_rng(0)  # never used: its chance comes by step
    subject = setup.seat_subject(setup.tables.partners[0], rng, episodes=count)
    assert isinstance(subject, Batched), "it has no batch form"
    draws = subject.draws_per_step or 0
    chance = _by_step(setup, "subject", first, count, draws, longest)
    which = setup.draw_partners(first, count)
    table = Tables(setup.tables.partners)
    noise = _by_step(setup, "partner", first, count, int(not table.deterministic), longest)
    state = table.start[which]
    names = ("partner_state", "own_action", "partner_action", "predicted_action")
    played = np.empty((len(names), longest, count), dtype=np.int64)
    codes = np.empty((2, longest, count), dtype=np.int64)
    book: dict[tuple[float, ...], int] = {}
    for t in range(longest):
        theirs = table.act(state, None if noise is None else noise[t, 0])
        u = np.empty((0, count)) if chance is None else chance[t]
        answers = subject.answer(t, state, theirs, u)
        played[:, t] = state, answers.own, theirs, answers.predicted
        codes[0, t] = _coded(answers.own_probs, book)
        codes[1, t] = _coded(answers.predicted_probs, book)
        subject.learn(answers.own, theirs)
        state = table.next_state[state, answers.own, theirs]
    played[0] -= table.offset[which]
    columns = {name: values.T.tolist() for name, values in zip(names, played, strict=True)}
    rewards = payoffs[played[1], played[2]].transpose(2, 1, 0).tolist()
    columns |= zip(("own_reward", "partner_reward"), rewards, strict=True)
    distributions = [*book, None]
    for name, of in zip(("own_probs", "predicted_probs"), codes, strict=True):
        if (of != NONE).any():
            columns[name] = [[distributions[code] for code in row] for row in of.T.tolist()]
    same: dict[str, Any] = dict.fromkeys(("act_outcome", "predict_outcome"), VALID)
    same |= dict.fromkeys(("act_attempts", "predict_attempts"), 1)
    same["told"] = int(subject.looks_ahead or subject.needs_table)
    return [
        Record(
            *(first + row, COMPLETE, steps),
            {"partner": partner, **drawn_length(setup, first + row)},
            {name: rows[row][:steps] for name, rows in columns.items()} | same,
        )
        for row, (partner, steps) in enumerate(zip(which.tolist(), lengths.tolist(), strict=True))
    ]


def _coded(probs: FloatArray | None, book: dict[tuple[float, ...], int]) -> IntArray | int:
    """Return where each row is in the book, which gains those that are new; -1 for sure ones."""
    if probs is None:
        return NONE
    codes = [book.setdefault(tuple(row), len(book)) for row in probs.tolist()]
    return np.where(probs.max(axis=1) == 1.0, NONE, codes)


def _by_step(
    setup: Setup, seat: str, first: int, count: int, draws: int, longest: int
) -> FloatArray | None:
    """Return a seat's uniform numbers in the shape (T, draws, E), or None for no draws."""
    if draws == 0:
        return None
    if setup.horizon is not None:
        block = setup.stream(seat).block(first, count, draws * longest)
    else:
        generators = (setup.generator(seat, first + row, draws) for row in range(count))
        block = np.stack([one.random(draws * longest) for one in generators])
    return np.ascontiguousarray(block.T).reshape(longest, draws, count)


STEPS_PER_CHUNK = 100_000
"""How many steps a batch holds at most: what is lost when a run is killed, and its memory."""
