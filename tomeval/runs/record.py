"""One finished episode as it is played, stored, sent and read: the record of every domain.

A record has columns over its steps and over what was asked in them. In a file a column that is the
same number, word or null throughout stands there once, and one of nulls not at all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, NamedTuple

from tomeval.core.outcomes import AGREES, ENFORCED, FREE, LENIENT, VALID
from tomeval.models.base import LOW_MASS

Column = Any
"""A list with a value per row, or the one value of all rows."""

ANSWER = ("step", "seat", "question", "outcome", "attempts", "value", "raw")
"""What is known of an answer that is not in its step's own columns; `value` is JSON-ready."""

ASKED = ("step", "seat", "question", "outcome", "attempts")
"""What is known of every question."""


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
        Answers that were held to a form.
    free, agree : int
        Of these, those that the model was seen to give by itself too, and those that say the same.
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
    free: int = 0
    agree: int = 0

    @classmethod
    def of_call(cls, record: Mapping[str, Any]) -> Spent:
        """Return what one call came to."""
        scores = record.get("scores") or {}
        said = record.get("reply") or scores
        said = said if isinstance(said, dict) else {"text": said}  # of a subject of somebody's own
        usage, details = said.get("usage") or {}, said.get("details") or {}
        outcome, mass = record.get("outcome"), scores.get("mass")
        return cls(
            1,
            int(bool(said)),
            usage.get("prompt"),
            usage.get("completion"),
            usage.get("cached"),
            details.get("cost"),
            int(outcome is not None or bool(scores)),
            int(outcome not in (None, VALID)),
            int((record.get("attempt") or 0) > 1),
            int(mass is not None),
            int(mass is not None and mass < LOW_MASS),
            int(record.get(LENIENT) is True),
            int(ENFORCED in details),
            int(FREE in record),
            int(record.get(AGREES) is True),
        )


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


@dataclass
class Record:
    """A finished episode of a cell.

    Attributes
    ----------
    episode : int
    status : str
        See `tomeval.core.outcomes`.
    steps : int
        How many it has.
    own : dict
        The domain's columns of the episode, JSON-ready.
    columns : dict
        The domain's columns of its steps: a list, one value per step, or the value of all steps.
        A missing one is null throughout.
    answers : list of (step, seat, question, outcome, attempts, value, raw)
        What was asked and is not in the step's own columns; `value` is JSON-ready or None.
    calls : list of (step, seat, form, record)
        Every model call; `record` is a JSON-ready dict. Of a stored record empty: they are read
        with `tomeval.runs.store.Store.calls`.
    spent : dict
        Once it was stored: what the calls of each seat came to, as `Spent`.
    """

    episode: int
    status: str
    steps: int
    own: dict[str, Any]
    columns: dict[str, Column]
    answers: list[tuple[Any, ...]] = field(default_factory=list)
    calls: list[tuple[int, str, str, dict[str, Any]]] = field(default_factory=list)
    spent: dict[str, Any] = field(default_factory=dict)

    def line(self, cell: int) -> dict[str, Any]:
        """Return the record, but for its calls, as a line of a file has it."""
        data = {"cell": cell, "episode": self.episode, "status": self.status, "steps": self.steps}
        data |= self.own
        data |= _folded(self.columns)
        if self.answers:
            columns = zip(*sorted(self.answers, key=lambda row: row[:3]), strict=True)
            data["answers"] = _folded(dict(zip(ANSWER, columns, strict=True)), keep=ANSWER[:1])
        calls: dict[str, list[Spent]] = {}
        for _, seat, _, record in self.calls:
            calls.setdefault(seat, []).append(Spent.of_call(record))
        self.spent = self.spent or {seat: total(parts) for seat, parts in calls.items()}
        if self.spent:
            data["spent"] = self.spent
        return data

    @classmethod
    def of_line(cls, data: Mapping[str, Any], schema: Schema) -> Record:
        """Return what `line` gave, with the columns of the domain's schema.

        Raises
        ------
        KeyError, TypeError, ValueError
            It was not made by `line`.
        """
        steps = {name: data[name] for name in schema.steps if name in data}
        asked = data.get("answers", {})
        count = len(asked["step"]) if asked else 0
        rows = zip(*(spread(asked.get(name), count) for name in ANSWER), strict=True)
        answers = list(rows) if asked else []
        own, rare = schema.episodes, schema.rare
        mine = {name: data.get(name) for name in own if name in data or name not in rare}
        spent = data.get("spent") or {}
        shared = data["episode"], data["status"], data["steps"]
        return cls(*shared, mine, steps, answers, [], spent)

    def column(self, name: str) -> list[Any]:
        """Return a column of the steps, a value per step."""
        return list(spread(self.columns.get(name), self.steps))

    def rows(self, table: str, names: Sequence[str], schema: Schema) -> Iterator[tuple[Any, ...]]:
        """Yield columns of a table, see `tomeval.runs.store.Store.read`."""
        columns, count = self._table(table, schema)
        each = []
        for whole in names:
            name, *path = whole.split("/")
            values = spread(self.episode if name == "episode" else columns.get(name), count)
            each.append([_inside(value, path) for value in values] if path else values)
        return zip(*each, strict=True) if count else iter(())

    def _table(self, table: str, schema: Schema) -> tuple[Mapping[str, Column], int]:
        """Return the columns of a table, and how many rows it has."""
        if table == "steps":
            return {"step": range(1, self.steps + 1), **self.columns}, self.steps
        turns = self._turns(schema)
        if table == "episodes":
            own = {"status": self.status, "steps": max(turns, default=0), **self.own}
            return {name: [value] for name, value in own.items()}, 1  # a value may be a list
        rows: list[tuple[Any, ...]] = self.answers
        named: tuple[str, ...] = ANSWER
        if table == "asked":
            said = self.asked(schema.asked)
            rows, named = sorted((turns[step - 1], *row) for step, *row in said), ASKED
        return {name: [row[at] for row in rows] for at, name in enumerate(named)}, len(rows)

    def _turns(self, schema: Schema) -> Sequence[int]:
        """Return by step what exports call a step, see `Schema.turn`."""
        return self.column(schema.turn) if schema.turn else range(1, self.steps + 1)

    def asked(self, asked: Asked) -> Iterator[tuple[int, str, str, str, int]]:
        """Yield step, seat, question, outcome and attempts of every question, in no order."""
        numbers = range(1, self.steps + 1)
        for columns in asked(self):
            yield from zip(numbers, *(spread(c, self.steps) for c in columns), strict=True)
        for row in self.answers:
            yield row[0], row[1], row[2], row[3], row[4]

    def counts(self, asked: Asked) -> Counter[tuple[str, str, str, int]]:
        """Return how many questions there were by seat, question, outcome and attempts.

        Attempts are 0 (not known), 1, or 2 for more.
        """
        counts: Counter[tuple[Any, ...]] = Counter()
        for columns in asked(self):
            if any(isinstance(column, list) for column in columns):
                counts.update(zip(*(spread(c, self.steps) for c in columns), strict=True))
            elif self.steps:
                counts[columns] += self.steps
        counts.update(row[1:5] for row in self.answers)
        few: Counter[tuple[str, str, str, int]] = Counter()
        for (seat, question, outcome, attempts), count in counts.items():
            few[seat, question, outcome, min(attempts, 2)] += count
        return few


Asked = Callable[[Record], Iterable[tuple[Column, Column, Column, Column]]]
"""Gives, of a record's steps, columns of seat, question, outcome and attempts, a tuple for each
question that every step asks."""


def _nothing(record: Record) -> tuple[()]:
    return ()


@dataclass
class Schema:
    """A domain's own columns of records.

    Attributes
    ----------
    episodes, steps : tuple of str
        Those of `Record.own` and of `Record.columns`. Lists of episodes show the first column of an
        episode, as `RunCell.shown_episode` gives it.
    rare : tuple of str
        Those of `episodes` that not every episode has.
    asked : callable
        See `Asked`. Default: all questions are among the answers.
    unit : str
        What the sampling unit of a paired comparison is: an episode, or the deal of several.
    own_seat : str
        The seat that is measured, whose answers rates are of; empty: all.
    turn : str
        The column of steps that numbers what exports show as steps, where these are several.
    """

    episodes: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    rare: tuple[str, ...] = field(default=(), kw_only=True)
    asked: Asked = _nothing
    unit: str = "episode"
    own_seat: str = ""
    turn: str = ""


def spread(column: Column, count: int) -> Iterable[Any]:
    """Return the values of a column of so many rows."""
    return column if isinstance(column, list | tuple | range) else repeat(column, count)


def _inside(value: Any, path: Sequence[str]) -> Any:
    """Return what stands in objects inside each other; None where one has no such key."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _folded(columns: Mapping[str, Column], keep: Sequence[str] = ()) -> dict[str, Column]:
    """Return columns without those of nulls, and a plain value that all rows share once."""
    folded = {}
    for name, column in columns.items():
        if isinstance(column, list | tuple) and len(column) and name not in keep:
            first = column[0]
            plain = first is None or isinstance(first, str | int | float)  # 1, 1.0, True are equal
            if plain and column.count(first) == len(column) and len(set(map(type, column))) == 1:
                column = first
        if column is not None:
            folded[name] = column
    return folded
