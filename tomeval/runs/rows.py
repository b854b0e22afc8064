"""Finished episodes as the store inserts them: made where they were played, sent, then written."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tomeval.core.outcomes import ENFORCED, FAILED, LENIENT, VALID
from tomeval.models.base import LOW_MASS
from tomeval.runs.domain import Block, Row
from tomeval.runs.schema import pack_json

if TYPE_CHECKING:
    from tomeval.runs.store import Store

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


def by_episode(
    cell: int, calls: Iterable[tuple[int, int, str, str, dict[str, Any]]]
) -> list[tuple[int, int, str]]:
    """Return the rows of the table ``spent`` for calls of a cell, which are as `Block` has them."""
    calls_of: dict[int, dict[str, list[Spent]]] = defaultdict(lambda: defaultdict(list))
    for episode, _, seat, _, record in calls:
        calls_of[episode][seat].append(_of_call(record))
    return [
        (
            cell,
            episode,
            json.dumps(
                {seat: total(parts) for seat, parts in seats.items()}, separators=(",", ":")
            ),
        )
        for episode, seats in calls_of.items()
    ]


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


def spent_in(store: Store) -> dict[tuple[int, str, bool], Spent]:
    """Return what was spent by cell, seat and whether the episode failed."""
    _, rows = store.iterate(
        "SELECT cell, status, said FROM episodes JOIN spent USING (cell, episode) "
        "ORDER BY cell, episode"
    )
    parts: dict[tuple[int, str, bool], list[Sequence[Any]]] = {}
    for cell, status, text in rows:
        for seat, said in json.loads(text).items():
            mine = parts.setdefault((cell, seat, status == FAILED), [])
            mine.append(said)
            if len(mine) == _AT_A_TIME:
                mine[:] = [total(mine)]
    return {key: total(some) for key, some in parts.items()}


@dataclass(frozen=True)
class Rows:
    """Finished episodes of one cell, with packed records; can be pickled.

    Attributes
    ----------
    cell : int
    episodes : list of (episode, status, steps, *domain's)
        As `Block` has them.
    steps, answers : list of (cell, episode, step, ...)
    calls : list of (cell, episode, call, step, seat, form, packed record)
    spent : list of (cell, episode, text)
        What calls came to, see `tomeval.runs.rows`.
    """

    cell: int
    episodes: list[Row]
    steps: list[Row]
    answers: list[Row]
    calls: list[Row]
    spent: list[Row] = field(default_factory=list)

    @classmethod
    def of(cls, cell: int, block: Block) -> Rows:
        """Return a block of a cell as rows, its calls numbered within each episode."""
        return cls(
            cell,
            list(block.episodes),
            [(cell, *row) for row in block.steps],
            [(cell, *row) for row in block.answers],
            list(_numbered(cell, block)),
            list(by_episode(cell, block.calls)),
        )

    def extend(self, other: Rows) -> None:
        """Add episodes of the same cell."""
        for name in ("episodes", "steps", "answers", "calls", "spent"):
            getattr(self, name).extend(getattr(other, name))

    def tables(self) -> dict[str, list[Row]]:
        """Return what was played, by table."""
        return {
            "episodes": [(self.cell, *row) for row in self.episodes],
            "steps": self.steps,
            "answers": self.answers,
            "calls": self.calls,
            "spent": self.spent,
        }


def _numbered(cell: int, block: Block) -> Iterator[Row]:
    """Yield the rows of the call log."""
    numbers: defaultdict[int, Iterator[int]] = defaultdict(itertools.count)
    for episode, *where, record in block.calls:
        yield cell, episode, next(numbers[episode]), *where, pack_json(record)
