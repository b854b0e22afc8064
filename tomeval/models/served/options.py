"""What can be set for a served model, and what its tokens cost."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tomeval.models.base import Usage

_MILLION = 1_000_000


class Price(BaseModel):
    """Prices per million tokens, in whatever currency the user has them."""

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
    # Whether labels are scored: `start` then refuses a server that cannot.
    scoring: Literal["required", "off"] = "required"
    # How many of the likeliest tokens to ask for, where ids cannot be asked for.
    top_logprobs: int = Field(20, ge=2)
    # Template switch for generated replies; scoring always switches thinking off.
    thinking: bool | None = None
    # ``auto``: answers without thinking are held to their choices or schema where the server does
    # that; ``off``: never.
    structured: Literal["off", "auto"] = "off"
    # Tokens for thinking, on top of those that a request allows for the answer. None:
    # 8192 if the model is seen to think, else 0.
    thinking_budget: int | None = Field(None, ge=0)
    price: Price | None = None  # what its tokens cost
    extra_body: dict[str, Any] = Field(default_factory=dict)  # fields to send with every request
    omit: tuple[str, ...] = ()  # fields never to send, such as ``seed``; replies record it
