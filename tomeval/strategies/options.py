"""The options of language models that every kind of game shares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tomeval.core.errors import TomevalError, unknown
from tomeval.models.base import Message, Sampling
from tomeval.strategies.asking import ALLOWANCES, Asking
from tomeval.strategies.compose import parse_strategy
from tomeval.strategies.parts import ANSWER_PARTS
from tomeval.strategies.templates import Prompts, load_prompts

SHARED = {"prompts": "default", "system": "none"}
"""The options of every language-model player that are wording, with what stands for no value."""

WITH_MEMORY = SHARED | {"memory": "restated"}
"""The same where players can also get the rules only once, see ``memory``."""

_TOLD = ("model", "strategy")  # what has columns of its own


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """How a language model is asked.

    Attributes
    ----------
    strategy : str or dict
        See `tomeval.strategies.parse_strategy`.
    temperature, top_p, top_k, min_p
        See `tomeval.models.base.Sampling`.
    max_tokens : int or dict
        Longest reply: one number for every kind of call, or numbers by the keys of
        `tomeval.strategies.asking.ALLOWANCES`, which holds for kinds that are not given; 0: all.
    max_attempts : int
        How often a question is asked until its answer can be read and is legal.
    lenient : {"take", "ask"}
        What becomes of an answer that is not in the exact form asked for: it is taken and marked as
        lenient, or asked for again, within the attempts.
    prompts : str
        A shipped set of templates, such as ``akata``, or a folder of own ones, in a subfolder named
        after the domain; templates that it lacks are those of the set ``default``.
    system : str
        A system message before everything else.
    decide, predict : {"argmax", "sample"}
        How scored labels (LM) become an action, and how they become a prediction: the most probable
        one, or a draw from their probabilities, at temperature 1 whatever `temperature` says. As in
        Riemer et al. 2025 (arXiv 2412.19726), actions are drawn and predictions compared.
    """

    strategy: str | dict[str, Any] = "QA"
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    max_tokens: int | dict[str, int] = 0
    max_attempts: int = 10
    lenient: str = "take"
    prompts: str = ""
    system: str = ""
    decide: str = "sample"
    predict: str = "argmax"

    LIMITS: ClassVar[dict[str, tuple[float, float]]] = {
        "temperature": (0, 2),
        "top_p": (1e-9, 1),
        "top_k": (0, 10**9),
        "min_p": (0, 1),
        "max_tokens": (0, 10**7),
        "max_attempts": (1, 10**6),
    }
    """Least and largest value of every number; those whose default is whole must be whole."""

    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {
        "lenient": ("take", "ask"),
        "decide": ("argmax", "sample"),
        "predict": ("argmax", "sample"),
    }

    def __post_init__(self) -> None:
        numbers = {name: getattr(self, name) for name in self.LIMITS}
        if isinstance(self.max_tokens, dict):
            del numbers["max_tokens"]
            for kind, value in self.max_tokens.items():
                if kind not in ALLOWANCES:
                    raise unknown("kind of call", kind, ALLOWANCES, "max_tokens")
                _check(f"max_tokens.{kind}", value, int, 1, self.LIMITS["max_tokens"][1])
        for name, value in numbers.items():
            whole = isinstance(getattr(type(self), name), int)
            _check(name, value, int if whole else (int, float), *self.LIMITS[name])
        for name, known in self.CHOICES.items():
            if getattr(self, name) not in known:
                raise unknown(name, getattr(self, name), known)
        for name, what in (("prompts", "the name of a set or a folder"), ("system", "text")):
            if not isinstance(getattr(self, name), str):
                raise TomevalError(f"{name} must be {what}, is {json.dumps(getattr(self, name))}")

    def asking(self) -> Asking:
        """Return how questions are asked."""
        given = self.max_tokens
        most, own = (0, given) if isinstance(given, dict) else (given, {})
        sampling = Sampling(self.temperature, self.top_p, self.top_k, self.min_p, most)
        return Asking(sampling, self.max_attempts, {**ALLOWANCES, **own}, self.lenient == "ask")

    @property
    def opening(self) -> tuple[Message, ...]:
        """What every conversation begins with."""
        return (Message("system", self.system),) if self.system else ()

    def templates(self, domain: str, base: Path | None) -> Prompts:
        """Return the templates; a relative folder starts from `base`."""
        return load_prompts(domain, self.prompts, base, templates_of(self.strategy, domain))


def templates_of(spec: Any, domain: str) -> tuple[Path, ...]:
    """Return the folders of templates that the parts of a strategy bring along from outside.

    `spec` is a strategy, or a table of strategies by role.

    Raises
    ------
    TomevalError
        A part has templates, but none for the domain.
    """
    by_role = isinstance(spec, dict) and not set(spec) <= {"context", "advice", "answer"}
    folders: dict[Path, None] = {}
    strategies = map(parse_strategy, spec.values() if by_role else (spec,))
    for part in (part for one in strategies for part in (one.part, ANSWER_PARTS.get(one.answer))):
        if part is None or part.templates is None:
            continue
        if not (part.templates / domain).is_dir():
            raise TomevalError(
                f"strategy part {part.shown!r} has no templates for the domain {domain!r}: no "
                f"folder {part.templates / domain}"
            )
        folders[part.templates] = None
    return tuple(folders)


def split_wording(
    options: Mapping[str, Any], strategy: str, wording: Mapping[str, str] = SHARED
) -> tuple[str, dict[str, str]]:
    """Return a player's name apart from its wording, and its wording by name.

    Parameters
    ----------
    options : mapping
        Those that a player was given; what it was not given has its default.
    strategy : str
    wording : mapping of str to str
        The options that are wording, with their defaults.

    Examples
    --------
    >>> split_wording({"strategy": "QA", "temperature": 0, "prompts": "akata"}, "QA")
    ('QA(temperature=0)', {'prompts': 'akata', 'system': 'none'})
    """
    words = {name: str(options.get(name) or default) for name, default in wording.items()}
    rest = {k: v for k, v in options.items() if k not in wording and k not in _TOLD}
    inside = ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in rest.items()
    )
    return f"{strategy}({inside})" if inside else strategy, words


def _check(name: str, value: Any, kinds: Any, low: float, high: float) -> None:
    """Refuse what is not a number within its limits."""
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        raise TomevalError(f"{name} must be a number from {low} to {high}, is {json.dumps(value)}")
