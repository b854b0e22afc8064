"""Requests to a model, in the words of each kind of server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tomeval.core.errors import TomevalError
from tomeval.models.base import GenerateRequest, Message, Prompt, Sampling
from tomeval.models.local.prompt import PromptCodec
from tomeval.models.served.options import OpenAIOptions

CHAT, COMPLETIONS = "chat/completions", "completions"

SCHEMA = "json_schema"
"""How every server holds a reply to a JSON schema."""

NO_THINKING = {"enable_thinking": False}
"""Template switch sent with every request that scores: a label is not the first thought."""

_SEED_BITS = 31  # llama.cpp keeps 32 bits, and all ones mean "random" there
# 0 is "all" to some servers and "none" to others, and llama-cpp-python takes nothing below it.
_OFF: Mapping[str, Any] = {"top_p": 1.0, "top_k": -1, "min_p": 0.0}
_PENALTIES = {"presence_penalty": 0.0, "frequency_penalty": 0.0}
# APIs that have no sampling defaults per model. A proxy may say that OpenAI owns its models.
_HOSTED = (
    *("api.openai.com", "openai.azure.com", "api.anthropic.com", "api.deepseek.com"),
    *("api.mistral.ai", "generativelanguage.googleapis.com", "api.x.ai"),
)


class Server(NamedTuple):
    """A kind of server."""

    name: str = ""
    off: Mapping[str, Any] = _OFF  # values that switch truncation off
    # What switches penalties off that it would else take from the model's defaults or its own.
    penalties: Mapping[str, float] = {}
    choices: str = SCHEMA  # how it limits a reply to given texts
    goes_on: bool = False  # whether it goes on from a begun answer
    hosted: bool = False  # whether it takes only what changes something
    exact: bool = True  # whether it may tell more than the likeliest tokens


VLLM = Server("vllm", _OFF, {"repetition_penalty": 1.0, **_PENALTIES}, "choice", True)
SGLANG = Server("sglang", _OFF, {"repetition_penalty": 1.0}, "ebnf", True)
LLAMA_CPP = Server("llama.cpp", _OFF, {"repeat_penalty": 1.0, **_PENALTIES}, "grammar")
LLAMA_PYTHON = Server("llama-cpp-python", {**_OFF, "top_k": 0}, LLAMA_CPP.penalties)
OLLAMA = Server("ollama", exact=False)
HOSTED = Server("hosted", hosted=True, exact=False)
ANY = Server()
_OWNERS = {"vllm": VLLM, "sglang": SGLANG, "llamacpp": LLAMA_CPP, "me": LLAMA_PYTHON}
_OWNERS["library"] = OLLAMA


def server_of(url: str, owner: Any) -> Server:
    """Return the kind of a server by its host and by who owns the model, as its list says."""
    host = urlsplit(url).hostname or ""
    if any(host == name or host.endswith("." + name) for name in _HOSTED):
        return HOSTED
    return _OWNERS.get(str(owner), ANY)


@dataclass
class Requests:
    """How a model is asked; the fields after `options` are settled by `OpenAIModel.start`."""

    name: str  # for messages
    model: str  # as the server calls it
    options: OpenAIOptions
    server: Server = ANY
    codec: PromptCodec | None = None  # the tokenizer, if there is one
    holds: bool = False  # whether answers are held to choices and schemas
    renders: bool = False  # whether scored prompts are put together here or token by token
    chat: bool = field(init=False)
    room: int = field(init=False)  # tokens for thinking, on top of the answer's
    cap: int | None = field(init=False)  # where the server is told to end the thinking

    def __post_init__(self) -> None:
        self.chat = self.options.api != "completions"
        self.cap = self.options.thinking_budget
        self.room = self.cap or 0

    def generation(
        self, request: GenerateRequest, prompt: Prompt, room: int
    ) -> tuple[str, dict[str, Any]]:
        """Return path and body of a request to generate, with `room` tokens for thinking."""
        form = self.form(request)
        most = request.sampling.max_tokens + room
        return CHAT if self.chat else COMPLETIONS, {
            **self.options.extra_body,
            "model": self.model,
            **(chat_fields(prompt) if self.chat else {"prompt": plain_text(prompt)}),
            **self._sampling(replace(request.sampling, max_tokens=most), request.seed),
            **self._thinking(),
            **(_form_fields(form, request) if form else {}),
        }

    def scoring(self, **fields: Any) -> dict[str, Any]:
        """Return a request for one greedy token on an OpenAI-compatible path."""
        extra = self.options.extra_body
        return {**extra, "model": self.model, "max_tokens": 1, **self.greedy(), **fields}

    def greedy(self) -> dict[str, Any]:
        """Return the sampling of requests that score: no default of a server takes part."""
        off = {} if self.server.hosted else self.server.off
        return {"temperature": 0, **off, **self.server.penalties}

    def form(self, request: GenerateRequest) -> str:
        """Return how a reply is held to what the request asks for; empty if it is not."""
        if not self.holds or not (request.schema or request.choices):
            return ""
        return SCHEMA if request.schema else self.server.choices

    def shown(self, prompt: Prompt) -> Prompt:
        """Return the prompt as this server can read it: maybe without its prefill.

        Raises `TomevalError` if the prefill must go and the prompt has nothing instead, unless the
        option `prefill` asks for just that.
        """
        option, goes_on = self.options.prefill, self.server.goes_on or self.renders
        if not prompt.prefill or not self.chat or option == "continue":
            return prompt
        if option == "auto" and goes_on:
            return prompt
        if option == "auto" and not prompt.instead:
            raise TomevalError(
                f"{self.name}: this server is not known to go on from a begun answer (prefill); "
                "use api='completions', prefill='continue' or prefill='omit'"
            )
        return without_prefill(prompt)

    def _sampling(self, sampling: Sampling, seed: int) -> dict[str, Any]:
        """Return the fields that say how to draw.

        Values that switch something off are sent too, because servers fill in the model's own
        defaults for what is missing; only hosted APIs are known to have no such defaults.
        """
        off = self.server.off
        truncation = {
            "top_p": sampling.top_p,
            "top_k": sampling.top_k or off["top_k"],
            "min_p": sampling.min_p,
        }
        if self.server.hosted:
            truncation = {name: value for name, value in truncation.items() if value != off[name]}
        return {
            "temperature": sampling.temperature,
            **truncation,
            **self.server.penalties,
            "max_tokens": sampling.max_tokens,
            "seed": fold_seed(seed),
            **({"stop": list(sampling.stop)} if sampling.stop else {}),
        }

    def _thinking(self) -> dict[str, Any]:
        """Return the fields that say how much to think."""
        switch, effort = self.options.thinking, self.options.reasoning_effort
        budget, fields = self.cap, dict[str, Any]()
        template: dict[str, Any] = {} if switch is None else {"enable_thinking": switch}
        if budget is not None and self.server is VLLM:
            fields["thinking_token_budget"] = budget
        if not self.chat:
            return fields
        if effort is not None:
            fields["reasoning_effort"] = effort
        if budget is not None and self.server is LLAMA_CPP:
            fields["thinking_budget_tokens"] = budget
        if budget is not None and self.server is SGLANG:
            fields["custom_params"] = {"thinking_budget": budget}
            template["thinking_budget"] = budget
        return {**fields, "chat_template_kwargs": template} if template else fields


def fold_seed(seed: int) -> int:
    """Return a seed of 31 bits, which every server takes, for one of 63."""
    return (seed ^ (seed >> _SEED_BITS) ^ (seed >> 2 * _SEED_BITS)) & ((1 << _SEED_BITS) - 1)


def chat_fields(prompt: Prompt) -> dict[str, Any]:
    """Return the fields that hold the prompt in a chat request.

    A prefill is the last message, with the two switches by which vLLM and SGLang go on from there;
    llama.cpp and Ollama do so without them.
    """
    messages = [message._asdict() for message in prompt.messages]
    if not prompt.prefill:
        return {"messages": messages}
    messages.append({"role": "assistant", "content": prompt.prefill})
    return {"messages": messages, "continue_final_message": True, "add_generation_prompt": False}


def plain_text(prompt: Prompt) -> str:
    r"""Return the prompt without roles: the contents and the prefill, joined by blank lines.

    Examples
    --------
    >>> plain_text(Prompt((Message("system", "S"), Message("user", "U")), prefill="Answer:"))
    'S\n\nU\n\nAnswer:'
    """
    parts = [message.content for message in prompt.messages]
    return "\n\n".join([*parts, prompt.prefill] if prompt.prefill else parts)


def without_prefill(prompt: Prompt) -> Prompt:
    r"""Return the prompt for a server that cannot go on from a prefill.

    Examples
    --------
    >>> prompt = Prompt((Message("user", "Q?"),), prefill="I choose", instead="Answer J or F.")
    >>> without_prefill(prompt).messages[-1].content
    'Q?\n\nAnswer J or F.'
    """
    messages = prompt.messages
    if prompt.prefill and prompt.instead:
        *before, last = messages
        messages = (*before, Message(last.role, f"{last.content}\n\n{prompt.instead}"))
    return Prompt(messages)


def omission(asked: Prompt, sent: Prompt) -> dict[str, str]:
    """Return what to record where a prompt was sent without its prefill."""
    if asked.prefill == sent.prefill:
        return {}
    return {"prefill": "omitted", **({"instead": asked.instead} if asked.instead else {})}


def _form_fields(form: str, request: GenerateRequest) -> dict[str, Any]:
    """Return the fields of a chat request whose reply must be a choice or fit a schema."""
    if form == "choice":
        return {"structured_outputs": {"choice": list(request.choices)}}
    if form != SCHEMA:  # a grammar
        texts = (json.dumps(text, ensure_ascii=False) for text in request.choices)
        return {form: f"root ::= {' | '.join(texts)}"}
    answer = {"answer": {"type": "string", "enum": list(request.choices)}}
    only = {"required": ["answer"], "additionalProperties": False}
    schema = {"type": "object", "properties": answer, **only}
    wanted = json.loads(request.schema) if request.schema else schema
    wrapped = {"name": "answer", "strict": True, "schema": wanted}
    return {"response_format": {"type": "json_schema", "json_schema": wrapped}}
