"""Advice: hints that the player gets, predictions it makes first, and notes it wrote before."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Invalid
from tomeval.core.text import without_thinking
from tomeval.strategies.asking import Asker
from tomeval.strategies.beliefs import Belief
from tomeval.strategies.compose import Strategy
from tomeval.strategies.parts import Part
from tomeval.strategies.questions import Context, Foresight, Scene, Told, join, user_prompt
from tomeval.strategies.readers import MARKER, above_answer


@dataclass(frozen=True)
class Desk:
    """What an advice part works with: the domain, the context, the line to the model."""

    scene: Scene
    context: Context
    line: Asker
    part: Part

    def render(self, template: str, **values: object) -> str:
        """Render one of the domain's templates."""
        return self.scene.prompts.render(template, **values)

    async def write(
        self, purpose: str, kind: str, request: str, step: int, group: str = ""
    ) -> str | Invalid:
        """Have a note written."""
        if self.part.make and not self.part.calls:
            raise TomevalError(f"strategy part {self.part.shown!r}: it writes although calls = 0")
        prompt = user_prompt(self.scene.earlier, request)
        return await self.line.write(purpose, kind, prompt, step, group)


class Declared(Foresight):
    """Foresight for a part from outside: it may only do what it has declared.

    What is declared decides which seats a strategy fits, what is asked of a model and what stands
    as the literal answer, so a part that does more would be measured wrongly.
    """

    def __init__(self, foresight: Foresight, part: Part) -> None:
        self._foresight, self._part = foresight, part

    def _with(self, declared: str) -> Foresight:
        if not getattr(self._part, declared):
            raise TomevalError(f"strategy part {self._part.shown!r}: set {declared} = True on it")
        return self._foresight

    async def expected(self, kind: str) -> dict[str, Any] | Invalid:
        """Ask the player itself."""
        return await self._with("predicts_first").expected(kind)

    async def truth(self) -> dict[str, Any] | Invalid:
        """Look up what others truly do."""
        return await self._with("is_told").truth()

    async def planted(self, belief: Belief) -> dict[str, Any] | Invalid:
        """State what others do, right as often as a belief is."""
        return await self._with("is_told").planted(belief)


class Advice:
    """No advice; also the contract of all advice parts.

    A part is made anew for every episode, so nothing it remembers outlives one.
    """

    predicts_first: ClassVar[bool] = False
    """Whether it asks the player for a prediction (`Foresight.expected`), which then is the literal
    answer of the step."""

    is_told: ClassVar[bool] = False
    """Whether it looks up the truth (`Foresight.truth`), or has it drawn into a statement."""

    takes_notes: ClassVar[bool] = False
    """Whether replies hold more than the answer (`ask_along`)."""

    calls: ClassVar[int] = 0
    """How often it has something written in a step (`Desk.write`), for plans."""

    failure: Invalid | None = None
    """What prevents the coming step from being played."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy

    async def before_act(self, desk: Desk, foresight: Foresight) -> Told | Invalid:
        """Return what the question for a move says beyond context and memory."""
        return Told()

    def memory(self, desk: Desk) -> str:
        """Return what all questions show of earlier steps."""
        return ""

    def ask_along(self, desk: Desk) -> str:
        """Return what the question for a move asks for besides the answer."""
        return ""

    def after_act(self, text: str) -> None:
        """Read the reply that held the answer."""

    async def after_step(self, desk: Desk) -> None:
        """Do what follows a step; the scene already shows the next one."""


class Social(Advice):
    """Predict first; the question for a move is then asked given that (Akata et al. 2023)."""

    async def before_act(self, desk: Desk, foresight: Foresight) -> Told | Invalid:
        """Predict."""
        expected = await foresight.expected(self.strategy.advice.removeprefix("social_"))
        if isinstance(expected, Invalid):
            return expected
        return Told(given=desk.render(foresight.social, **expected))


class Oracle(Advice):
    """The player is told what others truly do; the literal question is asked without it."""

    async def before_act(self, desk: Desk, foresight: Foresight) -> Told | Invalid:
        """Open the door."""
        truth = await foresight.truth()
        if isinstance(truth, Invalid):
            return truth
        return Told(desk.render(f"advice/{self.strategy.advice}", **truth))


class Planting(Advice):
    """Given a prediction of what others do; the literal question is asked without it."""

    async def before_act(self, desk: Desk, foresight: Foresight) -> Told | Invalid:
        """Have it drawn, and say it."""
        belief = self.strategy.part.belief
        assert belief is not None  # only parts with one are made by this class
        planted = await foresight.planted(belief)
        if isinstance(planted, Invalid):
            return planted
        how = {"percent": belief.accuracy, "rated": belief.rated}
        return Told(desk.render(f"advice/belief_{belief.wording}", **how, **planted))


class Reflexion(Advice):
    """Write a lesson after each step; the last k are shown (Shinn et al. 2023).

    If one cannot be written, the next step is not played.
    """

    def __init__(self, strategy: Strategy) -> None:
        super().__init__(strategy)
        self.lessons: list[str] = []

    def memory(self, desk: Desk) -> str:
        """Show the last lessons."""
        if not self.lessons:
            return ""
        return desk.render("advice/reflexion", memory=self.lessons[-self.strategy.memory :])

    async def after_step(self, desk: Desk) -> None:
        """Write a lesson about the step that is over."""
        scene, over = desk.scene, desk.scene.step - 1
        request = scene.note_request(
            "advice/reflexion_write", scene.context(), self.memory(desk), over
        )
        written = await desk.write("reflect", "lesson", request, over, scene.group("reflect"))
        self.failure = written if isinstance(written, Invalid) else None
        if isinstance(written, str):
            self.lessons.append(" ".join(written.split()))


class PlansInsights(Advice):
    """Write plans and insights with the answer, shown in the next step (Fish et al. 2024).

    The probes of a step must not see its answer, so they are not shown what was written with it.
    Scored answers leave no reply to write in: the notes then get a call of their own, before the
    step.
    """

    _NOTES = re.compile(r"^[^\w\n]*plans[^\w\n]*:.*", re.IGNORECASE | re.MULTILINE | re.DOTALL)

    def __init__(self, strategy: Strategy) -> None:
        super().__init__(strategy)
        self.notes = self._coming = ""

    async def before_act(self, desk: Desk, foresight: Foresight) -> Told | Invalid:
        """Write the notes first if the answer itself is scored, not written."""
        if not self.strategy.scored:
            return Told()
        context = await desk.context.text(desk.line)
        if isinstance(context, Invalid):
            return context
        step = desk.scene.step
        request = desk.scene.note_request(
            "advice/plans_insights_write", join(context, self.memory(desk)), "", step
        )
        written = await desk.write("plan", "plan", request, step)
        if isinstance(written, Invalid):
            return written
        self._keep(written)
        self.notes = self._coming
        return Told()

    def memory(self, desk: Desk) -> str:
        """Show the last notes."""
        return desk.render("advice/plans_insights", memory=self.notes) if self.notes else ""

    def ask_along(self, desk: Desk) -> str:
        """Ask for notes with the answer."""
        return "" if self.strategy.scored else desk.render("advice/plans_insights_ask")

    def after_act(self, text: str) -> None:
        """Keep the notes that stand above the answer."""
        above = above_answer(text)
        if above is not None:
            self._keep(above)

    def _keep(self, text: str) -> None:
        """Keep the text from "Plans:" on without answers; without such text, keep nothing new."""
        notes = self._NOTES.search(without_thinking(text) or "")
        if notes:
            lines = re.split(r"\r\n|\r|\n", notes[0])
            kept = [line for line in lines if MARKER.casefold() not in line.casefold()]
            self._coming = "\n".join(kept).strip()

    async def after_step(self, desk: Desk) -> None:
        """Show the notes from now on."""
        self.notes = self._coming


def make_advice(strategy: Strategy) -> Advice:
    """Return a fresh advice part."""
    if strategy.part.make:
        made: Advice = strategy.part.make(strategy)
        return made
    if strategy.part.predicts_first:
        return Social(strategy)
    if strategy.part.is_told:
        return Planting(strategy) if strategy.part.belief else Oracle(strategy)
    if strategy.reflects:
        return Reflexion(strategy)
    return PlansInsights(strategy) if strategy.part.takes_notes else Advice(strategy)
