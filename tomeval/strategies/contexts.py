"""Context: what a player reads of the rules and the past."""

from __future__ import annotations

from tomeval.core.outcomes import Invalid
from tomeval.strategies.asking import Asker
from tomeval.strategies.questions import Scene, user_prompt


class Context:
    """Rules and past as the domain tells them; what of them is shown is up to the domain."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    async def text(self, line: Asker) -> str | Invalid:
        """Return what stands at the head of a question of the coming step."""
        return self.scene.context()


class SummaryContext(Context):
    """S2A: the player's own summary of the past, written once per step.

    All questions of a step read the same summary; it is written before the first is asked. Where it
    could not be written, none is asked.
    """

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._written: tuple[int, str | Invalid] = (0, "")

    async def text(self, line: Asker) -> str | Invalid:
        """Return the summary, asking for it first if this step has none yet."""
        scene = self.scene
        request = scene.summary_request()
        if not request:
            return scene.context()
        if self._written[0] != scene.step:
            prompt = user_prompt(scene.earlier, request)
            group = scene.group("summarise")
            written = await line.write("summarise", "s2a", prompt, scene.step, group)
            if isinstance(written, str):
                written = scene.summarised(written)
            self._written = (scene.step, written)
        return self._written[1]
