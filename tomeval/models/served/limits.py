"""Caps on calls, tokens and cost, which any number of models share."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from tomeval.models.base import Stopped, Usage

if TYPE_CHECKING:
    from tomeval.models.served.options import Price

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

    Attributes
    ----------
    calls, tokens, cost : int, int, float
        What answered calls used, and the most that those under way can use.

    Examples
    --------
    >>> budget = Budget(max_calls=1)
    >>> budget.reserve(10)
    >>> budget.settle(10, Usage(prompt=7, completion=1))
    >>> budget.calls, budget.tokens
    (1, 8)
    >>> budget.reserve(10)
    Traceback (most recent call last):
    tomeval.models.served.limits.BudgetExceeded: stopped before the next call: 1 of 1 calls are used
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
        self._waiting: list[asyncio.Future[None]] = []

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
        cost = price.most(tokens) if price else 0.0
        caps = [
            ("calls", self.calls, 1, self.max_calls),
            ("tokens", self.tokens, tokens, self.max_tokens),
            ("cost", self.cost, cost, self.max_cost),
        ]
        for what, used, more, cap in caps:
            if cap is not None and used + more > cap:
                left = f", and it may take {more:.6g}" * (what != "calls")
                said = f"{used:.6g} of {cap:.6g} {what} are used{left}"
                raise BudgetExceeded(f"stopped before the next call: {said}")
        self.calls += 1
        self.tokens += tokens
        self.cost += cost
        self._under_way += 1

    def settle(self, reserved: int, usage: Usage | None, price: Price | None = None) -> None:
        """Put what a call used in place of its reservation; None keeps the reservation."""
        if usage is not None:
            self.tokens += usage.prompt + usage.completion - reserved
            self.cost += price.cost(usage) - price.most(reserved) if price else 0.0
        self._under_way -= 1
        waiting, self._waiting = self._waiting, []  # who waits for room looks again
        for change in waiting:
            if not change.done():
                change.set_result(None)

    def cancel(self, reserved: int, price: Price | None = None) -> None:
        """Give back the room of a call that got no reply."""
        self.calls -= 1
        self.settle(reserved, Usage(), price)


def estimate_tokens(text: str) -> int:
    """Return a cautious guess at the tokens of a text, for use where no tokenizer is at hand.

    Examples
    --------
    >>> estimate_tokens("four words of text")
    6
    """
    return math.ceil(len(text.encode()) / _BYTES_PER_TOKEN)
