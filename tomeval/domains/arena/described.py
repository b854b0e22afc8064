"""What a JSON schema says of experiments of the arena, beyond the types of their keys."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from tomeval.domains.arena.game import ERRORS
from tomeval.domains.arena.games import GAMES, get_kind
from tomeval.domains.arena.llm_options import LLMOptions
from tomeval.domains.arena.players import ANYWHERE, PLANNER
from tomeval.domains.seated.described import llm_schema
from tomeval.domains.seated.players import LLM
from tomeval.runs.file_schema import MODEL, Json, described, of_default, table

_SLIPS: dict[str, Json] = {
    "error_rate": {
        "type": "number",
        "minimum": 0,
        "maximum": 1,
        "description": "The probability that an attempt to answer is refused.",
    },
    "error": {"enum": list(ERRORS), "description": "Of what type these errors are."},
}


def described_keys() -> dict[str, Json]:
    """Return the schema of the keys that hold games and players."""
    return {
        "games": {
            "type": "object",
            "additionalProperties": {"anyOf": [_game(name) for name in GAMES]},
        },
        "players": {"type": "object", "additionalProperties": {"anyOf": _players()}},
        "model": MODEL,
    }


def _game(name: str) -> Json:
    """Return the schema of a game's table: its kind, a preset and parameters."""
    kind = get_kind(name)
    schema = kind.rules.model_json_schema()
    described(schema, kind.rules)
    keys: dict[str, Any] = {"game": {"const": name}}
    if kind.presets:
        keys["preset"] = {"enum": list(kind.presets), "description": "Named parameters."}
    whole = {key: value for key, value in schema["properties"].items() if "$ref" not in str(value)}
    return table(
        keys | {key: whole.get(key, {}) for key in schema["properties"]}, ["game"], kind.title
    )


def _players() -> list[Json]:
    """Return the schemas of players: those of every game, and the policies of each."""
    found = [llm_schema(LLMOptions, ANYWHERE[LLM])]
    for name in ANYWHERE:
        if name != LLM:
            found.append(table({"kind": {"const": name}, **_SLIPS}, ["kind"], ANYWHERE[name]))
    for game in GAMES:
        for name, policy in get_kind(game).policies.items():
            keys = {"kind": {"const": name}, **_SLIPS}
            keys |= {
                field.name: of_default(None if field.default is MISSING else field.default)
                for field in fields(policy)  # type: ignore[arg-type]
            }
            if name != PLANNER:
                found.append(table(keys, ["kind"], f"{game}: {policy.about}"))
    return found
