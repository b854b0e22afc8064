"""A language model with a prompting strategy: context, advice and answer, for every domain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from tomeval.core.outcomes import Invalid, Said
from tomeval.models.base import Prompt
from tomeval.strategies.advice import Declared, Desk, make_advice
from tomeval.strategies.answers import make_answer
from tomeval.strategies.asking import Asker, Beside
from tomeval.strategies.compose import Strategy
from tomeval.strategies.contexts import Context
from tomeval.strategies.questions import Foresight, Question, Scene, Told, user_prompt

T = TypeVar("T")


@dataclass(frozen=True)
class Asked(Generic[T]):
    """What became of a question, and the question asked `beside` it.

    The calls of `answer` are still in the line's log, see `Asker.drain`. `prompt` is None if
    something else failed before it was asked; `text` is the reply that held the answer, empty for
    scored labels.
    """

    answer: Said[T] | Invalid
    prompt: Prompt | None = None
    text: str = ""
    beside: Beside[Any] | None = None


class LLMPlayer:
    """One player in one episode; for `rng` and `decide` see `LabelAnswer`."""

    def __init__(
        self,
        scene: Scene,
        strategy: Strategy,
        line: Asker,
        rng: np.random.Generator,
        decide: str = "argmax",
    ) -> None:
        self.scene, self.line = scene, line
        self._rng, self._decide = rng, decide
        self.context = Context(scene, strategy.summarises)
        self.advice = make_advice(strategy)
        self.answer = make_answer(strategy.answer, rng, decide)

    @property
    def _desk(self) -> Desk:
        return Desk(self.scene, self.context, self.line, self.advice.strategy.part)

    async def act(
        self,
        question: Question[T],
        foresight: Foresight,
        beside: Question[Any] | None = None,
    ) -> Asked[T]:
        """Ask for a move, after what the strategy does first.

        `beside`, a question that does not depend on this one, is asked at the same time if the
        model allows it. The two then share one pass over the context on a local model, and the
        waiting time on a served one.
        """
        context = await self.context.text(self.line)
        if isinstance(context, Invalid):
            return Asked(context)
        if self.advice.failure is not None:
            return Asked(self.advice.failure)
        if self.advice.strategy.part.make:
            foresight = Declared(foresight, self.advice.strategy)
        told = await self.advice.before_act(self._desk, foresight)
        if isinstance(told, Invalid):
            return Asked(told)
        other = None
        if beside is not None and self.line.model.capabilities.concurrent:
            line = self.line.fork()
            other = Beside(line, self._answer(beside, line))
        try:
            asked = await self.ask(question, told, self.advice.ask_along(self._desk))
        except Exception:
            if other is not None:
                await other.settle()
            raise
        if isinstance(asked.answer, Said):
            self.advice.after_act(asked.text)
        return replace(asked, beside=other)

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
        the player's and the strategy's own.
        """
        line = line or self.line
        context = await self.context.text(line, question.form)
        if isinstance(context, Invalid):
            return Asked(context)
        part = self.answer
        if kind or rng is not None:
            kind = kind or self.advice.strategy.answer
            part = make_answer(kind, self._rng if rng is None else rng, self._decide)
        question = replace(question, values={"given": told.given, **question.values})
        phrased = self.scene.phrase(question, part.style, extra)
        parts = (context, self.advice.memory(self._desk), told.text, *phrased.parts)
        prompt = user_prompt(
            self.scene.earlier, *parts, prefill=phrased.prefill, instead=phrased.instead
        )
        answer, text = await part.ask(line, question, prompt, notes=bool(extra))
        return Asked(answer, prompt, text)

    async def _answer(self, question: Question[T], line: Asker) -> Said[T] | Invalid:
        return (await self.ask(question, line=line)).answer

    async def observe(self) -> None:
        """Do what the strategy does between two steps; the scene already shows the next one."""
        await self.advice.after_step(self._desk)
