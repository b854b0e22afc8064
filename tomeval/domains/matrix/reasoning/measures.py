"""Reasoning consistency: what the text before an action expects, beside probe and action."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np

from tomeval.core.once import once_each
from tomeval.core.outcomes import COMPLETE, VALID
from tomeval.core.thinking import without_thinking
from tomeval.domains.matrix.groups import by_episode, from_data
from tomeval.domains.matrix.played import BoolArray, IntArray, Played
from tomeval.domains.matrix.responses import best_responses
from tomeval.domains.matrix.steps import NONE
from tomeval.domains.matrix.storing import SEAT
from tomeval.domains.matrix.subject_specs import LLM
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.outside import Group
from tomeval.runs.store import Store
from tomeval.strategies import parse_strategy
from tomeval.strategies.expectations import last_expectation

NAME = "reasoning"
_FIRST = 25  # replies that show whether a model thinks
_ACTS = f"AND form = 'act' AND seat = '{SEAT}'"
READ, AGREES, FOLLOWED, RIGHT = MEASURED = (
    "expectation_read_percent",
    "expectation_predicted_percent",
    "expectation_followed_percent",
    "expectation_right_percent",
)
"""The measures, in the order of the tables."""


class Reasoning(NamedTuple):
    """What was written before the actions of a cell, step after step, episode after episode.

    Attributes
    ----------
    written : ndarray of bool, shape (N,)
        Whether the reply that held the action may hold reasoning.
    expected : ndarray of int, shape (N,)
        The partner's action that it names last as expected; -1: none could be read.
    answered : ndarray of bool, shape (N,)
        Whether the literal probe's answer could be read. Where it could not and a prediction was
        drawn in its place, there is nothing that the text could agree with.
    """

    written: BoolArray
    expected: IntArray
    answered: BoolArray


def reasons(store: Store, number: int, definition: Mapping[str, Any]) -> bool:
    """Tell whether a cell's replies hold reasoning: by strategy, or because the model thinks.

    Whether it thinks shows in the first replies of complete episodes that held an action: some
    models think before some steps only.
    """
    if definition["kind"] != LLM:
        return False
    strategy = parse_strategy(definition["strategy"])
    if strategy.scored:
        return False
    if strategy.answer.startswith("cot"):
        return True
    return any(
        bool(reply.get("reasoning")) or without_thinking(reply["text"]) != reply["text"]
        for _, _, reply in islice(_replies(store, number), _FIRST)
    )


@once_each
def has_reasoning(store: Store) -> bool:
    """Tell whether any cell of a run holds reasoning; looked up once."""
    return any(reasons(store, number, definition) for number, definition in store.cells())


def read_reasoning(store: Store, number: int, definition: Mapping[str, Any]) -> Reasoning | None:
    """Read the expectations that a cell's replies name; None if they hold no reasoning."""
    if not reasons(store, number, definition):
        return None
    labels = tuple(definition["labels"]["partner"])
    sql = "SELECT episode, steps FROM episodes WHERE cell = ? AND status = ? ORDER BY episode"
    first: dict[int, int] = {}
    total = 0
    for episode, steps in store.query(sql, (number, COMPLETE)):
        first[episode] = total - 1  # steps count from 1
        total += steps
    written = np.zeros(total, dtype=np.bool_)
    expected = np.full(total, NONE, dtype=np.int64)
    for episode, step, reply in _replies(store, number):
        place = first[episode] + step
        text = "\n".join(filter(None, (reply.get("reasoning"), reply["text"])))
        found = last_expectation(text, labels)
        written[place] = True
        expected[place] = NONE if found is None else found.label
    sql = (
        "SELECT predict_outcome = ? FROM steps JOIN episodes USING (cell, episode) "
        "WHERE cell = ? AND status = ? ORDER BY cell, episode, step"
    )
    answered = np.array(store.query(sql, (VALID, number, COMPLETE)), dtype=np.bool_).reshape(-1)
    return Reasoning(written, expected, answered)


def _replies(store: Store, number: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield episode, step and every reply of a complete episode that held an action."""
    _, rows = store.iterate(
        "SELECT episode, step, unpacked(record) FROM calls JOIN episodes USING (cell, episode) "
        f"WHERE cell = ? AND status = ? {_ACTS} ORDER BY episode, call",
        (number, COMPLETE),
    )
    for episode, step, record in rows:
        call = json.loads(record)
        if call.get("outcome") == VALID and call.get("reply"):
            yield episode, step, call["reply"]


def counted(name: str, played: Played, found: Reasoning) -> tuple[BoolArray, BoolArray]:
    """Return which steps are hits of a measure, and which steps it is a share of, shape (N,).

    `name` is one of `MEASURED`.
    """
    named = found.expected != NONE
    said = np.where(named, found.expected, 0)
    if name == READ:
        return named, found.written
    if name == FOLLOWED:
        return named & best_responses(played.game)[played.own, said], named
    if name == RIGHT:
        return named & (said == played.partner), named
    if played.predicted is None:
        return np.zeros_like(named), np.zeros_like(named)
    both = named & found.answered & (played.predicted != NONE)
    return both & (said == played.predicted), both


def _of(name: str, played: Played, found: Reasoning) -> Totals:
    hits, of = (by_episode(played, steps) for steps in counted(name, played, found))
    return Totals(hits, of, share=True)


def _measure(name: str, heading: str, better: Literal[1, 0, -1], meaning: str) -> Measure:
    source = "this project, docs/measures.md"
    of = from_data(NAME, partial(_of, name), share=True)
    return Measure(name, heading, meaning, "%", better, source, of)


GROUP = Group(
    NAME,
    (
        _measure(
            READ,
            "expectation read %",
            0,
            "Share of steps with written reasoning in which an expectation of the partner's action "
            "could be read from the text, 0 to 100.",
        ),
        _measure(
            AGREES,
            "reasoning = prediction %",
            1,
            "Of the steps with an expectation in the reasoning before the action, the share on "
            "which the literal probe's answer is the same, 0 to 100.",
        ),
        _measure(
            FOLLOWED,
            "action follows reasoning %",
            0,
            "Of the same steps, the share on which the action is a best response to the "
            "expectation in the reasoning, 0 to 100.",
        ),
        _measure(
            RIGHT,
            "reasoning right %",
            1,
            "Of the same steps, the share on which the partner did what the reasoning expected, "
            "0 to 100.",
        ),
    ),
    has_reasoning,
    read_reasoning,
)
"""Measures of runs with written reasoning."""
