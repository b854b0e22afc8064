"""What a language model is told of a matrix game: rules, past rounds and questions in words."""

from __future__ import annotations

from typing import Any

from tomeval.domains.matrix.observation import Joint
from tomeval.domains.matrix.responses import best_responses
from tomeval.domains.matrix.wording import Words
from tomeval.models.base import Message
from tomeval.strategies.compose import Strategy
from tomeval.strategies.questions import Phrased, Question, Style
from tomeval.strategies.readers import MARKER
from tomeval.strategies.templates import Prompts


class MatrixScene:
    """Rules and history; the history grows by one line per round and is never rendered again.

    `words` decides whether payoffs are shown, in the rules and in the history.
    """

    earlier: tuple[Message, ...] = ()

    def __init__(self, prompts: Prompts, words: Words, strategy: Strategy) -> None:
        self.prompts, self.words, self.strategy = prompts, words, strategy
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

    def summary_request(self) -> str:
        """Return the request to summarise rules and history."""
        return self.note_request("context/s2a", self._text, "", self.step)

    def summarised(self, summary: str) -> str:
        """Return the summary, which stands for the rules too."""
        values = {**self.words.common, "round": self.step}
        return self.prompts.render("context/summary", summary=summary, **values)

    def note_request(self, template: str, context: str, memory: str, step: int) -> str:
        """Return a request whose template shows context and memory itself."""
        return self.prompts.render(template, context=context, memory=memory, round=step)

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
            prefill = self.prompts.prefill(name, **values)
            return Phrased((self.prompts.render(name, **values),), prefill)
        values |= {"marker": MARKER, "extra": extra}
        text = self.prompts.render(f"answer/{style.kind}_{name}", **values)
        if not style.shots:
            return Phrased((text,))
        shown = "act" if question.form == "functional" else "predict"
        values["examples"] = worked_examples(self.words)
        return Phrased((self.prompts.render(f"answer/examples_{shown}", **values), text))


def worked_examples(words: Words) -> list[dict[str, Any]]:
    """Make three examples of ideal reasoning for the game at hand.

    Two partners that repeat an action and one that alternates; labels, payoffs and best responses
    are the game's own.
    """
    game, labels = words.game, words.labels
    last = game.m - 1
    result = []
    for seen, following in (([0, 0, 0], 0), ([last, last, last], last), ([0, last, 0], last)):
        worth = [
            {"own": labels.own[a], "amount": words.amount(game.own[a, following])}
            for a in words.order.own
        ]
        result.append(
            {
                "seen": [labels.partner[b] for b in seen],
                "next": labels.partner[following],
                "worth": worth,
                "best": labels.own[int(best_responses(game)[:, following].argmax())],
            }
        )
    return result
