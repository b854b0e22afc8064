"""Caps on calls and tokens, and what a reply used and cost."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.core.resources import read_toml
from tomeval.models.base import Stopped, Usage

logger = logging.getLogger(__name__)

_MILLION = 1_000_000
_BYTES_PER_TOKEN = 3  # on the safe side of the four that English has


class BudgetExceeded(Stopped):
    """The next call would pass a cap. It was not made; what came before is complete."""


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
        In the currency of the models' price files. Models without a price cost nothing here.

    Examples
    --------
    >>> budget = Budget(max_calls=1)
    >>> budget.reserve(10)
    >>> budget.settle(10, Usage(prompt=7, completion=1))
    >>> budget.calls, budget.tokens
    (1, 8)
    >>> budget.reserve(10)
    Traceback (most recent call last):
    tomeval.models.served.limits.BudgetExceeded: stopped before call 2: the cap is 1 call
    """

    def __init__(
        self,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        max_cost: float | None = None,
    ) -> None:
        self.max_calls, self.max_tokens, self.max_cost = max_calls, max_tokens, max_cost
        self.cost = 0.0  # of answered calls
        self._held = 0.0  # the most that those under way can cost
        self.calls = 0  # answered or under way
        self.tokens = 0  # used by answered calls
        self._reserved = 0
        self._under_way = 0
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def counts_tokens(self) -> bool:
        """Whether a cap depends on how many tokens a call can use."""
        return self.max_tokens is not None or self.max_cost is not None

    async def take(self, tokens: int, price: Price | None = None) -> None:
        """Take room as `reserve` does, once calls under way have left enough of it."""
        while True:
            try:
                return self.reserve(tokens, price)
            except BudgetExceeded:
                if not self._under_way:
                    raise
            change = asyncio.get_running_loop().create_future()
            self._waiting.append(change)
            await change

    def reserve(self, tokens: int, price: Price | None = None) -> None:
        """Reserve up to `tokens` for a call; `BudgetExceeded` if that would pass a cap."""
        if self.max_calls is not None and self.calls + 1 > self.max_calls:
            plural = "" if self.max_calls == 1 else "s"
            raise BudgetExceeded(
                f"stopped before call {self.calls + 1}: the cap is {self.max_calls} call{plural}"
            )
        if self.max_tokens is not None and self.tokens + self._reserved + tokens > self.max_tokens:
            raise BudgetExceeded(
                f"stopped before a call of up to {tokens} tokens: {self.tokens} used and "
                f"{self._reserved} reserved by calls under way, the cap is {self.max_tokens}"
            )
        cost = price.most(tokens) if price else 0.0
        if self.max_cost is not None and self.cost + self._held + cost > self.max_cost:
            raise BudgetExceeded(
                f"stopped before a call of up to {cost:.6g}: {self.cost:.6g} spent and "
                f"{self._held:.6g} reserved by calls under way, the cap is {self.max_cost:g}"
            )
        self.calls += 1
        self._reserved += tokens
        self._held += cost
        self._under_way += 1

    def settle(self, reserved: int, usage: Usage | None, price: Price | None = None) -> None:
        """Put what a call used in place of its reservation; None keeps the reservation."""
        self.tokens += reserved if usage is None else usage.prompt + usage.completion
        if price:
            self.cost += price.most(reserved) if usage is None else price.cost(usage)
        self._release(reserved, price)

    def cancel(self, reserved: int, price: Price | None = None) -> None:
        """Give back the room of a call that got no reply."""
        self.calls -= 1
        self._release(reserved, price)

    def _release(self, reserved: int, price: Price | None) -> None:
        """Note the end of a call; whoever waits for room looks again."""
        self._reserved -= reserved
        self._held -= price.most(reserved) if price else 0.0
        self._under_way -= 1
        waiting, self._waiting = self._waiting, []
        for change in waiting:
            if not change.done():
                change.set_result(None)


def estimate_tokens(text: str) -> int:
    """Return a cautious guess at the tokens of a text, for use where no tokenizer is at hand.

    Examples
    --------
    >>> estimate_tokens("four words of text")
    6
    """
    return math.ceil(len(text.encode()) / _BYTES_PER_TOKEN)


@dataclass(frozen=True)
class Price:
    """Prices per million tokens, in whatever currency the user's file is kept."""

    # Per million tokens read and written.
    prompt: float
    completion: float
    # Per million prompt tokens that the server had cached; None: the price of `prompt`.
    cached: float | None = None

    def cost(self, usage: Usage) -> float:
        """Return the price of one request.

        Examples
        --------
        >>> Price(prompt=2.0, completion=8.0, cached=0.5).cost(Usage(1_000_000, 500_000, 400_000))
        5.4
        """
        cached = self.prompt if self.cached is None else self.cached
        fresh = usage.prompt - usage.cached
        total = fresh * self.prompt + usage.cached * cached + usage.completion * self.completion
        return total / _MILLION

    def most(self, tokens: int) -> float:
        """Return the most that so many tokens can cost, read or written."""
        return tokens * max(self.prompt, self.completion, self.cached or 0.0) / _MILLION


def load_prices(path: Path) -> dict[str, Price]:
    """Read a price file: one table per model with `prompt`, `completion` and maybe `cached`.

    Raises `TomevalError` if the file cannot be read, a field is unknown or missing, or a price is
    not a number of at least 0.
    """
    return {model: _price(entry, f"{path}: {model}") for model, entry in read_toml(path).items()}


def price_of(model: str, path: str | None) -> Price | None:
    """Return a model's price by a price file; a file without it causes a warning."""
    if not path:
        return None
    prices = load_prices(Path(path))
    if model not in prices:
        logger.warning("%s: no price for %r%s", path, model, did_you_mean(model, prices))
    return prices.get(model)


def _price(entry: Any, where: str) -> Price:
    fields = [name for name in Price.__dataclass_fields__ if name != "cached"]
    if not isinstance(entry, dict):
        raise TomevalError(f"{where}: must be a table with the fields prompt and completion")
    for field, value in entry.items():
        if field not in Price.__dataclass_fields__:
            raise unknown("field", field, Price.__dataclass_fields__, where)
        if type(value) not in (int, float) or not 0 <= value < math.inf:
            raise TomevalError(f"{where}: {field} is a price per million tokens, not {value!r}")
    if missing := [field for field in fields if field not in entry]:
        raise TomevalError(f"{where}: no price for {' and '.join(missing)} tokens")
    return Price(**entry)


def read_usage(data: Mapping[str, Any]) -> Usage | None:
    """Return the tokens that a server's reply reports, or None if it reports none.

    Reads the shapes of OpenAI-compatible servers and llama.cpp; of a list of replies the sum.
    """
    if isinstance(data.get("replies"), list):
        parts = [part for reply in data["replies"] if (part := read_usage(reply)) is not None]
        return total_usage(parts) if parts else None
    usage = data.get("usage")
    if isinstance(usage, dict):
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        return _usage(usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)
    if "tokens_evaluated" in data:
        return _usage(data["tokens_evaluated"], data.get("tokens_predicted"))
    return None


def total_usage(parts: Iterable[Usage]) -> Usage:
    """Return the sum of what several requests used.

    Examples
    --------
    >>> total_usage([Usage(3, 1), Usage(4, 1, 2)])
    Usage(prompt=7, completion=2, cached=2)
    """
    parts = list(parts)
    return Usage(
        sum(part.prompt for part in parts),
        sum(part.completion for part in parts),
        sum(part.cached for part in parts),
    )


def _usage(prompt: Any, completion: Any, cached: Any = None) -> Usage | None:
    """Return counts as a server gives them; None if any of them is not a count."""
    counts = [0 if count is None else count for count in (prompt, completion, cached)]
    if not all(type(count) is int and count >= 0 for count in counts):
        return None
    return Usage(*counts)
