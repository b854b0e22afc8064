"""Models behind servers: what can be set, what tokens cost, and caps that models share."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tomeval.models.base import Stopped, Usage

_MILLION = 1_000_000
_BYTES_PER_TOKEN = 3  # on the safe side of the four that English has


class Price(BaseModel):
    """Prices per million tokens, in whatever currency the user has them."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    prompt: float = Field(ge=0, allow_inf_nan=False)  # tokens read
    completion: float = Field(ge=0, allow_inf_nan=False)  # tokens written
    # Prompt tokens that the server had cached; None: the price of `prompt`.
    cached: float | None = Field(None, ge=0, allow_inf_nan=False)

    def cost(self, usage: Usage) -> float:
        """Return the price of one request.

        Examples
        --------
        >>> price = Price(prompt=2.0, completion=8.0, cached=0.5)
        >>> price.cost(Usage(1_000_000, 500_000, 400_000))
        5.4
        """
        cached = self.prompt if self.cached is None else self.cached
        fresh = usage.prompt - usage.cached
        total = fresh * self.prompt + usage.cached * cached + usage.completion * self.completion
        return total / _MILLION

    def most(self, tokens: int) -> float:
        """Return the most that so many tokens can cost, read or written."""
        return tokens * max(self.prompt, self.completion, self.cached or 0.0) / _MILLION


class OpenAIOptions(BaseModel):
    """What can be set for an OpenAI-compatible model; unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    concurrency: int = Field(16, ge=1)  # most requests at a time
    timeout: float = Field(300.0, gt=0)  # seconds for one attempt
    # Seconds after which a request that keeps failing is given up.
    retry_budget: float = Field(600.0, ge=0)
    # Whether labels are scored: `start` then refuses a server that cannot.
    scoring: Literal["required", "off"] = "required"
    # How many of the likeliest tokens to ask for, where ids cannot be asked for.
    top_logprobs: int = Field(20, ge=2)
    # Template switch for generated replies; scoring always switches thinking off.
    thinking: bool | None = None
    # ``auto``: answers without thinking are held to their choices or schema where the server does
    # that; ``off``: never.
    structured: Literal["off", "auto"] = "off"
    # Tokens for thinking, on top of those that a request allows for the answer. None:
    # 8192 if the model is seen to think, else 0.
    thinking_budget: int | None = Field(None, ge=0)
    price: Price | None = None  # what its tokens cost
    extra_body: dict[str, Any] = Field(default_factory=dict)  # fields to send with every request
    omit: tuple[str, ...] = ()  # fields never to send, such as ``seed``; replies record it


class BudgetExceeded(Stopped):
    """The next call would pass a cap. It was not made; what came before is complete."""


@dataclass
class Call:
    """A call within the caps; `usage` is what its reply says that it used, None if nothing."""

    usage: Usage | None = None


class Budget:
    """Caps that any number of models share.

    A call is checked before it is sent, with the most that it can use; what it really used takes
    the place of that afterwards. Calls under way count in full, so a cap is never passed by calls
    that run at the same time; and as they mostly use less, a call for which there is no room while
    others are under way waits for them.

    Parameters
    ----------
    max_calls : int, optional
        Replies to pay for; a retry of a failed call is the same call.
    max_tokens : int, optional
        Prompt and completion tokens together.
    max_cost : float, optional
        In the currency of the models' prices. Models without a price cost nothing here.

    Attributes
    ----------
    calls, tokens, cost : int, int, float
        What answered calls used, and the most that those under way can use.
    """

    def __init__(
        self,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        max_cost: float | None = None,
    ) -> None:
        self.max_calls, self.max_tokens, self.max_cost = max_calls, max_tokens, max_cost
        self.calls = self.tokens = 0
        self.cost = 0.0
        self._under_way = 0
        self._changed = asyncio.Event()  # one for each change

    @asynccontextmanager
    async def call(self, tokens: int, price: Price | None = None) -> AsyncIterator[Call]:
        """Hold room for a call of up to `tokens` while the block makes it.

        The block notes the usage; without one the most stays counted, and an error gives it back.
        Raises `BudgetExceeded`, before the block, if the call would pass a cap.
        """
        most = price.most(tokens) if price else 0.0
        while full := self._full(tokens, most):
            if not self._under_way:
                raise BudgetExceeded(f"stopped before the next call: {full}")
            await self._changed.wait()
        self._count(1, tokens, most)
        self._under_way += 1
        call = Call()
        try:
            yield call
        except BaseException:  # also when cancelled: the room must not be lost
            self._count(-1, -tokens, -most)
            raise
        else:
            if used := call.usage:
                cost = price.cost(used) - most if price else 0.0
                self._count(0, used.prompt + used.completion - tokens, cost)
        finally:
            self._under_way -= 1
            self._changed.set()  # who waits for room looks again
            self._changed = asyncio.Event()

    def _full(self, tokens: int, cost: float) -> str:
        """Return which cap a call would pass; empty if none."""
        caps = [
            ("calls", self.calls, 1, self.max_calls),
            ("tokens", self.tokens, tokens, self.max_tokens),
            ("cost", self.cost, cost, self.max_cost),
        ]
        for what, used, more, cap in caps:
            if cap is not None and used + more > cap:
                left = f", and it may take {more:.6g}" * (what != "calls")
                said = "are spent" if what == "cost" else f"{what} are used"
                return f"{used:.6g} of {cap:.6g} {said}{left}"
        return ""

    def _count(self, calls: int, tokens: int, cost: float) -> None:
        self.calls += calls
        self.tokens += tokens
        self.cost += cost


def estimate_tokens(text: str) -> int:
    """Return a cautious guess at the tokens of a text, for use where no tokenizer is at hand.

    Examples
    --------
    >>> estimate_tokens("four words of text")
    6
    """
    return math.ceil(len(text.encode()) / _BYTES_PER_TOKEN)
