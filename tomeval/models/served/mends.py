"""What a server does not take, learnt from its refusals, and the requests it takes instead."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, ClassVar

from tomeval.models.served.faults import Refused
from tomeval.models.served.fields import LLAMA_CPP, OFF, OPTIONAL, PENALTIES_OFF, VLLM


class Mends:
    """What one path of a server does not take, learnt from its refusals.

    `omit` names fields to leave out from the start.
    """

    # Values that switch a field off, so that leaving it out is the smallest change.
    _NEUTRAL: ClassVar[dict[str, Any]] = {**OFF, **PENALTIES_OFF[VLLM], **PENALTIES_OFF[LLAMA_CPP]}
    _UNWANTED = re.compile(
        r"support|unexpected|unrecogni[sz]ed|unknown|extra|not (permitted|allowed|available)"
        r"|only the default|deprecated|invalid (parameter|argument|field)"
        r"|not configured|reasoning[-_ ](start|config|parser)|cannot both|both be (specified|set)",
        re.IGNORECASE,
    )
    # An effort that was asked for by a wrong name is an error, not something to leave out.
    _WRONG_VALUE = re.compile(r"value|should be|must be|one of", re.IGNORECASE)
    _NO_SYSTEM = re.compile(r"system (role|message|prompt)s?\b.*support", re.IGNORECASE)

    def __init__(self, omit: Collection[str] = ()) -> None:
        self.dropped = set(omit)
        self.renamed: dict[str, str] = {}
        self.merge_system = False

    def apply(self, body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the body to send and what was changed in it."""
        sent = {self.renamed.get(name, name): value for name, value in body.items()}
        mended: dict[str, Any] = {}
        if dropped := sorted(self.dropped & sent.keys()):
            mended["dropped"] = dropped
        if renamed := {old: new for old, new in self.renamed.items() if old in body}:
            mended["renamed"] = renamed
        sent = {name: value for name, value in sent.items() if name not in self.dropped}
        messages = sent.get("messages", ())
        if self.merge_system and any(message["role"] == "system" for message in messages):
            sent["messages"] = merge_system(messages)
            mended["system"] = "merged into the first user message"
        return sent, mended

    def learn(self, sent: dict[str, Any], refusal: Refused) -> list[str]:
        """Return what can be changed in `sent` after this refusal, and remember it."""
        said = refusal.message
        if refusal.status not in (400, 422, 500):
            return []
        if "max_tokens" in sent and "max_completion_tokens" in said:
            self.renamed["max_tokens"] = "max_completion_tokens"
            return ["max_tokens renamed to max_completion_tokens"]
        if self._NO_SYSTEM.search(said) and not self.merge_system:
            self.merge_system = True
            return ["system message merged into the first user message"]
        if not self._UNWANTED.search(said):
            return []
        named = [name for name in sent if name in OPTIONAL and re.search(rf"\b{name}\b", said)]
        if self._WRONG_VALUE.search(said):
            named = [name for name in named if name != "reasoning_effort"]
        off = [name for name in named if sent[name] == self._NEUTRAL.get(name)]
        named = off or named
        self.dropped.update(named)
        return [f"{name} left out" for name in named]


def merge_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    r"""Return a conversation whose system messages stand before the first user message's text.

    Examples
    --------
    >>> merge_system([{"role": "system", "content": "S"}, {"role": "user", "content": "U"}])
    [{'role': 'user', 'content': 'S\n\nU'}]
    """
    system = [message["content"] for message in messages if message["role"] == "system"]
    rest = [dict(message) for message in messages if message["role"] != "system"]
    if not rest or rest[0]["role"] != "user":
        rest.insert(0, {"role": "user", "content": ""})
    rest[0]["content"] = "\n\n".join(text for text in (*system, rest[0]["content"]) if text)
    return rest
