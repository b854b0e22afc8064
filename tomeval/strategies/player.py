"""A language model with a prompting strategy: context, advice and answer, for every domain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Invalid, Said
from tomeval.models.base import LOW_MASS, Prompt, Scores
from tomeval.strategies.advice import Advice
from tomeval.strategies.asking import Asker
from tomeval.strategies.compose import DEFAULT_ANSWER, Strategy
from tomeval.strategies.labels import Labels
from tomeval.strategies.questions import (
    Context,
    Foresight,
    Question,
    Scene,
    Style,
    Told,
    user_prompt,
)
from tomeval.strategies.recording import Overheard

T = TypeVar("T")


LM = "lm"
"""The answer that is one of scored labels."""


def _chosen(scores: Scores, how: str, rng: np.random.Generator) -> Said[int]:
    """Turn log-probabilities into one label; `how` as for `LLMPlayer`."""
    logprobs = np.array(scores.logprobs)
    weights = np.exp(logprobs - logprobs.max())
    probs = weights / weights.sum()
    u = rng.random()
    if how == "sample":
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


@dataclass(frozen=True)
class Asked(Generic[T]):
    """What became of a question.

    The calls of `answer` are still in the line's log, see `Asker.drain`. `prompt` is None if
    something else failed before it was asked; `text` is the reply that held the answer, empty for
    scored labels.
    """

    answer: Said[T] | Invalid
    prompt: Prompt | None = None
    text: str = ""


class LLMPlayer:
    """One player in one episode.

    `decide` says how the probabilities of labels (LM) become a decision, `predict` how they become
    what is expected of others: ``argmax``, the most probable label (ties drawn by `rng`), or
    ``sample``, a draw from the normalised probabilities. The defaults are those of the source,
    Riemer et al. 2025 (arXiv 2412.19726).
    """

    def __init__(
        self,
        scene: Scene,
        strategy: Strategy,
        line: Asker,
        rng: np.random.Generator,
        decide: str = "sample",
        predict: str = "argmax",
    ) -> None:
        self.scene, self.line = scene, line
        self._rng, self._decide, self._predict = rng, decide, predict
        self.context = Context(scene, strategy.summarises)
        self.advice: Advice = strategy.part.make(strategy)

    def render(self, template: str, **values: object) -> str:
        """Render one of the domain's templates."""
        return self.scene.prompts.render(template, **values)

    async def write(
        self, purpose: str, kind: str, request: str, step: int, group: str = ""
    ) -> str | Invalid:
        """Have a note written; a part that does not declare that it `writes` is an error."""
        self._check_writes()
        prompt = user_prompt(self.scene.earlier, request)
        return await self.line.write(purpose, kind, prompt, step, group)

    def _check_writes(self) -> None:
        """Raise if a part has texts written that `Strategy.writes` does not know of."""
        if not self.advice.writes:
            name = self.advice.strategy.part.shown
            raise TomevalError(f"strategy part {name!r}: it must have writes = True to write")

    async def act(self, question: Question[T], foresight: Foresight) -> Asked[T]:
        """Ask for a move, after what the strategy does first."""
        told = await self.advised(foresight)
        return Asked(told) if isinstance(told, Invalid) else await self.move(question, told)

    async def advised(self, foresight: Foresight) -> Told | Invalid:
        """Return what the strategy says before a move, or what prevents the move."""
        context = await self.context.text(self.line)
        if isinstance(context, Invalid):
            return context
        if self.advice.failure is not None:
            return self.advice.failure
        if not (self.advice.predicts_first or self.advice.is_told):
            foresight = Foresight()
        return await self.advice.before_act(self, foresight)

    async def move(self, question: Question[T], told: Told) -> Asked[T]:
        """Ask for a move, given what `advised` returned."""
        if extra := self.advice.ask_along(self):
            self._check_writes()
        asked = await self.ask(question, told, extra)
        if isinstance(asked.answer, Said):
            self.advice.after_act(asked.text)
        return asked

    async def ask(
        self,
        question: Question[T],
        told: Told = Told(),  # noqa: B008 (a tuple)
        extra: str = "",
        line: Asker | None = None,
        kind: str = "",
        rng: np.random.Generator | None = None,
    ) -> Asked[T]:
        """Ask a question below context, memory and what advice has `told`.

        `extra` is what is asked for besides the answer; `line`, `kind` of answer and `rng` replace
        the player's and the strategy's own. What cannot be listed is written.
        """
        line = line or self.line
        context = await self.context.text(line, question.form)
        if isinstance(context, Invalid):
            return Asked(context)
        kind, labels = kind or self.advice.strategy.answer, question.reader
        scored = kind == LM and isinstance(labels, Labels)
        kind = DEFAULT_ANSWER if kind == LM and not scored else kind
        style = Style("cot", shots=True) if kind == "cot_3_shot" else Style(kind)
        question = replace(question, values={"given": told.given, **question.values})
        phrased = self.scene.phrase(question, style, extra)
        parts = (context, self.advice.memory(self), told.text, *phrased.parts)
        prompt = user_prompt(
            self.scene.earlier, *parts, prefill=phrased.prefill, instead=phrased.instead
        )
        if isinstance(labels, Labels) and scored:
            scores = await line.score(question.purpose, prompt, question.step, labels.labels)
            if isinstance(scores, Invalid):
                return Asked(scores, prompt)
            how = self._decide if question.form == "functional" else self._predict
            # T is int: the reader reads labels.
            return Asked(cast("Said[T]", _chosen(scores, how, rng or self._rng)), prompt)
        notes = bool(extra)
        asking = Overheard(
            line.how,
            question.purpose,
            question.kind or style.kind,
            prompt,
            question.step,
            question.reader,
            line.how.allowance(style.kind, notes),
            explained=notes or style.kind == "cot",
            notes=notes,
            repair=question.repair,
        )
        answer, text = await line.answer(asking, question.reader)
        return Asked(answer, prompt, text)

    async def observe(self) -> None:
        """Do what the strategy does between two steps; the scene already shows the next one."""
        await self.advice.after_step(self)
