"""Requests to a model, in the words of each kind of server."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.models.base import GenerateRequest, Message, Prompt, Sampling, Unusable
from tomeval.models.served import OpenAIOptions
from tomeval.models.served.faults import Refused, Unanswered

if TYPE_CHECKING:
    from tomeval.models.served.client import Client

logger = logging.getLogger(__name__)

CHAT, COMPLETIONS = "chat/completions", "completions"

SCHEMA = "json_schema"
"""How every server holds a reply to a JSON schema."""

NO_THINKING = {"enable_thinking": False}
"""Template switch sent with every request that scores: a label is not the first thought."""

_FIELDS = ("id", "root", "owned_by", "parent", "max_model_len")  # none changes by the minute
_CONTEXT = ("max_model_len", "context_length", "context_window", "max_context_length")
_SEED_BITS = 31  # llama.cpp keeps 32 bits, and all ones mean "random" there
# 0 is "all" to some servers and "none" to others, and llama-cpp-python takes nothing below it.
_OFF: Mapping[str, Any] = {"top_p": 1.0, "top_k": -1, "min_p": 0.0}
_PENALTIES = {"presence_penalty": 0.0, "frequency_penalty": 0.0}


class Server(NamedTuple):
    """A kind of server."""

    off: Mapping[str, Any] = _OFF  # values that switch truncation off
    # What switches penalties off that it would else take from the model's defaults or its own.
    penalties: Mapping[str, float] = {}
    choices: str = SCHEMA  # how it limits a reply to given texts
    goes_on: bool = False  # whether it goes on from a begun answer


ANY = Server()
_LLAMA = {"repeat_penalty": 1.0, **_PENALTIES}
_OWNERS = {  # by who owns a model, as its server's list says
    "vllm": Server(_OFF, {"repetition_penalty": 1.0, **_PENALTIES}, "choice", True),
    "sglang": Server(_OFF, {"repetition_penalty": 1.0}, goes_on=True),
    "llamacpp": Server(_OFF, _LLAMA),
    "me": Server({**_OFF, "top_k": 0}, _LLAMA),  # llama-cpp-python
}


class About(NamedTuple):
    """What a server's list says of a model; much may be missing, or all of it."""

    revision: str
    server: Server
    context: int | None  # longest sequence in tokens


async def look_up(client: Client, model: str, label: str) -> About:
    """Look a model up in its server's list; one that is not there is told, as `label`."""
    try:
        listed = (await client.ask("models")).data.get("data")
    except (Refused, Unusable, Unanswered) as error:
        if isinstance(error, Unanswered) and not error.status:
            raise  # nobody is there
        listed = None
    models = [e for e in listed if isinstance(e, dict)] if isinstance(listed, list) else []
    own = next((entry for entry in models if entry.get("id") == model), {})
    if models and not own:
        near = did_you_mean(model, [str(entry.get("id")) for entry in models])
        logger.warning("%s: the server does not list the model %s%s", label, model, near)
    said = {name: own[name] for name in _FIELDS if own.get(name) is not None}
    revision = "; ".join(f"{name}={value}" for name, value in said.items())
    lengths = (own.get(name) for name in _CONTEXT)
    context = next((n for n in lengths if isinstance(n, int) and n > 0), None)
    return About(revision, _OWNERS.get(str(own.get("owned_by")), ANY), context)


@dataclass
class Requests:
    """How a model is asked; the fields after `options` are settled by `OpenAIModel.start`."""

    name: str  # for messages
    model: str  # as the server calls it
    options: OpenAIOptions
    server: Server = ANY
    holds: bool = False  # whether answers are held to choices and schemas
    room: int = field(init=False)  # tokens for thinking, on top of the answer's

    def __post_init__(self) -> None:
        self.room = self.options.thinking_budget or 0

    def generation(self, request: GenerateRequest, prompt: Prompt, room: int) -> dict[str, Any]:
        """Return the body of a request to generate, with `room` tokens for thinking."""
        form, thinking = self.form(request), self.options.thinking
        most = request.sampling.max_tokens + room
        body = {
            **self.options.extra_body,
            "model": self.model,
            **chat_fields(prompt),
            **self._sampling(replace(request.sampling, max_tokens=most), request.seed),
            **(_form_fields(form, request) if form else {}),
        }
        if thinking is not None:
            body["chat_template_kwargs"] = {"enable_thinking": thinking}
        return body

    def scoring(self, **fields: Any) -> dict[str, Any]:
        """Return a request for one greedy token on an OpenAI-compatible path."""
        extra = self.options.extra_body
        return {**extra, "model": self.model, "max_tokens": 1, **self.greedy(), **fields}

    def greedy(self) -> dict[str, Any]:
        """Return the sampling of requests that score: no default of a server takes part."""
        return {"temperature": 0, **self.server.off, **self.server.penalties}

    def form(self, request: GenerateRequest) -> str:
        """Return how a reply is held to what the request asks for; empty if it is not."""
        if not self.holds or not (request.schema or request.choices):
            return ""
        return SCHEMA if request.schema else self.server.choices

    def shown(self, prompt: Prompt) -> Prompt:
        """Return the prompt as this server can read it: maybe without its prefill.

        Raises `TomevalError` if the prefill must go and the prompt has nothing instead.
        """
        if not prompt.prefill or self.server.goes_on:
            return prompt
        if not prompt.instead:
            raise TomevalError(
                f"{self.name}: this server is not known to go on from a begun answer (prefill), "
                "and the prompt has nothing instead"
            )
        return without_prefill(prompt)

    def _sampling(self, sampling: Sampling, seed: int) -> dict[str, Any]:
        """Return the fields that say how to draw.

        Values that switch something off are sent too, because servers fill in the model's own
        defaults for what is missing.
        """
        return {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k or self.server.off["top_k"],
            "min_p": sampling.min_p,
            **self.server.penalties,
            "max_tokens": sampling.max_tokens,
            "seed": fold_seed(seed),
        }


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
    answer = {"answer": {"type": "string", "enum": list(request.choices)}}
    only = {"required": ["answer"], "additionalProperties": False}
    schema = {"type": "object", "properties": answer, **only}
    wanted = json.loads(request.schema) if request.schema else schema
    wrapped = {"name": "answer", "strict": True, "schema": wanted}
    return {"response_format": {"type": "json_schema", "json_schema": wrapped}}
