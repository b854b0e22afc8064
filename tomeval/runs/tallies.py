"""Counts of a run's store by cell: episodes, invalid answers, model calls and their tokens."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable
from functools import partial

from tomeval.core.outcomes import (
    BACKEND_ERROR,
    COMPLETE,
    FAILED,
    INVALID_REASONS,
    LENIENT,
    VALID,
)
from tomeval.models import BACKENDS
from tomeval.runs.columns import INVALID, REASK
from tomeval.runs.columns import LENIENT as LENIENT_RATE
from tomeval.runs.record import Spent, total
from tomeval.runs.store import Store

_USAGE = {"calls": "calls", "prompt_tokens": "prompt", "completion_tokens": "completion"}
_USAGE |= {"cached_tokens": "cached", "cost": "cost"}


def episodes(store: Store) -> dict[int, dict[str, int]]:
    """Return how many episodes have each status."""
    return {
        cell: dict(Counter(status for status, _ in store.lengths(cell)))
        for cell in store.played_cells()
    }


def _asked(store: Store, cell: int) -> Counter[tuple[str, str, str, int]]:
    """Return what was asked in the episodes of a cell, see `Record.counts`."""
    return sum(store.summary(cell).asked.values(), Counter())


def unread_cells(store: Store) -> list[int]:
    """Return the cells with a seat none of whose answers could be read."""
    cells = []
    for cell in store.played_cells():
        answered, read = set(), set()
        for seat, _, outcome, _ in _asked(store, cell):
            answered |= {seat} if _is_answer(outcome) else set()
            read |= {seat} if outcome == VALID else set()
        cells += [cell] if answered - read else []
    return cells


def _is_answer(outcome: str) -> bool:
    return outcome == VALID or (outcome in INVALID_REASONS and outcome != BACKEND_ERROR)


def invalid_answers(store: Store) -> dict[int, dict[str, int]]:
    """Return how many answers were invalid in each way, those of void episodes included."""
    counts = {cell: dict.fromkeys(INVALID_REASONS, 0) for cell in store.played_cells()}
    for cell, count in counts.items():
        for (_, _, outcome, _), number in _asked(store, cell).items():
            if outcome in count:
                count[outcome] += number
    return counts


def unanswered(store: Store) -> Counter[str]:
    """Return how many questions of each form got no reply in episodes that went on without it."""
    by_form: Counter[str] = Counter()
    for cell in store.played_cells():
        asked = store.summary(cell).asked.get(COMPLETE, Counter())
        for (_, question, outcome, _), count in asked.items():
            if outcome == BACKEND_ERROR:
                by_form[question.partition(" ")[0]] += count
    return by_form


NOT_RECORDED = dict.fromkeys((REASK.name, LENIENT_RATE.name), math.nan)
"""What no record of a game played elsewhere tells."""

NO_ANSWERS = dict.fromkeys((INVALID.name, REASK.name, LENIENT_RATE.name), math.nan)
"""The rates of a cell without answers."""


def rates_of(
    store: Store, cells: Iterable[int], among: Callable[[str, str], bool] | None = None
) -> dict[str, float]:
    """Return the rates of answers of some cells together, by the names of `tomeval.runs.columns`.

    Answers of void episodes are included; backend errors are not answers. `among` tells of a seat
    and a question whether its answers count, of which it is not known how many were read leniently;
    default: those of the measured seat. Of answers from a record nobody knows how often they were
    asked for.
    """
    counts = among or (lambda seat, question: _own(store, seat))
    asked = invalid = again = lenient = 0
    recorded = False
    for cell in cells:
        lenient += _lenient(store, cell)
        for (seat, question, outcome, attempts), count in _asked(store, cell).items():
            if _is_answer(outcome) and counts(seat, question):
                asked += count
                invalid += count * (outcome != VALID)
                again += count * (attempts > 1)
                recorded = recorded or attempts == 0
    if not asked:
        return dict(NO_ANSWERS)
    loose = math.nan if among else lenient / asked
    rates = {INVALID.name: invalid / asked, REASK.name: again / asked, LENIENT_RATE.name: loose}
    return rates | NOT_RECORDED if recorded else rates


def _lenient(store: Store, cell: int) -> int:
    """Return how many of the measured seat's answers were read leniently."""
    spent = store.summary(cell).spent.items()
    return sum(said.lenient for (seat, _), said in spent if _own(store, seat))


def _own(store: Store, seat: str) -> bool:
    """Return whether answers of a seat are those of who is measured, see `Schema.own_seat`."""
    return store.domain.schema.own_seat in ("", seat)


def enforced_cells(store: Store) -> dict[int, Spent]:
    """Return what calls came to by cell, where answers were held to a form."""
    held = {cell: total([Spent(), *some.values()]) for cell, some in _spent(store).items()}
    return {cell: spent for cell, spent in held.items() if spent.enforced}


def _spent(store: Store) -> dict[int, dict[tuple[str, bool], Spent]]:
    """Return what calls came to by cell, then by seat and whether the episode failed."""
    return {cell: store.summary(cell).spent for cell in sorted(store.cells_with('"spent":'))}


def paid(store: Store) -> dict[int, dict[str, float]]:
    """Return by cell the logged model calls, their tokens, and their cost if prices were given.

    Replies of failed and unfinished episodes are included. The replies to a failed episode serve
    its next attempt: they count once, however often it was played.
    """
    parts: dict[int, list[Spent]] = {}
    for cell, spent in _spent(store).items():
        parts[cell] = [part for (_, failed), part in spent.items() if not failed]
    for (cell, _), replies in store.replies.items():
        kept = [Spent.of_call({"reply": json.loads(text)}) for text in replies.values()]
        parts.setdefault(cell, []).extend(kept)
    of = {cell: total(some) for cell, some in sorted(parts.items()) if some}
    priced = any(said.cost is not None for said in of.values())
    names = {name: field for name, field in _USAGE.items() if priced or field != "cost"}
    return {
        cell: {name: getattr(said, field) or 0 for name, field in names.items()}
        for cell, said in of.items()
    }


def unfinished(store: Store) -> dict[int, int]:
    """Return how many episodes were begun and have not ended: broken off, or still under way."""
    return dict(Counter(cell for cell, e in store.replies if store.status(cell, e) is None))


def failures(store: Store) -> Counter[str]:
    """Return why failed episodes got no reply, and how often; numbers in it make no difference."""
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for cell in store.played_cells():
        for episode in store.episodes(cell, FAILED):
            for *_, record in store.calls(cell, episode):
                if why := record.get("error"):
                    counts[first.setdefault(re.sub(r"\d+", "0", why), why)] += 1
    return counts


def lenient_replies(store: Store, most: int) -> dict[int, tuple[int, str]]:
    """Return (episode, reply): each cell's longest that was read leniently, the longest first."""
    replies = {}
    for cell in filter(partial(_lenient, store), store.played_cells()):
        lenient = (
            (episode, str(record["reply"]["text"]))
            for episode in store.episodes(cell)
            for _, seat, _, record in store.calls(cell, episode)
            if record.get(LENIENT) is True and _own(store, seat)
        )
        replies[cell] = max(lenient, key=lambda one: len(one[1]))
    longest = sorted(replies, key=lambda cell: (-len(replies[cell][1]), cell))[:most]
    return {cell: replies[cell] for cell in longest}


def low_mass(store: Store, cells: Container[int]) -> tuple[int, int]:
    """Return how many scored answers of some cells gave the labels little probability, and all."""
    of = [part for cell, spent in _spent(store).items() if cell in cells for part in spent.values()]
    return sum(said.low for said in of), sum(said.scored for said in of)


def has_local_models(store: Store) -> bool:
    """Return whether a model of the run has weights that can be read."""
    kinds = {str(said.get("model", "")).partition(":")[0] for _, said in store.cells()}
    return any("torch" in BACKENDS[kind].libraries for kind in kinds if kind in BACKENDS)
