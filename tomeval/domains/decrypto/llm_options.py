"""The options of a player of kind ``llm``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.decrypto.strategy import seat_strategy
from tomeval.strategies.compose import Strategy
from tomeval.strategies.options import ModelOptions

MEMORIES = ("restated", "conversation")
MAX_TOKENS = 750
"""Longest reply where the experiment sets none: the least that the paper allows."""


@dataclass(frozen=True, kw_only=True)
class LLMOptions(ModelOptions):
    """How language models play Decrypto, beside the options that all games share.

    Attributes
    ----------
    strategy : str or dict
        See `tomeval.domains.decrypto.strategy.seat_strategy`.
    memory : {"restated", "conversation"}
        ``restated``: every turn is one question that tells rules and all past turns.
        ``conversation``: the rules once, then turn after turn with the own replies.
    temperature, probe_temperature : float
        For play and for probes.
    """

    memory: str = "restated"
    temperature: float = 0.6
    probe_temperature: float = 0.0
    max_tokens: int = MAX_TOKENS

    LIMITS: ClassVar[dict[str, tuple[float, float]]] = {
        **ModelOptions.LIMITS,
        "probe_temperature": ModelOptions.LIMITS["temperature"],
        "max_tokens": (1, 10**7),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory not in MEMORIES:
            raise unknown("memory", self.memory, MEMORIES)

    @property
    def conversation(self) -> bool:
        """Whether a player goes on with its own replies."""
        return self.memory == "conversation"

    def strategy_of(self, role: str) -> Strategy:
        """Return the strategy of one seat; a `TomevalError` where it has no meaning there."""
        strategy = seat_strategy(self.strategy, role)
        if self.conversation and strategy.summarises:
            raise TomevalError("S2A rewrites the past, a conversation keeps it: choose one of them")
        return strategy
