"""What is read of the records of an arena run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tomeval.core.outcomes import LENIENT
from tomeval.games.arena.cells import slot_name
from tomeval.games.played import COUNTED
from tomeval.games.records import EPISODES, PAYOFFS, STEPS, VALUES, asked_of
from tomeval.runs.record import Schema
from tomeval.runs.store import Store

SCHEMA = Schema(EPISODES, STEPS, asked_of(slot_name))

_FIRST = ("stage", "round", "seat", "slot")
_LAST = ("kind", "action", "verdict", "outcome", "attempts", "error", "tries", *VALUES, "reply")


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
            columns = (record.column(name) for name in STEPS)
            for step, values in enumerate(zip(*columns, strict=True), 1):
                row = dict(zip(STEPS, values, strict=True))
                said = {"step": step} | {name: row[name] for name in _FIRST}
                said["name"] = players[row["slot"]]["name"]
                said["role"] = record.own["roles"][row["seat"]]
                counted, replied = row["verdict"] in COUNTED, row["tom_regret_low"] is not None
                row["action"] = json.dumps(row["action"]) if counted else None
                row["reply"] = json.dumps(row["reply"]) if replied else None
                row["outcome"] = row["answered"]
                said |= {name: row[name] for name in (*_LAST, *PAYOFFS)}
                said["probes"] = json.dumps(probes.get(step, {}), separators=(",", ":"))
                said["lenient"] = (row["details"] or {}).get(LENIENT)
                yield about | own | said | {"details": row["details"]}
