"""The options of a player of kind ``llm``, and which prompting strategies fit which seat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.decrypto.seats import ROLES
from tomeval.strategies.compose import Strategy, parse_strategy
from tomeval.strategies.options import ModelOptions

MEMORIES = ("restated", "conversation")
MAX_TOKENS = 750
"""Longest reply if the experiment sets none: the least that the paper allows."""


@dataclass(frozen=True, kw_only=True)
class LLMOptions(ModelOptions):
    """How language models play Decrypto, beside the options that all games share.

    With the memory ``restated``, every turn is one question that tells rules and all past turns;
    with ``conversation``, the rules are told once, then turn after turn with the player's own
    replies. `probe_temperature` is for probes alone. For `strategy` see `seat_strategy`.
    """

    memory: str = "restated"
    temperature: float = 0.6
    probe_temperature: float = 0.0
    max_tokens: int | dict[str, int] = MAX_TOKENS

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
        """Return the strategy of one seat; a `TomevalError` if it has no meaning there."""
        strategy = seat_strategy(self.strategy, role)
        if self.conversation and strategy.summarises:
            raise TomevalError("S2A rewrites the past, a conversation keeps it: choose one of them")
        return strategy


UNFIT = ("-history", "-payoffs", "-rewards", "social_lm", "lm")
"""Parts without meaning: answers are free texts, which cannot be scored; there are no payoffs, and
nothing to go by without the past."""


def seat_strategy(spec: Any, role: str) -> Strategy:
    """Return the strategy of one seat.

    `spec` is a name for all seats, such as ``"Reflexion 2 + CoT"``, or a table with names by role.
    A part that has no meaning here, and advice on the listeners in a listener's seat, is a
    `TomevalError`.

    Examples
    --------
    >>> seat_strategy({"encoder": "Social QA + CoT", "interceptor": "S2A"}, "encoder").name
    'Social QA + CoT'
    >>> seat_strategy({"encoder": "Social QA + CoT"}, "decoder").name
    'QA'
    """
    if isinstance(spec, dict):
        for key in spec:
            if key not in ROLES:
                raise unknown("role", key, ROLES, "strategy")
        spec = spec.get(role, "QA")
    strategy = parse_strategy(spec)
    for part in (strategy.context, strategy.advice, strategy.answer):
        if part in UNFIT:
            raise TomevalError(
                f"strategy {strategy.name!r} cannot play Decrypto: {part!r} has no meaning here; "
                "use QA, CoT or CoT + 3-Shot, with S2A, Reflexion 1 to 3, Plans + Insights, and "
                "for the encoder Social QA, Oracle or Oracle + Max"
            )
    if (strategy.predicts_first or strategy.is_told) and role != "encoder":
        raise TomevalError(
            f"strategy {strategy.name!r} is for the encoder alone: write "
            f'strategy = {{ encoder = "{strategy.name}" }}; the other seats then play QA'
        )
    return strategy
