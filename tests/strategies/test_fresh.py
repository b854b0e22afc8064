"""What the reading rule does with replies that it was not made for."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from test_corpus import shape

from tomeval.strategies.readers import Labels, Reader


def cases() -> list[tuple[str, Any, Reader[Any], str, str]]:
    """Return verdict, what is said, reader, text and finish of every reply."""
    found = []
    for question in tomllib.loads((Path(__file__).parent / "fresh.toml").read_text())["question"]:
        labels = tuple(question.get("labels", ()))
        reader: Reader[Any] = Labels(labels) if labels else shape(question["key"])
        for reply in question["replies"]:
            (verdict,) = {"says", "doubt", "none"} & reply.keys()
            said = None if verdict == "none" else reply[verdict] or None
            said = labels.index(said) if labels and said else said
            found.append((verdict, said, reader, reply["text"], reply.get("finish", "stop")))
    return found


def outcomes() -> Counter[tuple[str, str]]:
    """Count what becomes of replies by verdict: read, refused, or read as another answer."""
    found: Counter[tuple[str, str]] = Counter()
    for verdict, said, reader, text, finish in cases():
        value = reader.read(text, finish).value
        what = "refused" if value is None else "read" if value == said else "another"
        found[verdict, what] += 1
    return found


if __name__ == "__main__":
    for case in cases():
        read = case[2].read(case[3], case[4])
        if (case[0] == "says") != (read.value == case[1]) or read.value not in (None, case[1]):
            print(f"--- {case[0]} {case[1]}: {read}\n{case[3]}\n")
    print(sum(outcomes().values()), sorted(outcomes().items()))
