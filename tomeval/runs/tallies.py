"""Counts of a run's store by cell: episodes, invalid answers, model calls and their tokens."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tomeval.core.outcomes import BACKEND_ERROR, FAILED, INVALID_REASONS, VALID, VOID
from tomeval.models.base import LOW_MASS
from tomeval.runs.rates import INVALID, REASK
from tomeval.runs.store import Store

_USAGE = ("calls", "prompt_tokens", "completion_tokens", "cached_tokens", "cost")


def _readable(column: str) -> str:
    """Return SQL for a column of JSON that SQLite can read.

    Python writes numbers that JSON does not have, such as the log-probability of a label that
    cannot be said.
    """
    for text in ("-Infinity", "Infinity", "NaN"):
        column = f"REPLACE({column}, '{text}', 'null')"
    return column


_RECORD = _readable("unpacked(record)")

_REPLY = _readable("unpacked(reply)")

# What a record `r` says of a reply; own subjects may log calls of any other shape.
_SAID = (
    "CASE 'object' WHEN json_type(r, '$.reply') THEN json_extract(r, '$.reply') "
    "WHEN json_type(r, '$.scores') THEN json_extract(r, '$.scores') END"
)


def episodes(store: Store) -> dict[int, dict[str, int]]:
    """Return how many episodes have each status."""
    counts: dict[int, dict[str, int]] = {}
    sql = "SELECT cell, status, COUNT(*) FROM episodes GROUP BY cell, status"
    for cell, status, count in store.query(sql):
        counts.setdefault(cell, {})[status] = count
    return counts


def invalid_answers(store: Store) -> dict[int, dict[str, int]]:
    """Return how many answers were invalid in each way, those of void episodes included."""
    counts = {
        cell: dict.fromkeys(INVALID_REASONS, 0)
        for (cell,) in store.query("SELECT DISTINCT cell FROM episodes")
    }
    for cell, outcome, count in store.query(
        f"SELECT cell, outcome, COUNT(*) FROM asked WHERE outcome != '{VALID}' "
        "GROUP BY cell, outcome"
    ):
        if outcome in INVALID_REASONS:
            counts[cell][outcome] += count
    return counts


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
        """Return the shares by the names of `tomeval.runs.rates`; NaN if nothing is known."""
        counts = {INVALID.name: self.invalid, REASK.name: self.again}
        found = {name: n / self.asked if self.asked else math.nan for name, n in counts.items()}
        return found | {REASK.name: math.nan} if self.recorded else found


def rates(store: Store) -> dict[int, dict[str, float]]:
    """Return by cell its rates, see `Answers.rates`; cells without answers are left out."""
    sql = f"SELECT DISTINCT cell FROM asked WHERE outcome != '{VALID}' OR attempts != 1"
    odd = [cell for (cell,) in store.query(sql)]
    found = {cell: said.rates() for cell, said in answers(store, odd).items() if said.asked}
    # In all other cells, by far the most, one answer is enough to know: none need be counted.
    one = "SELECT 1 FROM asked WHERE cell = ? LIMIT 1"
    plain = [cell for (cell,) in store.query("SELECT cell FROM cells") if cell not in set(odd)]
    usual = Answers(asked=1).rates()
    return found | {cell: dict(usual) for cell in plain if store.query(one, (cell,))}


def invalid_rates(store: Store) -> dict[int, float]:
    """Return by cell the share of answers that were invalid; see `rates`."""
    return {cell: found[INVALID.name] for cell, found in rates(store).items()}


def invalid_rate(store: Store, cells: Sequence[int], where: str) -> float:
    """Return the share of invalid answers of some cells and questions; NaN without answers."""
    return pooled(store, cells, where)[INVALID.name]


def pooled(store: Store, cells: Sequence[int], where: str) -> dict[str, float]:
    """Return the rates of some cells and questions taken together, see `Answers.rates`."""
    found = answers(store, cells, where).values()
    return Answers(*(sum(counts) for counts in zip(*found, strict=True))).rates()


def answers(store: Store, cells: Sequence[int], where: str = "1") -> dict[int, Answers]:
    """Return by cell what `Answers` counts.

    `where` narrows the questions: SQL over the view ``asked``.
    """
    found = {}
    for cell in cells:
        here = f"FROM asked WHERE cell = ? AND ({where})"
        asked, bad, again = store.query(f"SELECT COUNT(*) {here}", (cell,))[0][0], 0, 0
        recorded = 0
        # Nearly all answers are valid at once: counting the others is far cheaper than testing
        # every one.
        odd = f"{here} AND (outcome != '{VALID}' OR attempts != 1)"
        counts = "COUNT(*), SUM(attempts > 1), SUM(attempts = 0)"
        sql = f"SELECT outcome, {counts} {odd} GROUP BY outcome"
        for outcome, count, repeated, unknown in store.query(sql, (cell,)):
            if outcome == VALID or (outcome in INVALID_REASONS and outcome != BACKEND_ERROR):
                bad += count * (outcome != VALID)
                again += repeated
                recorded += unknown
            else:
                asked -= count
        found[cell] = Answers(bad, again, asked, recorded)
    return found


def usage(store: Store) -> dict[int, dict[str, float]]:
    """Return the logged model calls, their tokens, and their cost if prices were given."""
    return _usage(
        store, f"SELECT cell, {_SAID} AS said FROM (SELECT cell, {_RECORD} AS r FROM calls)"
    )


def paid(store: Store) -> dict[int, dict[str, float]]:
    """Return the usage of all replies, those of failed and unfinished episodes included.

    Keys are as for `usage`. The replies to a failed episode serve its next attempt: they count
    once, however often it was played.
    """
    return _usage(
        store,
        f"SELECT cell, {_SAID} AS said FROM (SELECT cell, {_RECORD} AS r FROM calls "
        f"JOIN episodes USING (cell, episode) WHERE status != '{FAILED}') "
        f"UNION ALL SELECT cell, {_REPLY} FROM answered",
    )


def _usage(store: Store, replies: str) -> dict[int, dict[str, float]]:
    """Add up the usage of `replies`, SQL that gives ``cell`` and ``said``, JSON or null."""
    fields = ("usage.prompt", "usage.completion", "usage.cached", "details.cost")
    sums = ", ".join(f"SUM(json_extract(said, '$.{field}'))" for field in fields)
    rows = store.query(f"SELECT cell, COUNT(*), {sums} FROM ({replies}) GROUP BY cell")
    names = _USAGE if any(row[-1] is not None for row in rows) else _USAGE[:-1]
    return {row[0]: {n: v or 0 for n, v in zip(names, row[1:], strict=False)} for row in rows}


class Asked(NamedTuple):
    """What one seat of a cell was asked: replies, tokens, cost, and answers that were read."""

    calls: int
    prompt: int
    completion: int
    cost: float | None
    answers: int
    unreadable: int
    again: int


def by_seat(store: Store) -> dict[tuple[int, str], Asked]:
    """Return what was asked by cell and seat; replies of failed and unfinished episodes included.

    Answers, and attempts beyond the first (``again``), are of finished episodes.
    """
    outcome = "json_extract(r, '$.outcome')"
    answer = f"({outcome} IS NOT NULL OR json_type(r, '$.scores') = 'object')"
    replies = (
        f"SELECT cell, seat, {_SAID} AS said, {answer} AS answer, "
        f"({outcome} <> '{VALID}') AS bad, json_extract(r, '$.attempt') > 1 AS again "
        f"FROM (SELECT cell, seat, {_RECORD} AS r FROM calls "
        f"JOIN episodes USING (cell, episode) WHERE status != '{FAILED}') UNION ALL "
        f"SELECT cell, seat, {_REPLY}, 0, 0, 0 FROM answered"
    )
    fields = ("usage.prompt", "usage.completion", "details.cost")
    sums = ", ".join(f"SUM(json_extract(said, '$.{name}'))" for name in fields)
    rows = store.query(
        f"SELECT cell, seat, COUNT(said), {sums}, SUM(answer), SUM(bad), SUM(again) "
        f"FROM ({replies}) GROUP BY cell, seat"
    )
    return {
        (cell, seat): Asked(calls, prompt or 0, written or 0, cost, good or 0, bad or 0, again or 0)
        for cell, seat, calls, prompt, written, cost, good, bad, again in rows
    }


def unfinished(store: Store) -> dict[int, int]:
    """Return how many episodes were begun and have not ended: broken off, or still under way."""
    sql = (
        "SELECT cell, COUNT(DISTINCT episode) FROM answered a WHERE NOT EXISTS (SELECT 1 FROM "
        "episodes e WHERE e.cell = a.cell AND e.episode = a.episode) GROUP BY cell"
    )
    return dict(store.query(sql))


def last_failure(store: Store) -> str:
    """Return why the last failed episode got no reply; empty if the log does not say."""
    # Read here, not by SQLite: a reason may hold half a surrogate pair, which its texts cannot.
    sql = (
        "SELECT unpacked(record) FROM calls JOIN episodes USING (cell, episode) "
        f"WHERE status = '{FAILED}' AND json_type({_RECORD}, '$.error') <> 'null' "
        "ORDER BY calls.cell DESC, calls.episode DESC, call DESC LIMIT 1"
    )
    rows = store.query(sql)
    return str(json.loads(rows[0][0])["error"]) if rows else ""


def failures(store: Store) -> Counter[str]:
    """Return why failed episodes got no reply, and how often; numbers in it make no difference."""
    sql = (
        "SELECT unpacked(record) FROM calls JOIN episodes USING (cell, episode) "
        f"WHERE status = '{FAILED}' AND json_type({_RECORD}, '$.error') <> 'null'"
    )
    found: Counter[str] = Counter()
    first: dict[str, str] = {}
    for (record,) in store.query(sql):  # read here, see `last_failure`
        why = str(json.loads(record)["error"])
        found[first.setdefault(re.sub(r"\d+", "0", why), why)] += 1
    return found


def low_mass(store: Store, cells: Sequence[int] | None = None) -> tuple[int, int]:
    """Return how many scored answers gave the labels little probability, and their number.

    `cells` are those to count in; default: all.
    """
    mass = f"json_extract({_RECORD}, '$.scores.mass')"
    sql = f"SELECT cell, SUM({mass} < ?), COUNT({mass}) FROM calls GROUP BY cell"
    rows = store.query(sql, (LOW_MASS,))
    found = [row for row in rows if cells is None or row[0] in cells]
    return sum(low or 0 for _, low, _ in found), sum(count for *_, count in found)
