"""What a language model in a seat would read: its questions recorded, with stand-ins as answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tomeval.domains.seated.llm_seat import ModelSeat
from tomeval.models.base import Prompt, Reply, Scores
from tomeval.runs.capabilities import Doing
from tomeval.strategies.asking import Asker, Form, Overheard
from tomeval.strategies.readers import MARKER

STAND_INS = {
    "summary": "(the summary that the model wrote)",
    "lesson": "(the lesson that the model wrote)",
    "plan": "Plans: (what the model planned)\nInsights: (what the model had found out)",
}
"""What a preview shows where a model would have written something, by kind of call."""


@dataclass
class Kept:
    """What a preview keeps of the questions, and how it answers them.

    Attributes
    ----------
    prompts : list of (Doing, Prompt)
    said : dict of str to str
        The objects to answer with, by purpose.
    note : str
        See `Describe.prompt`.
    keeps_notes : bool
        Whether decisions are written with notes.
    """

    prompts: list[tuple[Doing, Prompt]] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)
    note: str = ""
    keeps_notes: bool = False

    def taken(self) -> list[tuple[Doing, Prompt]]:
        """Return the prompts, and forget them."""
        prompts, self.prompts = self.prompts, []
        return prompts


class Recorder(Asker):
    """Keeps every prompt and gives readable, legal stand-ins for what a model would say."""

    aside = False  # whether probes are asked on this line

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.kept = Kept()  # forks share it

    async def score(
        self, purpose: str, prompt: Prompt, step: int, labels: tuple[str, ...]
    ) -> Scores:
        """Keep the prompt; the first label is the likeliest."""
        self.tell(Overheard(self.how, purpose, "lm", prompt, step, labels=labels))
        self.kept.prompts.append((Doing(labels, aside=self.aside), prompt))
        return Scores((-0.1, *[-9.0] * (len(labels) - 1)), 1.0, "preview")

    async def _generate(
        self,
        purpose: str,
        kind: str,
        prompt: Prompt,
        step: int,
        attempt: int,
        most: int,
        group: str = "",
        form: Form = Form(),  # noqa: B008 (a tuple)
    ) -> Reply:
        """Keep the prompt."""
        self._calls.append({})
        answers = kind not in STAND_INS
        attempts = self.how.max_attempts if answers and self.how.sampling.temperature > 0 else 1
        beside = purpose.startswith(("probe ", "predict ", "draft"))
        notes = answers and self.kept.keeps_notes and not beside
        if attempt == 1:
            doing = Doing((), kind, most, attempts, notes, self.aside)
            self.kept.prompts.append((doing, prompt))
        note = self.kept.note.format(step=f"{purpose} {step}")
        if not answers:
            return Reply(note or STAND_INS[kind])
        written = (note or STAND_INS["plan"]) if notes else ""
        return Reply(f"{written}\n{MARKER} {self.kept.said.get(purpose, '')}".lstrip())


def recorded(seat: ModelSeat[Any], note: str, keeps_notes: bool) -> Kept:
    """Return what is kept of the questions of a seat that asks by a `Recorder`."""
    assert isinstance(seat.line, Recorder)
    assert isinstance(seat.probe_line, Recorder)
    seat.probe_line.aside = True
    kept = seat.line.kept
    kept.note, kept.keeps_notes = note, keeps_notes
    return kept
