"""The fields of requests, in the words of each kind of server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tomeval.models.base import Sampling

VLLM, SGLANG, LLAMA_CPP, OLLAMA, HOSTED = "vllm", "sglang", "llama.cpp", "ollama", "hosted"
LLAMA_PYTHON = "llama-cpp-python"  # a server of its own on llama.cpp, with other paths and defaults
"""Kinds of server, recognised by their own description; hosted APIs by their host's name."""
OFF: Mapping[str, Any] = {"top_p": 1.0, "top_k": -1, "min_p": 0.0}
"""Values that switch truncation off; 0 is "all" to some servers and "none" to others, and
llama-cpp-python takes nothing below it."""

PENALTIES_OFF: Mapping[str, Mapping[str, float]] = {
    VLLM: {"repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0},
    SGLANG: {"repetition_penalty": 1.0},
    LLAMA_CPP: {"repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0},
    LLAMA_PYTHON: {"repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0},
}
"""Penalties that a server would else take from the model's ``generation_config.json`` or its own
settings, so that equal options would draw differently on different servers."""

OPTIONAL = (
    *("temperature", "top_p", "top_k", "min_p", "seed", "stop", "chat_template_kwargs"),
    *("repetition_penalty", "repeat_penalty", "presence_penalty", "frequency_penalty"),
    *("reasoning_effort", "thinking_token_budget", "thinking_budget_tokens", "custom_params"),
)
"""Fields that a request can do without, see `Mends`."""

_SEED_BITS = 31  # llama.cpp keeps 32 bits, and all ones mean "random" there


def sampling_fields(sampling: Sampling, seed: int, kind: str = "") -> dict[str, Any]:
    """Return the fields that say how to draw, for a kind of server as below.

    Values that switch something off are sent too, because servers fill in the model's own defaults
    for what is missing; only hosted APIs are known to have no such defaults. The seed is folded to
    31 bits, which every server takes.

    Examples
    --------
    >>> sampling_fields(Sampling(max_tokens=8), seed=2**40 + 5, kind=HOSTED)
    {'temperature': 1.0, 'max_tokens': 8, 'seed': 517}
    """
    off = off_fields(kind)
    truncation = {
        "top_p": sampling.top_p,
        "top_k": sampling.top_k or off["top_k"],
        "min_p": sampling.min_p,
    }
    if kind == HOSTED:
        truncation = {name: value for name, value in truncation.items() if value != off[name]}
    fields = {
        "temperature": sampling.temperature,
        **truncation,
        **PENALTIES_OFF.get(kind, {}),
        "max_tokens": sampling.max_tokens,
        "seed": fold_seed(seed),
    }
    return {**fields, "stop": list(sampling.stop)} if sampling.stop else fields


def off_fields(kind: str = "") -> Mapping[str, Any]:
    """Return what switches truncation off for a kind of server.

    Examples
    --------
    >>> off_fields(LLAMA_PYTHON)
    {'top_p': 1.0, 'top_k': 0, 'min_p': 0.0}
    """
    return {**OFF, "top_k": 0} if kind == LLAMA_PYTHON else OFF


def fold_seed(seed: int) -> int:
    """Return a seed of 31 bits, which every server takes, for one of 63."""
    return (seed ^ (seed >> _SEED_BITS) ^ (seed >> 2 * _SEED_BITS)) & ((1 << _SEED_BITS) - 1)


def greedy_fields(kind: str = "") -> dict[str, Any]:
    """Return the sampling of requests that score: nothing of a server's defaults takes part.

    Examples
    --------
    >>> greedy_fields(HOSTED)
    {'temperature': 0}
    """
    off = {} if kind == HOSTED else off_fields(kind)
    return {"temperature": 0, **off, **PENALTIES_OFF.get(kind, {})}


def thinking_fields(
    kind: str, *, chat: bool, switch: bool | None, budget: int | None, effort: str | None
) -> dict[str, Any]:
    """Return the fields that say how much to think, in the words of a kind of server.

    `switch` is the template's for thinking; None leaves its default. `budget` is the number of
    tokens after which thinking is to end, `effort` such as ``low``; None: no such field.
    """
    fields: dict[str, Any] = {}
    template: dict[str, Any] = {} if switch is None else {"enable_thinking": switch}
    if effort is not None and chat:
        fields["reasoning_effort"] = effort
    if budget is not None:
        if kind == VLLM:
            fields["thinking_token_budget"] = budget
        elif kind == LLAMA_CPP and chat:
            fields["thinking_budget_tokens"] = budget
        elif kind == SGLANG and chat:
            fields["custom_params"] = {"thinking_budget": budget}
            template["thinking_budget"] = budget
    return {**fields, "chat_template_kwargs": template} if template and chat else fields


CHOICE_FORMS: Mapping[str, str] = {VLLM: "choice", SGLANG: "ebnf", LLAMA_CPP: "grammar"}
"""The field by which a kind of server limits a reply to given texts; others take `SCHEMA`."""

SCHEMA = "json_schema"
"""The field by which every server takes the schema of a reply."""


def form_fields(form: str, choices: tuple[str, ...], schema: str) -> dict[str, Any]:
    """Return the fields of a chat request whose reply must be one of `choices` or fit a schema.

    Examples
    --------
    >>> form_fields("grammar", ("Answer: J", "Answer: F"), "")
    {'grammar': 'root ::= "Answer: J" | "Answer: F"'}
    """
    if form == "choice":
        return {"structured_outputs": {"choice": list(choices)}}
    if form in ("ebnf", "grammar"):
        texts = (json.dumps(text, ensure_ascii=False) for text in choices)
        return {form: f"root ::= {' | '.join(texts)}"}
    kinds = {"answer": {"type": "string", "enum": list(choices)}}
    only = {"required": ["answer"], "additionalProperties": False}
    wanted = json.loads(schema) if schema else {"type": "object", "properties": kinds, **only}
    wrapped = {"name": "answer", "strict": True, "schema": wanted}
    return {"response_format": {"type": "json_schema", "json_schema": wrapped}}
