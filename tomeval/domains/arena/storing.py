"""Played games as rows of the store, and its columns and views."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from tomeval.core.outcomes import COMPLETE, LENIENT
from tomeval.domains.arena.cells import SUBJECT
from tomeval.domains.arena.played import Decision, PlayedGame, Probed
from tomeval.domains.arena.solver import Bound
from tomeval.runs.domain import Block
from tomeval.runs.schema import Schema
from tomeval.runs.store import Store

_BOUNDS = ("best", "chosen", "regret", "tom_regret")
_VALUES = [f"{name}_{end}" for name in _BOUNDS for end in ("low", "high")]
_PAYOFFS = ("step_payoff", "step_best", "step_reply")

_EPISODES = {
    "deal": "INTEGER NOT NULL",
    "role": "TEXT NOT NULL",
    "reward": "REAL",
    "won": "REAL",
    "rounds": "INTEGER NOT NULL",
    "ending": "TEXT NOT NULL",
    "seats": "TEXT NOT NULL",
    "roles": "TEXT NOT NULL",
    "teams": "TEXT NOT NULL",
    "rewards": "TEXT NOT NULL",
    "wins": "TEXT NOT NULL",
    "marks": "TEXT NOT NULL",
}
"""`deal` groups games that share a deal; `role`, `reward` and `won` are the subject's; `seats` is
the seat of every player, the subject first; the lists after it are by seat."""

_STEPS = {
    "stage": "INTEGER NOT NULL",
    "round": "INTEGER NOT NULL",
    "seat": "INTEGER NOT NULL",
    "slot": "INTEGER NOT NULL",
    "kind": "TEXT NOT NULL",
    "action": "TEXT",
    "verdict": "TEXT NOT NULL",
    "outcome": "TEXT NOT NULL",
    "attempts": "INTEGER NOT NULL",
    "error": "TEXT",
    "tries": "TEXT",
    **dict.fromkeys(_VALUES, "REAL"),
    "reply": "TEXT",
    **dict.fromkeys(_PAYOFFS, "REAL"),
    "details": "TEXT",
}
"""One row per decision of any seat. `action` is JSON, null if nothing counted; `tries` are the
refused attempts as [error, words]; `error` is the type of the last one if there was no other."""

_SLOT = f"CASE slot WHEN 0 THEN '{SUBJECT}' ELSE 'other_' || slot END"

_VIEWS = f"""
CREATE VIEW step_records AS
SELECT c.game, c.player, c.others, c.seed, c.on_invalid,
       json_extract(c.definition, '$.players[0].model') AS model,
       json_extract(c.definition, '$.players[0].strategy') AS strategy,
       json_extract(c.definition, '$.templates') AS templates_sha256,
       s.cell, s.episode, e.status, e.deal, e.ending, s.step, s.stage, s.round, s.seat, s.slot,
       json_extract(c.definition, '$.players[' || s.slot || '].name') AS name,
       json_extract(e.roles, '$[' || s.seat || ']') AS role,
       s.kind, s.action, s.verdict, s.outcome, s.attempts, s.error, s.tries,
       {", ".join(f"s.{name}" for name in _VALUES)}, s.reply,
       {", ".join(f"s.{name}" for name in _PAYOFFS)},
       (SELECT json_group_object(question, json(value)) FROM answers p WHERE p.cell = s.cell
        AND p.episode = s.episode AND p.step = s.step) AS probes,
       json_extract(s.details, '$.{LENIENT}') AS lenient, s.details
FROM steps s JOIN episodes e USING (cell, episode) JOIN cells c USING (cell);
CREATE VIEW asked AS
SELECT cell, episode, step, {_SLOT} AS seat, kind AS question, outcome, attempts FROM steps
UNION ALL SELECT cell, episode, step, seat, question, outcome, attempts FROM answers
"""

SCHEMA = Schema(
    cells=dict.fromkeys(("player", "game", "others"), "TEXT NOT NULL"),
    episodes=_EPISODES,
    steps=_STEPS,
    views=_VIEWS,
)


def as_block(games: Sequence[PlayedGame]) -> Block:
    """Return played games as the rows that are stored."""
    return Block(
        [_episode(game) for game in games],
        [_step(game.index, decision) for game in games for decision in game.decisions],
        answers=[row for game in games for row in _answers(game)],
        calls=[
            (game.index, number, _slot_name(slot), form, record)
            for game in games
            for number, slot, form, record in game.calls
        ],
    )


def _episode(game: PlayedGame) -> tuple[Any, ...]:
    seat = game.seats[0]
    lists = (game.seats, game.roles, game.teams, game.rewards, game.wins, game.record)
    return (
        game.index,
        game.status,
        len(game.decisions),
        game.deal,
        game.roles[seat],
        game.rewards[seat] if game.rewards else None,
        game.wins[seat] if game.wins else None,
        game.rounds,
        game.ending,
        *map(json.dumps, lists),
    )


def _step(episode: int, row: Decision) -> tuple[Any, ...]:
    answer, worth = row.answer, row.worth
    counted = row.verdict in ("valid", "default")
    values: list[float | None] = []
    for name in _BOUNDS:
        bound: Bound | None = None if worth is None else getattr(worth, name)
        values += [None, None] if bound is None else [float(end) for end in bound]
    step = None if worth is None else worth.step
    payoffs = (None,) * 3 if step is None else tuple(map(_number, step))
    replied = worth is not None and worth.tom_regret is not None
    return (
        episode,
        row.number,
        row.stage,
        row.round,
        row.seat,
        row.slot,
        row.kind,
        json.dumps(row.action) if counted else None,
        row.verdict,
        answer.outcome,
        answer.attempts,
        row.error.error or None if not counted or row.verdict == "default" else None,
        json.dumps(answer.tries) if answer.tries else None,
        *values,
        json.dumps(worth.reply) if replied and worth is not None else None,
        *payoffs,
        json.dumps(answer.details) if answer.details else None,
    )


def _answers(game: PlayedGame) -> Iterator[tuple[Any, ...]]:
    for row in game.decisions:
        for probed in row.probed:
            answer = probed.answer
            yield (
                game.index,
                row.number,
                _slot_name(row.slot),
                probed.probe.question,
                answer.outcome,
                answer.attempts,
                json.dumps(_told(probed)),
                answer.raw,
            )


def _told(probed: Probed) -> dict[str, Any]:
    """Return what is known of a probe, JSON-ready."""
    names = ("truth", "hit", "probability", "brier", "attainable", "observer", "observer_brier")
    told = {name: getattr(probed, name) for name in names}
    said = {"said": probed.answer.action, "probe": probed.probe.name}
    tries = probed.answer.tries
    return {**said, **told, **({"tries": tries} if tries else {})}


def _slot_name(slot: int) -> str:
    return f"other_{slot}" if slot else SUBJECT


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def calls_by_step(store: Store, cell: int, episode: int) -> list[int]:
    """Return the steps of a game in which a model was called."""
    sql = "SELECT DISTINCT step FROM calls WHERE cell = ? AND episode = ?"
    return [step for (step,) in store.query(sql, (cell, episode))]


def statuses(store: Store, cells: Sequence[int]) -> dict[str, int]:
    """Return how many games have each status."""
    sql = f"SELECT status, COUNT(*) FROM episodes WHERE {_among(cells)} GROUP BY status"
    return dict(store.query(sql))


def who_ended(store: Store, cells: Sequence[int]) -> list[tuple[str, int]]:
    """Return whose answers ended how many games, most first."""
    return store.query(
        "SELECT name, COUNT(DISTINCT cell || '/' || episode) FROM step_records "
        f"WHERE {_among(cells)} AND status != ? AND verdict = 'invalid' "
        "GROUP BY name ORDER BY 2 DESC, 1",
        (COMPLETE,),
    )


def valued(store: Store, cells: Sequence[int]) -> tuple[int, int]:
    """Return how many decisions of subjects have values, and of how many they are only bounded."""
    [counts] = store.query(
        "SELECT COUNT(regret_low), COALESCE(SUM(regret_low < regret_high), 0) FROM step_records "
        f"WHERE {_among(cells)} AND slot = 0 AND status = ?",
        (COMPLETE,),
    )
    return counts[0], counts[1]


def cells_without_values(store: Store) -> set[int]:
    """Return the cells with games in which no decision has values."""
    rows = store.query("SELECT cell FROM steps GROUP BY cell HAVING COUNT(regret_low) = 0")
    return {cell for (cell,) in rows}


def attainable(store: Store, cells: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return cell, questions with answers, and those of which what is attainable is known."""
    return store.query(
        "SELECT cell, COUNT(*), COUNT(json_extract(value, '$.attainable')) FROM answers "
        f"WHERE {_among(cells)} AND value IS NOT NULL GROUP BY cell"
    )


def _among(cells: Sequence[int]) -> str:
    return f"cell IN ({', '.join(map(str, cells))})"
