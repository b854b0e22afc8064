"""When a word gives another one away: words compared without case, accents, signs and endings."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

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
