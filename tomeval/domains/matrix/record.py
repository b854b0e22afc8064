"""The rows of one episode, collected step by step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from tomeval.core.outcomes import NOT_ASKED, OUTCOMES, VALID, Decision, Invalid
from tomeval.domains.matrix.steps import NONE, REACT, Steps
from tomeval.domains.matrix.subjects.base import Answer

_NOT_ASKED = OUTCOMES.index(NOT_ASKED)


def unasked(answer: Answer) -> bool:
    """Tell whether an action was not asked for because the prediction before it was invalid."""
    return isinstance(answer, Invalid) and not answer.asked


class Record:
    """Collects the rows of one episode."""

    def __init__(self, episode: int, partner: int) -> None:
        self.episode, self.partner = episode, partner
        self.rows: list[tuple[int, ...]] = []
        self.book: dict[tuple[float, ...], int] = {}
        self.details: dict[tuple[int, int], dict[str, Any]] = {}
        self.asked: list[tuple[int, int, str, str, int, str | None, str]] = []
        self.calls: list[tuple[int, int, str, dict[str, Any]]] = []

    def add(
        self,
        step: int,
        state: int,
        theirs: int,
        act: tuple[Answer, int | None],
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
        self, step: int, answers: tuple[Answer, ...], stated: list[int | None]
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
        said, raw, value = VALID, "", None
        if isinstance(answer, Invalid):
            said, raw = answer.reason, answer.raw
        else:
            value = json.dumps(answer.action)
        self.asked.append((self.episode, step, question, said, answer.attempts, value, raw))
        self._log(step, question.partition(" ")[0], answer)

    def _log(self, step: int, form: str, answer: Answer) -> None:
        """Keep an answer's calls; one that names its own step and purpose is kept under those."""
        for call in answer.calls:
            place = (call.get("step", step), call.get("purpose", form))
            self.calls.append((self.episode, *place, call))

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
        )
