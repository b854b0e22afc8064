"""What the replies of this attack answer: labels of matrix games, codes and hints of Decrypto."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from tomeval.domains.decrypto.game import Rules, hint_fault
from tomeval.domains.decrypto.llm_seats import CODE, hints_shape
from tomeval.strategies.labels import Labels
from tomeval.strategies.readers import Reader

LABELS = (
    ("J", "F"),
    ("J", "F"),
    ("Rock", "Paper", "Scissors"),
    ("Cooperate", "Defect"),
    ("Football", "Ballet"),
    ("Stag", "Hare"),
    ("A", "B"),
    ("X", "Y"),
    ("Go straight", "Swerve"),
    ("wug", "dax"),
    ("左", "右"),
    ("Heads", "Tails"),
)
KEYWORDS = ("river", "violin", "bread", "winter")
HINTS = hints_shape(lambda hints: hint_fault(hints, KEYWORDS, (2, 4, 1), (), Rules()))
WORDS = ("ocean", "crown", "spark", "lantern", "ice age", "drum", "meadow", "copper", "sailor")


@dataclass(frozen=True)
class Question:
    """A question, an answer to it that is meant, and another one that is not.

    `value` is what a reader returns for `meant`. `letters` tells whether the answer is a label.
    """

    reader: Reader[Any]
    meant: str
    other: str
    value: Any
    letters: bool


def ask(rng: np.random.Generator) -> Question:
    """Draw a question: three times in five about a label."""
    kind = int(rng.integers(5))
    if kind < 3:
        labels = LABELS[int(rng.integers(len(LABELS)))]
        first, second = (int(i) for i in rng.permutation(len(labels))[:2])
        return Question(Labels(labels), labels[first], labels[second], first, True)
    if kind == 3:
        codes = [[int(d) + 1 for d in rng.permutation(4)[:3]] for _ in range(2)]
        if codes[0] == codes[1]:
            codes[1] = codes[1][::-1]
        meant, other = (json.dumps({"code": code}) for code in codes)
        return Question(CODE, meant, other, tuple(codes[0]), False)
    drawn = [[WORDS[int(i)] for i in rng.permutation(len(WORDS))[:3]] for _ in range(2)]
    if drawn[0] == drawn[1]:
        drawn[1] = drawn[1][::-1]
    meant, other = (json.dumps({"hints": words}) for words in drawn)
    return Question(HINTS, meant, other, tuple(drawn[0]), False)
