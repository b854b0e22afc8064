"""A language model with a prompting strategy: context, advice and answer, for every domain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from tomeval.core.outcomes import Invalid, Said
from tomeval.models.base import Prompt
from tomeval.strategies.advice import Desk, make_advice
from tomeval.strategies.answers import AnswerPart, make_answer
from tomeval.strategies.asking import Asker, Beside
from tomeval.strategies.compose import Strategy
from tomeval.strategies.contexts import Context
from tomeval.strategies.questions import Foresight, Question, Scene, user_prompt

T = TypeVar("T")


@dataclass(frozen=True)
class Asked(Generic[T]):
    """What became of a question.

    Attributes
    ----------
    answer : Said or Invalid
        Its calls are still in the line's log, see `Asker.drain`.
    prompt : Prompt or None
        None where something else failed before it was asked.
    text : str
        The reply that held the answer; empty where labels are scored.
    beside : Beside or None
        The question that was asked beside it.
    """

    answer: Said[T] | Invalid
    prompt: Prompt | None = None
    text: str = ""
    beside: Beside[Any] | None = None


class LLMPlayer:
    """One player in one episode.

    Parameters
    ----------
    scene : Scene
        The domain's side: what is known, and how it is worded.
    strategy : Strategy
    line : Asker
    rng : numpy.random.Generator
        For decisions on scored labels.
    decide : {"argmax", "sample"}
        See `tomeval.strategies.answers.LabelAnswer`.
    """

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
        self.answer = self._answer_part(strategy.answer)

    def _answer_part(self, kind: str) -> AnswerPart:
        return make_answer(kind, self._rng, self._decide)

    @property
    def _desk(self) -> Desk:
        return Desk(self.scene, self.context, self.line)

    async def act(
        self,
        question: Question[T],
        foresight: Foresight,
        beside: Question[Any] | None = None,
    ) -> Asked[T]:
        """Ask for a move, after what the strategy does first.

        `beside` is asked at the same time where the model can: a question that does not depend on
        this one. The two then share one pass over the context on a local model, and the waiting
        time on a served one.
        """
        context = await self.context.text(self.line)
        if isinstance(context, Invalid):
            return Asked(context)
        if self.advice.failure is not None:
            return Asked(self.advice.failure)
        advice = await self.advice.before_act(self._desk, foresight)
        if isinstance(advice, Invalid):
            return Asked(advice)
        other = None
        if beside is not None and self.line.model.capabilities.concurrent:
            line = self.line.fork()
            other = Beside(line, self._answer(beside, line))
        try:
            asked = await self.ask(question, advice, self.advice.ask_along(self._desk))
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
        advice: str = "",
        extra: str = "",
        line: Asker | None = None,
        kind: str = "",
    ) -> Asked[T]:
        """Ask a question below context and memory.

        Parameters
        ----------
        question : Question
        advice : str
            Stands between memory and question.
        extra : str
            What is asked for besides the answer.
        line : Asker, optional
            Another one than the player's own.
        kind : str
            Another kind of answer than the strategy's.
        """
        context = await self.context.text(self.line)
        if isinstance(context, Invalid):
            return Asked(context)
        part = self._answer_part(kind) if kind else self.answer
        phrased = self.scene.phrase(question, part.style, extra)
        parts = (context, self.advice.memory(self._desk), advice, *phrased.parts)
        prompt = user_prompt(self.scene.earlier, *parts, prefill=phrased.prefill)
        answer, text = await part.ask(line or self.line, question, prompt)
        return Asked(answer, prompt, text)

    async def _answer(self, question: Question[T], line: Asker) -> Said[T] | Invalid:
        return (await self.ask(question, line=line)).answer

    async def observe(self) -> None:
        """Do what the strategy does between two steps; the scene shows the one that follows."""
        await self.advice.after_step(self._desk)
