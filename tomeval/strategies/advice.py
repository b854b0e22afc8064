"""Advice: what the subject is told, predicts first, or remembers of its own writing."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tomeval.core.outcomes import Invalid
from tomeval.domains.matrix.subjects.base import Answer
from tomeval.strategies.asking import Asker
from tomeval.strategies.contexts import Context, user_prompt
from tomeval.strategies.readers import visible
from tomeval.strategies.templates import Prompts


@dataclass(frozen=True)
class Turn:
    """What an advice part may use in one round.

    Attributes
    ----------
    round : int
    asker, context, prompts
        The line to the model, the context, the templates.
    partner_labels : tuple of str
    predict : callable
        Ask for the partner's action, in the form given ("lm" or "qa"), nothing of this round shown.
    truth : callable
        The partner's true action, through the recorded door.
    """

    round: int
    asker: Asker
    context: Context
    prompts: Prompts
    partner_labels: tuple[str, ...]
    predict: Callable[[str], Awaitable[Answer]]
    truth: Callable[[], int]


class Advice:
    """No advice; also the contract of all advice parts.

    A part is made anew for every episode, so nothing it remembers outlives one.
    """

    def __init__(self, answer: str) -> None:
        self.answer = answer

    async def before_act(self, turn: Turn) -> str | Invalid:
        """Return what the act prompt says beyond context and memory."""
        return ""

    def memory(self, turn: Turn) -> str:
        """Return what both act and predict prompts show of earlier rounds."""
        return ""

    def ask_along(self, turn: Turn) -> str:
        """Return what the act question asks for besides the action."""
        return ""

    def after_act(self, text: str) -> None:
        """Read the reply that held the action."""

    async def after_step(self, turn: Turn) -> None:
        """Do what is to be done once a round is over; `turn` is the round that follows."""

    def prediction(self, number: int) -> Answer | None:
        """Return the literal record of a round, where the advice asked for it itself."""
        return None


class Social(Advice):
    """Predict first, then choose given that prediction (Akata et al. 2023)."""

    def __init__(self, answer: str, form: str) -> None:
        super().__init__(answer)
        self.form = form
        self._predicted: tuple[int, Answer] | None = None

    async def before_act(self, turn: Turn) -> str | Invalid:
        """Predict; the prediction is the literal record of the step."""
        found = await turn.predict(self.form)
        self._predicted = (turn.round, found)
        if isinstance(found, Invalid):
            return Invalid(found.reason, f"no prediction to act on: {found.raw}")
        label = turn.partner_labels[found.action]
        return turn.prompts.render("advice/social", prediction=label, round=turn.round)

    def prediction(self, number: int) -> Answer | None:
        """Return the prediction of a round; None where it was not asked for."""
        if self._predicted is None or self._predicted[0] != number:
            return None
        return self._predicted[1]


class Oracle(Advice):
    """Told the action that the partner truly takes; the literal question is not."""

    def __init__(self, answer: str, template: str) -> None:
        super().__init__(answer)
        self.template = template

    async def before_act(self, turn: Turn) -> str | Invalid:
        """Open the door."""
        truth = turn.partner_labels[turn.truth()]
        return turn.prompts.render(self.template, truth=truth, round=turn.round)


class Reflexion(Advice):
    """Write a lesson after each round; the last k are shown (Shinn et al. 2023)."""

    def __init__(self, answer: str, size: int) -> None:
        super().__init__(answer)
        self.size = size
        self.lessons: list[str] = []
        self.failed: Invalid | None = None

    async def before_act(self, turn: Turn) -> str | Invalid:
        """Pass on what kept the last lesson from being written."""
        return self.failed or ""

    def memory(self, turn: Turn) -> str:
        """Show the last lessons."""
        if not self.lessons:
            return ""
        return turn.prompts.render("advice/reflexion", memory=self.lessons[-self.size :])

    async def after_step(self, turn: Turn) -> None:
        """Write a lesson about the round that is over."""
        request = turn.prompts.render(
            "advice/reflexion_write",
            context=turn.context.raw,
            memory=self.memory(turn),
            round=turn.round - 1,
        )
        step = turn.round - 1
        group = turn.context.raw_group
        written = await turn.asker.write("reflect", "reflect", user_prompt(request), step, group)
        self.failed = written if isinstance(written, Invalid) else None
        if isinstance(written, str):
            self.lessons.append(" ".join(written.split()))


class PlansInsights(Advice):
    """Write plans and insights with the answer, shown in the next round (Fish et al. 2024).

    What is written with an answer is not shown to the probes of the same round, which must not see
    that answer. Where answers are scored there is no reply to write them in: a call of its own
    does, before the round.
    """

    _NOTES = re.compile(r"^[^\w\n]*plans[^\w\n]*:.*", re.IGNORECASE | re.MULTILINE | re.DOTALL)

    def __init__(self, answer: str, marker: str) -> None:
        super().__init__(answer)
        self.marker = marker
        self.notes = self._coming = ""

    async def before_act(self, turn: Turn) -> str | Invalid:
        """Write the notes first where the answer itself is not written."""
        if self.answer != "lm":
            return ""
        context = await turn.context.text(turn.asker)
        if isinstance(context, Invalid):
            return context
        request = turn.prompts.render(
            "advice/plans_insights_write",
            context="\n\n".join(filter(None, [context, self.memory(turn)])),
            round=turn.round,
        )
        written = await turn.asker.write("plan", "plan", user_prompt(request), turn.round)
        if isinstance(written, Invalid):
            return written
        self.after_act(written)
        self.notes = self._coming
        return ""

    def memory(self, turn: Turn) -> str:
        """Show the last notes."""
        if not self.notes:
            return ""
        return turn.prompts.render("advice/plans_insights", memory=self.notes)

    def ask_along(self, turn: Turn) -> str:
        """Ask for notes with the answer."""
        return "" if self.answer == "lm" else turn.prompts.render("advice/plans_insights_ask")

    def after_act(self, text: str) -> None:
        """Keep what stands from "Plans:" on up to the answer; without it nothing changes."""
        found = self._NOTES.search(visible(text) or "")
        if found:
            lines = found[0].splitlines()
            kept = [line for line in lines if self.marker.casefold() not in line.casefold()]
            self._coming = "\n".join(kept).strip()

    async def after_step(self, turn: Turn) -> None:
        """Show the notes from now on."""
        self.notes = self._coming


def make_advice(kind: str, answer: str, marker: str) -> Advice:
    """Return a fresh advice part."""
    if kind.startswith("social"):
        return Social(answer, kind.removeprefix("social_"))
    if kind.startswith("oracle"):
        return Oracle(answer, f"advice/{kind}")
    if kind.startswith("reflexion"):
        return Reflexion(answer, int(kind[-1]))
    return PlansInsights(answer, marker) if kind == "plans_insights" else Advice(answer)
