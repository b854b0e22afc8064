"""The text that a language model gets in the arena: rules, past events, questions."""

from __future__ import annotations

from typing import Any

from tomeval.games.game import ArenaGame, Ask, Form, Probe, View
from tomeval.games.seated.llm_seat import SeatScene
from tomeval.models.base import Message
from tomeval.strategies.questions import Phrased, Question, Style, join
from tomeval.strategies.readers import MARKER
from tomeval.strategies.shapes import JsonShape
from tomeval.strategies.templates import Prompts


class ArenaScene(SeatScene):
    """The table as one seat knows it; its steps are the seat's own decisions.

    Every event is put into words once, so that work per step stays the same and every prompt
    begins as the one before did.
    """

    def __init__(
        self,
        prompts: Prompts,
        game: ArenaGame[Any],
        seat: int,
        conversation: bool = False,
        opening: tuple[Message, ...] = (),
    ) -> None:
        super().__init__(prompts, conversation, opening)
        self.game, self.seat = game, seat
        self._lines: list[str] = []  # events in words
        self._rules = self._events = ""
        self._decided = 0

    @property
    def step(self) -> int:
        """The seat's coming decision, from 1."""
        return self._decided + 1

    def see(self, view: View[Any]) -> None:
        """Take in new events; the rules are those at the seat's first look."""
        values = {"game": self.game, "view": view}
        self._rules = self._rules or self._render("rules", **values)
        seen = len(self._lines)
        new = [self._render("event", **values, event=event) for event in view.events[seen:]]
        self._lines += new
        self._events = "\n".join((self._events, *new)) if self._events else "\n".join(new)

    def _render(self, template: str, **values: Any) -> str:
        """Render one of the game's own templates."""
        prompts = self.prompts.beside(self.game.templates)
        return prompts.render(f"{self.game.name}/{template}", **values)

    def worded(self, view: View[Any], ask: Ask, probe: Probe) -> str:
        """Return a probe in words, without the form of its answer."""
        return self._render(f"probe/{probe.name}", game=self.game, view=view, ask=ask, probe=probe)

    def advance(self, told: int) -> None:
        """Begin the seat's next step; its last decision came after `told` events."""
        self.over(told)
        self._decided += 1

    @property
    def seen(self) -> int:
        """How many events the seat knows of."""
        return len(self._lines)

    def context(self) -> str:
        """Return rules and events, in a conversation only what it does not tell yet."""
        if not self.conversation or not self.began:
            return join(self._rules, self._history())
        new = "\n".join(self._lines[self._told :])
        return self.prompts.render("context/news", events=new) if new else ""

    def _history(self) -> str:
        return self.prompts.render("context/history", events=self._events)

    def summary_request(self, use: str) -> str:
        """Return the request to summarise what was seen; empty before the first event."""
        if not self._lines:
            return ""
        values = {"rules": self._rules, "history": self._history(), "player": self._player}
        return self.prompts.render(f"context/s2a_{use}", **values)

    @property
    def _player(self) -> str:
        return self.game.seat_name(self.seat)

    def summarised(self, summary: str) -> str:
        """Return the rules, and the summary in place of the events."""
        return join(self._rules, self.prompts.render("context/summary", summary=summary))

    def note_request(self, template: str, context: str, memory: str, step: int) -> str:
        """Return a request below context and memory."""
        return join(context, memory, self.prompts.render(template, player=self._player))

    def phrase(self, question: Question[Any], style: Style, extra: str) -> Phrased:
        """Render what advice gave, the question, then the form of its answer."""
        values = {"game": self.game, **question.values}
        given, form = values.pop("given", ""), values.pop("form")
        asked = self._render(question.template, **values)
        name, examples = f"answer/{style.kind}", ""
        how: dict[str, Any] = {"kind": "text" if form.kind is str else "number"}
        how |= {"size": form.size, "labels": form.labels, "marker": MARKER, "extra": extra}
        how |= {"form": written_form(form), "dots": self.prompts.render("answer/dots", **how)}
        answer = self.prompts.render(name, **how)
        if self.shows_examples(question, style):
            kind = question.template.partition("/")[2]
            shown = {"view": values["view"], "marker": MARKER}
            examples = self._render(f"examples/{kind}", game=self.game, **shown)
        parts = (examples, given, asked, extra, answer)
        if not style.scored:
            return Phrased(parts)
        return Phrased(parts, self.prompts.prefill(name, **how), self.prompts.instead(name, **how))


def written_form(form: Form) -> str:
    """Return the object that an answer is written as, with dots in its place.

    Examples
    --------
    >>> written_form(Form("clue", str)), written_form(Form("words", str, 0))
    ('{"clue": ["..."]}', '{"words": ["...", ...]}')
    """
    return JsonShape(form.key, form.kind, form.size, tuple).form
