"""Which prompting strategies make sense in which seat; names and grammar are the matrix games'."""

from __future__ import annotations

from typing import Any

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.domains.decrypto.seats import ROLES
from tomeval.strategies.compose import Strategy, parse_strategy

UNFIT = ("-history", "-payoffs", "social_lm", "lm")
"""Parts without meaning: answers are free texts, which cannot be scored; there are no payoffs, and
a game without its past is none."""


def seat_strategy(spec: Any, role: str) -> Strategy:
    """Return the strategy of one seat.

    Parameters
    ----------
    spec : str or dict
        A name for all seats, such as ``"Reflexion 2 + CoT"``, or a table with a name per role.
    role : {"encoder", "decoder", "interceptor"}

    Raises
    ------
    TomevalError
        A part that has no meaning here, or advice on the listeners in a listener's seat.

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
                raise TomevalError(
                    f"strategy: unknown role {key!r}{did_you_mean(key, ROLES)}; "
                    f"known: {', '.join(ROLES)}"
                )
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
