"""A prompting strategy: context x advice x answer, its names and its grammar."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Any

from tomeval.core.errors import TomevalError, did_you_mean, unknown

CONTEXTS = ("full", "-history", "-payoffs", "-rewards", "s2a")
_CONTEXTS = {
    "s2a": "S2A",
    "-history": "-History",
    "-payoffs": "-Payoffs",
    "-rewards": "-Rewards",
}
_ADVICE = {
    "social_qa": "Social QA",
    "social_lm": "Social LM",
    "oracle": "Oracle",
    "oracle_max": "Oracle + Max",
    "reflexion_1": "Reflexion 1",
    "reflexion_2": "Reflexion 2",
    "reflexion_3": "Reflexion 3",
    "plans_insights": "Plans + Insights",
}
_ANSWERS = {"lm": "LM", "qa": "QA", "cot": "CoT", "cot_3_shot": "CoT + 3-Shot"}
_SHOWN = {**_CONTEXTS, **_ADVICE, **_ANSWERS}

_KEYS = ("context", "advice", "answer")
ADVICE = ("none", *_ADVICE)
ANSWERS = tuple(_ANSWERS)
DEFAULT_ANSWER = "qa"

# How names are read, without spaces and plus signs: longest first, as "cot3shot" begins with "cot".
_WORDS = {
    re.sub(r"[ +]", "", shown.lower()).replace("3-", "3"): part
    for part, shown in sorted(_SHOWN.items(), key=lambda item: -len(item[1]))
}


@dataclass(frozen=True)
class Strategy:
    """A point of the product of contexts, advice and answers; every one is legal.

    Attributes
    ----------
    context : str
        One of `CONTEXTS`: what the player is shown of rules and past.
    advice : str
        One of `ADVICE`: what else it is told or writes for itself.
    answer : str
        One of `ANSWERS`: how it answers.

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
        for field, known in zip(_KEYS, (CONTEXTS, ADVICE, ANSWERS), strict=True):
            value = getattr(self, field)
            if value not in known:
                raise unknown(f"strategy {field}", value, known)

    @property
    def name(self) -> str:
        """The name as the reported tables print it; `parse_strategy` reads it back."""
        parts = [_SHOWN["s2a"]] if self.summarises else []
        if self.advice != "none":
            parts.append(_SHOWN[self.advice])
        if self.answer != DEFAULT_ANSWER or not parts:
            parts.append(_SHOWN[self.answer])
        name = " + ".join(parts)
        return f"{name} {_SHOWN[self.context]}" if self.context.startswith("-") else name

    @property
    def memory(self) -> int:
        """How many texts the player carries from step to step."""
        return int(self.advice[-1]) if self.reflects else int(self.takes_notes)

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
    def predicts_first(self) -> bool:
        """Whether it acts on a prediction that it has made."""
        return self.advice.startswith("social")

    @property
    def is_told(self) -> bool:
        """Whether it acts on the truth."""
        return self.advice.startswith("oracle")

    @property
    def reflects(self) -> bool:
        """Whether it writes a lesson after each step."""
        return self.advice.startswith("reflexion")

    @property
    def takes_notes(self) -> bool:
        """Whether it writes plans and insights with its answers."""
        return self.advice == "plans_insights"

    @property
    def scored(self) -> bool:
        """Whether its answers are scored labels rather than written."""
        return self.answer == "lm"

    @property
    def calls_per_step(self) -> int:
        """Model calls to act once, with the reflection after the step but without probes."""
        writes = self.takes_notes and self.scored
        questions = 1 + self.predicts_first
        return questions * (1 + self.summarises) + self.reflects + writes

    @property
    def probes_per_step(self) -> int:
        """Further model calls for the literal probe: none if the prediction came first."""
        return 0 if self.predicts_first else 1 + self.summarises

    @property
    def scores(self) -> bool:
        """Whether any call scores labels."""
        return self.scored or self.advice == "social_lm"


def all_strategies() -> list[Strategy]:
    """Return every point of the product."""
    return [Strategy(*point) for point in itertools.product(CONTEXTS, ADVICE, ANSWERS)]


def parse_strategy(spec: str | dict[str, Any] | Strategy) -> Strategy:
    """Read a strategy's name, as the tables print it, or its config.

    Parameters
    ----------
    spec : str, dict or Strategy
        Case, spaces and the order of parts are free: ``"S2A + CoT"``, ``"oracle+max-history"``,
        ``"Reflexion 3"``, ``"Plans/Insights*"``. A dict has the keys ``context``, ``advice`` and
        ``answer``, with the same defaults.

    Raises
    ------
    TomevalError
        An unknown part, or two parts of one kind.
    """
    if isinstance(spec, Strategy):
        return spec
    if isinstance(spec, dict):
        for key in spec:
            if key not in _KEYS:
                raise unknown("key", key, _KEYS, "strategy")
        return Strategy(**spec)
    if not isinstance(spec, str):
        raise TomevalError(f"strategy must be text or a table, is {spec!r}")
    rest = re.sub(r"[\s_*]", "", spec.lower()).replace("−", "-").replace("–", "-")
    rest = rest.replace("3-shot", "3shot").replace("plans+insights", "plansinsights")
    rest = rest.replace("plans/insights", "plansinsights")
    # "Oracle + Max" and "CoT + 3-Shot" are one part each.
    rest = re.sub(r"oracle\+?max", "oraclemax", rest)
    rest = re.sub(r"cot\+?3shot", "cot3shot", rest)
    found: dict[str, str] = {}
    while rest:
        word = next((w for w in _WORDS if rest.startswith(w)), None)
        if word is None:
            raise _unreadable(spec)
        part = _WORDS[word]
        kind = "context" if part in CONTEXTS else "advice" if part in ADVICE else "answer"
        if kind in found:
            raise TomevalError(
                f"strategy {spec!r} has two parts of one kind: "
                f"{_SHOWN[found[kind]]} and {_SHOWN[part]}"
            )
        found[kind] = part
        rest = rest[len(word) :]
        if rest.startswith("+") and rest != "+":
            rest = rest[1:]
    if not found:
        raise TomevalError("strategy is empty")
    return Strategy(
        found.get("context", "full"),
        found.get("advice", "none"),
        found.get("answer", DEFAULT_ANSWER),
    )


_NAMES = (
    "LM, QA, CoT, CoT + 3-Shot, Plans + Insights, Reflexion 1, Reflexion 2, Reflexion 3, "
    "Social QA, Social LM, S2A, S2A + CoT, Oracle, Oracle + Max, Oracle + Max -History, "
    "Oracle + Max -Payoffs"
)
NAMED = tuple(parse_strategy(name) for name in _NAMES.split(", "))
"""The sixteen strategies of Riemer et al. 2025."""


def _unreadable(spec: str) -> TomevalError:
    """Build the error for a name that cannot be read."""
    if re.sub(r"[\s_*]", "", spec.lower()) == "reflexion":
        return TomevalError(f"strategy {spec!r} needs a size of its memory: 1, 2 or 3")
    near = did_you_mean(spec, [strategy.name for strategy in NAMED])
    return TomevalError(
        f"strategy {spec!r} cannot be read{near}; it is made of {', '.join(_SHOWN.values())}"
    )
