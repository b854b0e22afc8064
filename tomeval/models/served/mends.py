"""What a server does not take, learnt from its refusals, and the requests it takes instead."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from tomeval.models.served.faults import Refused

_NEUTRAL = {
    **{"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0},
    **{"repetition_penalty": 1.0, "repeat_penalty": 1.0},
    **{"presence_penalty": 0.0, "frequency_penalty": 0.0},
}
"""Values that switch a field off, so that nothing is lost with it."""

_EXTRA = (
    *("seed", "stop", "chat_template_kwargs"),
    *("thinking_token_budget", "thinking_budget_tokens", "custom_params"),
)
"""Fields that a request can do without, whatever they say."""

OPTIONAL = (*_NEUTRAL, *_EXTRA, "reasoning_effort")
"""Fields that a request need not have."""


class Mends:
    """What one path of a server does not take; `omit` names fields to leave out from the start.

    A field that a refusal names is left out if it can be: one that changes what is drawn, as a
    temperature of 0.7, never is.
    """

    def __init__(self, omit: Collection[str] = ()) -> None:
        self._dropped = set(omit)
        self._renamed: dict[str, str] = {}

    def apply(self, body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the body to send and what was changed in it."""
        mended: dict[str, Any] = {}
        if dropped := sorted(self._dropped & body.keys()):
            mended["dropped"] = dropped
        if renamed := {old: new for old, new in self._renamed.items() if old in body}:
            mended["renamed"] = renamed
        sent = {renamed.get(k, k): value for k, value in body.items() if k not in self._dropped}
        return sent, mended

    def learn(self, sent: dict[str, Any], refusal: Refused) -> str:
        """Return what can be changed in `sent` after this refusal, and remember it."""
        if refusal.status not in (400, 422):
            return ""
        if "max_tokens" in sent and "max_completion_tokens" in refusal.message:
            self._renamed["max_tokens"] = "max_completion_tokens"
            return "max_tokens renamed to max_completion_tokens"
        named = [name for name in sent if re.search(rf"\b{name}\b", refusal.message)]
        named = [name for name in named if name in _EXTRA or sent[name] == _NEUTRAL.get(name, ())]
        self._dropped.update(named)
        return ", ".join(f"{name} left out" for name in named)
