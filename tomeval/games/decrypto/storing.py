"""Played games as records of the store, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tomeval.core.outcomes import LENIENT
from tomeval.games.decrypto.game import Code
from tomeval.games.decrypto.play import PlayedGame
from tomeval.games.decrypto.probes import PROBED_SEAT, QUESTIONS
from tomeval.games.decrypto.seats import ENCODER_QUESTIONS, ROLES
from tomeval.runs.record import Column, Record, Schema
from tomeval.runs.store import Store

_OUTCOMES = {f"{role}_outcome": "TEXT" for role in ROLES}
_ATTEMPTS = {f"{role}_attempts": "INTEGER" for role in ROLES}
_STEP_COLUMNS = {
    "code": "INTEGER",
    "hints": "TEXT",
    "bob": "INTEGER",
    "eve": "INTEGER",
    **_OUTCOMES,
    **_ATTEMPTS,
    "told": "INTEGER",
    "best": "REAL",
    "details": "TEXT",
}

_SHOWN_AS = {
    "eve": "predicted_eve",
    "eve_reminded": "predicted_eve_reminded",
    "bob": "predicted_bob",
    "keywords": "believed_keywords",
}
"""Columns of exported turns whose names are not those of the questions."""


def _asked(record: Record) -> list[tuple[Column, ...]]:
    """Return what every seat was asked in each turn."""
    columns = record.columns
    return [
        (role, role, columns.get(f"{role}_outcome"), columns.get(f"{role}_attempts"))
        for role in ROLES
    ]


SCHEMA = Schema(
    episodes={"outcome": "TEXT", "keywords": "TEXT"},
    steps=_STEP_COLUMNS,
    asked=_asked,
    shown=dict.fromkeys(
        ("miscommunication", "interception", *(_SHOWN_AS[name] for name in ENCODER_QUESTIONS)),
        "INTEGER",
    ),
)


def step_records(store: Store, cells: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield all of every turn of some cells, by column."""
    for number, definition in store.cells():
        if number not in cells:
            continue
        told, players = store.domain.read.columns(definition), definition["players"]
        about = {role: told[role] for role in ROLES} | {"records": definition.get("records")}
        about |= {name: definition[name] for name in ("seed", "on_invalid")}
        about |= {f"{role}_model": players[role].get("model") for role in ROLES}
        about["templates_sha256"] = definition.get("templates")
        for record in store.records(number):
            own = {"cell": number, "episode": record.episode, "status": record.status}
            probes = {(row[0], row[1], row[2]): row[5] for row in record.answers}
            columns = (record.column(name) for name in _STEP_COLUMNS)
            for step, values in enumerate(zip(*columns, strict=True), 1):
                row = dict(zip(_STEP_COLUMNS, values, strict=True))
                yield (
                    about
                    | own
                    | record.own
                    | {"step": step}
                    | _turn(row)
                    | _probes({q: probes.get((step, PROBED_SEAT[q], q)) for q in QUESTIONS})
                    | _lenient(row["details"])
                )


def _turn(row: Mapping[str, Any]) -> dict[str, Any]:
    code, bob, eve = (row[name] for name in ("code", "bob", "eve"))
    said = {"code": code, "hints": row["hints"], "bob": bob, "eve": eve}
    said["miscommunication"] = None if bob is None else bob != code
    said["interception"] = None if eve is None else eve == code
    return said | {name: row[name] for name in (*_OUTCOMES, *_ATTEMPTS, "told", "best")}


def _probes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return answers as exports show them: a code as the number that turns have too."""
    return {
        _SHOWN_AS.get(question, question): code_number(value)
        if question in ENCODER_QUESTIONS and value is not None
        else value
        for question, value in values.items()
    }


def _lenient(details: Mapping[str, Any] | None) -> dict[str, Any]:
    said = details or {}
    lenient = {f"{role}_lenient": (said.get(role) or {}).get(LENIENT) for role in ROLES}
    return lenient | {"details": details}


def as_record(game: PlayedGame) -> Record:
    """Return a played game as it is stored."""
    turns = game.turns
    columns: dict[str, Column] = {
        "code": [code_number(turn.code) for turn in turns],
        "hints": [turn.hints for turn in turns],
        "bob": [code_number(turn.bob) for turn in turns],
        "eve": [code_number(turn.eve) for turn in turns],
        **{f"{role}_outcome": [turn.outcomes[role] for turn in turns] for role in ROLES},
        **{f"{role}_attempts": [turn.attempts[role] for turn in turns] for role in ROLES},
        "told": [int(turn.told) for turn in turns],
        "best": [turn.best for turn in turns],
        "details": [turn.details or None for turn in turns],
    }
    answers = [
        (
            turn.number,
            PROBED_SEAT[probed.question],
            *(probed.question, probed.outcome, probed.attempts, probed.value, probed.raw),
        )
        for turn in turns
        for probed in turn.probes
    ]
    calls = [(turn, role, str(call["purpose"]), call) for turn, role, call in game.calls]
    own = {"outcome": game.outcome, "keywords": game.deal.keywords}
    return Record(game.index, game.status, len(turns), own, columns, answers, calls)


def code_number(code: Code | None) -> int | None:
    """Return a code as a number of three digits.

    Examples
    --------
    >>> code_number((2, 4, 1)), number_code(241)
    (241, (2, 4, 1))
    """
    if code is None:
        return None
    return 100 * code[0] + 10 * code[1] + code[2]


def number_code(number: int) -> Code:
    """Return the code that `code_number` stores as `number`."""
    return number // 100, number // 10 % 10, number % 10
