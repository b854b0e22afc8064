"""Ask a model for an answer in JSON on behalf of one seat: attempts and log as for matrix games."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tomeval.core.outcomes import Invalid, Said
from tomeval.domains.decrypto.readers import read_reply
from tomeval.models.base import BackendError, Prompt
from tomeval.strategies.asking import Asker

T = TypeVar("T")

MAX_TOKENS = 750
"""Longest reply where the experiment sets none: the least that the paper allows."""


class SeatAsker(Asker):
    """One seat's line to its model."""

    async def ask(
        self,
        purpose: str,
        prompt: Prompt,
        step: int,
        key: str,
        check: Callable[[list[Any]], T | str],
    ) -> tuple[Said[T] | Invalid, str]:
        """Ask until a reply can be read and is legal; also return the reply's text.

        Every attempt is a fresh draw of the same question. At temperature 0 there is only one.
        """
        attempts = self.how.max_attempts if self.how.sampling.temperature > 0 else 1
        outcome, text = "unparsable", ""
        for attempt in range(1, attempts + 1):
            try:
                reply = await self._generate(purpose, key, prompt, step, attempt)
            except BackendError as error:
                return Invalid("backend_error", str(error), attempt), ""
            text = reply.text
            read = read_reply(text, reply.finish, key, check)
            self._calls[-1]["outcome"] = outcome = read.outcome
            if read.fault:
                self._calls[-1]["fault"] = read.fault
            if read.value is not None:
                return Said(read.value, attempts=attempt), text
        return Invalid(outcome, text, attempts), text
