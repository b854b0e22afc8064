"""The rewards that can be chosen, and their mixes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from tomeval.core.errors import TomevalError, unknown

_TERM = re.compile(r"\s*(?:(\d+(?:\.\d+)?)\s*\*?\s*)?([A-Za-z_]+)\s*")


def read_reward(reward: str | Mapping[str, float], known: Sequence[str]) -> dict[str, float]:
    """Return the weights of a reward by name.

    A reward is one name, a sum such as ``"regret + 0.5 literal"``, or weights by name; `known` are
    those of the game. One that it does not have, or that is named twice, is an error.

    Examples
    --------
    >>> read_reward("regret + 0.5 literal", ["regret", "literal"])
    {'regret': 1.0, 'literal': 0.5}
    """
    weights: dict[str, float] = {}
    known = (*known, "format")
    if isinstance(reward, str):
        for term in reward.split("+"):
            match = _TERM.fullmatch(term)
            if match is None:
                raise TomevalError(
                    f"reward {reward!r}: {term.strip()!r} is not a reward; write a name, or a sum "
                    "such as 'regret + 0.5 literal'"
                )
            number, name = match.groups()
            if name in weights:
                raise TomevalError(f"reward {reward!r}: {name!r} is given twice")
            weights[name] = 1.0 if number is None else float(number)
    else:
        weights = dict(reward)
    for name, weight in weights.items():
        if name not in known:
            raise unknown("reward", name, known)
        if type(weight) not in (int, float) or not math.isfinite(weight):
            raise TomevalError(f"reward: weight of {name!r} must be finite, not {weight!r}")
    if not weights:
        raise TomevalError(f"reward: must name at least one of {', '.join(known)}")
    return weights
