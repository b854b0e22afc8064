"""Requests to inspect_ai and its replies, as objects of `tomeval.models.base`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tomeval.core.errors import TomevalError
from tomeval.models.base import Reply, Sampling, Usage
from tomeval.models.served.faults import EXCERPT
from tomeval.models.served.requests import fold_seed

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
    base_url: str | None = None
    model_args: dict[str, Any] = Field(default_factory=dict)  # given to inspect_ai's `get_model`
    omit: tuple[Literal["temperature", "seed", "stop_seqs"], ...] = ()  # never sent


def sampling_config(
    name: str, sampling: Sampling, seed: int, omit: tuple[str, ...]
) -> dict[str, Any]:
    """Return the sampling fields for inspect_ai, without values that switch something off."""
    if sampling.min_p > 0:
        raise TomevalError(f"{name}: inspect_ai has no min_p; leave it at 0")
    fields: dict[str, Any] = {"temperature": sampling.temperature, "seed": fold_seed(seed)}
    if sampling.top_p < 1:
        fields["top_p"] = sampling.top_p
    if sampling.top_k > 0:
        fields["top_k"] = sampling.top_k
    if sampling.stop:
        fields["stop_seqs"] = list(sampling.stop)
    return {key: value for key, value in fields.items() if key not in omit}


def read_output(output: Any, stop: tuple[str, ...], latency: float) -> Reply:
    """Read inspect_ai's output; the text is cut at the first of `stop`, as not all take them."""
    choice = output.choices[0]
    content = choice.message.content
    parts = [] if isinstance(content, str) else content
    thoughts = [
        part.reasoning or getattr(part, "summary", None) or ""
        for part in parts
        if part.type == "reasoning"
    ]
    text, finish = choice.message.text, _FINISHES.get(choice.stop_reason, "stop")
    cut = min((text.find(mark) for mark in stop if mark in text), default=None)
    if cut is not None:
        text, finish = text[:cut], "stop"
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
