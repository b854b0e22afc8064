"""A prompting strategy: context x advice x answer, its names and its grammar."""

from __future__ import annotations

import difflib
import itertools
import re
from dataclasses import dataclass
from typing import Any

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.core.parts import HINT, parts
from tomeval.strategies.beliefs import EXAMPLES
from tomeval.strategies.parts import (
    ADVICE,
    ANSWER_PARTS,
    ANSWERS,
    CONTEXTS,
    DEFAULTS,
    KINDS,
    PARTS,
    Part,
    advice_part,
    kind_of,
    read_words,
    shown,
    shown_as,
)

__all__ = ["ADVICE", "ANSWERS", "CONTEXTS", "Strategy", "all_strategies", "parse_strategy"]

DEFAULT_ANSWER = DEFAULTS["answer"]


@dataclass(frozen=True)
class Strategy:
    """A point of the product of contexts, advice and answers; every one is legal.

    Attributes
    ----------
    context : str
        One of `CONTEXTS`: what the player is shown of rules and past.
    advice : str
        One of `ADVICE`, or the key of a `tomeval.strategies.beliefs.Belief`: what else it is told
        or writes for itself.
    answer : str
        One of `ANSWERS`, or one that an extension brings: how it answers.

    Examples
    --------
    >>> parse_strategy("Oracle +Max -History")
    Strategy(context='-history', advice='oracle_max', answer='qa')
    >>> parse_strategy("s2a+cot").name
    'S2A + CoT'
    """

    context: str = "full"
    advice: str = "none"
    answer: str = DEFAULT_ANSWER

    def __post_init__(self) -> None:
        if advice_part(self.advice) is None or self.answer not in (*ANSWERS, *ANSWER_PARTS):
            parts("strategies")
        if advice_part(self.advice) is None:
            raise unknown("strategy advice", self.advice, ("none", *PARTS))
        answers = (*ANSWERS, *ANSWER_PARTS)
        for field, known in (("context", CONTEXTS), ("answer", answers)):
            if getattr(self, field) not in known:
                raise unknown(f"strategy {field}", getattr(self, field), known)

    @property
    def part(self) -> Part:
        """The advice part."""
        part = advice_part(self.advice)
        assert part is not None  # checked when it was made
        return part

    @property
    def name(self) -> str:
        """The name as the reported tables print it; `parse_strategy` reads it back."""
        parts = [shown()["s2a"]] if self.summarises else []
        if self.advice != "none":
            parts.append(self.part.shown)
        if self.answer != DEFAULT_ANSWER or not parts:
            parts.append(shown()[self.answer])
        name = " + ".join(parts)
        return f"{name} {shown()[self.context]}" if self.context.startswith("-") else name

    @property
    def shows_history(self) -> bool:
        """Whether past steps are shown, or summarised."""
        return self.context != "-history"

    @property
    def shows_table(self) -> bool:
        """Whether the payoffs of every joint action are shown."""
        return self.context not in ("-payoffs", "-rewards")

    @property
    def shows_rewards(self) -> bool:
        """Whether past steps are shown with what they paid."""
        return self.context != "-rewards"

    @property
    def summarises(self) -> bool:
        """Whether the player reads its own summary in place of the past."""
        return self.context == "s2a"

    @property
    def reflects(self) -> bool:
        """Whether it writes a lesson after each step."""
        return self.part.memory > 0

    @property
    def scored(self) -> bool:
        """Whether its answers are scored labels rather than written."""
        return self.answer == "lm"

    @property
    def writes(self) -> bool:
        """Whether any call has a text written."""
        predicts = self.part.predicts_first and self.advice != "social_lm"
        return not self.scored or self.summarises or self.part.make.writes or predicts

    @property
    def scores(self) -> bool:
        """Whether any call scores labels."""
        return self.scored or self.advice == "social_lm"


def all_strategies() -> list[Strategy]:
    """Return every point of the product, with the advice parts that were registered so far."""
    advice = ["none", *PARTS]
    return [Strategy(*point) for point in itertools.product(CONTEXTS, advice, ANSWERS)]


def parse_strategy(spec: str | dict[str, Any] | Strategy) -> Strategy:
    """Read a strategy's name, as the tables print it, or its config.

    Parameters
    ----------
    spec : str, dict or Strategy
        Case, spaces and the order of parts are free: ``"S2A + CoT"``, ``"oracle+max-history"``,
        ``"Reflexion 3"``, ``"Plans/Insights*"``, ``"Belief 25% (stranger)"``. A dict has the keys
        ``context``, ``advice`` and ``answer``, with the same defaults.

    Raises
    ------
    TomevalError
        An unknown part, or two parts of one kind.
    """
    if isinstance(spec, Strategy):
        return spec
    if isinstance(spec, dict):
        for key in spec:
            if key not in KINDS:
                raise unknown("key", key, KINDS, "strategy")
        return Strategy(**spec)
    if not isinstance(spec, str):
        raise TomevalError(f"strategy must be text or a table, is {spec!r}")
    rest = re.sub(r"[\s_*]", "", spec.lower()).replace("−", "-").replace("–", "-")
    rest = rest.replace("3-shot", "3shot").replace("plans+insights", "plansinsights")
    rest = rest.replace("plans/insights", "plansinsights")
    # "Oracle + Max" and "CoT + 3-Shot" are one part each.
    rest = re.sub(r"oracle\+?max", "oraclemax", rest)
    rest = re.sub(r"cot\+?3shot", "cot3shot", rest)
    keys = read_words(rest)
    if keys is None:  # perhaps a part that an extension brings
        parts("strategies")  # loads those that bring any
        keys = read_words(rest)
    if keys is None:
        raise _unreadable(spec)
    chosen: dict[str, str] = {}
    for part in keys:
        kind = kind_of(part)
        if kind in chosen:
            raise TomevalError(
                f"strategy {spec!r} has two parts of the same kind: "
                f"{shown_as(chosen[kind])} and {shown_as(part)}"
            )
        chosen[kind] = part
    if not chosen:
        raise TomevalError("strategy is empty")
    return Strategy(
        chosen.get("context", "full"),
        chosen.get("advice", "none"),
        chosen.get("answer", DEFAULT_ANSWER),
    )


def recorded_strategy(spec: str | dict[str, Any]) -> Strategy | None:
    """Return the strategy of a cell that was played; None if a part of it is not known here.

    So a run of a plug-in's strategy can be read where the plug-in is not.
    """
    try:
        return parse_strategy(spec)
    except TomevalError:
        return None


_NAMES = (
    "LM, QA, CoT, CoT + 3-Shot, Plans + Insights, Reflexion 1, Reflexion 2, Reflexion 3, "
    "Social QA, Social LM, S2A, S2A + CoT, Oracle, Oracle + Max, Oracle + Max -History, "
    "Oracle + Max -Payoffs"
)
NAMED = tuple(parse_strategy(name) for name in _NAMES.split(", "))
"""The sixteen strategies of Riemer et al. 2025."""


def _unreadable(spec: str) -> TomevalError:
    """Build the error for a name that cannot be read, with a near match for it or a part."""
    names, named = shown().values(), [strategy.name for strategy in NAMED]
    whole = difflib.get_close_matches(spec, named, 1, cutoff=0.8)
    words = [word.strip() for word in spec.split("+")]
    wrong = [word for word in words if read_words(re.sub(r"[\s_*]", "", word.lower())) is None]
    near = did_you_mean(spec, whole) or did_you_mean((wrong or [spec])[0], [*named, *names])
    known = ", ".join((*names, EXAMPLES[1]))
    return TomevalError(f"strategy {spec!r} cannot be read{near}; its parts are {known}; {HINT}")
