"""Played games as records of the store, and back."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tomeval.core.once import once_each
from tomeval.core.outcomes import COMPLETE, LENIENT
from tomeval.games.arena.cells import SUBJECT
from tomeval.games.played import COUNTED, Decision, PlayedGame, Probed
from tomeval.games.solver import Bound
from tomeval.runs.record import Column, Record, Schema
from tomeval.runs.store import Store

_BOUNDS = ("best", "chosen", "regret", "tom_regret")
_VALUES = [f"{name}_{end}" for name in _BOUNDS for end in ("low", "high")]
_PAYOFFS = ("step_payoff", "step_best", "step_reply")

_EPISODES = {
    "deal": "INTEGER",
    "role": "TEXT",
    "reward": "REAL",
    "won": "REAL",
    "rounds": "INTEGER",
    "ending": "TEXT",
    "seats": "TEXT",
    "roles": "TEXT",
    "teams": "TEXT",
    "rewards": "TEXT",
    "wins": "TEXT",
    "marks": "TEXT",
}
"""`deal` groups games that share a deal; `role`, `reward` and `won` are the subject's; `seats` is
the seat of every player, the subject first; the lists after it are by seat."""

_STEPS = {
    "stage": "INTEGER",
    "round": "INTEGER",
    "seat": "INTEGER",
    "slot": "INTEGER",
    "kind": "TEXT",
    "action": "TEXT",
    "verdict": "TEXT",
    "outcome": "TEXT",
    "attempts": "INTEGER",
    "error": "TEXT",
    "tries": "TEXT",
    **dict.fromkeys(_VALUES, "REAL"),
    "reply": "TEXT",
    **dict.fromkeys(_PAYOFFS, "REAL"),
    "details": "TEXT",
}
"""One value per decision of any seat. `action` is null too if nothing counted, see `COUNTED`;
`tries` are the refused attempts as [error, words]; `error` is the type of the last one if there was
no other."""


def _asked(record: Record) -> list[tuple[Column, ...]]:
    """Return what was asked for each decision."""
    seats = [_slot_name(slot) for slot in record.column("slot")]
    names = ("kind", "outcome", "attempts")
    return [(seats, *(record.columns.get(name) for name in names))]


SCHEMA = Schema(episodes=_EPISODES, steps=_STEPS, asked=_asked)

_FIRST = ("stage", "round", "seat", "slot")
_LAST = ("kind", "action", "verdict", "outcome", "attempts", "error", "tries", *_VALUES, "reply")


def step_records(store: Store, cells: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield all of every decision of some cells, by column."""
    for number, definition in store.cells():
        if number not in cells:
            continue
        told, players = store.domain.read.columns(definition), definition["players"]
        about: dict[str, Any] = {name: told[name] for name in ("game", "player", "others")}
        about |= {name: definition[name] for name in ("seed", "on_invalid")}
        about |= {name: players[0].get(name) for name in ("model", "strategy")}
        about["templates_sha256"] = definition.get("templates")
        for record in store.records(number):
            own = {"cell": number, "episode": record.episode, "status": record.status}
            own |= {name: record.own[name] for name in ("deal", "ending")}
            probes: dict[int, dict[str, Any]] = {}
            for answer in record.answers:
                probes.setdefault(answer[0], {})[answer[2]] = answer[5]
            columns = (record.column(name) for name in _STEPS)
            for step, values in enumerate(zip(*columns, strict=True), 1):
                row = dict(zip(_STEPS, values, strict=True))
                said = {"step": step} | {name: row[name] for name in _FIRST}
                said["name"] = players[row["slot"]]["name"]
                said["role"] = record.own["roles"][row["seat"]]
                counted, replied = row["verdict"] in COUNTED, row["tom_regret_low"] is not None
                row["action"] = json.dumps(row["action"]) if counted else None
                row["reply"] = json.dumps(row["reply"]) if replied else None
                said |= {name: row[name] for name in (*_LAST, *_PAYOFFS)}
                said["probes"] = json.dumps(probes.get(step, {}), separators=(",", ":"))
                said["lenient"] = (row["details"] or {}).get(LENIENT)
                yield about | own | said | {"details": row["details"]}


def as_record(game: PlayedGame) -> Record:
    """Return a played game as it is stored."""
    seat = game.seats[0]
    own = {
        "deal": game.deal,
        "role": game.roles[seat],
        "reward": game.rewards[seat] if game.rewards else None,
        "won": game.wins[seat] if game.wins else None,
        "rounds": game.rounds,
        "ending": game.ending,
        "seats": game.seats,
        "roles": game.roles,
        "teams": game.teams,
        "rewards": game.rewards,
        "wins": game.wins,
        "marks": game.record,
    }
    rows = [_step(decision) for decision in game.decisions]
    columns = {name: [row[name] for row in rows] for name in _STEPS}
    calls = [(number, _slot_name(slot), form, call) for number, slot, form, call in game.calls]
    return Record(game.index, game.status, len(rows), own, columns, list(_answers(game)), calls)


def _step(row: Decision) -> dict[str, Any]:
    answer, worth = row.answer, row.worth
    counted = row.verdict in COUNTED
    values: list[float | None] = []
    for name in _BOUNDS:
        bound: Bound | None = None if worth is None else getattr(worth, name)
        values += [None, None] if bound is None else [float(end) for end in bound]
    step = None if worth is None else worth.step
    payoffs = (None,) * 3 if step is None else tuple(map(_number, step))
    replied = worth is not None and worth.tom_regret is not None
    return {
        **{"stage": row.stage, "round": row.round, "seat": row.seat, "slot": row.slot},
        "kind": row.kind,
        "action": row.action if counted else None,
        "verdict": row.verdict,
        "outcome": answer.outcome,
        "attempts": answer.attempts,
        "error": row.error.error or None if not counted or row.verdict == "default" else None,
        "tries": answer.tries or None,
        **dict(zip(_VALUES, values, strict=True)),
        "reply": worth.reply if replied and worth is not None else None,
        **dict(zip(_PAYOFFS, payoffs, strict=True)),
        "details": answer.details or None,
    }


def _answers(game: PlayedGame) -> Iterator[tuple[Any, ...]]:
    for row in game.decisions:
        for probed in row.probed:
            answer, question = probed.answer, probed.probe.question
            about = (row.number, _slot_name(row.slot), question, answer.outcome, answer.attempts)
            yield (*about, _told(probed), answer.raw)


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


def statuses(store: Store, cells: Sequence[int]) -> dict[str, int]:
    """Return how many games have each status."""
    return dict(Counter(status for cell in cells for status in store.statuses(cell).values()))


def who_ended(store: Store, cells: Sequence[int]) -> list[tuple[str, int]]:
    """Return whose answers ended how many games, most first."""
    ended: Counter[str] = Counter()
    names = {n: [who["name"] for who in told["players"]] for n, told in store.cells()}
    for cell in cells:
        for record in (
            store.records(cell) if set(store.statuses(cell).values()) > {COMPLETE} else ()
        ):
            if record.status != COMPLETE:
                rows = zip(record.column("slot"), record.column("verdict"), strict=True)
                ended.update({names[cell][slot] for slot, verdict in rows if verdict == "invalid"})
    return sorted(ended.items(), key=lambda one: (-one[1], one[0]))


def valued(store: Store, cells: Sequence[int]) -> tuple[int, int]:
    """Return how many decisions of subjects have values, and of how many they are only bounded."""
    names = ("slot", "regret_low", "regret_high")
    ends = [
        (low, high)
        for cell in cells
        for slot, low, high in store.read("steps", names, cell, complete=True)
        if slot == 0 and low is not None
    ]
    return len(ends), sum(low < high for low, high in ends)


@once_each
def cells_without_values(store: Store) -> set[int]:
    """Return the cells with games in which no decision has values."""
    return {*store.played_cells()} - store.cells_with('"regret_low":')


def attainable(store: Store, cells: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return cell, questions with answers, and those of which what is attainable is known."""
    counts = []
    for cell in cells:
        values = [
            value for (value,) in store.read("answers", ("value",), cell) if value is not None
        ]
        known = [value for value in values if value.get("attainable") is not None]
        counts += [(cell, len(values), len(known))] if values else []
    return counts
