"""Answers: how a question is put and how what comes back becomes a decision."""

from __future__ import annotations

from typing import Any

import numpy as np

from tomeval.core.outcomes import Decision, Invalid
from tomeval.domains.matrix.responses import best_responses
from tomeval.domains.matrix.subjects.base import Answer
from tomeval.domains.matrix.wording import Words
from tomeval.models.base import LOW_MASS, Prompt, Scores
from tomeval.strategies.asking import Asker
from tomeval.strategies.contexts import user_prompt
from tomeval.strategies.readers import MARKER
from tomeval.strategies.templates import Prompts


class LabelAnswer:
    """LM: compare the probabilities of the labels as the next tokens.

    Parameters
    ----------
    decide : {"argmax", "sample"}
        Take the most probable label (ties drawn), or draw from the normalised probabilities.
    """

    kind = "lm"

    def __init__(self, prompts: Prompts, words: Words, decide: str = "argmax") -> None:
        self.prompts, self.words, self.decide = prompts, words, decide

    def prompt(self, form: str, parts: list[str], extra: str, **values: Any) -> Prompt:
        """Return the question; `form` is a suffix of the ``answer/lm_`` templates."""
        name = f"answer/lm_{form}"
        values |= self.words.common
        question = self.prompts.render(name, **values)
        prefill = self.prompts.prefill(name, **values)
        return user_prompt(*parts, question, prefill=prefill)

    async def ask(
        self,
        asker: Asker,
        purpose: str,
        prompt: Prompt,
        step: int,
        labels: tuple[str, ...],
        rng: np.random.Generator,
    ) -> tuple[Answer, str]:
        """Score the labels and decide."""
        scores = await asker.score(purpose, prompt, step, labels)
        if isinstance(scores, Invalid):
            return scores, ""
        return self._decide(scores, rng), ""

    def _decide(self, scores: Scores, rng: np.random.Generator) -> Decision:
        """Turn log-probabilities into a decision."""
        logprobs = np.array(scores.logprobs)
        weights = np.exp(logprobs - logprobs.max())
        probs = weights / weights.sum()
        u = rng.random()
        if self.decide == "sample":
            action = int((u >= np.cumsum(probs)[:-1]).sum())
        else:
            tied = np.flatnonzero(logprobs == logprobs.max())
            action = int(tied[min(int(u * len(tied)), len(tied) - 1)])
        details = {"method": scores.method, "mass": scores.mass}
        if scores.mass < LOW_MASS:
            details["low_mass"] = True
        return Decision(action, tuple(float(p) for p in probs), details=details)


class WrittenAnswer:
    """QA and CoT: a generated reply that ends in a marked line.

    Parameters
    ----------
    kind : {"qa", "cot", "cot_3_shot"}
    """

    def __init__(self, prompts: Prompts, words: Words, kind: str) -> None:
        self.prompts, self.words = prompts, words
        self.kind, self.shots = ("cot", True) if kind == "cot_3_shot" else (kind, False)

    def prompt(self, form: str, parts: list[str], extra: str, **values: Any) -> Prompt:
        """Return the question; `form` is a suffix of the ``answer/qa_`` or ``cot_`` templates."""
        values |= self.words.common | {"marker": MARKER, "extra": extra}
        question = self.prompts.render(f"answer/{self.kind}_{form}", **values)
        examples = ""
        if self.shots:
            name = f"answer/examples_{'act' if form == 'act' else 'predict'}"
            examples = self.prompts.render(name, examples=worked_examples(self.words), **values)
        return user_prompt(*parts, examples, question)

    async def ask(
        self,
        asker: Asker,
        purpose: str,
        prompt: Prompt,
        step: int,
        labels: tuple[str, ...],
        rng: np.random.Generator,
    ) -> tuple[Answer, str]:
        """Generate until a reply can be read."""
        return await asker.answer(purpose, self.kind, prompt, step, labels)


AnswerPart = LabelAnswer | WrittenAnswer


def make_answer(kind: str, prompts: Prompts, words: Words, decide: str) -> AnswerPart:
    """Return the answer part of a strategy."""
    if kind == "lm":
        return LabelAnswer(prompts, words, decide)
    return WrittenAnswer(prompts, words, kind)


def worked_examples(words: Words) -> list[dict[str, Any]]:
    """Make three examples of ideal reasoning for the game at hand.

    Two partners that repeat an action and one that alternates; labels, payoffs and best responses
    are the game's own.
    """
    game, labels = words.game, words.labels
    last = game.m - 1
    result = []
    for seen, following in (([0, 0, 0], 0), ([last, last, last], last), ([0, last, 0], last)):
        worth = [
            {"own": labels.own[a], "amount": words.amount(game.own[a, following])}
            for a in words.order.own
        ]
        result.append(
            {
                "seen": [labels.partner[b] for b in seen],
                "next": labels.partner[following],
                "worth": worth,
                "best": labels.own[int(best_responses(game)[:, following].argmax())],
            }
        )
    return result
