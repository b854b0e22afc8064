"""One small experiment of language models per kind of game, for what all of them share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from decrypto_support import everything

from tomeval.strategies.readers import MARKER

EXPERIMENTS: dict[str, dict[str, Any]] = {
    "matrix": {
        "games": "IPD",
        "partners": "tit_for_tat",
        "labels": "neutral",
        "horizon": 3,
        "subjects": [{"strategy": "QA", "max_attempts": 2}, "random"],
    },
    "decrypto": {
        "domain": "decrypto",
        "players": {"m": {"max_attempts": 2}, "chance": {"kind": "random"}},
        "pairings": [{"encoder": "chance", "decoder": "m", "interceptor": "chance"}],
        "rules": {"turns": 3},
    },
}
"""The first cell is a language model's, without a model of its own."""


def experiment(domain: str, model: Any, **more: Any) -> dict[str, Any]:
    """Return the experiment of a domain, with a model and changed keys."""
    data = json.loads(json.dumps(EXPERIMENTS[domain])) | more
    if domain == "decrypto":
        data["players"]["m"]["model"] = model
        return data
    return data | {"model": model}


def good(domain: str) -> Callable[[Any], str]:
    """Return a script whose every reply is readable and legal."""
    if domain == "decrypto":
        return lambda request: everything(request.prompt.messages[-1].content)
    return lambda request: f"{MARKER} J"


def episode_of(request: Any) -> int:
    """Return the episode that a request belongs to."""
    return int(re.findall(r"\d+", request.group.removesuffix("/decoder"))[-1])
