"""What model calls came to: calls, tokens, cost, and answers that could not be read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tomeval.core.outcomes import ENFORCED, LENIENT, VALID
from tomeval.models.base import LOW_MASS


class Spent(NamedTuple):
    """What the calls of a seat came to.

    Attributes
    ----------
    calls, replies : int
        All, and those with a reply or scores.
    prompt, completion, cached : int or None
        Tokens; None: no reply says.
    cost : float or None
        None: no reply has a price.
    answers, unreadable, again : int
        Calls that were to hold an answer, those of them that could not be read, and attempts beyond
        the first.
    scored, low : int
        Scored answers that say how much probability all labels have, and those below `LOW_MASS`.
    lenient : int
        Answers that were read although they were not in the exact form asked for.
    enforced : int
        Replies that the server held to a form.
    """

    calls: int = 0
    replies: int = 0
    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None
    cost: float | None = None
    answers: int = 0
    unreadable: int = 0
    again: int = 0
    scored: int = 0
    low: int = 0
    lenient: int = 0
    enforced: int = 0


def total(parts: Iterable[Sequence[Any]]) -> Spent:
    """Return what several come to together.

    Examples
    --------
    >>> found = total([Spent(2, prompt=3), Spent(1, cost=0.5), Spent(4, prompt=4)])
    >>> found.calls, found.prompt, found.completion, found.cost
    (7, 7, None, 0.5)
    """
    return Spent(*map(_sum, zip(*parts, strict=True)))


def _sum(values: Sequence[Any]) -> Any:
    if None in values:
        values = [value for value in values if value is not None]
        if not values:
            return None
    exact = sum(values)
    return math.fsum(values) if isinstance(exact, float) else exact


def by_seat(calls: Iterable[tuple[int, str, str, Any]]) -> dict[str, Spent]:
    """Return what the calls of an episode came to, see `tomeval.runs.record.Record.calls`."""
    calls_of: dict[str, list[Spent]] = {}
    for _, seat, _, record in calls:
        calls_of.setdefault(seat, []).append(_of_call(record))
    return {seat: total(parts) for seat, parts in calls_of.items()}


def _of_call(record: Any) -> Spent:
    """Return what one call came to; of a record that tomeval does not write, what can be read."""
    record = _table(record)
    scores = record.get("scores")
    said = next((s for s in (record.get("reply"), scores) if isinstance(s, dict)), None)
    usage, outcome = _table(_table(said).get("usage")), record.get("outcome")
    mass = _number(_table(scores).get("mass"))
    return Spent(
        1,
        int(said is not None),
        _number(usage.get("prompt"), int),
        _number(usage.get("completion"), int),
        _number(usage.get("cached"), int),
        _number(_table(_table(said).get("details")).get("cost")),
        int(outcome is not None or isinstance(scores, dict)),
        int(outcome is not None and outcome != VALID),
        int((_number(record.get("attempt")) or 0) > 1),
        int(mass is not None),
        int(mass is not None and mass < LOW_MASS),
        int(record.get(LENIENT) is True),
        int(ENFORCED in _table(_table(said).get("details"))),
    )


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any, *kinds: type) -> Any:
    """Return a finite number of these kinds, of any by default; None: it is something else."""
    fits = type(value) in (kinds or (int, float)) and math.isfinite(value)
    return value if fits else None
