"""Read a reply that ends in a marked JSON object, strictly."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from tomeval.domains.decrypto.game import Code, Hints, Keywords, as_code, clean_hint
from tomeval.strategies.readers import MARKER, visible

FORMS = {
    "hints": '{"hints": ["...", "...", "..."]}',
    "code": '{"code": [..., ..., ...]}',
    "keywords": '{"keywords": ["...", "...", "...", "..."]}',
}
"""What a reply must end in, by the key of its object."""

T = TypeVar("T")

_MARKED = re.compile(re.escape(MARKER[:-1]) + r"\s*(?:\*\*|__|\*|_|)\s*:\s*(?:\*\*|__|\*|_|)", re.I)
_FENCE_OPEN = re.compile(r"\s*(?:```(?:json)?\s*|`)?", re.IGNORECASE)
_AFTER = re.compile(r"[\s`*_.]*")
_KEYWORD_LENGTH = 60


class Read(NamedTuple, Generic[T]):
    """What a reply says.

    `outcome` is ``valid``, ``illegal``, ``unparsable``, ``truncated`` or ``refusal``; `value` is
    None unless it is valid; `fault` says what is wrong.
    """

    outcome: str
    value: T | None = None
    fault: str = ""


Check = Callable[[Any], "T | str"]
"""Turns the value under the key into an answer, or says why it is against the rules."""


def read_reply(text: str, finish: str, key: str, check: Callable[[list[Any]], T | str]) -> Read[T]:
    r"""Read the answer that a reply ends in.

    Parameters
    ----------
    text : str
        The whole reply.
    finish : {"stop", "length", "refusal"}
    key : str
        A key of `FORMS`: the only key the object may have.
    check : callable
        Given the list of right length and types, returns the answer, or a text that says which rule
        it breaks.

    Returns
    -------
    Read
        ``refusal`` and ``truncated`` by `finish`, ``truncated`` also for thinking that never ends.
        Else what follows the last marker must be one JSON object and nothing after it, Markdown
        apart: an object of exactly this key, whose value is a list of exactly the right number of
        texts or whole numbers: ``unparsable`` if not, ``illegal`` if `check` objects. No other text
        is ever searched for an answer.

    Examples
    --------
    >>> read_reply('So 2-4-1.\nFinal answer: {"code": [2, 4, 1]}', "stop", "code", check_code)
    Read(outcome='valid', value=(2, 4, 1), fault='')
    >>> read_reply('Final answer: {"code": [2, 2, 1]}', "stop", "code", check_code).outcome
    'illegal'
    >>> read_reply('I guess {"code": [2, 4, 1]}', "stop", "code", check_code).outcome
    'unparsable'
    """
    if finish == "refusal":
        return Read("refusal")
    shown = visible(text)
    if finish == "length" or shown is None:
        return Read("truncated")
    marks = list(_MARKED.finditer(shown))
    if not marks:
        return Read("unparsable", fault=f"no line with {MARKER!r}")
    rest = shown[marks[-1].end() :]
    rest = rest[_FENCE_OPEN.match(rest).end() :]  # type: ignore[union-attr]
    try:
        data, end = _DECODER.raw_decode(rest)
    except (ValueError, RecursionError) as error:
        return Read("unparsable", fault=f"no JSON object after {MARKER!r}: {error}")
    if not _AFTER.fullmatch(rest[end:]):
        return Read("unparsable", fault="text after the answer")
    fault = _shape_fault(data, key)
    if fault:
        return Read("unparsable", fault=fault)
    answer = check(data[key])
    return Read("illegal", fault=answer) if isinstance(answer, str) else Read("valid", answer)


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


def check_hints(fault: Callable[[Hints], str | None]) -> Callable[[list[Any]], Hints | str]:
    """Return a check of hints by the rules of a turn; see `game.hint_fault`."""

    def check(value: list[Any]) -> Hints | str:
        one, two, three = (clean_hint(hint) for hint in value)
        return fault((one, two, three)) or (one, two, three)

    return check


_SHAPES: dict[str, tuple[type, int]] = {"hints": (str, 3), "code": (int, 3), "keywords": (str, 4)}


def _shape_fault(data: Any, key: str) -> str:
    """Return how an answer differs from the form that was asked for, or an empty text."""
    kind, size = _SHAPES[key]
    if not isinstance(data, dict) or list(data) != [key]:
        return f"not an object with the key {key!r} alone"
    value = data[key]
    if not isinstance(value, list) or len(value) != size:
        return f"{key!r} is not a list of {size}"
    if any(type(item) is not kind for item in value):
        return f"{key!r} holds something else than {'texts' if kind is str else 'whole numbers'}"
    return ""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that says a key twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key comes twice")
    return found


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_constant)
