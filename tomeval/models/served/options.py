"""What can be set for a served model, and what its tokens cost."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.resources import read_toml
from tomeval.models import check_options
from tomeval.models.base import Usage

logger = logging.getLogger(__name__)

_MILLION = 1_000_000


class OpenAIOptions(BaseModel):
    """What can be set for an OpenAI-compatible model; unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # ``chat``, ``completions``, or ``auto``: chat where the server has it for this model.
    api: Literal["auto", "chat", "completions"] = "auto"
    concurrency: int = Field(16, ge=1)  # most requests at a time
    timeout: float = Field(300.0, gt=0)  # seconds for one attempt
    # Seconds after which a request that keeps failing is given up.
    retry_budget: float = Field(600.0, ge=0)
    # Hub name or folder of the model's tokenizer. With it labels are scored by token ids.
    tokenizer: str | None = None
    # ``auto``: scoring raises where the server cannot; ``required``: `start` does; ``off``.
    scoring: Literal["auto", "required", "off"] = "auto"
    # How many of the likeliest tokens to ask for, where ids cannot be asked for.
    top_logprobs: int = Field(20, ge=2)
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
    # in what the prompt has instead, which replies record; ``auto``: by the kind of server.
    prefill: Literal["auto", "continue", "omit"] = "auto"
    prices: str | None = None  # path of a price file, see `load_prices`
    extra_body: dict[str, Any] = Field(default_factory=dict)  # fields to send with every request
    omit: tuple[str, ...] = ()  # fields never to send, such as ``seed``; replies record it

    @field_validator("omit")
    @classmethod
    def _dispensable(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if needed := {"model", "messages", "prompt"}.intersection(names):
            raise ValueError(f"every request needs {min(needed)}")
        return names

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> OpenAIOptions:
        """Check fields from an experiment, see `check_options`."""
        return check_options(cls, fields, "openai model")


class Price(BaseModel):
    """Prices per million tokens, in whatever currency the user's file is kept."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    prompt: float = Field(ge=0, allow_inf_nan=False)  # tokens read
    completion: float = Field(ge=0, allow_inf_nan=False)  # tokens written
    # Prompt tokens that the server had cached; None: the price of `prompt`.
    cached: float | None = Field(None, ge=0, allow_inf_nan=False)

    def cost(self, usage: Usage) -> float:
        """Return the price of one request.

        Examples
        --------
        >>> price = Price(prompt=2.0, completion=8.0, cached=0.5)
        >>> price.cost(Usage(1_000_000, 500_000, 400_000))
        5.4
        """
        cached = self.prompt if self.cached is None else self.cached
        fresh = usage.prompt - usage.cached
        total = fresh * self.prompt + usage.cached * cached + usage.completion * self.completion
        return total / _MILLION

    def most(self, tokens: int) -> float:
        """Return the most that so many tokens can cost, read or written."""
        return tokens * max(self.prompt, self.completion, self.cached or 0.0) / _MILLION


def load_prices(path: Path) -> dict[str, Price]:
    """Read a price file: one table per model with `prompt`, `completion` and maybe `cached`.

    Raises `TomevalError` if the file cannot be read, a field is unknown or missing, or a price is
    not a number of at least 0.
    """
    tables = read_toml(path)
    for model, entry in tables.items():
        if not isinstance(entry, dict):
            raise TomevalError(f"{path}: {model}: must be a table with prompt and completion")
    return {model: check_options(Price, e, f"{path}: {model}") for model, e in tables.items()}


def price_of(model: str, path: str | None) -> Price | None:
    """Return a model's price by a price file; a file without it causes a warning."""
    if not path:
        return None
    prices = load_prices(Path(path))
    if model not in prices:
        logger.warning("%s: no price for %r%s", path, model, did_you_mean(model, prices))
    return prices.get(model)
