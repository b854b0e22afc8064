"""What can be set for a served model, the fields of its requests, and those a server refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tomeval.models import check_options
from tomeval.models.base import Sampling
from tomeval.models.served.http_reading import Refused

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

    Parameters
    ----------
    kind : str
        As above; servers of unknown kind get no field for the budget.
    chat : bool
        Whether the request goes to the chat API.
    switch : bool or None
        The template's thinking switch; None leaves the template's default.
    budget : int or None
        Tokens after which thinking is to end; None: no such limit.
    effort : str or None
        Such as ``low``.
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
    answer = {"type": "string", "enum": list(choices)}
    wanted = json.loads(schema) if schema else one_field("answer", answer)
    wrapped = {"name": "answer", "strict": True, "schema": wanted}
    return {"response_format": {"type": "json_schema", "json_schema": wrapped}}


def one_field(name: str, kind: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with one field."""
    only = {"required": [name], "additionalProperties": False}
    return {"type": "object", "properties": {name: kind}, **only}


class OpenAIOptions(BaseModel):
    """What can be set for an OpenAI-compatible model; unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # ``chat``, ``completions``, or ``auto``: chat where the server has it for this model.
    api: Literal["auto", "chat", "completions"] = "auto"
    # Environment variable that holds the API key, see `keys.read_key`; empty: none is sent.
    key_env: str | None = None
    # Most requests at a time; an overloaded server lowers it for a while.
    concurrency: int = Field(16, ge=1)
    timeout: float = Field(300.0, gt=0)  # seconds for one attempt
    # Seconds after which a request that keeps failing is given up.
    retry_budget: float = Field(600.0, ge=0)
    # Hub name or folder of the model's tokenizer. With it labels are scored by token ids.
    tokenizer: str | None = None
    # ``auto``: scoring raises where the server cannot; ``required``: `start` does; ``off``.
    scoring: Literal["auto", "required", "off"] = "auto"
    routes: tuple[str, ...] = ()  # the label-scoring routes to try; empty: all
    # How many of the likeliest tokens to ask for, where ids cannot be asked for.
    top_logprobs: int = Field(20, ge=2)
    # Space before labels where no tokenizer tells: ``auto`` (see `ScoreRequest`), ``space`` or
    # ``bare``.
    label_space: Literal["auto", "space", "bare"] = "auto"
    # Template switch for generated replies; scoring always switches thinking off.
    thinking: bool | None = None
    # ``auto``: answers without thinking are held to their choices or schema where the server does
    # that; ``off``: never.
    structured: Literal["off", "auto"] = "off"
    # Tokens for thinking, on top of those that a request allows for the answer; servers that can
    # are told to end the thinking there. None: 8192 if the model is seen to think, else 0.
    thinking_budget: int | None = Field(None, ge=0)
    # How much to think, such as ``low``, where the server has such a setting.
    reasoning_effort: str | None = Field(None, min_length=1)
    # ``continue``: the server goes on from it; ``omit``: it is left out, and the last message ends
    # in what the prompt has instead; ``auto``: `start` finds out. Replies record it if left out.
    prefill: Literal["auto", "continue", "omit"] = "auto"
    prices: str | None = None  # path of a price file, see `load_prices`
    extra_body: dict[str, Any] = Field(default_factory=dict)  # fields to send with every request
    omit: tuple[str, ...] = ()  # fields never to send, such as ``seed``; replies record it

    @field_validator("omit")
    @classmethod
    def _dispensable(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        needed = [name for name in names if name in ("model", "messages", "prompt")]
        if needed:
            raise ValueError(f"every request needs {needed[0]}")
        return names

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> OpenAIOptions:
        """Check fields from an experiment, see `check_options`."""
        return check_options(cls, fields, "openai model")


class Mends:
    """What one path of a server does not take, learnt from its refusals.

    `omit` names fields to leave out from the start.
    """

    # Values that switch a field off, so that leaving it out is the smallest change.
    _NEUTRAL: ClassVar[dict[str, Any]] = {**OFF, **PENALTIES_OFF[VLLM], **PENALTIES_OFF[LLAMA_CPP]}
    _UNWANTED = re.compile(
        r"support|unexpected|unrecogni[sz]ed|unknown|extra|not (permitted|allowed|available)"
        r"|only the default|deprecated|invalid (parameter|argument|field)"
        r"|not configured|reasoning[-_ ](start|config|parser)|cannot both|both be (specified|set)",
        re.IGNORECASE,
    )
    # An effort that was asked for by a wrong name is an error, not something to leave out.
    _WRONG_VALUE = re.compile(r"value|should be|must be|one of", re.IGNORECASE)
    _NO_SYSTEM = re.compile(r"system (role|message|prompt)s?\b.*support", re.IGNORECASE)

    def __init__(self, omit: Collection[str] = ()) -> None:
        self.dropped = set(omit)
        self.renamed: dict[str, str] = {}
        self.merge_system = False

    def apply(self, body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the body to send and what was changed in it."""
        sent = {self.renamed.get(name, name): value for name, value in body.items()}
        mended: dict[str, Any] = {}
        if dropped := sorted(self.dropped & sent.keys()):
            mended["dropped"] = dropped
        if renamed := {old: new for old, new in self.renamed.items() if old in body}:
            mended["renamed"] = renamed
        sent = {name: value for name, value in sent.items() if name not in self.dropped}
        messages = sent.get("messages", ())
        if self.merge_system and any(message["role"] == "system" for message in messages):
            sent["messages"] = merge_system(messages)
            mended["system"] = "merged into the first user message"
        return sent, mended

    def learn(self, sent: dict[str, Any], refusal: Refused) -> list[str]:
        """Return what can be changed in `sent` after this refusal, and remember it."""
        said = refusal.message
        if refusal.status not in (400, 422, 500):
            return []
        if "max_tokens" in sent and "max_completion_tokens" in said:
            self.renamed["max_tokens"] = "max_completion_tokens"
            return ["max_tokens renamed to max_completion_tokens"]
        if self._NO_SYSTEM.search(said) and not self.merge_system:
            self.merge_system = True
            return ["system message merged into the first user message"]
        if not self._UNWANTED.search(said):
            return []
        named = [name for name in sent if name in OPTIONAL and re.search(rf"\b{name}\b", said)]
        if self._WRONG_VALUE.search(said):
            named = [name for name in named if name != "reasoning_effort"]
        off = [name for name in named if sent[name] == self._NEUTRAL.get(name)]
        named = off or named
        self.dropped.update(named)
        return [f"{name} left out" for name in named]


def merge_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    r"""Return a conversation whose system messages stand before the first user message's text.

    Examples
    --------
    >>> merge_system([{"role": "system", "content": "S"}, {"role": "user", "content": "U"}])
    [{'role': 'user', 'content': 'S\n\nU'}]
    """
    system = [message["content"] for message in messages if message["role"] == "system"]
    rest = [dict(message) for message in messages if message["role"] != "system"]
    if not rest or rest[0]["role"] != "user":
        rest.insert(0, {"role": "user", "content": ""})
    rest[0]["content"] = "\n\n".join(text for text in (*system, rest[0]["content"]) if text)
    return rest
