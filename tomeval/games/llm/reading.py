"""From replies to actions: the questions of a seat, and the faults of refused attempts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tomeval.core.outcomes import BACKEND_ERROR, EMPTY, REFUSAL, Invalid, Said
from tomeval.games.game import Action, Broken, Form
from tomeval.games.seats import Answer
from tomeval.strategies.labels import Labels
from tomeval.strategies.player import Asked
from tomeval.strategies.readers import MARKER, Read, Reader
from tomeval.strategies.shapes import JsonShape

ONE_LABEL: Asked[Any] = Asked(Said(0, (1.0,)))
"""What is said where one label is all that may be said: no model is asked."""

Judge = Callable[[Sequence[Any]], "Action | Broken"]
"""Says what the items of a form stand for, or which rule they break."""

ERROR_OF = {
    "unparsable": "format",
    "unlisted": "format",
    "truncated": "truncated",
    EMPTY: EMPTY,
    REFUSAL: REFUSAL,
    BACKEND_ERROR: "backend",
}
"""The type of error of a reply without a readable answer, by its outcome; what can be read but is
illegal has the type that the game gives it."""

_WHY = {
    "truncated": "the reply was cut off",
    EMPTY: "the reply was empty",
    REFUSAL: "the player declined to answer",
    "unlisted": "no label is among the likeliest answers",
}
_DOTS = ("...", "…")


class Meant(NamedTuple):
    """What a reply says: the items as written, and the action that they stand for."""

    items: list[Any]
    action: Action


class Judged:
    """Reads what a form asks for and lets the game judge it, for one question.

    `scored` says that labels are scored: there is no text to read. `tries` are the attempts that
    were refused so far, oldest first. `forced` tells whether there is nothing to score: one label
    is all that may be said.
    """

    def __init__(self, form: Form, judge: Judge, scored: bool = False) -> None:
        self.form, self.tries = form, list[Broken]()
        self.reader: Reader[Any] = Labels(form.labels) if scored else self
        self.forced = scored and len(form.labels) == 1
        self._judge, self._scored, self._error = judge, scored, ""
        self._shape = JsonShape(form.key, form.kind, form.size, self._check)
        self.schema = self._shape.schema

    @property
    def choices(self) -> tuple[str, ...]:
        """The marked line of everything that may be said; empty if that is too much to list."""
        items = (self.form.items(label) for label in self.form.labels)
        said = (json.dumps({self.form.key: some}, ensure_ascii=False) for some in items)
        return tuple(f"{MARKER} {line}" for line in said)

    def read(self, text: str, finish: str, strict: bool = False) -> Read[Meant]:
        """Read a reply; what is wrong with it is kept."""
        read = self._shape.read(text, finish, strict)
        if read.value is None:
            self._refuse(read.outcome, read.fault)
        return read

    def meant(self, said: Said[Any] | Invalid) -> Meant | Invalid:
        """Return what an answer stands for; see to it that a refused one is among the tries."""
        if isinstance(said, Invalid):
            last = self.tries[-1].error if self.tries else ""
            if not last or (said.reason == BACKEND_ERROR and last != ERROR_OF[BACKEND_ERROR]):
                self._refuse(said.reason, said.raw)
            return said
        if not self._scored:
            meant: Meant = said.value
            return meant
        label = self.form.labels[said.value]
        checked = self._check(self.form.items(label))
        if isinstance(checked, Meant):
            return checked
        self._refuse("illegal", checked)
        return Invalid("illegal", label)

    def answer(self, asked: Asked[Any], lost: bool = False) -> Answer:
        """Return an answer for the table; `lost` counts attempts at what was to precede it."""
        said = asked.answer
        meant = self.meant(said)
        tries = tuple(self.tries)
        if isinstance(meant, Invalid):
            attempts = said.attempts if lost or asked.prompt is not None else 0
            return Answer(None, tries, attempts, meant.reason, meant.raw)
        assert isinstance(said, Said)
        return Answer(
            *(meant.action, tries, said.attempts),
            raw=asked.text,
            probs=said.probs,
            details=said.details,
        )

    def _refuse(self, outcome: str, why: str) -> None:
        error = (self._error if outcome == "illegal" else "") or ERROR_OF.get(outcome, "format")
        self.tries.append(Broken(error, _WHY.get(outcome) or why or outcome))

    def _check(self, items: list[Any]) -> Meant | str:
        """Return what items stand for, or what is wrong; the dots of the form are no answer."""
        if any(item in _DOTS for item in items):
            judged = Broken("format", "the answer is only the dots of the form")
        else:
            judged = self._judge(items)
        if not isinstance(judged, Broken):
            return Meant(items, judged)
        self._error = judged.error
        return judged.text
