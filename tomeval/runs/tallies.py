"""Counts of a run's store by cell: episodes, invalid answers, model calls and their tokens."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import NamedTuple, TypeVar

from tomeval.core.once import once_each
from tomeval.core.outcomes import (
    BACKEND_ERROR,
    COMPLETE,
    FAILED,
    INVALID_REASONS,
    LENIENT,
    VALID,
    VOID,
)
from tomeval.runs.columns import INVALID, REASK
from tomeval.runs.columns import LENIENT as LENIENT_RATE
from tomeval.runs.rows import Spent, spent_in, total
from tomeval.runs.store import Store

T = TypeVar("T")

_USAGE = ("calls", "prompt_tokens", "completion_tokens", "cached_tokens", "cost")


def _once(count: Callable[[Store], T]) -> Callable[[Store], T]:
    """Count once in a store that does not change; what is returned must not be changed either."""
    known = once_each(count)
    return wraps(count)(lambda store: count(store) if store.changing else known(store))


@_once
def episodes(store: Store) -> dict[int, dict[str, int]]:
    """Return how many episodes have each status."""
    counts: dict[int, dict[str, int]] = {}
    sql = "SELECT cell, status, COUNT(*) FROM episodes GROUP BY cell, status"
    for cell, status, count in store.query(sql):
        counts.setdefault(cell, {})[status] = count
    return counts


@_once
def steps(store: Store) -> dict[tuple[int, str], int]:
    """Return how many steps the episodes of each cell and status have."""
    sql = "SELECT cell, status, SUM(steps) FROM episodes GROUP BY cell, status"
    return {(cell, status): int(count) for cell, status, count in store.query(sql)}


def seats(store: Store) -> dict[int, int]:
    """Return how many seats of each cell have model calls."""
    return dict(store.query("SELECT cell, COUNT(DISTINCT seat) FROM calls GROUP BY cell"))


def seats_without_valid_answer(store: Store, cell: int) -> list[str]:
    """Return the seats of a cell that were asked and none of whose answers could be read."""
    valid = f"SELECT 1 FROM asked WHERE cell = ? AND seat = ? AND outcome = '{VALID}' LIMIT 1"
    seats = store.query("SELECT DISTINCT seat FROM asked WHERE cell = ?", (cell,))
    return [seat for (seat,) in seats if not store.query(valid, (cell, seat))]


@_once
def invalid_answers(store: Store) -> dict[int, dict[str, int]]:
    """Return how many answers were invalid in each way, those of void episodes included."""
    return _invalid_answers(store, _odd(store))


@_once
def own_invalid_answers(store: Store) -> dict[int, dict[str, int]]:
    """Return the same of the measured seat's answers, see `Show.own_seat`."""
    return _invalid_answers(store, _odd_own(store))


def _invalid_answers(store: Store, odd: Odd) -> dict[int, dict[str, int]]:
    counts = {
        cell: dict.fromkeys(INVALID_REASONS, 0)
        for (cell,) in store.query("SELECT DISTINCT cell FROM episodes")
    }
    for cell, rows in odd.items():
        for outcome, count, _, _ in rows:
            if outcome in INVALID_REASONS:
                counts[cell][outcome] += count
    return counts


_ODD = f"outcome != '{VALID}' OR attempts != 1"

Odd = dict[int, list[tuple[str, int, int, int]]]
"""By cell the answers that were not valid at once: those of each outcome.

Their number, how many were asked for again, and of how many that is not known. Nearly all answers
are valid at once: counting the others is far cheaper than testing every one.
"""


@_once
def _odd(store: Store) -> Odd:
    """Return the answers of all seats that were not valid at once."""
    return _not_at_once(store, "1")


@_once
def _odd_own(store: Store) -> Odd:
    """Return those of the measured seat."""
    return _not_at_once(store, own) if (own := _own(store)) != "1" else _odd(store)


def _not_at_once(store: Store, where: str) -> Odd:
    odd: Odd = {}
    sql = f"SELECT cell, {_COUNTS} FROM asked WHERE ({_ODD}) AND ({where}) GROUP BY cell, outcome"
    for cell, *row in store.query(sql):
        odd.setdefault(cell, []).append(tuple(row))
    return odd


def _own(store: Store) -> str:
    """Return SQL over the view ``asked``: the measured seat's answers."""
    return f"seat = '{store.domain.show.own_seat}'" if store.domain.show.own_seat else "1"


_COUNTS = "outcome, COUNT(*), SUM(attempts > 1), SUM(attempts = 0)"


def void_reasons(store: Store) -> Counter[str]:
    """Return how many answers were invalid in each way in the last steps of void episodes.

    Earlier ones ended nothing: questions asked aside, for example.
    """
    ends = (
        "SELECT cell, episode, MAX(step) AS step FROM asked JOIN episodes USING (cell, episode) "
        f"WHERE status = '{VOID}' GROUP BY cell, episode"
    )
    rows = store.query(
        f"SELECT outcome, COUNT(*) FROM asked JOIN ({ends}) USING (cell, episode, step) "
        f"WHERE outcome != '{VALID}' GROUP BY outcome"
    )
    known = set(INVALID_REASONS) - {BACKEND_ERROR}
    return Counter({outcome: count for outcome, count in rows if outcome in known})


def unanswered(store: Store) -> Counter[str]:
    """Return how many questions of each form got no reply in episodes that went on without it."""
    rows = store.query(
        "SELECT question, COUNT(*) FROM asked JOIN episodes USING (cell, episode) "
        f"WHERE status = '{COMPLETE}' AND asked.outcome = '{BACKEND_ERROR}' GROUP BY question"
    )
    by_form: Counter[str] = Counter()
    for question, count in rows:
        by_form[question.partition(" ")[0]] += count
    return by_form


class Answers(NamedTuple):
    """How many answers there were, of those how many invalid, and how many asked for again.

    Answers of void episodes are included; backend errors are not answers. Of answers from a record
    nobody knows how often they were asked for: they have no attempts.
    """

    invalid: int = 0
    again: int = 0
    asked: int = 0
    recorded: int = 0

    def rates(self) -> dict[str, float]:
        """Return the shares by the names of `tomeval.runs.columns`; NaN if nothing is known."""
        counts = {INVALID.name: self.invalid, REASK.name: self.again}
        shares = {name: n / self.asked if self.asked else math.nan for name, n in counts.items()}
        return shares | {REASK.name: math.nan} if self.recorded else shares


NOT_RECORDED = dict.fromkeys((REASK.name, LENIENT_RATE.name), math.nan)
"""What no record of a game played elsewhere tells."""

NO_ANSWERS = dict.fromkeys((INVALID.name, REASK.name, LENIENT_RATE.name), math.nan)
"""The rates of a cell without answers."""


@_once
def rates(store: Store) -> dict[int, dict[str, float]]:
    """Return by cell the rates of the measured seat's answers, see `Answers.rates`, and `LENIENT`.

    Cells without answers are left out.
    """
    loose = _lenient(store)
    odd = {*_odd_own(store), *loose}
    counted = answers(store, sorted(odd), _own(store))
    by_cell = {
        cell: said.rates() | _lenient_share(said, loose.get(cell, 0))
        for cell, said in counted.items()
        if said.asked
    }
    # In all other cells, by far the most, one answer is enough to know: none need be counted.
    one = "SELECT 1 FROM asked WHERE cell = ? LIMIT 1"
    plain = [cell for (cell,) in store.query("SELECT cell FROM cells") if cell not in odd]
    usual = Answers(asked=1).rates() | {LENIENT_RATE.name: 0.0}
    return by_cell | {cell: dict(usual) for cell in plain if store.query(one, (cell,))}


def _lenient(store: Store) -> dict[int, int]:
    """Return how many of the measured seat's answers were read leniently, where any was."""
    by_cell: dict[int, int] = {}
    if not store.query("SELECT 1 FROM calls LIMIT 1"):
        return by_cell
    for (cell, seat, _), said in _spent(store).items():
        if said.lenient and seat == (store.domain.show.own_seat or seat):
            by_cell[cell] = by_cell.get(cell, 0) + said.lenient
    return by_cell


def enforced_cells(store: Store) -> dict[int, int]:
    """Return how many replies the server held to a form, by cell, where there is any."""
    held: dict[int, int] = {}
    if store.query("SELECT 1 FROM calls LIMIT 1"):
        for (cell, _, _), said in _spent(store).items():
            if said.enforced:
                held[cell] = held.get(cell, 0) + said.enforced
    return held


def invalid_rates(store: Store) -> dict[int, float]:
    """Return by cell the share of answers that were invalid; see `rates`."""
    return {cell: of_cell[INVALID.name] for cell, of_cell in rates(store).items()}


def invalid_rate(store: Store, cells: Sequence[int], where: str) -> float:
    """Return the share of invalid answers of some cells and questions; NaN without answers."""
    return pooled(store, cells, where)[INVALID.name]


def _lenient_share(said: Answers, loose: int) -> dict[str, float]:
    return {LENIENT_RATE.name: math.nan if said.recorded else loose / said.asked}


def lenient_rate(store: Store, cells: Sequence[int]) -> float:
    """Return the share of the answers of some cells that were read leniently; NaN if not known."""
    counted = answers(store, cells, _own(store)).values()
    asked = sum(one.asked for one in counted)
    if not asked or any(one.recorded for one in counted):
        return math.nan
    loose = _lenient(store)
    return sum(loose.get(cell, 0) for cell in cells) / asked


def pooled(store: Store, cells: Sequence[int], where: str) -> dict[str, float]:
    """Return the rates of some cells and questions taken together, see `Answers.rates`."""
    counted = answers(store, cells, where).values()
    return Answers(*(sum(counts) for counts in zip(*counted, strict=True))).rates()


def answers(store: Store, cells: Sequence[int], where: str = "1") -> dict[int, Answers]:
    """Return by cell what `Answers` counts.

    `where` narrows the questions: SQL over the view ``asked``.
    """
    by_cell = {}
    every = _odd(store) if where == "1" else None
    for cell in cells:
        here = f"FROM asked WHERE cell = ? AND ({where})"
        asked, bad, again = store.query(f"SELECT COUNT(*) {here}", (cell,))[0][0], 0, 0
        recorded = 0
        sql = f"SELECT {_COUNTS} {here} AND ({_ODD}) GROUP BY outcome"
        rows = store.query(sql, (cell,)) if every is None else every.get(cell, [])
        for outcome, count, repeated, unknown in rows:
            if outcome == VALID or (outcome in INVALID_REASONS and outcome != BACKEND_ERROR):
                bad += count * (outcome != VALID)
                again += repeated
                recorded += unknown
            else:
                asked -= count
        by_cell[cell] = Answers(bad, again, asked, recorded)
    return by_cell


_spent = _once(spent_in)


@_once
def _waiting(store: Store) -> dict[tuple[int, str], Spent]:
    """Return what the replies came to that are kept for episodes that are not finished."""
    fields = ("usage.prompt", "usage.completion", "usage.cached", "details.cost")
    sums = ", ".join(f"SUM(json_extract(said, '$.{field}'))" for field in fields)
    rows = store.query(
        f"SELECT cell, seat, COUNT(*), COUNT(said), {sums} FROM "
        "(SELECT cell, seat, readable(reply) AS said FROM answered LIMIT -1) GROUP BY cell, seat"
    )
    return {(cell, seat): Spent(*counts) for cell, seat, *counts in rows}


def _by(parts: Iterable[tuple[T, Spent]]) -> dict[T, Spent]:
    """Return the totals by key, in order."""
    parts_of: dict[T, list[Spent]] = {}
    for key, part in parts:
        parts_of.setdefault(key, []).append(part)
    return {key: total(some) for key, some in sorted(parts_of.items())}


def usage(store: Store) -> dict[int, dict[str, float]]:
    """Return the logged model calls, their tokens, and their cost if prices were given."""
    return _usage((cell, part) for (cell, _, _), part in _spent(store).items())


def paid(store: Store) -> dict[int, dict[str, float]]:
    """Return the usage of all replies, those of failed and unfinished episodes included.

    Keys are as for `usage`. The replies to a failed episode serve its next attempt: they count
    once, however often it was played.
    """
    return _usage((cell, part) for (cell, _), part in _replied(store))


def _replied(store: Store) -> Iterator[tuple[tuple[int, str], Spent]]:
    """Yield by cell and seat what replies came to, each of which counts once."""
    for (cell, seat, failed), part in _spent(store).items():
        if not failed:
            yield (cell, seat), part
    yield from _waiting(store).items()


def _usage(parts: Iterable[tuple[int, Spent]]) -> dict[int, dict[str, float]]:
    """Return totals by cell with their names."""
    rows = {
        cell: (said.calls, said.prompt, said.completion, said.cached, said.cost)
        for cell, said in _by(parts).items()
    }
    names = _USAGE if any(row[-1] is not None for row in rows.values()) else _USAGE[:-1]
    return {
        cell: {name: value or 0 for name, value in zip(names, row, strict=False)}
        for cell, row in rows.items()
    }


class Asked(NamedTuple):
    """What a language model was asked, in sums.

    Attributes
    ----------
    calls, prompt, completion : int
        Replies that came, and their tokens.
    cost : float or None
        In the currency of the price file; None without a price.
    answers, unreadable : int
        Replies that were to hold an answer, and those of them that could not be read.
    again : int
        Attempts beyond the first at a question.
    """

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    cost: float | None = None
    answers: int = 0
    unreadable: int = 0
    again: int = 0

    def plus(self, more: Asked, sign: int = 1) -> Asked:
        """Return the sums with more, or, with the sign -1, without what was counted before.

        Examples
        --------
        >>> Asked(3, 30, 12, 0.5, 2, 1).plus(Asked(1, 10, 5, None, 1, 1), -1)
        Asked(calls=2, prompt=20, completion=7, cost=0.5, answers=1, unreadable=0, again=0)
        """
        pairs = zip(self, more, strict=True)
        sums = (None if a is b is None else (a or 0) + sign * (b or 0) for a, b in pairs)
        return Asked(*sums)  # type: ignore[arg-type]


def by_seat(store: Store) -> dict[tuple[int, str], Asked]:
    """Return what was asked by cell and seat; replies of failed and unfinished episodes included.

    Answers, and attempts beyond the first, are of finished episodes.
    """
    return {
        key: Asked(
            said.replies,
            said.prompt or 0,
            said.completion or 0,
            said.cost,
            said.answers,
            said.unreadable,
            said.again,
        )
        for key, said in _by(_replied(store)).items()
    }


@_once
def unfinished(store: Store) -> dict[int, int]:
    """Return how many episodes were begun and have not ended: broken off, or still under way."""
    sql = (
        "SELECT cell, COUNT(DISTINCT episode) FROM answered a WHERE NOT EXISTS (SELECT 1 FROM "
        "episodes e WHERE e.cell = a.cell AND e.episode = a.episode) GROUP BY cell"
    )
    return dict(store.query(sql))


def failures(store: Store) -> Counter[str]:
    """Return why failed episodes got no reply, and how often; numbers in it make no difference."""
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for why in _said_in_calls(store, FAILED, "error"):
        counts[first.setdefault(re.sub(r"\d+", "0", why), why)] += 1
    return counts


def faults(store: Store) -> Counter[str]:
    """Return what was wrong with the replies of void episodes, as far as the log says."""
    return Counter(_said_in_calls(store, VOID, "fault"))


def _said_in_calls(store: Store, status: str, name: str) -> Iterator[str]:
    """Yield a text of the calls of episodes that ended so, where it is there."""
    # Read here, not by SQLite: a reason may hold half a surrogate pair, which its texts cannot.
    rows = store.query(
        "SELECT unpacked(record) FROM episodes CROSS JOIN calls USING (cell, episode) "
        "WHERE status = ? AND json_type(readable(record), ?) = 'text'",
        (status, f"$.{name}"),
    )
    return (str(json.loads(record)[name]) for (record,) in rows)


def lenient_replies(store: Store, most: int) -> dict[int, tuple[int, str]]:
    """Return (episode, reply): each cell's longest that was read leniently, the longest first."""
    replies = {}
    for cell in _lenient(store):
        ((episode, record, _),) = store.query(
            "SELECT episode, unpacked(record), "
            "MAX(LENGTH(json_extract(readable(record), '$.reply.text'))) FROM calls "
            f"WHERE cell = ? AND {_own(store)} "
            f"AND json_type(readable(record), '$.{LENIENT}') = 'true'",
            (cell,),
        )
        replies[cell] = episode, str(json.loads(record)["reply"]["text"])
    longest = sorted(replies, key=lambda cell: (-len(replies[cell][1]), cell))[:most]
    return {cell: replies[cell] for cell in longest}


def low_mass(store: Store, cells: Sequence[int] | None = None) -> tuple[int, int]:
    """Return how many scored answers gave the labels little probability, and their number.

    `cells` are those to count in; default: all.
    """
    counted = [said for (cell, *_), said in _spent(store).items() if cells is None or cell in cells]
    return sum(said.low for said in counted), sum(said.scored for said in counted)
