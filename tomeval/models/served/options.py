"""What can be set for a served model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tomeval.models import check_options


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
