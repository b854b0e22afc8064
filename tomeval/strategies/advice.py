"""Advice: hints that the player gets, predictions it makes first, and notes it wrote before."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from tomeval.core.outcomes import Invalid
from tomeval.core.text import without_thinking
from tomeval.strategies.questions import Foresight, Told, join
from tomeval.strategies.readers import MARKER, above_answer

if TYPE_CHECKING:
    from tomeval.strategies.compose import Strategy
    from tomeval.strategies.player import LLMPlayer


class Advice:
    """No advice; also the contract of all advice parts.

    A part is made anew for every episode, so nothing it remembers outlives one.
    """

    predicts_first: ClassVar[bool] = False
    """Whether it asks the player for a prediction (`Foresight.expected`), which then is the literal
    answer of the step."""

    is_told: ClassVar[bool] = False
    """Whether it looks up the truth (`Foresight.truth`), or has it drawn into a statement."""

    writes: ClassVar[bool] = False
    """Whether it has texts written (`LLMPlayer.write`), or asks for more than the answer."""

    failure: Invalid | None = None
    """What prevents the coming step from being played."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy

    async def before_act(self, player: LLMPlayer, foresight: Foresight) -> Told | Invalid:
        """Return what the question for a move says beyond context and memory."""
        return Told()

    def memory(self, player: LLMPlayer) -> str:
        """Return what all questions show of earlier steps."""
        return ""

    def ask_along(self, player: LLMPlayer) -> str:
        """Return what the question for a move asks for besides the answer."""
        return ""

    def after_act(self, text: str) -> None:
        """Read the reply that held the answer."""

    async def after_step(self, player: LLMPlayer) -> None:
        """Do what follows a step; the scene already shows the next one."""


class Social(Advice):
    """Predict first; the question for a move is then asked given that (Akata et al. 2023)."""

    predicts_first = True

    async def before_act(self, player: LLMPlayer, foresight: Foresight) -> Told | Invalid:
        """Predict."""
        expected = await foresight.expected(self.strategy.advice.removeprefix("social_"))
        if isinstance(expected, Invalid):
            return expected
        return Told(given=player.render(foresight.social, **expected))


class Oracle(Advice):
    """The player is told what others truly do; the literal question is asked without it."""

    is_told = True

    async def before_act(self, player: LLMPlayer, foresight: Foresight) -> Told | Invalid:
        """Open the door."""
        truth = await foresight.truth()
        if isinstance(truth, Invalid):
            return truth
        return Told(player.render(f"advice/{self.strategy.advice}", **truth))


class Planting(Advice):
    """Given a prediction of what others do; the literal question is asked without it."""

    is_told = True

    async def before_act(self, player: LLMPlayer, foresight: Foresight) -> Told | Invalid:
        """Have it drawn, and say it."""
        belief = self.strategy.part.belief
        assert belief is not None  # only parts with one are made by this class
        planted = await foresight.planted(belief)
        if isinstance(planted, Invalid):
            return planted
        how = {"percent": belief.accuracy, "rated": belief.rated}
        return Told(player.render(f"advice/belief_{belief.wording}", **how, **planted))


class Reflexion(Advice):
    """Write a lesson after each step; the last k are shown (Shinn et al. 2023).

    If one cannot be written, the next step is not played.
    """

    writes = True

    def __init__(self, strategy: Strategy) -> None:
        super().__init__(strategy)
        self.lessons: list[str] = []

    def memory(self, player: LLMPlayer) -> str:
        """Show the last lessons."""
        if not self.lessons:
            return ""
        return player.render("advice/reflexion", memory=self.lessons[-self.strategy.part.memory :])

    async def after_step(self, player: LLMPlayer) -> None:
        """Write a lesson about the step that is over."""
        scene, over = player.scene, player.scene.step - 1
        request = scene.note_request(
            "advice/reflexion_write", scene.context(), self.memory(player), over
        )
        written = await player.write("reflect", "lesson", request, over, scene.group("reflect"))
        self.failure = written if isinstance(written, Invalid) else None
        if isinstance(written, str):
            self.lessons.append(" ".join(written.split()))


class PlansInsights(Advice):
    """Write plans and insights with the answer, shown in the next step (Fish et al. 2024).

    The probes of a step must not see its answer, so they are not shown what was written with it.
    Scored answers leave no reply to write in: the notes then get a call of their own, before the
    step.
    """

    writes = True

    _NOTES = re.compile(r"^[^\w\n]*plans[^\w\n]*:.*", re.IGNORECASE | re.MULTILINE | re.DOTALL)

    def __init__(self, strategy: Strategy) -> None:
        super().__init__(strategy)
        self.notes = self._coming = ""

    async def before_act(self, player: LLMPlayer, foresight: Foresight) -> Told | Invalid:
        """Write the notes first if the answer itself is scored, not written."""
        if not self.strategy.scored:
            return Told()
        context = await player.context.text(player.line)
        if isinstance(context, Invalid):
            return context
        step = player.scene.step
        request = player.scene.note_request(
            "advice/plans_insights_write", join(context, self.memory(player)), "", step
        )
        written = await player.write("plan", "plan", request, step)
        if isinstance(written, Invalid):
            return written
        self._keep(written)
        self.notes = self._coming
        return Told()

    def memory(self, player: LLMPlayer) -> str:
        """Show the last notes."""
        return player.render("advice/plans_insights", memory=self.notes) if self.notes else ""

    def ask_along(self, player: LLMPlayer) -> str:
        """Ask for notes with the answer."""
        return "" if self.strategy.scored else player.render("advice/plans_insights_ask")

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

    async def after_step(self, player: LLMPlayer) -> None:
        """Show the notes from now on."""
        self.notes = self._coming
