"""What a JSON schema says of experiments of Decrypto, beyond the types of their keys."""

from __future__ import annotations

from tomeval.domains.decrypto.llm_options import LLMOptions
from tomeval.domains.decrypto.players import ABOUT, KIND_OPTIONS, brought_kinds
from tomeval.domains.seated.described import llm_schema
from tomeval.domains.seated.players import LLM
from tomeval.runs.file_schema import MODEL, Json, of_default, table


def described_keys() -> dict[str, Json]:
    """Return the schema of the keys that hold players."""
    kinds = [llm_schema(LLMOptions, ABOUT[LLM])]
    for kind in ("embedding", "random"):  # the first may be left out: options tell it
        options = {option: of_default(None) for option in KIND_OPTIONS[kind]}
        needed = ["kind"] if kind == "random" else []
        kinds.append(table({"kind": {"const": kind}, **options}, needed, ABOUT[kind]))
    for kind, made in brought_kinds().items():
        kinds.append(table({"kind": {"const": kind}, **made.schema}, ["kind"], made.about))
    players = {"type": "object", "additionalProperties": {"anyOf": kinds}}
    return {"players": players, "model": MODEL}
