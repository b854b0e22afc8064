"""What a JSON schema says of experiments of Decrypto, beyond the types of their keys."""

from __future__ import annotations

from typing import Any

from tomeval.domains.decrypto.llm_options import LLMOptions
from tomeval.domains.decrypto.players import ABOUT, KIND_OPTIONS, brought_kinds
from tomeval.runs.file_schema import MODEL, Json, meanings, of_default, table


def described_keys() -> dict[str, Json]:
    """Return the schema of the keys that hold players."""
    kinds = [_player(kind) for kind in KIND_OPTIONS]
    for kind, made in brought_kinds().items():
        kinds.append(table({"kind": {"const": kind}, **made.schema}, ["kind"], made.about))
    players = {"type": "object", "additionalProperties": {"anyOf": kinds}}
    return {"players": players, "model": MODEL}


def _player(kind: str) -> Json:
    """Return the schema of a player's table; ``kind`` may be left out where options tell it."""
    said = meanings(LLMOptions) if kind == "llm" else {}
    keys: dict[str, Any] = {"kind": {"const": kind}}
    for option in KIND_OPTIONS[kind]:
        loose = option in ("strategy", "max_tokens")  # also a table, by role or kind of call
        default = None if loose else getattr(LLMOptions, option, None)
        keys[option] = of_default(default, said.get(option, ""))
    if "model" in keys:
        keys["model"] = MODEL
    return table(keys, ["kind"] if kind == "random" else [], ABOUT[kind])
