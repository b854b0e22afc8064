"""What a report says of a Decrypto run: players with their options, and the rules."""

from __future__ import annotations

import json
from typing import Any

from tomeval.domains.decrypto.results import DecryptoRunCell
from tomeval.domains.decrypto.seats import ROLES
from tomeval.runs.domain import Facts, Rows
from tomeval.runs.results import Run


def run_facts(run: Run) -> list[Facts]:
    """Return players, and rules with what games are played with."""
    cells = [cell for cell in run.cells if isinstance(cell, DecryptoRunCell)]
    players = [_player(cell.definition["players"][role]) for cell in cells for role in ROLES]
    rules = [_rules(cell.definition) for cell in cells]
    return [
        Facts("Players", [("Players with their options as recorded", _unique(players))]),
        Facts("Rules", [("Rules, probes, and fingerprints of words and records", _unique(rules))]),
    ]


def _player(data: dict[str, Any]) -> dict[str, Any]:
    options = {key: value for key, value in data.get("options", {}).items() if key != "strategy"}
    return {
        "player": data["name"],
        "kind": data.get("kind", ""),
        "model": data.get("model", ""),
        "strategy": _said(data.get("options", {}).get("strategy", "")),
        "options": ", ".join(f"{key} {_said(value)}" for key, value in options.items()),
        "vectors": data.get("vectors", "")[:12],
    }


def _rules(data: dict[str, Any]) -> dict[str, Any]:
    probes = ", ".join(name for name, asked in data["probes"].items() if asked)
    hashes = {name: data[name][:12] for name in ("words", "templates", "records")}
    return {**data["rules"], "probes": probes, "best_turn": data["best_turn"], **hashes}


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _unique(rows: Rows) -> Rows:
    return list({json.dumps(row, sort_keys=True): row for row in rows}.values())
