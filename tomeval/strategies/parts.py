"""The parts that strategies are made of, with those from outside, and how their names are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from inspect import getdoc
from pathlib import Path
from typing import NamedTuple, TypeVar

from tomeval.core.errors import TomevalError
from tomeval.core.parts import origin, register
from tomeval.core.resources import shipped as shipped_file
from tomeval.strategies.advice import (
    Advice,
    Oracle,
    PlansInsights,
    Planting,
    Reflexion,
    Social,
)
from tomeval.strategies.beliefs import Belief, read_belief

_Class = TypeVar("_Class", bound=type)

CONTEXTS = ("full", "-history", "-payoffs", "-rewards", "s2a")
_CONTEXTS = {
    "s2a": "S2A",
    "-history": "-History",
    "-payoffs": "-Payoffs",
    "-rewards": "-Rewards",
}


class Part(NamedTuple):
    """One advice part: its name in strategies, and what follows from choosing it."""

    shown: str  # its name in tables
    about: str  # what it adds to what a player sees, as lists say it
    make: type[Advice]  # what it does in an episode
    memory: int = 0  # how many lessons are shown
    templates: Path | None = None  # the folder of templates of a part from outside
    belief: Belief | None = None  # what it states before every action, for parts with parameters

    @property
    def predicts_first(self) -> bool:
        """See `Advice`."""
        return self.make.predicts_first

    @property
    def is_told(self) -> bool:
        """See `Advice`."""
        return self.make.is_told


_WITH_MAX = "the partner's true action and to maximise against it"
PARTS = {
    "social_qa": Part("Social QA", "its own generated prediction", Social),
    "social_lm": Part("Social LM", "its own scored prediction", Social),
    "oracle": Part("Oracle", "the partner's true action", Oracle),
    "oracle_max": Part("Oracle + Max", _WITH_MAX, Oracle),
    "reflexion_1": Part("Reflexion 1", "its last lesson", Reflexion, 1),
    "reflexion_2": Part("Reflexion 2", "its last 2 lessons", Reflexion, 2),
    "reflexion_3": Part("Reflexion 3", "its last 3 lessons", Reflexion, 3),
    "plans_insights": Part("Plans + Insights", "its last plans and insights", PlansInsights),
}
"""Advice by key; parts from outside are added."""

_NONE = Part("", "", Advice)
_ANSWERS = {"lm": "LM", "qa": "QA", "cot": "CoT", "cot_3_shot": "CoT + 3-Shot"}
ANSWER_PARTS: dict[str, Part] = {}
"""Answers that extensions add, by key: in matrix games the kind of subject that answers so."""

KINDS = ("context", "advice", "answer")
DEFAULTS = {"context": "full", "advice": "none", "answer": "qa"}
ADVICE = ("none", *PARTS)
"""The advice parts of the product of all strategies, without those from outside."""

ANSWERS = tuple(_ANSWERS)
"""The answers of the product of all strategies, without those that extensions bring."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?: [A-Za-z0-9]+)*")


def advice_part(key: str) -> Part | None:
    """Return an advice part by its key; None if no part has that name.

    Parts with parameters are made as they are asked for.
    """
    if key == "none":
        return _NONE
    if key in PARTS:
        return PARTS[key]
    part: Part | None = _believing(key)
    return part


@lru_cache(maxsize=512)
def _believing(key: str) -> Part | None:
    """Return the part that states a belief; None if the key names no belief."""
    belief = Belief.of_key(key)
    if belief is None:
        return None
    return Part(
        belief.name,
        f"a belief that is right on {belief.accuracy} % of the steps",
        Planting,
        templates=shipped_file("prompts") / "parts" / "belief",
        belief=belief,
    )


def shown() -> dict[str, str]:
    """Return the names of all parts without parameters, by key."""
    brought = PARTS | ANSWER_PARTS
    return {**_CONTEXTS, **{key: part.shown for key, part in brought.items()}, **_ANSWERS}


def shown_as(key: str) -> str:
    """Return the name of any part."""
    part = advice_part(key)
    return part.shown if part else shown()[key]


def read_words(text: str) -> list[str] | None:
    """Return the parts that a text without spaces consists of, or None."""
    words = {_joined(name): key for key, name in shown().items()}
    longest, keys = sorted(words, key=len, reverse=True), []
    while text:
        if belief := read_belief(text):
            key, rest = belief[0].key, belief[1]
        else:
            word = next((word for word in longest if text.startswith(word)), None)
            if word is None:
                return None
            key, rest = words[word], text[len(word) :]
        if rest[:1] not in ("", "+", "-") or rest == "+":
            return None
        keys.append(key)
        text = rest.removeprefix("+")
    return keys


def _joined(name: str) -> str:
    return re.sub(r"[ +]", "", name.lower()).replace("3-", "3")


def kind_of(key: str) -> str:
    """Return the kind of a part."""
    return "context" if key in CONTEXTS else "advice" if advice_part(key) else "answer"


def register_advice(
    name: str, *, about: str = "", templates: str | Path | None = None
) -> Callable[[_Class], _Class]:
    """Register an advice part, a subclass of `Advice`, which goes with every context and answer.

    Parameters
    ----------
    name : str
        As strategies and tables name it: letters, digits and single spaces, such as ``"Rival"``.
        Tables of an experiment write it in small letters with underscores.
    about : str
        What it adds to what a player sees, in a few words, for ``tomeval list strategies``.
    templates : path, optional
        A folder with its templates, ``DOMAIN/advice/NAME.j2``. Their hash is part of runs with
        strategies that have the part, and of no others.

    Raises
    ------
    TomevalError
        The name is taken, or cannot be read in a strategy's name.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise TomevalError(
            f"strategy part {name!r}: a name is letters, digits and single spaces, and begins with "
            "a letter"
        )

    def add(made: _Class) -> _Class:
        key = name.lower().replace(" ", "_")
        for other, text in shown().items():
            whose = origin(PARTS[other].make) if other in PARTS else "tomeval"
            if _joined(text) == _joined(name) and whose != origin(made):
                raise TomevalError(f"strategy part {name!r}: {whose} has the name; choose another")
        PARTS[key] = Part(
            name,
            about or (getdoc(made) or "").partition("\n")[0].rstrip("."),
            made,
            templates=None if templates is None else Path(templates),
        )
        register("strategies", name, made)
        return made

    return add
