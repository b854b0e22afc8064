"""The two questions of a step, rendered again from recorded or exchanged moves of the partner."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.core.coroutines import run_now
from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.observation import Joint, Observation
from tomeval.domains.matrix.play import generator_of
from tomeval.domains.matrix.results import MatrixRunCell
from tomeval.domains.matrix.storing import SEAT
from tomeval.domains.matrix.subjects.llm import LLMSubject
from tomeval.models.base import Prompt
from tomeval.strategies import parse_strategy
from tomeval.strategies.asking import flatten, overhearing
from tomeval.strategies.recording import Recording

ACT, PREDICT = QUESTIONS = ("act", "predict")

_FOLLOWS = ("partner", "own_amount", "partner_amount")
"""Values of a line of the history that the partner's move decides: the move, and what it paid."""

_MARK = "\ue000"  # a character of private use, which no template and no label holds


class Line(NamedTuple):
    """A line of the history, and where in it that stands which the partner's move decides.

    The first of `spans`, each a start and an end, is the move.
    """

    text: str
    spans: tuple[tuple[int, int], ...]


class Asked(NamedTuple):
    """A question of one step: its prompt, the labels if they are scored, and the history in it."""

    prompt: Prompt
    labels: tuple[str, ...]
    lines: tuple[Line, ...]


Moves = Sequence[int] | NDArray[np.int64]
Questions = dict[tuple[int, str], Asked]


def plain(strategy: str) -> bool:
    """Tell whether a strategy's two questions follow from the moves alone.

    They do unless it shows notes that the model wrote, or acts on what it was told or predicted.
    """
    if not strategy:
        return False
    parsed = parse_strategy(strategy)
    return parsed.advice == "none" and not parsed.summarises and not parsed.takes_notes


def rendered(
    cell: MatrixRunCell, episode: int, own: Moves, partner: Moves, steps: Collection[int]
) -> Questions:
    """Return what an episode's model is asked in some steps after given moves, by step and form.

    `own` and `partner` hold the moves of at least as many steps as the last of `steps`, from 1;
    `episode` is one of the cell's, whose wording is taken.
    """
    setup, game = cell.setup, cell.game
    which = int(setup.draw_partners(episode, 1)[0])
    rng = generator_of(setup, setup.stream("subject"), episode)
    subject, _ = setup.seat_subject(setup.tables.partners[which], rng, Recording(), "", episode)
    assert isinstance(subject, LLMSubject)
    past: list[Joint] = []
    lines: list[Line] = []
    asked: Questions = {}
    for step in range(1, max(steps) + 1):
        if step in steps:
            seen = Observation(game, setup.labels, step, setup.horizon, tuple(past))
            with overhearing() as heard:
                run_now(subject.act(seen))
                run_now(subject.predict(seen, int(own[step - 1])))
            for one in heard:
                key = (step, one.purpose)
                if one.purpose in QUESTIONS and key not in asked:
                    asked[key] = Asked(one.prompt, tuple(one.labels), tuple(lines))
        a, b = int(own[step - 1]), int(partner[step - 1])
        joint = Joint(a, b, float(game.own[a, b]), float(game.partner[a, b]))
        lines += _line(subject, step, joint)
        past.append(joint)
        subject.scene.observe(joint)
    return asked


def _line(subject: LLMSubject, step: int, joint: Joint) -> list[Line]:
    """Return the line that a round adds to the history; none if no past is shown."""
    scene = subject.scene
    if not scene.strategy.shows_history:
        return []
    values = scene.words.round_values(step, joint)
    spans = [span for name in _FOLLOWS if (span := _span(subject, values, name))]
    text = scene.prompts.render("context/history", **values)
    return [Line(text, tuple(spans))] if spans else []


def _span(subject: LLMSubject, values: dict[str, Any], name: str) -> tuple[int, int] | None:
    """Return where a value stands in a line of the history, by rendering a mark in its place."""
    marked = subject.scene.prompts.render("context/history", **values | {name: _MARK})
    start = marked.find(_MARK)
    return (start, start + len(str(values[name]))) if start >= 0 else None


def recorded(cell: MatrixRunCell, episode: int, own: Moves, partner: Moves) -> Questions:
    """Return what the model was asked in all steps of an episode, as the store has it.

    Raises
    ------
    TomevalError
        What is rendered again is not what was asked: templates that are not here, for example.
    """
    asked = rendered(cell, episode, own, partner, range(1, len(own) + 1))
    for (step, form), text in _stored(cell, episode).items():
        if (step, form) in asked and flatten(asked[step, form].prompt) != text:
            raise TomevalError(
                f"internal: cell {cell.number}, episode {episode}, step {step}: the question "
                f"({form}) cannot be asked again as it was: are the templates of `prompts` those "
                "of the run, and is this the folder that it was started in?"
            )
    return asked


def _stored(cell: MatrixRunCell, episode: int) -> dict[tuple[int, str], str]:
    """Return the text of the first call of each question, by step and form."""
    texts: dict[str, str] = {}
    first: dict[tuple[int, str], str] = {}
    for step, seat, _, call in cell.store.calls(cell.number, episode):
        purpose = str(call.get("purpose", ""))
        if seat != SEAT or purpose not in QUESTIONS:
            continue
        texts[purpose] = texts.get(purpose, "")[: call["prompt_same"]] + call["prompt_rest"]
        first.setdefault((step, purpose), texts[purpose])
    return first


def stored_scores(cell: MatrixRunCell, episode: int) -> dict[tuple[int, str], list[float]]:
    """Return the labels' log-probabilities that were recorded, by step and form."""
    return {
        (step, str(call["purpose"])): call["scores"]["logprobs"]
        for step, seat, _, call in cell.store.calls(cell.number, episode)
        if seat == SEAT and call.get("purpose") in QUESTIONS and "scores" in call
    }
