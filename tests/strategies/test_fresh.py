"""What the reading rule does with replies that it was not made for.

python tests/strategies/test_fresh.py       # counts, and the replies that are judged otherwise
"""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from test_corpus import shape

from tomeval.strategies.readers import Labels, Read, Reader


class Case(NamedTuple):
    """A reply of a set, its verdict, what it says (None: nothing), and what the rule reads."""

    number: int
    verdict: str
    said: Any
    text: str
    read: Read[Any]

    @property
    def outcome(self) -> str:
        """What becomes of it."""
        if self.read.value is None:
            return "refused"
        return "read" if self.read.value == self.said else "read as another"


def cases() -> list[Case]:
    """Return every reply, read."""
    found = []
    path = Path(__file__).parent / "fresh.toml"
    for question in tomllib.loads(path.read_text(encoding="utf-8"))["question"]:
        labels = tuple(question.get("labels", ()))
        reader: Reader[Any] = Labels(labels) if labels else shape(question["key"])
        for reply in question["replies"]:
            (verdict,) = {"says", "doubt", "none"} & reply.keys()
            said = None if verdict == "none" else reply[verdict] or None
            said = labels.index(said) if labels and said else said
            read = reader.read(reply["text"], reply.get("finish", "stop"))
            found.append(Case(question.get("set", 1), verdict, said, reply["text"], read))
    return found


def counts(number: int) -> dict[tuple[str, str], int]:
    """Return how many replies of a set have each verdict and outcome."""
    return dict(Counter((c.verdict, c.outcome) for c in cases() if c.number == number))


def test_no_reply_is_read_as_another_answer():
    assert {case.outcome for case in cases()} == {"read", "refused"}
    assert not [case for case in cases() if case.verdict == "none" and case.outcome == "read"]


if __name__ == "__main__":
    for case in cases():
        if (case.verdict == "says") != (case.outcome == "read"):
            print(f"--- set {case.number}, {case.verdict} {case.said}: {case.read}\n{case.text}\n")
    for number in (1, 2):
        print(number, sorted(counts(number).items()))
