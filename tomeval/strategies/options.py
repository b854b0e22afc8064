"""The options of language models that every kind of game shares."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tomeval.core.errors import TomevalError
from tomeval.models.base import Sampling
from tomeval.strategies.asking import Asking
from tomeval.strategies.templates import Prompts, load_prompts


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """How a language model is asked.

    Attributes
    ----------
    strategy : str or dict
        See `tomeval.strategies.parse_strategy`.
    temperature, top_p, top_k, min_p
        See `tomeval.models.base.Sampling`.
    max_tokens : int
        Longest reply; 0: the default of the kind of call.
    max_attempts : int
        How often a question is asked until its answer can be read and is legal.
    prompts : str
        Folder of own templates, in a subfolder named after the domain; they precede the shipped.
    """

    strategy: str | dict[str, Any] = "QA"
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    max_tokens: int = 0
    max_attempts: int = 10
    prompts: str = ""

    LIMITS: ClassVar[dict[str, tuple[float, float]]] = {
        "temperature": (0, 100),
        "top_p": (1e-9, 1),
        "top_k": (0, 10**9),
        "min_p": (0, 1),
        "max_tokens": (0, 10**7),
        "max_attempts": (1, 10**6),
    }
    """Least and largest value of every number; those whose default is whole must be whole."""

    def __post_init__(self) -> None:
        for name, (low, high) in self.LIMITS.items():
            value, whole = getattr(self, name), isinstance(getattr(type(self), name), int)
            kinds = int if whole else int | float
            if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
                raise TomevalError(
                    f"{name} must be a number from {low} to {high}, is {json.dumps(value)}"
                )
        if not isinstance(self.prompts, str):
            raise TomevalError(
                f"prompts must be the name of a folder, is {json.dumps(self.prompts)}"
            )

    def asking(self, constrain: bool = False) -> Asking:
        """Return how questions are asked; `constrain` as there."""
        sampling = Sampling(self.temperature, self.top_p, self.top_k, self.min_p, self.max_tokens)
        return Asking(sampling, self.max_attempts, constrain)

    def templates(self, domain: str, base: Path | None) -> Prompts:
        """Return the templates; a relative folder starts from `base`."""
        return load_prompts(domain, self.prompts, base)
