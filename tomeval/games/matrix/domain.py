"""Matrix games as a domain: a subject against finite-state partners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tomeval.core.outcomes import COMPLETE, VALID
from tomeval.games.answer import verdict
from tomeval.games.matrix.bounds import experiment_bounds
from tomeval.games.matrix.experiment import MatrixCell, MatrixExperiment
from tomeval.games.matrix.measures import MEASURES
from tomeval.games.matrix.partners import Tables
from tomeval.games.matrix.play import Setup, play_episode_async
from tomeval.games.matrix.results import MatrixRunCell
from tomeval.games.matrix.rules import NONE, PARTNER, SEAT
from tomeval.games.matrix.shown import (
    LISTS,
    episodes,
    example_cell,
    run_facts,
    table_notes,
)
from tomeval.games.matrix.storing import SCHEMA
from tomeval.games.matrix.subject_specs import PartnerPlayer
from tomeval.games.matrix.subjects import subject_class
from tomeval.games.matrix.subjects.base import Batched, FloatArray, IntArray
from tomeval.models.base import Model
from tomeval.runs.domain import Domain
from tomeval.runs.record import Record


def has_batch(kind: str) -> bool:
    """Return whether a kind of subject can play many episodes at once, see `Batched`."""
    made = subject_class(kind)
    return issubclass(made, Batched) and vars(made).get("draws_per_step") is not None


def simulate(setup: Setup, first: int, count: int) -> list[Record]:
    """Play episodes ``first .. first + count - 1`` of a cell at once; its kind `has_batch`.

    By numpy over episodes, step by step, for subjects that need no model. Returns the records that
    `tomeval.games.matrix.play.play_episode`, a batch of one, gives for each of them, whatever the
    block of episodes.
    """
    horizon, payoffs = setup.horizon, setup.game.payoffs
    rng = np.random.default_rng(0)  # never used: its chance comes by step
    subject = setup.seat_subject(setup.tables.partners[0], rng, episodes=count)
    assert isinstance(subject, Batched), "it has no batch form"
    chance = _by_step(setup, "subject", first, count, subject.draws_per_step or 0)
    which = setup.draw_partners(first, count)
    table = Tables(setup.tables.partners)
    noise = _by_step(setup, "partner", first, count, int(not table.deterministic))
    state = table.start[which]
    names = ("partner_state", "own_action", "partner_action", "predicted_action")
    played = np.empty((len(names), horizon, count), dtype=np.int64)
    codes = np.empty((2, horizon, count), dtype=np.int64)
    book: dict[tuple[float, ...], int] = {}
    for t in range(horizon):
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
            *(first + row, COMPLETE, horizon, {"partner": partner}),
            {name: rows[row] for name, rows in columns.items()} | same,
        )
        for row, partner in enumerate(which.tolist())
    ]


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


STEPS_PER_CHUNK = 100_000
"""How many steps a batch holds at most: what is lost when a run is killed, and its memory."""


async def _play(
    cell: MatrixCell, episode: int, models: Mapping[str, Model], on_step: Callable[[], None]
) -> Record:
    seats = models.get(SEAT), models.get(PARTNER)
    return await play_episode_async(cell.setup, episode, seats[0], on_step, other=seats[1])


def _together(cell: MatrixCell) -> int:
    """Return how many episodes fit a batch; subjects without a batch form play one by one."""
    if isinstance(cell.setup.partners, PartnerPlayer) or not has_batch(cell.setup.kind):
        return 0
    return max(1, STEPS_PER_CHUNK // cell.setup.horizon)


def _columns(definition: Mapping[str, Any]) -> dict[str, str | int]:
    said = ("condition",) if "condition" in definition else ()  # recorded games only
    return {
        "subject": definition["subject"],
        **{name: definition[name] for name in said},
        "model": definition.get("model", ""),
        "strategy": definition.get("strategy", ""),
        "game": definition["game"]["name"],
        "labels": definition["labels"]["name"],
        "partners": definition["partners"]["name"],
        "horizon": definition["horizon"],
    }


def _words(task: Mapping[str, Any]) -> str:
    """Return a task in words, such as "IPD (canonical), tit_for_tat, T = 10"."""
    labels = f" ({task['labels']})" if "labels" in task else ""
    said = [f"{task['game']}{labels}"] if "game" in task else []
    said += [str(task["partners"])] if "partners" in task else []
    said += [f"T = {task['horizon']}"] if "horizon" in task else []
    return ", ".join(said)


PUBLISHED = ("tom_percent", "delta_tom_best_response_per_step", "delta_functional_per_step")

MATRIX = Domain(
    name="matrix",
    title="repeated matrix games against finite-state partners",
    experiment=MatrixExperiment,
    measures=MEASURES,
    play=_play,
    together=_together,
    play_many=lambda cell, first, n: simulate(cell.setup, first, n),
    schema=SCHEMA,
    columns=_columns,
    run_cell=MatrixRunCell,
    headline=(
        "delta_functional_per_step",
        "tom_percent",
        "delta_tom_best_response_per_step",
    ),
    figures={
        "plane": "tomeval.games.plane:plane",
        "regret": "tomeval.games.matrix.curves:regret_curves",
        "tom": "tomeval.games.matrix.curves:tom_curves",
    },
    facts=run_facts,
    table_notes=table_notes,
    verdict=verdict(PUBLISHED, (PUBLISHED[1], PUBLISHED[0], PUBLISHED[2], "plays_percent")),
    published="tomeval.games.matrix.published",
    by=("strategy", "subject", "model", "labels", "condition"),
    task=("game", "labels", "partners", "horizon", "reference", "on_invalid"),
    shares_draws=("game", "partners"),
    task_words=_words,
    questions=episodes,
    example=example_cell,
    lists=LISTS,
    bounds=experiment_bounds,
)
