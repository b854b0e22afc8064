"""The parts that strategies are made of, and how their names are read, with those from outside."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.core.resources import shipped as shipped_file
from tomeval.strategies.beliefs import Belief, read_belief

CONTEXTS = ("full", "-history", "-payoffs", "-rewards", "s2a")
_CONTEXTS = {
    "s2a": "S2A",
    "-history": "-History",
    "-payoffs": "-Payoffs",
    "-rewards": "-Rewards",
}


class Part(NamedTuple):
    """One advice part: its name in strategies, and what follows from choosing it.

    Attributes
    ----------
    shown : str
        Its name in tables.
    about : str
        What it adds to what a player sees, as lists say it; empty: nothing to say.
    predicts_first, is_told, takes_notes, calls
        As `tomeval.strategies.advice.Advice` has them.
    writes : bool
        Whether it has texts written, or depends on one.
    memory : int
        How many lessons are shown.
    make : callable or None
        What makes it, for parts with a module of their own and those from outside, which may only
        do what they declare.
    templates : path or None
        The folder of templates of such a part.
    belief : Belief or None
        What it states before every action, for parts with parameters.
    """

    shown: str
    about: str = ""
    predicts_first: bool = False
    is_told: bool = False
    takes_notes: bool = False
    calls: int = 0
    writes: bool = False
    memory: int = 0
    make: Callable[[Any], Any] | None = None
    templates: Path | None = None
    belief: Belief | None = None


def _lessons(count: int) -> Part:
    about = f"its last {count} lessons" if count > 1 else "its last lesson"
    return Part(f"Reflexion {count}", about, calls=1, writes=True, memory=count)


_ADVICE = {
    "social_qa": Part(
        "Social QA", "its own generated prediction", predicts_first=True, writes=True
    ),
    "social_lm": Part("Social LM", "its own scored prediction", predicts_first=True),
    "oracle": Part("Oracle", "the partner's true action", is_told=True),
    "oracle_max": Part(
        "Oracle + Max", "the partner's true action and to maximise against it", is_told=True
    ),
    **{f"reflexion_{count}": _lessons(count) for count in (1, 2, 3)},
    "plans_insights": Part(
        "Plans + Insights", "its last plans and insights", takes_notes=True, writes=True
    ),
}


_NONE = Part("")
_ANSWERS = {"lm": "LM", "qa": "QA", "cot": "CoT", "cot_3_shot": "CoT + 3-Shot"}

KINDS = ("context", "advice", "answer")
DEFAULTS = {"context": "full", "advice": "none", "answer": "qa"}
ADVICE = ("none", *_ADVICE)
"""The advice parts of the product of all strategies, without those from outside."""

_SHIPPED = frozenset(_ADVICE)
ANSWERS = tuple(_ANSWERS)

_WORDS: dict[str, str] = {}
"""How names are read: without spaces and plus signs, and the part that each word stands for."""


def advice_part(key: str) -> Part | None:
    """Return an advice part by its key; None if no part has that name.

    Parts with parameters are made as they are asked for.
    """
    if key == "none":
        return _NONE
    if key in _ADVICE:
        return _ADVICE[key]
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
        is_told=True,
        make=_planting,
        templates=shipped_file("prompts") / "parts" / "belief",
        belief=belief,
    )


def _planting(strategy: Any) -> Any:
    from tomeval.strategies.advice import Planting  # which is made of the parts

    return Planting(strategy)


def advice_parts() -> Mapping[str, Part]:
    """Return the advice parts by key, with those from outside."""
    return _ADVICE


def shown() -> dict[str, str]:
    """Return the names of all parts without parameters, by key."""
    return {**_CONTEXTS, **{key: part.shown for key, part in _ADVICE.items()}, **_ANSWERS}


def shown_as(key: str) -> str:
    """Return the name of any part."""
    part = advice_part(key)
    return part.shown if part else shown()[key]


def read_words(text: str) -> list[str] | None:
    """Return the parts that a text without spaces consists of, or None."""
    keys = []
    while text:
        if belief := read_belief(text):
            keys.append(belief[0].key)
            text = _joined(belief[1])
            continue
        word = next((word for word in _WORDS if text.startswith(word)), None)
        if word is None:
            return None
        keys.append(_WORDS[word])
        text = _joined(text[len(word) :])
    return keys


def _joined(rest: str) -> str:
    """Return what follows a word without the plus sign that joins it."""
    return rest[1:] if rest.startswith("+") and rest != "+" else rest


def kind_of(key: str) -> str:
    """Return the kind of a part."""
    return "context" if key in CONTEXTS else "advice" if advice_part(key) else "answer"


def add_part(key: str, part: Part) -> None:
    """Add an advice part from outside."""
    _ADVICE[key] = part
    _index()


def forget(key: str) -> None:
    """Forget a part from outside."""
    if key not in _SHIPPED:
        _ADVICE.pop(key, None)
    _index()


def _index() -> None:
    """Build the words of names anew; the longest come first, as "cot3shot" begins with "cot"."""
    names = shown().items()
    words = {re.sub(r"[ +]", "", text.lower()).replace("3-", "3"): key for key, text in names}
    _WORDS.clear()
    _WORDS.update(sorted(words.items(), key=lambda item: -len(item[0])))


_index()
