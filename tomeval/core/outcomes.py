"""Outcomes of questions and episodes: the words that every kind of game uses."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tomeval.core.errors import TomevalError

VALID = "valid"
BACKEND_ERROR = "backend_error"
EMPTY, REFUSAL = "empty", "refusal"
INVALID_REASONS = (
    *("illegal", "unparsable", "truncated", EMPTY, REFUSAL, "unlisted", BACKEND_ERROR),
)
NOT_ASKED = "not_asked"
OUTCOMES = (VALID, *INVALID_REASONS, NOT_ASKED)
"""What became of a question; ``not_asked``: the episode ended before it, or an answer that it was
to follow, and that has an outcome of its own, was invalid; ``unlisted``: a label is not among the
likeliest tokens, which are all that a server tells, so it has no number."""

LENIENT = "lenient"
"""The mark of an answer that was read although its reply is not in the exact form asked for, among
the details of the answer and in the record of its call."""

ENFORCED = "enforced"
"""How a reply was held to a form, in its details and in those of the answer."""

FREE, AGREES = "free", "agrees"
"""In the record of a written reply beside an answer that was held to a form: what it would have
counted as, and whether it says the same."""

COMPLETE, VOID, FAILED = "complete", "void", "failed"
"""What became of an episode. A failed one got no reply from its backend and is played again when
the run is resumed; a void one was ended by an invalid answer and is left out of all measures."""

ON_INVALID = ("void", "random")
"""What an invalid answer does: end the episode, or draw a legal action."""

T = TypeVar("T")


@dataclass(frozen=True)
class Said(Generic[T]):
    """A readable, legal answer.

    Attributes
    ----------
    value
        The index of an action, or what the domain makes of other answers.
    probs : tuple of float or None
        The distribution that `value`, an index, was drawn from; None: all mass lies on it.
    attempts : int
        How often the question was asked to get this answer.
    calls : tuple of dict
        What was sent to and received from a model, one JSON-ready dict per call, for the call log.
    details : dict or None
        JSON-ready facts for the step's row: the route of scored labels, their mass, option order.
    """

    value: T
    probs: tuple[float, ...] | None = None
    attempts: int = 1
    calls: tuple[dict[str, Any], ...] = ()
    details: dict[str, Any] | None = None


class Decision(Said[int]):
    """An action, and the distribution over actions that it was drawn from; see `Said`.

    Examples
    --------
    >>> Decision(1, (0.25, 0.75)).action
    1
    """

    @property
    def action(self) -> int:
        """Index of the action that counts."""
        return self.value


@dataclass(frozen=True)
class Invalid:
    """No readable, legal answer; only the experiment's named policy may turn it into a move.

    Attributes
    ----------
    reason : str
        One of `INVALID_REASONS`.
    raw : str
        The text of the reply.
    attempts, calls, details
        As for `Said`.
    asked : bool
        False: this question was never asked, because an answer that it was to follow was invalid
        for `reason`. That answer has an outcome of its own; this one is ``not_asked``, so that
        every unreadable answer counts once.
    """

    reason: str
    raw: str = ""
    attempts: int = 1
    calls: tuple[dict[str, Any], ...] = ()
    details: dict[str, Any] | None = None
    asked: bool = True

    def __post_init__(self) -> None:
        if self.reason not in INVALID_REASONS:
            raise ValueError(f"reason must be one of {INVALID_REASONS}, is {self.reason!r}")


def run_now(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end and return its result; one that waits is a `TomevalError`.

    Examples
    --------
    >>> async def doubled(number):
    ...     return 2 * number
    >>> run_now(doubled(21))
    42
    """
    try:
        work.send(None)
    except StopIteration as over:
        result: T = over.value
        return result
    work.close()
    raise TomevalError("a player without a model awaited something, which needs an event loop")
