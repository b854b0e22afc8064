"""The likeliest first tokens of a reply, and the log-probabilities of labels among them."""

from __future__ import annotations

import math
from typing import Any

from tomeval.models.base import Unlisted, Unusable
from tomeval.models.served.replies import dig

ROUNDING = 0.01
"""Above what it can be: of a sum of probabilities in half precision, or a log-probability."""

_SHOWN = 5  # of the likeliest tokens, in messages


def nonsense(values: list[float]) -> str | None:
    """Say why these cannot be log-probabilities of different texts, or return None.

    Examples
    --------
    >>> nonsense([-1.0, -2.0]) is None
    True
    >>> nonsense([-0.1, -0.2])
    'the probabilities of different texts sum to 1.72'
    """
    if max(values) > ROUNDING:
        return f"a log-prob is positive ({max(values)})"
    mass = math.fsum(math.exp(value) for value in values)
    if mass > 1 + ROUNDING:
        return f"the probabilities of different texts sum to {mass:.2f}"
    # Numbers in half precision may tie by chance, but not three of them.
    if len(values) > 2 and max(values) == min(values) > -math.inf:
        return f"all log-probs are equal ({values[0]})"
    return None


def match(text: str, label: str, entries: list[tuple[bytes, float]]) -> float:
    """Return the log-probability of the token that is exactly this text."""
    exact = [value for token, value in entries if token == text.encode()]
    if len(exact) == 1:
        return exact[0]
    if len(exact) > 1:
        raise Unusable(f"{len(exact)} of the likeliest tokens are {text!r}: set a tokenizer")
    near = [
        token.decode(errors="replace")
        for token, _ in entries
        if token.strip() and label.encode().startswith(token.strip())
    ]
    hint = f"; near it are {near} (a label must be one token on this route)" if near else ""
    likeliest = sorted(entries, key=lambda entry: -entry[1])[:_SHOWN]
    shown = ", ".join(f"{t.decode(errors='replace')!r} {math.exp(v):.2g}" for t, v in likeliest)
    raise Unlisted(
        f"label {label!r} is not among the {len(entries)} likeliest tokens as {text!r}{hint}, so "
        f"its probability is unknown; the likeliest: {shown}"
    )


def read_entries(entries: Any) -> list[tuple[bytes, float]]:
    """Read a list of ``{token, logprob, bytes}``; the bytes count where they are given."""
    if not isinstance(entries, list) or not entries:
        raise Unusable("no log-probs in the reply")
    likeliest = [_entry(entry) for entry in entries]
    if fault := nonsense([value for _, value in likeliest]):
        raise Unusable(fault)
    return likeliest


def _entry(entry: Any) -> tuple[bytes, float]:
    """Return a token's bytes and its log-probability."""
    token, raw, value = (dig(entry, name) for name in ("token", "bytes", "logprob"))
    if not isinstance(token, str) and not raw:
        raise Unusable(f"no token with its log-prob: {entry!r:.80}")
    try:
        text = bytes(raw) if raw else str(token).encode()
    except (TypeError, ValueError):
        raise Unusable(f"not the bytes of a token: {raw!r:.80}") from None
    if not is_number(value):
        raise Unusable(f"{value!r:.80} is not a log-prob (of {token!r})")
    return text, value


def is_number(value: Any) -> bool:
    """Tell whether a log-probability is there at all."""
    return type(value) in (int, float) and not math.isnan(value)
