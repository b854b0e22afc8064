"""What a language model is told of a matrix game: rules, past rounds and questions in words."""

from __future__ import annotations

from typing import Any

from tomeval.domains.matrix.examples import worked_examples
from tomeval.domains.matrix.observation import Joint
from tomeval.domains.matrix.wording import Words
from tomeval.models.base import Message
from tomeval.strategies.compose import Strategy
from tomeval.strategies.questions import Phrased, Question, Style
from tomeval.strategies.readers import MARKER
from tomeval.strategies.templates import Prompts


class MatrixScene:
    """Rules and history; the history grows by one line per round and is never rendered again.

    `words` decides whether payoffs and rewards are shown; `earlier` stands before every prompt;
    `examples` is the kind of `worked_examples`.
    """

    def __init__(
        self,
        prompts: Prompts,
        words: Words,
        strategy: Strategy,
        earlier: tuple[Message, ...] = (),
        examples: str = "reciprocal",
    ) -> None:
        self.prompts, self.words, self.strategy = prompts, words, strategy
        self.earlier = earlier
        self._examples_kind = examples
        self._examples: list[dict[str, Any]] = []
        self.step = 1
        self._text = prompts.render("context/rules", payoffs=words.payoff_lines(), **words.common)

    def observe(self, joint: Joint) -> None:
        """Add a round."""
        if self.strategy.shows_history:
            values = self.words.round_values(self.step, joint)
            line = self.prompts.render("context/history", **values)
            self._text += ("\n\n" if self.step == 1 else "\n") + line
        self.step += 1

    def context(self) -> str:
        """Return rules and history."""
        return self._text

    def summary_request(self, use: str) -> str:
        """Return the request to summarise rules and history, to ``act`` or to ``predict``."""
        return self.note_request(f"context/s2a_{use}", self._text, "", self.step)

    def summarised(self, summary: str) -> str:
        """Return the summary, which stands for the rules too."""
        values = {**self.words.common, "round": self.step}
        return self.prompts.render("context/summary", summary=summary, **values)

    def note_request(self, template: str, context: str, memory: str, step: int) -> str:
        """Return a request whose template shows context and memory itself."""
        values = {**self.words.common, "context": context, "memory": memory, "round": step}
        return self.prompts.render(template, **values)

    def group(self, purpose: str) -> str:
        """Tell requests that show rules and history from questions that show a summary."""
        return " raw" if self.strategy.summarises else ""

    def phrase(self, question: Question[Any], style: Style, extra: str) -> Phrased:
        """Render a question from the template of its kind of answer.

        Scored predictions come in two forms: with the own action of the round before the label, or
        without.
        """
        name, values = question.template, question.values | self.words.common
        values["round"] = question.step
        if style.scored:
            if name == "predict":
                name += "_agent_first" if "own_action" in values else "_partner_first"
            name = f"answer/lm_{name}"
            asked = (self.prompts.render(name, **values),)
            prefill = self.prompts.prefill(name, **values)
            return Phrased(asked, prefill, self.prompts.instead(name, **values))
        values |= {"marker": MARKER, "extra": extra}
        text = self.prompts.render(f"answer/{style.kind}_{name}", **values)
        if not style.shots:
            return Phrased((text,))
        shown = "act" if question.form == "functional" else "predict"
        self._examples = self._examples or worked_examples(self.words, self._examples_kind)
        values["examples"] = self._examples
        return Phrased((self.prompts.render(f"answer/examples_{shown}", **values), text))
