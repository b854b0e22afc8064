"""What is said of players and rules: in lists, and in the report of a run."""

from __future__ import annotations

from typing import Any

from tomeval.games.decrypto.players import LLM_OPTIONS, kinds
from tomeval.games.decrypto.results import DecryptoRunCell
from tomeval.games.decrypto.seats import ROLES
from tomeval.games.players import player_row
from tomeval.lexicon.embeddings import SHIPPED
from tomeval.runs.capabilities import Facts
from tomeval.runs.columns import unique
from tomeval.runs.domain import Rows
from tomeval.runs.results import Run

FINGERPRINTS = "Fingerprints of word lists, prompt templates and records"


def run_facts(run: Run) -> list[Facts]:
    """Return players, and rules with what games are played with."""
    cells = [cell for cell in run.cells if isinstance(cell, DecryptoRunCell)]
    players = [_player(cell.definition["players"][role]) for cell in cells for role in ROLES]
    data = [cell.definition for cell in cells]
    rules = [{**d["rules"], "probes": _asked(d), "best_turn": d["best_turn"]} for d in data]
    prints = [{name: d[name][:12] for name in ("words", "templates", "records")} for d in data]
    return [
        Facts("Players", [("Players with their options as recorded", unique(players))]),
        Facts("Rules", [("Rules and probes", unique(rules)), (FINGERPRINTS, unique(prints))]),
    ]


def _player(data: dict[str, Any]) -> dict[str, Any]:
    return player_row(data) | {"vectors": data.get("vectors", "")[:12]}


def _asked(data: dict[str, Any]) -> str:
    return ", ".join(name for name, asked in data["probes"].items() if asked)


def listed_players() -> Rows:
    """Return the kinds of player with their options, for ``tomeval list players``."""
    listed = [("llm", ("model", *LLM_OPTIONS), "a language model with a prompting strategy")]
    listed += [(name, tuple(kind.options), kind.about) for name, kind in kinds().items()]
    return [
        {"player": name, "options": ", ".join(options), "about": about}
        for name, options, about in listed
    ]


def listed_embeddings() -> Rows:
    """Return the embeddings that ship."""
    return [{"embedding": name} for name in SHIPPED]
