"""Prompts that a server cuts without saying so, seen by what it counts."""

from __future__ import annotations

import logging

logger = logging.getLogger(__name__)

_MUCH = 1.25  # times longer: then a prompt of the same conversation has more tokens for certain
_LEAST = 400  # characters by which it must be longer


class Cuts:
    """Compares the prompts of each conversation; `model` is named in the warning, given once."""

    def __init__(self, model: str) -> None:
        self._model, self._warned = model, False
        self._last: dict[str, tuple[int, int]] = {}  # characters and tokens, by conversation

    def note(self, conversation: str, text: str, tokens: int) -> None:
        """Warn if a prompt has grown by much and the server read no more tokens than before."""
        if self._warned or not conversation or not tokens:
            return
        length = len(text)
        before, counted = self._last.get(conversation, (length, 0))
        if length - before >= _LEAST and length >= _MUCH * before and tokens <= counted:
            self._warned = True
            logger.warning(
                "%s: the server read %d tokens of a prompt of %d characters, and %d of one of %d "
                "in the same conversation: it seems to cut long prompts, so that the model does "
                "not see all of them; raise its context length (for Ollama, num_ctx)",
                *(self._model, tokens, length, counted, before),
            )
        if tokens > counted:
            self._last[conversation] = length, tokens
