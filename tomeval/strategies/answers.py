"""Answers: how a question is put, and how the reply becomes an answer."""

from __future__ import annotations

from typing import TypeVar, cast

import numpy as np

from tomeval.core.outcomes import Invalid, Said
from tomeval.models.base import LOW_MASS, Prompt, Scores
from tomeval.strategies.asking import Asker
from tomeval.strategies.questions import Question, Style
from tomeval.strategies.readers import Labels

T = TypeVar("T")

DECIDES = ("argmax", "sample")


class LabelAnswer:
    """LM: compare the probabilities of the labels as the next tokens.

    `decide` is ``argmax``, the most probable label (ties drawn), or ``sample``, a draw from the
    normalised probabilities.
    """

    style = Style("lm")

    def __init__(self, rng: np.random.Generator, decide: str = "argmax") -> None:
        self.rng, self.decide = rng, decide

    async def ask(
        self, line: Asker, question: Question[T], prompt: Prompt, notes: bool = False
    ) -> tuple[Said[T] | Invalid, str]:
        """Score the labels and decide; there is no reply that could hold notes."""
        if not isinstance(question.reader, Labels):
            raise TypeError("only labels can be scored")
        labels = question.reader.labels
        scores = await line.score(question.purpose, prompt, question.step, labels)
        if isinstance(scores, Invalid):
            return scores, ""
        return cast("Said[T]", self._decide(scores)), ""  # T is int: the reader reads labels

    def _decide(self, scores: Scores) -> Said[int]:
        """Turn log-probabilities into a decision."""
        logprobs = np.array(scores.logprobs)
        weights = np.exp(logprobs - logprobs.max())
        probs = weights / weights.sum()
        u = self.rng.random()
        if self.decide == "sample":
            action = int((u >= np.cumsum(probs)[:-1]).sum())
        else:
            tied = np.flatnonzero(logprobs == logprobs.max())
            action = int(tied[min(int(u * len(tied)), len(tied) - 1)])
        details = {"method": scores.method, "mass": scores.mass}
        if scores.mass < LOW_MASS:
            details["low_mass"] = True
        if "argmax_is_label" in scores.details:
            details["argmax_is_label"] = scores.details["argmax_is_label"]
        return Said(action, tuple(float(p) for p in probs), details=details)


class WrittenAnswer:
    """QA and CoT: a generated reply that ends in a marked answer."""

    def __init__(self, style: Style) -> None:
        self.style = style

    async def ask(
        self, line: Asker, question: Question[T], prompt: Prompt, notes: bool = False
    ) -> tuple[Said[T] | Invalid, str]:
        """Generate until a reply can be read; `notes` says that it holds notes as well."""
        kind = question.kind or self.style.kind
        most = line.how.allowance(self.style.kind, notes)
        return await line.answer(
            question.purpose, kind, prompt, question.step, question.reader, most
        )


AnswerPart = LabelAnswer | WrittenAnswer


def make_answer(kind: str, rng: np.random.Generator, decide: str = "argmax") -> AnswerPart:
    """Return the answer part of a strategy: ``lm``, ``qa``, ``cot`` or ``cot_3_shot``."""
    if kind == LabelAnswer.style.kind:
        return LabelAnswer(rng, decide)
    return WrittenAnswer(Style("cot", shots=True) if kind == "cot_3_shot" else Style(kind))
