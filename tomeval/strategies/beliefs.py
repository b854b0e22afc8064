"""Planted beliefs: how often they are right, how they are worded, and how both are written."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from tomeval.core.errors import TomevalError, unknown

WORDINGS = ("own", "stranger", "certain")
"""How a belief is presented: as the player's own, as a stranger's, or as a certainty."""

EXAMPLES = ("Belief 50% (own)", "Belief 50% (stranger, rated)", "Belief 50% (certain)")
"""Strategies with beliefs, for lists."""

_KEY = re.compile(rf"belief_?({'|'.join(WORDINGS)})_?(\d+)(_?rated)?")
_NAME = re.compile(r"belief(\d+)%\(([a-z]+)((?:,rated)?)\)")
_CALL = re.compile(r"belief\((?P<inside>[^()]*)\)")
OPTIONS = ("accuracy", "as", "rated")
_OPTION = re.compile(rf"({'|'.join(OPTIONS)})=(\[[^\]]*\]|[^,\[\]]*)(?:,|$)")


@dataclass(frozen=True)
class Belief:
    """A prediction that is given to a player before it acts.

    Attributes
    ----------
    accuracy : int
        How often it is right, in percent, 0 to 100; else it is one of the wrong ones, each equally
        likely.
    wording : str
        One of `WORDINGS`.
    rated : bool
        Whether the words say how often it is right; a certainty cannot.

    Examples
    --------
    >>> Belief(25, "stranger").name, Belief(25, "stranger", rated=True).key
    ('Belief 25% (stranger)', 'belief_stranger_25_rated')
    >>> Belief.of_key("belief_stranger_25") == Belief(25, "stranger")
    True
    """

    accuracy: int
    wording: str
    rated: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.accuracy <= 100:
            raise TomevalError(f"belief: accuracy must be from 0 to 100 %, is {self.accuracy} %")
        if self.wording not in WORDINGS:
            raise unknown("wording", self.wording, WORDINGS, "belief: as")
        if self.rated and self.wording == "certain":
            raise TomevalError(
                'belief: rated = true contradicts as = "certain": a certainty is always right'
            )

    @property
    def share(self) -> float:
        """The accuracy as a probability."""
        return self.accuracy / 100

    @property
    def name(self) -> str:
        """As tables print it."""
        return f"Belief {self.accuracy}% ({self.wording}{', rated' if self.rated else ''})"

    @property
    def key(self) -> str:
        """As tables of an experiment write it."""
        return f"belief_{self.wording}_{self.accuracy}{'_rated' if self.rated else ''}"

    @classmethod
    def of_key(cls, key: str) -> Self | None:
        """Read a key; None if it names no belief."""
        match = _KEY.fullmatch(key)
        made = cls(int(match[2]), match[1], bool(match[3])) if match else None
        return made if made is not None and made.key == key else None


class Planted(NamedTuple):
    """What was stated of one thing: the index of an answer, and whether it is the true one."""

    stated: int
    right: bool


def plant(truth: int, count: int, accuracy: float, right: float, which: float) -> Planted:
    """State the truth with probability `accuracy`, else one of the others, each equally likely.

    `count` is the number of possible answers, at least 2; `right` and `which` are two uniform
    numbers. With the same numbers a higher accuracy states the truth wherever a lower one does, and
    all state the same wrong answer.

    Examples
    --------
    >>> [plant(1, 3, accuracy, 0.4, 0.9) for accuracy in (0.25, 0.5)]
    [Planted(stated=0, right=False), Planted(stated=1, right=True)]
    """
    if right < accuracy:
        return Planted(truth, True)
    shift = 1 + min(int(which * (count - 1)), count - 2)
    return Planted((truth + shift) % count, False)


def propensity(stated: Any, truth: Any, count: int, accuracy: float) -> Any:
    """Return how probable `plant` makes a statement, given the truth; arrays broadcast."""
    wrong = (1 - accuracy) / (count - 1)
    return np.where(np.asarray(stated) == np.asarray(truth), accuracy, wrong)


def read_belief(text: str) -> tuple[Belief, str] | None:
    """Read a belief that a text without spaces and in small letters begins with, and the rest.

    None if it begins with none. It is written as tables print it, as its key, or as a call.

    Raises
    ------
    TomevalError
        Begins like one, but with an accuracy, wording or option that there is not.

    Examples
    --------
    >>> read_belief('belief(accuracy=0.25,as="own")+cot')
    (Belief(accuracy=25, wording='own', rated=False), '+cot')
    """
    if match := _NAME.match(text):
        return Belief(int(match[1]), match[2], bool(match[3])), text[match.end() :]
    if match := _KEY.match(text):
        return Belief(int(match[2]), match[1], bool(match[3])), text[match.end() :]
    if match := _CALL.match(text):
        given = _given(match)
        return _belief(given), text[match.end() :]
    return None


def _given(call: re.Match[str]) -> dict[str, str]:
    """Return the options of a call as text."""
    inside = call["inside"]
    given: dict[str, str] = {}
    end = 0
    for option in _OPTION.finditer(inside):
        if option.start() != end or option[1] in given:
            break
        given[option[1]], end = option[2].strip("\"'"), option.end()
    if end != len(inside) or not inside:
        for name in re.findall(r"(?:^|,)(\w+)=", inside):
            if name not in OPTIONS:
                raise unknown("option", name, OPTIONS, "belief")
        raise TomevalError(
            f"belief({inside}) cannot be read; write belief(accuracy = 0.25, "
            'as = "stranger", rated = true); accuracy goes from 0 to 1, and as is one of '
            f"{', '.join(WORDINGS)}"
        )
    if "accuracy" not in given:
        raise TomevalError("belief: needs an accuracy from 0 to 1, such as accuracy = 0.25")
    return given


def _belief(given: dict[str, str]) -> Belief:
    """Return a belief from options as text."""
    switch = given.get("rated", "false")
    if switch not in ("true", "false"):
        raise TomevalError(f"belief: rated must be true or false, is {switch}")
    return Belief(_percent(given["accuracy"]), given.get("as", WORDINGS[0]), switch == "true")


def _percent(text: str) -> int:
    """Return a share as a whole number of percent."""
    try:
        share = float(text)
    except ValueError:
        share = float("nan")
    if not 0 <= share <= 1 or abs(100 * share - round(100 * share)) > 1e-9:
        raise TomevalError(
            "belief: accuracy must be from 0 to 1 in whole percents, such as 0.25, "
            f"is {text or 'empty'}"
        )
    return round(100 * share)


def spread(spec: Any) -> list[Any]:
    """Return the strategies that a spec stands for: a list in a belief is an axis of the grid.

    Anything without such a list stands for itself.

    Examples
    --------
    >>> spread("CoT + belief(accuracy = [0, 0.5], as = stranger)")
    ['CoT + Belief 0% (stranger)', 'CoT + Belief 50% (stranger)']
    >>> spread("CoT")
    ['CoT']
    """
    call = re.search(r"belief\s*\([^()]*\)", spec, re.IGNORECASE) if isinstance(spec, str) else None
    if call is None or "[" not in call[0]:
        return [spec]
    text = re.sub(r"\s", "", call[0].lower())
    match = _CALL.fullmatch(text)
    assert match is not None  # the same but for spaces and capitals
    axes = {}
    for name, value in _given(match).items():
        values = value[1:-1].split(",") if value.startswith("[") else [value]
        axes[name] = [one.strip("\"'") for one in values]
    beliefs = [
        _belief(dict(zip(axes, point, strict=True))) for point in itertools.product(*axes.values())
    ]
    before, after = spec[: call.start()], spec[call.end() :]
    return [f"{before}{belief.name}{after}" for belief in beliefs]
