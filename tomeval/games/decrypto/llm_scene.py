"""The text that a language model gets of a game of Decrypto: rules, past turns, questions."""

from __future__ import annotations

from typing import Any

from tomeval.games.decrypto.game import InterceptorView, Keywords, Rules, Turn, View, hint_history
from tomeval.games.decrypto.seats import NAMES
from tomeval.games.seated.llm_seat import SeatScene
from tomeval.models.base import Message
from tomeval.strategies.questions import Phrased, Question, Style, join
from tomeval.strategies.readers import MARKER
from tomeval.strategies.shapes import JsonShape
from tomeval.strategies.templates import Prompts


class TableScene(SeatScene):
    """The table as one seat knows it."""

    def __init__(
        self, prompts: Prompts, role: str, conversation: bool, opening: tuple[Message, ...] = ()
    ) -> None:
        super().__init__(prompts, conversation, opening)
        self.role = role
        self._turns: tuple[Turn, ...] = ()
        self._rules = Rules()
        self._keywords: Keywords | None = None
        self._rendered: dict[str, tuple[dict[str, Any], str]] = {}

    @property
    def step(self) -> int:
        """The coming turn, from 1."""
        return len(self._turns) + 1

    def see(self, view: View) -> None:
        """Note the rules, the past and, if the seat knows them, the keywords."""
        self._rules, self._turns = view.rules, view.turns
        if not isinstance(view, InterceptorView):
            self._keywords = view.keywords

    def observe(self, turn: Turn) -> None:
        """Add a turn."""
        self.over(len(self._turns))
        self._turns = (*self._turns, turn)

    def context(self) -> str:
        """Return rules and past turns, in a conversation only what it does not tell yet."""
        if not self.conversation:
            return join(self._rules_text(), self._history_text())
        return join("" if self.began else self._rules_text(), self._revealed_text())

    def _rules_text(self) -> str:
        return self._once("context/rules", rules=self._rules, keywords=self._keywords)

    def _history_text(self) -> str:
        return self._once("context/history", turns=self._turns, history=hint_history(self._turns))

    def _revealed_text(self) -> str:
        """Return how the turns ended that the conversation does not tell yet."""
        turns, history = self._turns[self._told :], hint_history(self._turns)
        values = {"first": self._told + 1, "turns": turns, "history": history}
        return self.prompts.render("context/revealed", **values) if turns else ""

    def _once(self, name: str, **values: Any) -> str:
        """Render a template anew only if its values have changed."""
        if name not in self._rendered or self._rendered[name][0] != values:
            text = self.prompts.render(name, player=NAMES[self.role], **values)
            self._rendered[name] = (values, text)
        return self._rendered[name][1]

    def summary_request(self, use: str) -> str:
        """Return the request to summarise the past turns; empty before the first is over."""
        if not self._turns:
            return ""
        return self.prompts.render(
            f"context/s2a_{use}",
            rules=self._rules_text(),
            history=self._history_text(),
            player=NAMES[self.role],
            number=self.step,
            knows=self._keywords is not None,
        )

    def summarised(self, summary: str) -> str:
        """Return the rules, and the summary in place of the past turns."""
        text = self.prompts.render("context/summary", summary=summary, number=self.step)
        return join(self._rules_text(), text)

    def note_request(self, template: str, context: str, memory: str, step: int) -> str:
        """Return a request below context and memory."""
        return join(context, memory, self.prompts.render(template, number=step))

    def phrase(self, question: Question[Any], style: Style, extra: str) -> Phrased:
        """Render a question, then the form of its answer."""
        shape = question.reader
        if not isinstance(shape, JsonShape):
            raise TypeError("answers are objects in JSON")
        values = {"number": question.step, "rules": self._rules, **question.values}
        asked = self.prompts.render(question.template, **values)
        form = {"marker": MARKER, "form": shape.form, "kind": shape.key, "extra": extra}
        answer = self.prompts.render(f"answer/{style.kind}", **form)
        examples = ""
        if self.shows_examples(question, style):
            examples = self.prompts.render(f"answer/examples_{self.role}", marker=MARKER)
        return Phrased((examples, asked, extra, answer))
