"""The three shapes of answers in Decrypto: what a reply must end in, and what makes it legal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tomeval.domains.decrypto.game import Code, Hints, Keywords, as_code, clean_hint
from tomeval.strategies.readers import JsonShape

_KEYWORD_LENGTH = 60


def check_code(value: list[Any]) -> Code | str:
    """Return a code, or what is wrong with it."""
    code = as_code(value)
    return "a code is three different digits from 1 to 4" if code is None else code


def check_keywords(value: list[Any]) -> Keywords | str:
    """Return four texts that name something, or what is wrong with them."""
    one, two, three, four = (clean_hint(word) for word in value)
    if not all((one, two, three, four)):
        return "a keyword is empty"
    if max(map(len, (one, two, three, four))) > _KEYWORD_LENGTH:
        return f"a keyword is longer than {_KEYWORD_LENGTH} characters"
    if not all(word.isprintable() for word in (one, two, three, four)):
        return "a keyword cannot be printed"
    return one, two, three, four


CODE: JsonShape[Code] = JsonShape("code", int, 3, check_code)
KEYWORDS: JsonShape[Keywords] = JsonShape("keywords", str, 4, check_keywords)


def hints_shape(fault: Callable[[Hints], str | None]) -> JsonShape[Hints]:
    """Return the shape of hints, legal by the rules of a turn; see `game.hint_fault`."""

    def check(value: list[Any]) -> Hints | str:
        one, two, three = (clean_hint(hint) for hint in value)
        return fault((one, two, three)) or (one, two, three)

    return JsonShape("hints", str, 3, check)
