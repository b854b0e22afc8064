"""Context: what a player reads of the rules and the past."""

from __future__ import annotations

from tomeval.core.outcomes import Invalid
from tomeval.strategies.asking import Asker
from tomeval.strategies.questions import Scene, user_prompt


class Context:
    """Rules and past as the domain tells them, or the player's own summary of the past (S2A).

    The summary is written once per step, before its first question; all questions of the step read
    the same one. If it cannot be written, none of them is asked.
    """

    def __init__(self, scene: Scene, summarises: bool) -> None:
        self.scene, self.summarises = scene, summarises
        self._written: tuple[int, str | Invalid] = (0, "")

    async def text(self, line: Asker) -> str | Invalid:
        """Return the head of a question of the coming step; a summary is written if it has none."""
        scene = self.scene
        if not self.summarises:
            return scene.context()
        if self._written[0] != scene.step:
            self._written = (scene.step, await self._summary(line))
        return self._written[1]

    async def _summary(self, line: Asker) -> str | Invalid:
        scene = self.scene
        request = scene.summary_request()
        if not request:
            return scene.context()
        prompt, group = user_prompt(scene.earlier, request), scene.group("summarise")
        written = await line.write("summarise", "s2a", prompt, scene.step, group)
        return written if isinstance(written, Invalid) else scene.summarised(written)
