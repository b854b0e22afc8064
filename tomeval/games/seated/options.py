"""The options that language models have in every game of seats and turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tomeval.core.errors import TomevalError, unknown
from tomeval.strategies.compose import Strategy
from tomeval.strategies.options import ModelOptions

MEMORIES = ("restated", "conversation")


@dataclass(frozen=True, kw_only=True)
class SeatedOptions(ModelOptions):
    """How language models play at a table, beside the options that all games share.

    With the memory ``restated``, every step is one question that tells the rules and all that the
    seat has seen; with ``conversation``, the rules are told once, then what is new with the
    player's own replies. `probe_temperature` is for probes alone.
    """

    memory: str = "restated"
    temperature: float = 0.6
    probe_temperature: float = 0.0

    LIMITS: ClassVar[dict[str, tuple[float, float]]] = {
        **ModelOptions.LIMITS,
        "probe_temperature": ModelOptions.LIMITS["temperature"],
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory not in MEMORIES:
            raise unknown("memory", self.memory, MEMORIES)

    @property
    def conversation(self) -> bool:
        """Whether a player goes on with its own replies."""
        return self.memory == "conversation"

    def remembering(self, strategy: Strategy) -> Strategy:
        """Return a strategy, checked to go with the memory."""
        if self.conversation and strategy.summarises:
            raise TomevalError("S2A rewrites the past, a conversation keeps it: choose one")
        return strategy
