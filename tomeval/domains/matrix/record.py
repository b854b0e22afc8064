"""The rows of one episode, collected step by step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tomeval.core.outcomes import BACKEND_ERROR, NOT_ASKED, OUTCOMES, VALID, Decision, Invalid
from tomeval.domains.matrix.steps import ACT, NONE, PREDICT, REACT, Steps
from tomeval.domains.matrix.subjects.base import Answer

_NOT_ASKED = OUTCOMES.index(NOT_ASKED)


def unasked(answer: Answer) -> bool:
    """Tell whether an action was not asked for because the prediction before it was invalid."""
    return isinstance(answer, Invalid) and not answer.asked


@dataclass(frozen=True)
class Turn:
    """What one seat answered in one step, and the actions that count; None where there is none.

    `stated` has the actions that count for each of `reactions`.
    """

    act: Answer
    own: int | None
    prediction: Answer | None
    predicted: int | None
    reactions: tuple[Answer, ...] | None = None
    stated: Sequence[int | None] = ()
    asides: Mapping[str, Answer] = field(default_factory=dict)

    @property
    def lost(self) -> bool:
        """Whether the episode ends here."""
        unread = self.prediction is not None and self.predicted is None
        return self.own is None or unread or None in self.stated or _broken(*self.asides.values())

    @property
    def failed(self) -> bool:
        """Whether the backend, not the subject, is to blame for an episode that ends."""
        return _broken(self.act, self.prediction, *(self.reactions or ()), *self.asides.values())

    @property
    def moved(self) -> int:
        """The action, of a turn that is not lost."""
        assert self.own is not None, "no action"
        return self.own


def _broken(*answers: Answer | None) -> bool:
    return BACKEND_ERROR in [answer.reason for answer in answers if isinstance(answer, Invalid)]


class Record:
    """Collects the rows of one episode."""

    def __init__(self, episode: int, partner: int) -> None:
        self.episode, self.partner = episode, partner
        self.rows: list[tuple[int, ...]] = []
        self.book: dict[tuple[float, ...], int] = {}
        self.details: dict[tuple[int, int], dict[str, Any]] = {}
        self.asked: list[tuple[int, int, str, str, int, str | None, str]] = []
        self.calls: list[tuple[int, int, str, dict[str, Any]]] = []
        self.other_asked: list[tuple[int, int, str, str, int, str | None, str]] = []
        self.other_calls: list[tuple[int, int, str, dict[str, Any]]] = []

    def add_turn(self, step: int, state: int, theirs: int, turn: Turn | None, told: bool) -> None:
        """Add one step of the subject; None: it was not asked. `theirs` is -1 without a move."""
        if turn is None:
            self.add(step, state, theirs, (None, None), (None, None), told)
            return
        said = (turn.act, turn.own), (turn.prediction, turn.predicted)
        self.add(step, state, theirs, *said, told)
        if turn.reactions is not None:
            self.add_reactions(step, turn.reactions, turn.stated)
        self.add_asides(step, turn.asides)

    def add_other(self, step: int, turn: Turn, told: bool) -> None:
        """Add one step of a player in the partner's seat, whose answers have no columns."""
        for form, answer, action in (
            (ACT, turn.act, turn.own),
            (PREDICT, turn.prediction, turn.predicted),
        ):
            if answer is not None and not unasked(answer):
                said = dict(_worth_telling(answer, action, told and form == ACT))
                self.other_asked.append(self._row(step, form, answer, said))
            self._log_to(self.other_calls, step, form, answer)
        for own, (answer, action) in enumerate(zip(turn.reactions or (), turn.stated, strict=True)):
            self.other_asked.append(self._row(step, f"{REACT} {own}", answer, action))
            self._log_to(self.other_calls, step, REACT, answer)
        for question, answer in turn.asides.items():
            value = answer.action if isinstance(answer, Decision) else None
            self.other_asked.append(self._row(step, question, answer, value))
            self._log_to(self.other_calls, step, question.partition(" ")[0], answer)

    def add(
        self,
        step: int,
        state: int,
        theirs: int,
        act: tuple[Answer | None, int | None],
        predict: tuple[Answer | None, int | None],
        told: bool,
    ) -> None:
        """Add one step: the answers and the actions that count (None if there is none)."""
        row = [state, theirs]
        for form, (answer, action) in (("act", act), ("predict", predict)):
            valid = isinstance(answer, Decision)
            probs = answer.probs if isinstance(answer, Decision) else None
            code = NONE if probs is None else self.book.setdefault(probs, len(self.book))
            outcome, attempts = 0 if valid else _NOT_ASKED, 0
            if answer is not None and not unasked(answer):
                attempts = answer.attempts
                if isinstance(answer, Invalid):
                    outcome = OUTCOMES.index(answer.reason)
            row += [NONE if action is None else action, code, outcome, attempts]
            if answer is not None and answer.details is not None:
                self.details.setdefault((0, step - 1), {})[form] = answer.details
            if answer is not None:
                self._log(step, form, answer)
        self.rows.append((*row, int(told)))

    def add_reactions(
        self, step: int, answers: tuple[Answer, ...], stated: Sequence[int | None]
    ) -> None:
        """Add the answers of the conditional probe to a step, and the actions that count."""
        counted = [NONE if action is None else action for action in stated]
        self.details.setdefault((0, step - 1), {})["reactions"] = counted
        for own, answer in enumerate(answers):
            self._ask(step, f"{REACT} {own}", answer)

    def add_asides(self, step: int, answers: Mapping[str, Answer]) -> None:
        """Add the answers to questions that were asked aside, by question."""
        for question, answer in answers.items():
            self._ask(step, question, answer)

    def _ask(self, step: int, question: str, answer: Answer) -> None:
        """Add the answer to a question that has no columns of its own."""
        value = answer.action if isinstance(answer, Decision) else None
        self.asked.append(self._row(step, question, answer, value))
        self._log(step, question.partition(" ")[0], answer)

    def _row(
        self, step: int, question: str, answer: Answer, value: Any
    ) -> tuple[int, int, str, str, int, str | None, str]:
        """Return an answer as a row of the table ``answers``, without its seat."""
        said, raw = VALID, ""
        if isinstance(answer, Invalid):
            said, raw = answer.reason, answer.raw
        text = None if value is None else json.dumps(value)
        return (self.episode, step, question, said, answer.attempts, text, raw)

    def _log(self, step: int, form: str, answer: Answer) -> None:
        self._log_to(self.calls, step, form, answer)

    def _log_to(
        self,
        log: list[tuple[int, int, str, dict[str, Any]]],
        step: int,
        form: str,
        answer: Answer | None,
    ) -> None:
        """Keep an answer's calls; one that names its own step and purpose is kept under those."""
        for call in () if answer is None else answer.calls:
            place = (call.get("step", step), call.get("purpose", form))
            log.append((self.episode, *place, call))

    def steps(self, status: str) -> Steps:
        """Return the episode as arrays."""
        columns = np.array(self.rows, dtype=np.int64).T[:, None, :]
        state, theirs, own, own_probs, act, act_n, pred, pred_probs, predict, pred_n, told = columns
        return Steps(
            episodes=np.array([self.episode]),
            partners=np.array([self.partner]),
            status=status,
            partner_state=state,
            own_action=own,
            partner_action=theirs,
            predicted_action=pred,
            own_probs=own_probs,
            predicted_probs=pred_probs,
            book=list(self.book),
            act_outcome=act,
            predict_outcome=predict,
            act_attempts=act_n,
            predict_attempts=pred_n,
            told=told.astype(bool),
            details=self.details,
            asked=self.asked,
            calls=self.calls,
            other_asked=self.other_asked,
            other_calls=self.other_calls,
        )


def _worth_telling(answer: Answer, action: int | None, told: bool) -> Iterator[tuple[str, Any]]:
    """Yield what is stored of an answer of the other player: as the columns of steps have it."""
    yield "action", action
    if isinstance(answer, Decision) and answer.probs is not None:
        yield "probs", answer.probs
    if told:
        yield "told", True
    if answer.details is not None:
        yield "details", answer.details
