"""What can be set for a model behind an OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tomeval.core.errors import TomevalError, unknown


class OpenAIOptions(BaseModel):
    """What can be set for an OpenAI-compatible model; unknown fields are an error.

    Attributes
    ----------
    api : str
        ``chat``, ``completions``, or ``auto``: chat where the server has it for this model.
    key_env : str
        Environment variable that holds the API key.
    concurrency : int
        Most requests at a time; an overloaded server lowers it for a while.
    timeout : float
        Seconds for one attempt.
    retry_budget : float
        Seconds after which a request that keeps failing is given up.
    tokenizer : str, optional
        Hub name or folder of the model's tokenizer. With it labels are scored by token ids.
    scoring : str
        ``auto``: scoring raises where the server cannot; ``required``: `start` does; ``off``.
    routes : tuple of str
        The label-scoring routes to try; empty: all.
    top_logprobs : int
        How many of the likeliest tokens to ask for, where ids cannot be asked for.
    label_space : str
        Space before labels where no tokenizer tells: ``auto`` (see `ScoreRequest`), ``space`` or
        ``bare``.
    thinking : bool, optional
        Template switch for generated replies; scoring always switches thinking off.
    structured : str
        How `GenerateRequest.choices` are enforced: ``off``, ``vllm`` or ``json_schema``.
    prefill : str
        ``continue``: the server goes on from it; ``omit``: it is left out, which replies record.
    prices : str, optional
        Path of a price file, see `load_prices`.
    extra_body : dict
        Fields to send with every request.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    api: Literal["auto", "chat", "completions"] = "auto"
    key_env: str = "OPENAI_API_KEY"
    concurrency: int = Field(16, ge=1)
    timeout: float = Field(300.0, gt=0)
    retry_budget: float = Field(600.0, ge=0)
    tokenizer: str | None = None
    scoring: Literal["auto", "required", "off"] = "auto"
    routes: tuple[str, ...] = ()
    top_logprobs: int = Field(20, ge=2)
    label_space: Literal["auto", "space", "bare"] = "auto"
    thinking: bool | None = None
    structured: Literal["off", "vllm", "json_schema"] = "off"
    prefill: Literal["continue", "omit"] = "continue"
    prices: str | None = None
    extra_body: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> OpenAIOptions:
        """Check fields from an experiment; a wrong one is a `TomevalError` that names it."""
        for field in fields:
            if field not in cls.model_fields:
                raise unknown("option", field, cls.model_fields, "openai model")
        try:
            return cls(**fields)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise TomevalError(f"openai model: {where}: {first['msg']}") from None
