"""Written reasoning of many voices, each text with the verdict of a careful reader.

The verdicts were written before the reader of expectations was opened, by its rule alone: what is
the action that the text last names as what the writer expects the other player to do in this round?
It is "" where the text names none: suppositions, the past, later rounds, the writer's own move, wishes,
either could, mixed strategies, denials, and patterns from which the text draws no conclusion ("they always
played J"). A verb counts as the action of its name ("they will defect" for Defect), an action told of
everybody counts ("both of us will play J"), and so does a probability above a half.

A file of ``reasoning/`` is a voice. Half of the texts, told by their hash, are there to mend the
reader with; the other half only measures it.
"""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import NamedTuple

REASONING = Path(__file__).parent / "reasoning"


class Text(NamedTuple):
    """Reasoning, the labels of the partner, and what it last expects of them ("": nothing)."""

    voice: str
    labels: tuple[str, ...]
    expects: str
    text: str

    @property
    def held_out(self) -> bool:
        """Whether the text belongs to the half that nothing was mended with."""
        return bool(hashlib.sha256(self.text.encode()).digest()[0] % 2)


def read_reasoning() -> list[Text]:
    """Return every text of the corpus, file by file."""
    return [
        Text(path.stem, tuple(group["labels"]), group["expects"], text)
        for path in sorted(REASONING.glob("*.toml"))
        for group in tomllib.loads(path.read_text(encoding="utf-8"))["texts"]
        for text in group["texts"]
    ]
