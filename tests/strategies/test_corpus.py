"""A corpus of replies in many voices, each with the verdict of a careful reader.

The verdicts were written by reading the replies, not by running the readers. A file of
``corpus/`` is a voice. Its lists are ``take`` (every careful reader takes the reply to say ``@A``),
``none`` (everyone sees that it gives no answer) and ``doubt`` (one would doubt). Where the reading
rule decides otherwise, two more say so: ``ruled`` (one would doubt, the rule reads ``@A``) and
``missed`` (it says ``@A`` in a form that the rule refuses). The tables ask for labels, for letters
as labels or for an object in JSON, and ``_cut`` says that the server stopped the reply at its
limit. ``@A`` and ``@B`` stand for two answers, of which several are put in.

``fresh.toml`` has replies that the rule was not made for.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tomeval.strategies.labels import Labels
from tomeval.strategies.readers import Reader
from tomeval.strategies.shapes import JsonShape

CORPUS = Path(__file__).parent / "corpus"

LABELS = [("J", "F"), ("Defect", "Cooperate"), ("Paper", "Scissors", "Rock")]
LETTERS = [("J", "F"), ("B", "J", "F")]
OBJECTS = {
    "code": ([2, 4, 1], [1, 3, 2]),
    "hints": (["harbour", "wick", "morning call"], ["bugle", "hive", "slow ice"]),
    "allocation": ([10, 4, 6], [7, 7, 6]),
    "message": (["Let us cooperate: I will, if you do."], ["I shall defect."]),
    "clue": (["ocean", "2"], ["river bank", "3"]),
}
FORMS: dict[str, tuple[type[int] | type[str], int]] = {
    "code": (int, 3),
    "hints": (str, 3),
    "keywords": (str, 4),
    "allocation": (int, 3),
    "message": (str, 1),
    "clue": (str, 0),
    "vote": (int, 1),
}
"""Type and number of the items of every object; 0: any number."""


class Case(NamedTuple):
    """A reply, who reads it, and what a careful reader takes it to say (None: nothing)."""

    voice: str
    verdict: str
    wording: str
    text: str
    finish: str
    reader: Reader[Any]
    says: Any


def shape(key: str) -> JsonShape[list[Any]]:
    """Return a reader of an object; codes and allocations are legal as in their games."""

    def check(value: list[Any]) -> list[Any] | str:
        if key == "allocation" and (min(value) < 0 or sum(value) != 20):
            return "not 20 units"
        legal = key != "code" or (len(set(value)) == 3 and set(value) <= {1, 2, 3, 4})
        legal = legal and (key != "clue" or bool(value))
        return value if legal else "no code"

    return JsonShape(key, *FORMS[key], check)


def answers(table: str) -> list[tuple[Reader[Any], Any, str, str]]:
    """Return readers with what ``@A`` says, and the texts of ``@A`` and ``@B``."""
    if table == "json":
        return [
            (shape(key), one, json.dumps({key: one}), json.dumps({key: other}))
            for key, (one, other) in OBJECTS.items()
        ]
    sets = LETTERS if table == "letters" else LABELS
    return [(Labels(labels), 0, labels[0], labels[1]) for labels in sets]


def read_corpus() -> list[Case]:
    """Return every reply of the corpus, with the answers put in."""
    cases = []
    for path in sorted(CORPUS.glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        for raw in data.pop("reply", []):
            reader: Reader[Any]
            if "key" in raw:
                reader, says = shape(raw["key"]), raw["says"] or None
            else:
                labels = tuple(raw["labels"])
                reader, says = Labels(labels), labels.index(raw["says"]) if raw["says"] else None
            verdict, text = "doubt" if says is None else "take", raw["text"]
            verdict = "ruled" if raw.get("ruled") else verdict
            finish = raw.get("finish", "stop")
            cases.append(Case(path.stem, verdict, text, text, finish, reader, says))
        for table, lists in data.items():
            kind, _, cut = table.partition("_")
            for verdict, wordings in lists.items():
                for wording in wordings:
                    used = answers(kind) if "@" in wording else answers(kind)[:1]
                    for reader, says, one, other in used:
                        text = wording.replace("@A", one).replace("@B", other)
                        taken = says if verdict in ("take", "ruled") else None
                        finish = "length" if cut else "stop"
                        cases.append(Case(path.stem, verdict, wording, text, finish, reader, taken))
    return cases


CASES = read_corpus()
VOICES = sorted({case.voice for case in CASES})


@pytest.mark.parametrize("voice", VOICES)
def test_replies_are_read_as_the_rule_says(voice):
    wrong = []
    for case in CASES:
        if case.voice == voice:
            read = case.reader.read(case.text, case.finish)
            if read.value != case.says:
                wrong.append((case.verdict, case.text, case.says, read))
    assert not wrong, "\n".join(map(str, wrong))


def fresh() -> list[Case]:
    """Return the replies that the rule was not made for; where none is given, `says` is None."""
    path = Path(__file__).parent / "fresh.toml"
    cases = []
    for question in tomllib.loads(path.read_text(encoding="utf-8"))["question"]:
        labels = tuple(question.get("labels", ()))
        reader: Reader[Any] = Labels(labels) if labels else shape(question["key"])
        for reply in question["replies"]:
            (verdict,) = {"says", "doubt", "none"} & reply.keys()
            said = None if verdict == "none" else reply[verdict] or None
            said = labels.index(said) if labels and said else said
            finish, text = reply.get("finish", "stop"), reply["text"]
            cases.append(Case("fresh", verdict, text, text, finish, reader, said))
    return cases


def test_no_reply_is_read_as_another_answer():
    read = [(case.reader.read(case.text, case.finish).value, case) for case in fresh()]
    assert not [case for value, case in read if value is not None and value != case.says]
    right = [case for value, case in read if case.verdict == "says" and value is not None]
    assert len(right) > 0.8 * sum(case.verdict == "says" for _, case in read)
