"""Context: what the subject is shown of the rules and the past."""

from __future__ import annotations

from tomeval.core.outcomes import Invalid
from tomeval.domains.matrix.observation import Joint
from tomeval.domains.matrix.wording import Words
from tomeval.models.base import Message, Prompt
from tomeval.strategies.asking import Asker
from tomeval.strategies.templates import Prompts


class Context:
    """Rules and history as text; the history grows by one line per round and is never re-rendered.

    Parameters
    ----------
    prompts : Prompts
    words : Words
        Whether payoffs are shown, in the rules and in the history, is up to it.
    show_history : bool
    """

    raw_group = ""
    """Group of requests whose prompts begin with `raw` rather than with `text`."""

    def __init__(self, prompts: Prompts, words: Words, show_history: bool) -> None:
        self.prompts, self.words, self.show_history = prompts, words, show_history
        self.raw = prompts.render("context/rules", payoffs=words.payoff_lines(), **words.common)
        self.rounds = 0

    def observe(self, joint: Joint) -> None:
        """Add a round."""
        self.rounds += 1
        if self.show_history:
            line = self.prompts.render(
                "context/history", **self.words.round_values(self.rounds, joint)
            )
            self.raw += ("\n\n" if self.rounds == 1 else "\n") + line

    async def text(self, asker: Asker) -> str | Invalid:
        """Return what stands at the head of a question of the coming round."""
        return self.raw


class SummaryContext(Context):
    """S2A: the subject's own summary of rules and history, written once per round.

    Act and predict of a round read the same summary; it is written before either is asked. Where it
    could not be written, neither is asked.
    """

    raw_group = " raw"

    def __init__(self, prompts: Prompts, words: Words) -> None:
        super().__init__(prompts, words, show_history=True)
        self._written: tuple[int, str | Invalid] = (-1, "")

    async def text(self, asker: Asker) -> str | Invalid:
        """Return the summary, asking for it first if this round has none yet."""
        if self._written[0] != self.rounds:
            step = self.rounds + 1
            request = self.prompts.render("context/s2a", context=self.raw, round=step)
            written = await asker.write(
                "summarise", "s2a", user_prompt(request), step, self.raw_group
            )
            if isinstance(written, str):
                written = self.prompts.render(
                    "context/summary", summary=written, round=step, **self.words.common
                )
            self._written = (self.rounds, written)
        return self._written[1]


def make_context(kind: str, prompts: Prompts, words: Words) -> Context:
    """Return the context of a strategy."""
    if kind == "s2a":
        return SummaryContext(prompts, words)
    return Context(prompts, words, show_history=kind != "-history")


def user_prompt(*parts: str, prefill: str = "") -> Prompt:
    """Return one user turn of several paragraphs; empty ones are left out."""
    return Prompt((Message("user", "\n\n".join(part for part in parts if part)),), prefill)
