"""The word lists: keywords to draw games from and the bank of hints that players choose from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tomeval.core.errors import TomevalError
from tomeval.core.resources import read_text
from tomeval.core.text import ascii_signs
from tomeval.lexicon.forms import MAX_LENGTH, fold

DATA = Path(__file__).parent / "data"
LEAST_KEYWORDS = 4
"""What the smallest game draws."""
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)?")


@dataclass(frozen=True)
class WordLists:
    """Keywords and hint words of a game.

    At least four keywords, each once (ignoring case and accents); games draw from them by position,
    so their order matters. The hint bank has each word once.

    Examples
    --------
    >>> lists = shipped_lists()
    >>> len(lists.keywords), len(lists.hints) > 5000
    (680, True)
    """

    keywords: tuple[str, ...]
    hints: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.keywords) < LEAST_KEYWORDS:
            raise TomevalError(
                f"a game needs {LEAST_KEYWORDS} keywords, but the list has {len(self.keywords)}"
            )
        if not self.hints:
            raise TomevalError("the hint bank is empty")
        for what, words in (("keywords", self.keywords), ("hints", self.hints)):
            seen: set[str] = set()
            for word in words:
                if fold(word) in seen:
                    raise TomevalError(f"{what}: {word!r} is listed twice")
                seen.add(fold(word))


@cache
def shipped_lists() -> WordLists:
    """Return the lists that ship with tomeval, built from WordNet."""
    return WordLists(read_words(DATA / "keywords.txt"), read_words(DATA / "hints.txt"))


@cache
def shipped_vocabulary() -> tuple[str, ...]:
    """Return every word that the shipped embeddings have: the hint bank, then further words.

    The further words serve hints of language models and people; nothing is drawn from them.

    Examples
    --------
    >>> len(shipped_vocabulary())
    10500
    """
    return shipped_lists().hints + read_words(DATA / "others.txt")


def read_lists(keywords: Path | None = None, hints: Path | None = None) -> WordLists:
    """Read lists of your own, see `read_words`; what is not given is the shipped one."""
    shipped = shipped_lists()
    return WordLists(
        shipped.keywords if keywords is None else read_words(keywords),
        shipped.hints if hints is None else read_words(hints),
    )


def is_word(text: str) -> bool:
    """Return whether a text is one word: letters, one hyphen or apostrophe inside, not too long.

    Examples
    --------
    >>> is_word("ice-cream"), is_word("ice cream"), is_word("r2d2")
    (True, False, False)
    """
    return _WORD.fullmatch(ascii_signs(text)) is not None and len(text) <= MAX_LENGTH


def read_words(path: Path) -> tuple[str, ...]:
    """Read a list: one word a line, in the order of the file.

    A word has at most 60 characters: letters, and one hyphen or apostrophe inside. Empty lines and
    outer blanks do not count. Anything else, and a repeated word (ignoring case and accents), is a
    `TomevalError` that names the line.
    """
    by_fold: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        word = line.strip()
        if not word:
            continue
        if not is_word(word):
            raise TomevalError(f"{path}:{number}: not a single word of letters: {word[:60]!r}")
        if fold(word) in by_fold:
            first = by_fold[fold(word)][0]
            raise TomevalError(f"{path}:{number}: {word!r} is already in line {first}")
        by_fold[fold(word)] = number, word
    if not by_fold:
        raise TomevalError(f"{path}: no words")
    return tuple(word for _, word in by_fold.values())
