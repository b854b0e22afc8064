"""Planted beliefs: how often they are right, how they are worded, and how both are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from tomeval.core.errors import TomevalError, unknown

WORDINGS = ("own", "stranger", "certain")
"""How a belief is presented: as the player's own, as a stranger's, or as a certainty."""

EXAMPLES = ("Belief 50% (own)", "Belief 50% (stranger, rated)", "Belief 50% (certain)")
"""Strategies with beliefs, for lists."""

_KEY = re.compile(rf"belief_({'|'.join(WORDINGS)})_(\d+)(_rated)?")
_NAME = re.compile(r"belief(\d+)%\(([a-z]+)((?:,rated)?)\)")


@dataclass(frozen=True)
class Belief:
    """A prediction that is given to a player before it acts.

    Examples
    --------
    >>> Belief(25, "stranger").name, Belief(25, "stranger", rated=True).key
    ('Belief 25% (stranger)', 'belief_stranger_25_rated')
    >>> Belief.of_key("belief_stranger_25") == Belief(25, "stranger")
    True
    """

    # How often it is right, in percent, 0 to 100; else it is one of the wrong ones, each equally
    # likely.
    accuracy: int
    wording: str  # one of `WORDINGS`
    rated: bool = False  # whether the words say how often it is right; a certainty cannot

    def __post_init__(self) -> None:
        if not 0 <= self.accuracy <= 100:
            raise TomevalError(f"belief: accuracy must be from 0 to 100 %, is {self.accuracy} %")
        if self.wording not in WORDINGS:
            raise unknown("wording", self.wording, WORDINGS, "belief")
        if self.rated and self.wording == "certain":
            raise TomevalError("belief: rated contradicts certain: a certainty is always right")

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

    None if it begins with none. It is written as tables print it.

    Raises
    ------
    TomevalError
        Begins like one, but with an accuracy, wording or option that there is not.

    Examples
    --------
    >>> read_belief("belief25%(own)+cot")
    (Belief(accuracy=25, wording='own', rated=False), '+cot')
    """
    if match := _NAME.match(text):
        return Belief(int(match[1]), match[2], bool(match[3])), text[match.end() :]
    return None
