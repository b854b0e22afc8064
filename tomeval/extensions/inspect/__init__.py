"""Any provider of inspect_ai as a backend: Anthropic, Google, Bedrock and others."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tomeval.core.credentials import check_code, nested
from tomeval.core.errors import TomevalError, need
from tomeval.models import Backend, check_options
from tomeval.models.base import (
    BackendError,
    ContextExceeded,
    GenerateRequest,
    Message,
    Model,
    Opening,
    Prompt,
    Reply,
    Sampling,
    Usage,
    plain_text,
    thinking_room,
)
from tomeval.models.naming import check_host, check_url
from tomeval.models.served import Budget, estimate_tokens
from tomeval.models.served.faults import EXCERPT, is_too_long
from tomeval.models.served.requests import fold_seed, omission, without_prefill

_QUESTION = GenerateRequest(
    Prompt((Message("user", "Write a word of your choice."),)), Sampling(max_tokens=64), 1
)


class InspectModel(Model):
    """A model of one of inspect_ai's providers.

    Parameters
    ----------
    name : str
        ``inspect:PROVIDER/MODEL``.
    options : InspectOptions, optional
    budget : Budget, optional
        Caps, which may be shared with other models. A call that inspect_ai retries counts once.
    scores : bool
        Whether labels will be scored: `start` then refuses the model.
    given : inspect_ai.model.Model, optional
        The model of an eval, with inspect_ai's own settings of caches, retries and limits.

    Attributes
    ----------
    last_error : str
        What the provider said when it last failed.

    Notes
    -----
    inspect_ai's cache of replies is off, so every draw is one. A prefill is left out, because most
    providers begin a new answer: the last message ends in what the prompt has instead.
    """

    last_error = ""

    def __init__(
        self,
        name: str,
        options: InspectOptions | None = None,
        *,
        budget: Budget | None = None,
        scores: bool = False,
        given: Any = None,
    ) -> None:
        self.name = name
        self.options = options or InspectOptions()
        self._model_name = name.partition(":")[2]
        self._budget = budget or Budget()
        self._scores, self._given = scores, given
        self._room = self.options.thinking_budget or 0
        self._api = need("inspect_ai.model", "inspect", "models named inspect:...")
        self._model = self._open()

    async def start(self) -> None:
        """Ask the model one question: which one it is, and whether it thinks.

        Raises `TomevalError` if it cannot be reached, or is to score labels, which none can here.
        """
        if self._scores:
            raise TomevalError(
                f"{self.name}: labels cannot be scored by inspect_ai: use openai: or hf: models, "
                "or strategies of text"
            )
        if self._model is None:  # `close` ended it: a run with a condition starts in every batch
            self._model = self._open()
        try:
            reply = await self._ask(_QUESTION, 0)
        except BackendError as error:
            raise TomevalError(f"{self.name} failed its start-up test: {error}") from None
        self.revision = f"model={reply.details['model']}"
        thinks = reply.reasoning is not None or bool(reply.details.get("reasoning_tokens"))
        if thinks and self.options.thinking_budget is None:
            self._room = thinking_room(None)

    async def close(self) -> None:
        """Close the provider's connections."""
        await self._model.api.aclose()
        self._model = None

    async def generate(self, request: GenerateRequest) -> Reply:
        """Generate one reply, see `Model.generate`.

        Raises `BackendError` if there is none, `ContextExceeded` if the prompt is too long,
        `TomevalError` for a missing package or key, and `BudgetExceeded`, without a call, if that
        would pass a cap.
        """
        return await self._ask(request, self._room)

    def _open(self) -> Any:
        if self._given is not None:
            return self._given
        config = self._api.GenerateConfig(
            max_connections=self.options.concurrency,
            attempt_timeout=math.ceil(self.options.timeout),
            timeout=math.ceil(self.options.retry_budget),
            reasoning_effort=self.options.reasoning_effort,
            cache=False,
        )
        try:
            more = self.options.model_args
            return self._api.get_model(self._model_name, config=config, memoize=False, **more)
        except Exception as error:  # noqa: BLE001 (every provider raises its own)
            raise TomevalError(f"{self.name} cannot be opened: {said(error)}") from None

    async def _ask(self, request: GenerateRequest, room: int) -> Reply:
        """Ask with `room` tokens for thinking, within the caps."""
        prompt, api, started = request.prompt, self._api, time.perf_counter()
        if prompt.prefill and not prompt.instead:
            raise TomevalError(
                f"{self.name}: the prompt ends in a prefill, which providers of inspect_ai do "
                "not continue, and has no replacement for it"
            )
        shown = without_prefill(prompt)
        fields = sampling_config(self.name, request.sampling, request.seed)
        fields["max_tokens"] = request.sampling.max_tokens + room
        if room or self.options.thinking_budget is not None:
            fields["reasoning_tokens"] = room
        kinds = {role: getattr(api, f"ChatMessage{role.title()}") for role, _ in shown.messages}
        messages = [kinds[role](content=content) for role, content in shown.messages]
        most = estimate_tokens(plain_text(shown)) + fields["max_tokens"]
        async with self._budget.call(most) as call:
            try:
                # In a task of its own, whose context the record that inspect_ai keeps goes with.
                config = api.GenerateConfig(**fields)
                caching = {"cache": False} if self._given is None else {}  # every draw is one
                work = self._model.generate(messages, config=config, **caching)
                output = await asyncio.get_running_loop().create_task(work)
            except Exception as error:  # noqa: BLE001 (every provider raises its own)
                raise self._explained(error) from None
            call.usage = usage_of(output) if output.usage else None
        if output.error or not output.choices:
            raise self._explained(BackendError(str(output.error or "a reply without choices")))
        if output.stop_reason == "model_length" and not usage_of(output).completion:
            # Providers put the refusal of a prompt that is too long into the text.
            raise ContextExceeded(f"{self.name}: {output.completion[:EXCERPT]}")
        reply = read_output(output, time.perf_counter() - started)
        sent = {**fields, "reasoning_effort": self.options.reasoning_effort}
        reply.details["sent"] = {key: value for key, value in sent.items() if value is not None}
        if room:
            reply.details["thinking_budget"] = room
        reply.details.update(omission(prompt, shown))
        return reply

    def _explained(self, error: Exception) -> Exception:
        """Return the error to raise for one of a provider's."""
        if isinstance(error, TomevalError) or type(error).__name__ == "LimitExceededError":
            self.last_error = str(error)
            return error
        text = self.last_error = f"{self.name}: {said(error)}"
        if type(error).__name__ == "PrerequisiteError":  # a missing key or package
            return TomevalError(text)
        return ContextExceeded(text) if is_too_long(text) else BackendError(text)


_PLACES = re.compile(r"(^|[._])(url|uri|host|endpoint|proxy|proxies|address)([.]|$)", re.I)


def _check_addresses(name: str, options: InspectOptions) -> None:
    """Refuse addresses that are not confirmed for the provider's key.

    inspect_ai sends the provider's key to any address that it is given.
    """
    _, provider, service, *_ = [*re.split("[:/]", name), "", ""]
    owner = service if provider == "openai-api" else provider
    variable = re.sub(r"\W", "_", owner).upper() + "_API_KEY"
    for place, value in nested(options.model_args):
        if isinstance(value, str) and (_PLACES.search(place) or "://" in value):
            address = value if "://" in value else f"https://{value}"
            check_host(check_url(address) if place == "base_url" else address, variable)


def open_inspect(name: str, options: Mapping[str, Any], opening: Opening) -> InspectModel:
    """Open ``inspect:PROVIDER/MODEL``."""
    if "/" not in name.partition(":")[2]:
        raise TomevalError(f"{name!r} is not inspect:PROVIDER/MODEL, such as inspect:openai/gpt-5")
    checked = check_options(InspectOptions, options, "inspect model")
    check_code(checked.model_args, name)
    _check_addresses(name, checked)
    return InspectModel(name, checked, budget=opening.budget, scores=opening.scores)


BACKEND = Backend(
    open_inspect,
    "inspect:PROVIDER/MODEL",
    served=True,
    about="any provider of inspect_ai: Anthropic, Google, Bedrock, ...",
)


_FINISHES: dict[str, Literal["stop", "length", "refusal"]] = {
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
}


class InspectOptions(BaseModel):
    """What can be set for a model of inspect_ai; unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    concurrency: int = Field(16, ge=1)  # most requests at a time
    timeout: float = Field(300.0, gt=0)  # seconds for one attempt
    # Seconds after which a request that keeps failing is given up.
    retry_budget: float = Field(600.0, gt=0)
    # Tokens for thinking, on top of those that a request allows for the answer; also given to the
    # provider. None: 8192 if the model is seen to think, else 0.
    thinking_budget: int | None = Field(None, ge=0)
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = (
        None
    )
    model_args: dict[str, Any] = Field(default_factory=dict)  # given to inspect_ai's `get_model`


def sampling_config(name: str, sampling: Sampling, seed: int) -> dict[str, Any]:
    """Return the sampling fields for inspect_ai, without values that switch something off."""
    if sampling.min_p > 0:
        raise TomevalError(f"{name}: inspect_ai has no min_p; leave it at 0")
    fields: dict[str, Any] = {"temperature": sampling.temperature, "seed": fold_seed(seed)}
    if sampling.top_p < 1:
        fields["top_p"] = sampling.top_p
    if sampling.top_k > 0:
        fields["top_k"] = sampling.top_k
    return fields


def read_output(output: Any, latency: float) -> Reply:
    """Read inspect_ai's output."""
    choice = output.choices[0]
    content = choice.message.content
    parts = [] if isinstance(content, str) else content
    thoughts = [
        part.reasoning or getattr(part, "summary", None) or ""
        for part in parts
        if part.type == "reasoning"
    ]
    text, finish = choice.message.text, _FINISHES.get(choice.stop_reason, "stop")
    details = {
        "route": "inspect",
        "finish": choice.stop_reason,
        "model": output.model,
        "id": getattr(output, "response_id", None),
        "reasoning_tokens": output.usage.reasoning_tokens if output.usage else None,
    }
    details = {key: value for key, value in details.items() if value}
    reasoning = "\n\n".join(filter(None, thoughts)) or ("" if thoughts else None)
    return Reply(text, reasoning, finish, usage_of(output), latency, details)


def usage_of(output: Any) -> Usage:
    """Return the tokens that were used; inspect_ai counts cached ones apart."""
    usage = output.usage
    if usage is None:
        return Usage()
    read, written = usage.input_tokens_cache_read or 0, usage.input_tokens_cache_write or 0
    return Usage(usage.input_tokens + read + written, usage.output_tokens, read)


def said(error: Exception) -> str:
    """Return what an error of a provider says, in a line.

    inspect_ai's own begins with the whole request; what the provider said is its cause.
    """
    while error.__cause__ is not None and isinstance(error.__cause__, Exception):
        error = error.__cause__
    text = str(getattr(error, "message", "") or error).strip() or repr(error)
    return f"{type(error).__name__}: {' '.join(text.split())[:EXCERPT]}"
