"""A language model in a seat: its lines to the model, and a conversation of its own replies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Generic

from tomeval.core.outcomes import Said
from tomeval.core.thinking import without_thinking
from tomeval.games.chairs import Chair, SeatName
from tomeval.games.seated.options import SeatedOptions
from tomeval.models.base import Message
from tomeval.strategies.asking import Asker
from tomeval.strategies.compose import Strategy
from tomeval.strategies.player import Asked
from tomeval.strategies.questions import Question, Style
from tomeval.strategies.templates import Prompts


class SeatScene:
    """The table as one seat knows it.

    In a `conversation`, questions go on from the seat's own replies (`earlier`); else each tells
    everything. `opening` is what either begins with.
    """

    def __init__(
        self, prompts: Prompts, conversation: bool = False, opening: tuple[Message, ...] = ()
    ) -> None:
        self.prompts, self.conversation = prompts, conversation
        self.earlier, self._opening = opening, opening
        self._coming: tuple[Message, ...] = ()
        self._told = 0  # how much of the past the conversation tells

    @property
    def began(self) -> bool:
        """Whether the conversation has a reply of the seat's own, and so the rules."""
        return self.earlier != self._opening

    def keep(self, asked: Asked[Any]) -> None:
        """Take a move into the conversation once its step is over, if it was legal."""
        self._coming = ()
        if self.conversation and asked.prompt is not None and isinstance(asked.answer, Said):
            reply = Message("assistant", without_thinking(asked.text) or "")
            self._coming = (asked.prompt.messages[-1], reply)

    def over(self, told: int) -> None:
        """End a step; its move was made after `told` events."""
        if self._coming:
            self.earlier += self._coming
            self._coming, self._told = (), told

    def shows_examples(self, question: Question[Any], style: Style) -> bool:
        """Tell whether a question has worked examples: only moves, in a conversation once."""
        return bool(style.shots) and question.form == "functional" and not self.began

    def group(self, purpose: str) -> str:
        """Return a mark for every kind of request for a text."""
        return f" {purpose}"


class ModelSeat(Generic[SeatName]):
    """What language models in all seats share.

    `line` asks for moves, as often as the table says, `advice_line` for what advice asks first, and
    `probe_line` for probes.
    """

    def __init__(
        self,
        chair: Chair[SeatName],
        options: SeatedOptions,
        strategy: Strategy,
        prompts: Prompts,
    ) -> None:
        self.chair, self.options, self.strategy, self.prompts = chair, options, strategy, prompts
        how = options.asking()
        self.line = Asker(chair.model, how, chair.name)
        self.advice_line = self.line.fork()
        self.probe_line = self.line.fork(options.probe_temperature)
        self.line.how = replace(how, max_attempts=chair.attempts or how.max_attempts)
