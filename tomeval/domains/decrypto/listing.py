"""What can be listed of Decrypto: kinds of player and shipped embeddings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tomeval.domains.decrypto.embeddings import SHIPPED
from tomeval.domains.decrypto.players import KIND_OPTIONS

Rows = list[dict[str, Any]]

_ABOUT = {
    "llm": "a language model with a prompting strategy",
    "embedding": "hints near the keywords; guesses by cosine",
    "random": "legal hints and codes at random",
}


def players() -> Rows:
    """Return the kinds of player with their options."""
    return [
        {"player": kind, "options": ", ".join(options), "about": _ABOUT[kind]}
        for kind, options in KIND_OPTIONS.items()
    ]


def embeddings() -> Rows:
    """Return the embeddings that ship."""
    return [{"embedding": name} for name in SHIPPED]


LISTS: dict[str, Callable[[], Rows]] = {"players": players, "embeddings": embeddings}
"""What ``tomeval list`` can list of this domain."""
