"""Played games as rows of the store, and its columns and views."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tomeval.core.outcomes import LENIENT
from tomeval.domains.decrypto.game import Code
from tomeval.domains.decrypto.play import PlayedGame
from tomeval.domains.decrypto.probes import PROBED_SEAT, QUESTIONS
from tomeval.domains.decrypto.seats import ENCODER_QUESTIONS, ROLES
from tomeval.runs.domain import Block
from tomeval.runs.schema import Schema

_OUTCOMES = {f"{role}_outcome": "TEXT NOT NULL" for role in ROLES}
_ATTEMPTS = {f"{role}_attempts": "INTEGER NOT NULL" for role in ROLES}
_STEP_COLUMNS = {
    "code": "INTEGER NOT NULL",
    "hints": "TEXT",
    "bob": "INTEGER",
    "eve": "INTEGER",
    **_OUTCOMES,
    **_ATTEMPTS,
    "told": "INTEGER NOT NULL",
    "best": "REAL",
    "details": "TEXT",
}

_SHOWN_AS = {
    "eve": "predicted_eve",
    "eve_reminded": "predicted_eve_reminded",
    "bob": "predicted_bob",
    "keywords": "believed_keywords",
}
"""Columns of `step_records` whose names are not those of the questions."""


def _value(question: str) -> str:
    """Return SQL for an answer as exports show it: a code as the number that steps have too."""
    if question not in ENCODER_QUESTIONS:
        return "value"
    digits = enumerate((100, 10, 1))
    return " + ".join(f"{worth} * json_extract(value, '$[{i}]')" for i, worth in digits)


_PROBES = ",\n       ".join(
    f"(SELECT {_value(question)} FROM answers p WHERE p.cell = s.cell AND p.episode = s.episode "
    f"AND p.step = s.step AND p.seat = '{PROBED_SEAT[question]}' AND p.question = '{question}') "
    f"AS {_SHOWN_AS.get(question, question)}"
    for question in QUESTIONS
)
_MODELS = ",\n       ".join(
    f"json_extract(c.definition, '$.players.{role}.model') AS {role}_model" for role in ROLES
)
_ASKED = "\nUNION ALL ".join(
    f"SELECT cell, episode, step, '{role}' AS seat, '{role}' AS question, "
    f"{role}_outcome AS outcome, {role}_attempts AS attempts FROM steps"
    for role in ROLES
)
_READ = ",\n       ".join(
    f"json_extract(s.details, '$.{role}.{LENIENT}') AS {role}_lenient" for role in ROLES
)
_VIEWS = f"""
CREATE VIEW step_records AS
SELECT c.encoder, c.decoder, c.interceptor, json_extract(c.definition, '$.records') AS records,
       c.seed, c.on_invalid,
       {_MODELS},
       json_extract(c.definition, '$.templates') AS templates_sha256,
       s.cell, s.episode, e.status, e.outcome, e.keywords, s.step, s.code, s.hints, s.bob, s.eve,
       s.bob != s.code AS miscommunication, s.eve = s.code AS interception,
       {", ".join(f"s.{name}" for name in (*_OUTCOMES, *_ATTEMPTS))}, s.told, s.best,
       {_PROBES},
       {_READ},
       s.details
FROM steps s JOIN episodes e USING (cell, episode) JOIN cells c USING (cell);
CREATE VIEW asked AS
{_ASKED}
UNION ALL SELECT cell, episode, step, seat, question, outcome, attempts FROM answers
"""

SCHEMA = Schema(
    cells=dict.fromkeys(ROLES, "TEXT NOT NULL"),
    episodes={"outcome": "TEXT", "keywords": "TEXT NOT NULL"},
    steps=_STEP_COLUMNS,
    views=_VIEWS,
    shown=dict.fromkeys(
        ("miscommunication", "interception", *(_SHOWN_AS[name] for name in ENCODER_QUESTIONS)),
        "INTEGER",
    ),
)


def as_block(games: Sequence[PlayedGame]) -> Block:
    """Return played games as the rows that are stored."""
    return Block(
        [(g.index, g.status, len(g.turns), g.outcome, json.dumps(g.deal.keywords)) for g in games],
        _steps(games),
        answers=[
            (
                game.index,
                turn.number,
                PROBED_SEAT[probed.question],
                probed.question,
                probed.outcome,
                probed.attempts,
                _json(probed.value),
                probed.raw,
            )
            for game in games
            for turn in game.turns
            for probed in turn.probes
        ],
        calls=[
            (game.index, turn, role, str(record["purpose"]), record)
            for game in games
            for turn, role, record in game.calls
        ],
    )


def _steps(games: Sequence[PlayedGame]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the step table."""
    for game in games:
        for turn in game.turns:
            yield (
                game.index,
                turn.number,
                code_number(turn.code),
                _json(turn.hints),
                code_number(turn.bob),
                code_number(turn.eve),
                *(turn.outcomes[role] for role in ROLES),
                *(turn.attempts[role] for role in ROLES),
                int(turn.told),
                turn.best,
                _json(turn.details or None),
            )


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


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
