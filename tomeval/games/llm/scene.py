"""The text that a language model gets of a game, and from its replies to actions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

from tomeval.core.outcomes import BACKEND_ERROR, EMPTY, REFUSAL, Invalid, Said
from tomeval.core.text import without_thinking
from tomeval.games.game import Action, ArenaGame, Ask, Broken, Form, Probe
from tomeval.games.seats import Answer
from tomeval.models.base import Message
from tomeval.strategies.labels import Labels
from tomeval.strategies.player import Asked
from tomeval.strategies.questions import Phrased, Question, Style, join
from tomeval.strategies.readers import MARKER, Read, Reader
from tomeval.strategies.shapes import JsonShape
from tomeval.strategies.templates import Prompts


class SeatScene:
    """The table as one seat knows it; its steps are the seat's own decisions.

    In a `conversation`, questions go on from the seat's own replies (`earlier`); else each tells
    everything. `opening` is what either begins with.

    Every event is put into words once, so that work per step stays the same and every prompt
    begins as the one before did.
    """

    # Whether what advice gave stands before a question, and not inside it.
    given_ahead: ClassVar[bool] = True

    def __init__(
        self,
        prompts: Prompts,
        game: ArenaGame[Any],
        seat: int,
        conversation: bool = False,
        opening: tuple[Message, ...] = (),
    ) -> None:
        self.prompts, self.game, self.seat = prompts, game, seat
        self.conversation, self.earlier, self._opening = conversation, opening, opening
        self._coming: tuple[Message, ...] = ()
        self._told = 0  # how much of the past the conversation tells
        self.lines: list[str] = []  # events in words
        self.rules_text = self._events = ""
        self._decided = 0

    @property
    def step(self) -> int:
        """The seat's coming decision, from 1."""
        return self._decided + 1

    @property
    def seen(self) -> int:
        """How many events the seat knows of."""
        return len(self.lines)

    @property
    def past(self) -> str:
        """All that the seat has seen, for a person."""
        return "\n".join(f"  {line}" for line in self.lines) or "  nothing has happened yet"

    @property
    def began(self) -> bool:
        """Whether the conversation has a reply of the seat's own, and so the rules."""
        return self.earlier != self._opening

    def see(self, view: Any) -> None:
        """Take in new events; the rules are those at the seat's first look."""
        self.rules_text = self.rules_text or self.render("rules", view=view)
        new = [self.render("event", view=view, event=event) for event in view.events[self.seen :]]
        self.lines += new
        self._events = "\n".join((self._events, *new)) if self._events else "\n".join(new)

    def render(self, template: str, **values: Any) -> str:
        """Render one of the game's own templates."""
        prompts = self.prompts.beside(self.game.templates)
        return prompts.render(f"{self.game.name}/{template}", game=self.game, **values)

    def worded(self, view: Any, ask: Ask, probe: Probe) -> str:
        """Return a probe in words, without the form of its answer."""
        return self.render(f"probe/{probe.name}", view=view, ask=ask, probe=probe)

    def keep(self, asked: Asked[Any]) -> None:
        """Take a move into the conversation once its step is over, if it was legal."""
        self._coming = ()
        if self.conversation and asked.prompt is not None and isinstance(asked.answer, Said):
            reply = Message("assistant", without_thinking(asked.text) or "")
            self._coming = (asked.prompt.messages[-1], reply)

    def advance(self, told: int) -> None:
        """Begin the seat's next step; its last decision came after `told` events."""
        if self._coming:
            self.earlier += self._coming
            self._coming, self._told = (), told
        self._decided += 1

    def context(self) -> str:
        """Return rules and events, in a conversation only what it does not tell yet."""
        if not self.conversation or not self.began:
            return join(self.rules_text, self._history())
        new = "\n".join(self.lines[self._told :])
        return self.prompts.render("context/news", events=new) if new else ""

    def _history(self) -> str:
        return self.prompts.render("context/history", events=self._events)

    def summary_request(self, use: str) -> str:
        """Return the request to summarise what was seen; empty before the first event."""
        if not self.seen:
            return ""
        values = {"rules": self.rules_text, "history": self._history(), **self._about()}
        return self.prompts.render(f"context/s2a_{use}", **values)

    def _about(self) -> dict[str, Any]:
        """Return who is asked, for templates that are not of one game."""
        return {"player": self.game.seat_name(self.seat)}

    def summarised(self, summary: str) -> str:
        """Return the rules, and the summary in place of the events."""
        text = self.prompts.render("context/summary", summary=summary, **self._about())
        return join(self.rules_text, text)

    def note_request(self, template: str, context: str, memory: str, step: int) -> str:
        """Return a request below context and memory."""
        about = {**self._about(), "number": step}
        return join(context, memory, self.prompts.render(template, **about))

    def group(self, purpose: str) -> str:
        """Return a mark for every kind of request for a text."""
        return f" {purpose}"

    def phrase(self, question: Question[Any], style: Style, extra: str) -> Phrased:
        """Render what advice gave, the question, then the form of its answer."""
        values = dict(question.values)
        given, form = values.pop("given", ""), values.pop("form")
        asked = self.render(question.template, given=given, **values)
        name, how = f"answer/{style.kind}", self.written(form, extra)
        answer, examples = self.prompts.render(name, **how), ""
        # Only moves have worked examples, in a conversation once.
        if style.shots and question.form == "functional" and not self.began:
            examples = self.examples(question.template.partition("/")[2], values["view"])
        parts = (examples, given if self.given_ahead else "", asked, extra, answer)
        if not style.scored:
            return Phrased(parts)
        return Phrased(parts, self.prompts.prefill(name, **how), self.prompts.instead(name, **how))

    def examples(self, kind: str, view: Any) -> str:
        """Return worked examples of a kind of decision."""
        return self.render(f"examples/{kind}", view=view, marker=MARKER)

    def written(self, form: Form, extra: str) -> dict[str, Any]:
        """Return how an answer is to be written, for the templates that say so."""
        how: dict[str, Any] = {"kind": "text" if form.kind is str else "number"}
        how |= {"size": form.size, "labels": form.labels, "marker": MARKER, "extra": extra}
        return how | {"form": written_form(form), "dots": self.prompts.render("answer/dots", **how)}


def written_form(form: Form) -> str:
    """Return the object that an answer is written as, with dots in its place.

    Examples
    --------
    >>> written_form(Form("clue", str)), written_form(Form("words", str, 0))
    ('{"clue": ["..."]}', '{"words": ["...", ...]}')
    """
    return JsonShape(form.key, form.kind, form.size, tuple).form


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

    def __copy__(self) -> Judged:
        """Return one of the same question that has refused nothing yet."""
        return Judged(self.form, self._judge, self._scored)

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
