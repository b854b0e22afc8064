"""Read WordNet 3.0's database files, as Debian's `wordnet-base` installs them.

Only what the two Decrypto builds need: noun lemmas with their senses, synsets with their pointers
and glosses, and tag counts. The format is `wndb(5WN)` and `cntlist(5WN)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

WORDNET = Path("/usr/share/wordnet")
PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_SENSE_TYPES = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
#: Names of the noun lexicographer files by their number, `lexnames(5WN)`.
LEXNAMES = {
    number + 3: name
    for number, name in enumerate(
        """Tops act animal artifact attribute body cognition communication event feeling food group
        location motive object person phenomenon plant possession process quantity relation shape
        state substance time""".split()  # noqa: SIM905
    )
}
#: Suffix rules of `morphy(7WN)` for nouns: ending, replacement.
_NOUN_ENDINGS = (
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
    ("s", ""),
)


@dataclass(frozen=True)
class Synset:
    """One synset: where it stands, its words as written, its pointers and its gloss.

    Attributes
    ----------
    part : str
        "n", "v", "a" or "r" (adjective satellites count as "a").
    offset : int
        Address in its data file; with `part` it identifies the synset.
    lexfile : int
        Number of the lexicographer file.
    words : tuple of str
        Members as written, with capitals and underscores.
    pointers : tuple of (str, str, int, int)
        Symbol, part and offset of the target, and the number of the member that points (1 is the
        first; 0 stands for all members).
    gloss : str
        Definition and examples.
    """

    part: str
    offset: int
    lexfile: int
    words: tuple[str, ...]
    pointers: tuple[tuple[str, str, int, int], ...]
    gloss: str

    @property
    def definition(self) -> str:
        """The gloss without its quoted examples."""
        return re.sub(r'"[^"]*"?', " ", self.gloss)


class WordNet:
    """WordNet's files in a folder; parts are read when first used."""

    def __init__(self, folder: Path = WORDNET) -> None:
        if not (folder / "data.noun").is_file():
            raise SystemExit(f"{folder}: no WordNet files; install the package wordnet-base")
        self.folder = folder

    @cached_property
    def synsets(self) -> dict[tuple[str, int], Synset]:
        """Every synset by part and offset."""
        found = {}
        for part, name in PARTS.items():
            for line in self._lines(f"data.{name}"):
                synset = _synset(part, line)
                found[part, synset.offset] = synset
        return found

    @cached_property
    def all_senses(self) -> dict[str, dict[str, list[int]]]:
        """For each part, `senses`."""
        return {part: self.senses(part) for part in PARTS}

    def senses(self, part: str) -> dict[str, list[int]]:
        """Return, for each lower-case lemma of a part, the offsets of its senses in order."""
        found = {}
        for line in self._lines(f"index.{PARTS[part]}"):
            fields = line.split()
            count = int(fields[2])
            found[fields[0]] = [int(field) for field in fields[-count:]]
        return found

    @cached_property
    def tag_counts(self) -> dict[tuple[str, str], dict[int, int]]:
        """How often each sense was tagged in text: (lemma, part) to {sense number: count}."""
        found: dict[tuple[str, str], dict[int, int]] = {}
        for line in (self.folder / "cntlist.rev").read_text("ascii").splitlines():
            key, number, count = line.split()
            lemma, sense = key.rsplit("%", 1)
            place = (lemma, _SENSE_TYPES[sense[0]])
            found.setdefault(place, {})[int(number)] = int(count)
        return found

    @cached_property
    def _exceptions(self) -> dict[str, str]:
        lines = (self.folder / "noun.exc").read_text("ascii").splitlines()
        return {form: lemma for form, lemma, *_ in (line.split() for line in lines)}

    def noun_lemma(self, word: str) -> str | None:
        """Return the noun that `word` is a form of, or None."""
        nouns = self.all_senses["n"]
        if word in nouns and not (word.endswith("s") and word[:-1] in nouns):
            return word
        if word in self._exceptions:
            return self._exceptions[word]
        for ending, instead in _NOUN_ENDINGS:
            if word.endswith(ending):
                lemma = word[: -len(ending)] + instead
                if lemma in nouns:
                    return lemma
        return word if word in nouns else None

    def _lines(self, name: str) -> list[str]:
        lines = (self.folder / name).read_text("ascii").splitlines()
        return [line for line in lines if not line.startswith("  ")]


def tokens(text: str) -> list[str]:
    """Return the lower-case words of a text."""
    return re.findall(r"[a-z]+", text.lower())


def _synset(part: str, line: str) -> Synset:
    head, gloss = line.split(" | ", 1)
    fields = head.split()
    count = int(fields[3], 16)
    words = tuple(re.sub(r"\((a|p|ip)\)$", "", word) for word in fields[4 : 4 + 2 * count : 2])
    place = 4 + 2 * count
    pointers = []
    for index in range(int(fields[place])):
        symbol, offset, target, ends = fields[place + 1 + 4 * index : place + 5 + 4 * index]
        target = "a" if target == "s" else target
        pointers.append((symbol, target, int(offset), int(ends[:2], 16)))
    return Synset(part, int(fields[0]), int(fields[1]), words, tuple(pointers), gloss.strip())
