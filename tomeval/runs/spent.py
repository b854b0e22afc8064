"""What model calls came to, kept by episode beside them, so that they need not be read to be added.

The store writes a row with every episode, which is part of the episode's checksum. It is used only
if this version made it; what any other episode came to is added up from its calls.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from tomeval.core.outcomes import FAILED, LENIENT, VALID
from tomeval.models.base import LOW_MASS

if TYPE_CHECKING:
    from tomeval.runs.store import Store

MADE = crc32(repr((2, LOW_MASS, VALID)).encode())
"""What rows depend on besides the calls. The first number grows with every change of `Spent`."""

_AT_A_TIME = 1000


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
    found = sum(values)
    return math.fsum(values) if isinstance(found, float) else found


def by_episode(calls: Iterable[tuple[int, int, str, str, dict[str, Any]]]) -> dict[int, str]:
    """Return what is stored of each episode's calls, which are as `Block` has them.

    Episodes with a call of a shape that tomeval does not write, such as an own subject's, are left
    out.
    """
    found: dict[int, dict[str, list[Spent]]] = defaultdict(lambda: defaultdict(list))
    odd: set[int] = set()
    for episode, _, seat, _, record in calls:
        one = _of_call(record)
        if one is None:
            odd.add(episode)
        else:
            found[episode][seat].append(one)
    return {
        episode: said_of({seat: total(parts) for seat, parts in seats.items()})
        for episode, seats in found.items()
        if episode not in odd
    }


def said_of(seats: dict[str, Spent]) -> str:
    """Return what the seats of an episode spent as the text that is stored."""
    return json.dumps(seats, separators=(",", ":"))


def _of_call(record: Any) -> Spent | None:
    """Return what one call came to, as `calls_sql` counts it; None for an odd one."""
    if not isinstance(record, dict):
        return None
    scores = record.get("scores")
    said = next((s for s in (record.get("reply"), scores) if isinstance(s, dict)), None)
    usage, details = (said or {}).get("usage") or {}, (said or {}).get("details") or {}
    if not (isinstance(usage, dict) and isinstance(details, dict)):
        return None
    prompt, completion, cached = (usage.get(key) for key in ("prompt", "completion", "cached"))
    cost, attempt = details.get("cost"), record.get("attempt")
    mass = scores.get("mass") if isinstance(scores, dict) else None
    outcome = record.get("outcome")
    if not (
        all(value is None or type(value) is int for value in (prompt, completion, cached, attempt))
        and all(value is None or _is_finite(value) for value in (cost, mass))
        and (outcome is None or isinstance(outcome, str))
    ):
        return None
    return Spent(
        1,
        int(said is not None),
        prompt,
        completion,
        cached,
        cost,
        int(outcome is not None or isinstance(scores, dict)),
        int(outcome is not None and outcome != VALID),
        int(attempt is not None and attempt > 1),
        int(mass is not None),
        int(mass is not None and mass < LOW_MASS),
        int(record.get(LENIENT) is True),
    )


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


class Kept(NamedTuple):
    """What was spent by cell, seat and whether the episode failed; episodes left to count."""

    spent: dict[tuple[int, str, bool], Spent]
    left: list[tuple[int, int]]


def kept(store: Store) -> Kept:
    """Read the rows that can be used; the calls of all other episodes are `left`."""
    _, rows = store.iterate(
        "SELECT e.cell, e.episode, e.status, s.made, s.said FROM episodes e "
        "LEFT JOIN spent s USING (cell, episode) WHERE s.made IS NOT NULL OR EXISTS (SELECT 1 FROM "
        "calls c WHERE c.cell = e.cell AND c.episode = e.episode) ORDER BY e.cell, e.episode"
    )
    left: list[tuple[int, int]] = []
    parts: dict[tuple[int, str, bool], list[Sequence[Any]]] = {}
    for cell, episode, status, made, text in rows:
        if made != MADE:
            left.append((cell, episode))
            continue
        for seat, said in json.loads(text).items():
            mine = parts.setdefault((cell, seat, status == FAILED), [])
            mine.append(said)
            if len(mine) == _AT_A_TIME:
                mine[:] = [total(mine)]
    return Kept({key: total(some) for key, some in parts.items()}, left)
