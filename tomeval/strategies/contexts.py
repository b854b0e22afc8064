"""Context: what a player reads of the rules and the past."""

from __future__ import annotations

from tomeval.core.outcomes import Invalid
from tomeval.strategies.asking import Asker
from tomeval.strategies.questions import Form, Scene, user_prompt


class Context:
    """Rules and past as the domain tells them, or the player's own summary of the past (S2A).

    A summary is written once per step for moves and once for predictions, before the first question
    of each kind, because what matters to them differs. If it cannot be written, no question of its
    kind is asked.
    """

    def __init__(self, scene: Scene, summarises: bool) -> None:
        self.scene, self.summarises = scene, summarises
        self._written: dict[str, tuple[int, str | Invalid]] = {}

    async def text(self, line: Asker, form: Form = "functional") -> str | Invalid:
        """Return the head of a question of the coming step; a summary is written if it has none."""
        scene = self.scene
        if not self.summarises:
            return scene.context()
        use = "act" if form == "functional" else "predict"
        step, text = self._written.get(use, (0, ""))
        if step != scene.step:
            text = await self._summary(line, use)
            self._written[use] = (scene.step, text)
        return text

    async def _summary(self, line: Asker, use: str) -> str | Invalid:
        scene = self.scene
        request = scene.summary_request(use)
        if not request:
            return scene.context()
        prompt, group = user_prompt(scene.earlier, request), scene.group("summarise")
        purpose = "summarise" if use == "act" else f"summarise for {use}"
        written = await line.write(purpose, "summary", prompt, scene.step, group)
        return written if isinstance(written, Invalid) else scene.summarised(written)
