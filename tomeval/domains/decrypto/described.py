"""What a JSON schema says of experiments of Decrypto, beyond the types of their keys."""

from __future__ import annotations

from typing import Any

from tomeval.domains.decrypto.levels.rsa_seats import DEFAULTS, MEANINGS
from tomeval.domains.decrypto.llm_options import LLMOptions
from tomeval.domains.decrypto.players import KIND_OPTIONS, about_kind
from tomeval.runs.file_schema import MODEL, Json, meanings, of_default, table


def described_keys() -> dict[str, Json]:
    """Return the schema of the keys that hold players."""
    kinds = [_player(kind) for kind in KIND_OPTIONS]
    players = {"type": "object", "additionalProperties": {"anyOf": kinds}}
    return {"players": players, "model": MODEL}


def _player(kind: str) -> Json:
    """Return the schema of a player's table; ``kind`` may be left out where options tell it."""
    said = meanings(LLMOptions) if kind == "llm" else MEANINGS if kind == "rsa" else {}
    keys: dict[str, Any] = {"kind": {"const": kind}}
    for option in KIND_OPTIONS[kind]:
        default = DEFAULTS[option] if kind == "rsa" else getattr(LLMOptions, option, None)
        # also a table, by role or kind of call, or a list
        loose = option in ("strategy", "max_tokens", "level")
        keys[option] = of_default(None if loose else default, said.get(option, ""))
    if "model" in keys:
        keys["model"] = MODEL
    return table(keys, ["kind"] if kind in ("rsa", "random") else [], about_kind(kind))
