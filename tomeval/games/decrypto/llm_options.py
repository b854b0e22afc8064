"""The options of a player of kind ``llm``, and which prompting strategies fit which seat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tomeval.core.errors import TomevalError, unknown
from tomeval.games.decrypto.seats import ROLES
from tomeval.games.seated.options import SeatedOptions
from tomeval.strategies.compose import Strategy, parse_strategy

MAX_TOKENS = 750
"""Longest reply if the experiment sets none: the least that the paper allows."""


@dataclass(frozen=True, kw_only=True)
class LLMOptions(SeatedOptions):
    """How language models play Decrypto; for `strategy` see `seat_strategy`."""

    max_tokens: int | dict[str, int] = MAX_TOKENS

    LIMITS: ClassVar[dict[str, tuple[float, float]]] = {
        **SeatedOptions.LIMITS,
        "max_tokens": (1, 10**7),
    }

    def strategy_of(self, role: str) -> Strategy:
        """Return the strategy of one seat; a `TomevalError` if it has no meaning there."""
        return self.remembering(seat_strategy(self.strategy, role))


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
            f"strategy {strategy.name!r} is only for the encoder: write "
            f'strategy = {{ encoder = "{strategy.name}" }}; the other seats then play QA'
        )
    return strategy
