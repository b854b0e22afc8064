"""The word lists: keywords to draw games from and the bank of hints that players choose from."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from tomeval.core.errors import TomevalError
from tomeval.core.resources import read_text
from tomeval.core.text import ascii_signs

MAX_LENGTH = 60
"""Characters of the longest word."""

_ENDINGS = ("'s", "s", "es", "ed", "ing", "ings", "er", "ers")
_LEAST = 3
"""Letters that an ending must leave, and that a part of a word must have, to be a word itself."""

_STROKES = str.maketrans("đħıłøŧ", "dhilot")
"""Letters with a stroke, and i without its dot, which Unicode does not take apart."""


def fold(text: str) -> str:
    """Return a text for comparison: without case, outer and double blanks, and accents.

    Examples
    --------
    >>> fold("  Crème   Brûlée ")
    'creme brulee'
    """
    if text.isascii():  # as most words are: nothing to take apart
        return " ".join(text.casefold().split())
    # Once more after taking apart: bold capitals and the like have no small letters of their own.
    parts = unicodedata.normalize("NFKD", text.casefold()).casefold()
    return " ".join("".join(c for c in parts if not unicodedata.combining(c)).split())


def hint_words(hint: str) -> list[str]:
    """Return the words of a hint; blanks and hyphens separate them."""
    return fold(ascii_signs(hint).replace("`", "'")).replace("-", " ").split()


@lru_cache(maxsize=65536)
def hint_letters(hint: str) -> tuple[str, ...]:
    """Return the letters of a hint's words: what is left of two spellings of one hint.

    Examples
    --------
    >>> hint_letters("Ice-cream."), hint_letters("dogs’")
    (('ice', 'cream'), ('dogs',))
    """
    return tuple(_letters(word) for word in hint_words(hint))


def _letters(word: str) -> str:
    return "".join(c for c in word if c.isalpha()).translate(_STROKES)


@lru_cache(maxsize=65536)
def stems(word: str) -> frozenset[str]:
    """Return what `word` may be a form of: itself, and it without one ending.

    Endings: -'s, -s, -es, -ed, -ing, -ings, -er, -ers, if three letters remain. The rest counts as
    it is, with -e added, with a final i as y, and with a doubled last letter made single.

    Examples
    --------
    >>> sorted(stems("dancing"))
    ['danc', 'dance', 'dancing']
    >>> "run" in stems("running"), "berry" in stems("berries"), stems("sing") == {"sing"}
    (True, True, True)
    """
    bases = {word}
    for ending in _ENDINGS:
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= _LEAST:
            bases |= {rest, rest + "e"}
            if rest.endswith("i"):
                bases.add(rest[:-1] + "y")
            if rest[-1] == rest[-2]:
                bases.add(rest[:-1])
    return frozenset(bases)


@lru_cache(maxsize=65536)
def traces(text: str) -> frozenset[str]:
    """Return every stem that a hint or a keyword shows: of its words, and of all written together.

    A word with apostrophes or full stops counts as it stands, as its letters alone, and as each of
    its parts of three letters or more: ``rivers'``, ``ri'ver``, ``r.i.v.e.r`` and ``o'river`` all
    show ``river``.

    Examples
    --------
    >>> "river" in traces("rivers’"), sorted(traces("o'clock"))
    (True, ['clock', "o'clock", 'oclock'])
    """
    words = hint_words(text)
    shown: set[str] = set()
    for word in {"".join(words), *words}:
        parts = [part for part in re.split(r"[^\w]+", word) if len(part) >= _LEAST]
        for reading in {word, *map(_letters, [word, *parts])} - {""}:
            shown |= stems(reading)
    return frozenset(shown)


def is_form(word: str, keyword: str) -> bool:
    """Return whether a hint is a keyword or a form of one: whether they share a stem.

    Case, accents and signs do not matter. Compounds and words of similar meaning are not forms.

    Examples
    --------
    >>> is_form("Dancers", "dance"), is_form("sunlight", "sun"), is_form("bus", "bus")
    (True, False, True)
    >>> is_form("rivers'", "river")
    True
    """
    return not traces(word).isdisjoint(traces(keyword))


DATA = Path(__file__).parent / "data"
LEAST_KEYWORDS = 4
"""What the smallest game draws."""
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)?")


@dataclass(frozen=True)
class WordLists:
    """Keywords and hint words of a game.

    At least four keywords; games draw from them by position, so their order matters. Each word
    stands once in its list (ignoring case and accents), see `read_words`.

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
