"""Read answers in JSON: the last object that has the asked key."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from tomeval.core.text import APOSTROPHES, QUOTES
from tomeval.strategies.readers import (
    MARKER,
    MARKS,
    SENTENCE,
    Marked,
    Read,
    find_marked,
    first_said,
    has_marker,
    last_line,
    plain,
    shown_text,
    taken,
)

T = TypeVar("T")

_BEGINS = re.compile(rf"{MARKS}(?:json\b{MARKS})?\Z", re.IGNORECASE)
_FLAT = re.compile(r"\{[^{}]*\}")
_QUOTES = dict.fromkeys(map(ord, QUOTES), '"')
_SINGLE = re.compile(f"['{APOSTROPHES}]")
_BRACKETS = re.compile(r"\[[^\[\]{}]*\]")
_NUMBER = re.compile(r"(?:(?:player|seat)[\s_#]*)?(-?[0-9]{1,9})", re.IGNORECASE)
_NUMBERS = re.compile(
    r"(?<![\w.])\d{1,9}(?:(?:\s*[,;/–-]\s*|\s+(?:and\s+)?)\d{1,9})*+(?!\s?%|\w|\.\d)"
)


class Given(NamedTuple):
    """An object that a text gives: its data, where it begins and ends, whether it is plain JSON."""

    data: dict[str, Any]
    start: int
    end: int


@dataclass(frozen=True)
class JsonShape(Generic[T]):
    r"""Reads a JSON object with a key whose value is a list of texts or of whole numbers.

    Parameters
    ----------
    key : str
        The key that the object must have; others may stand beside it.
    kind, size
        Type of the list's items, and its length; 0: any length.
    check : callable
        Given a list of right length and types, returns the answer, or says which rule it breaks.

    Notes
    -----
    The answer is the last object with the key that begins a line or stands after the last marker;
    other lists that could be the answer are what other labels are. Case of the key, quotes around
    numbers, "Player" before one, an item without its list where one is enough, curly or single
    quotes and a comma too many make no difference. What `check` objects to is ``illegal``. The
    exact form is a reply whose last line is the marker and the object with the one key.

    Examples
    --------
    >>> reader = JsonShape("pair", int, 2, lambda pair: tuple(pair) if pair[0] else "no zeros")
    >>> reader.form
    '{"pair": [..., ...]}'
    >>> reader.read('So 2 and 4.\nFinal answer: {"pair": [2, 4]}', "stop")
    Read(outcome='valid', value=(2, 4), fault='', lenient=False)
    >>> reader.read('```json\n{"why": "even", "pair": [2, 4]}\n```', "stop")
    Read(outcome='valid', value=(2, 4), fault='', lenient=True)
    >>> reader.read('Final answer: {"pair": [0, 4]}', "stop").fault
    'no zeros'
    """

    key: str
    kind: type[str] | type[int]
    size: int
    check: Callable[[list[Any]], T | str]

    @property
    def choices(self) -> tuple[str, ...]:
        """Empty: there are too many answers."""
        return ()

    @property
    def schema(self) -> str:
        """The schema of the object with the one key."""
        kinds = ["string", "integer"] if self.kind is str and not self.size else []
        named = "string" if self.kind is str else "integer"
        value: dict[str, Any] = {"type": "array", "items": {"type": kinds or named}}
        if self.size:
            value |= {"minItems": self.size, "maxItems": self.size}
        return json.dumps(
            {
                "type": "object",
                "properties": {self.key: value},
                "required": [self.key],
                "additionalProperties": False,
            }
        )

    @property
    def form(self) -> str:
        """What a reply must end in, with dots in place of the answer."""
        item = '"..."' if self.kind is str else "..."
        items = [item] * self.size or [item, "..."]
        return f'{{"{self.key}": [{", ".join(items)}]}}'

    def read(self, text: str, finish: str, strict: bool = False) -> Read[T]:
        """Read the answer that a reply ends in."""
        shown = shown_text(text, finish)
        if isinstance(shown, Read):
            return shown
        marked = find_marked(shown)
        given = self._objects(shown if marked is None else marked.said + marked.below)
        if not given and marked is not None:
            if not has_marker(shown):  # "answer" is a key of the object
                marked, given = None, self._objects(shown)
            else:
                given = self._bare(marked)
        if not given:
            where = "begins a line" if marked is None else f"stands after {MARKER!r}"
            return Read("unparsable", fault=f"no JSON object with the key {self.key!r} {where}")
        last = given[-1]
        try:
            value = self._value(last.data)
        except ValueError as error:
            return Read("unparsable", fault=str(error))
        answer = self.check(value)
        if isinstance(answer, str):
            return Read("illegal", fault=answer)
        lists = [next(self._given(one.data)) for one in given]
        tail = shown if marked is None else marked.said + marked.below
        others = [items for items in self._lists(plain(tail[last.end :])) if items != value]
        others += [lists[-1]] if marked is not None and lists != lists[-1:] * len(lists) else []
        if others:
            return Read("unparsable", fault=f"text after it gives another answer: {others[0]}")
        once = True
        if marked is not None and marked.before is not None:
            words, between = marked.before
            earlier = self._objects(words + between) or [last]
            once = next(self._given(earlier[-1].data)) == lists[-1]
            if not once and not SENTENCE.search(between):
                return Read("unparsable", fault="two marked lines give different answers")
        line, led = last_line(shown)
        exact = marked is not None and self._is_exact(line)
        return taken(answer, led or not (exact and once), strict)

    def _objects(self, text: str) -> list[Given]:
        """Return the objects in a text that have the key and begin a line."""
        return [
            one
            for one in _objects(text)
            if len(list(self._given(one.data))) == 1 and _begins_line(text, one.start)
        ]

    def _bare(self, marked: Marked) -> list[Given]:
        """Return the numbers that a marked line says without their object, as if they had it."""
        said, below = first_said(marked.said, marked.below)
        bare = re.sub(r"^[^\w-]+|[^\w?]+$", "", said)
        if self.kind is str or not (_NUMBERS.fullmatch(bare) or _NUMBER.fullmatch(bare)):
            return []
        return [Given({self.key: bare}, 0, len(marked.said + marked.below) - len(below))]

    def _given(self, data: dict[str, Any]) -> Iterator[Any]:
        """Yield what an object has under the key, in any case of it; dots are no answer."""
        for name, value in data.items():
            dots = isinstance(value, list) and any(item in ("...", "…") for item in value)
            if name.casefold() == self.key and not dots:
                yield value

    def _value(self, data: dict[str, Any]) -> list[Any]:
        """Return the list that an object gives; a ValueError says how its form differs."""
        value = next(self._given(data))
        if self.kind is int and isinstance(value, str) and (row := _NUMBERS.fullmatch(value)):
            value = _whole(row[0])
        if self.size < 2 and isinstance(value, str | int):
            value = [value]
        if not isinstance(value, list) or self.size not in (0, len(value)):
            raise ValueError(f"{self.key!r} is not a list{f' of {self.size}' if self.size else ''}")
        if self.kind is int:
            quoted = [_NUMBER.fullmatch(item) for item in value if isinstance(item, str)]
            if len(quoted) == len(value):
                value = [int(number[1]) if number else "" for number in quoted]
        elif self.size == 0:  # of texts and numbers, such as a word and a count
            value = [str(item) if type(item) is int else item for item in value]
        if any(type(item) is not self.kind for item in value):
            wanted = "texts" if self.kind is str else "whole numbers"
            raise ValueError(f"{self.key!r} holds something other than {wanted}")
        return value

    def _is_exact(self, line: str) -> bool:
        """Return whether a reply's last line is the marker and an object as it was asked for."""
        given = _object_at(line, len(MARKER) + 1)
        if given is None or line != f"{MARKER} {line[given.start :]}" or given.end != len(line):
            return False
        if list(given.data) != [self.key]:
            return False
        kinds = (str, int) if self.kind is str and self.size == 0 else (self.kind,)
        items = given.data[self.key]
        return isinstance(items, list) and all(type(item) in kinds for item in items)

    def _lists(self, text: str) -> Iterator[list[Any]]:
        """Yield the lists in a text that could be the answer: in brackets, or numbers in a row."""
        for row in (_NUMBERS if self.kind is int else _BRACKETS).finditer(text):
            items: list[Any]
            try:
                items = json.loads(row[0]) if self.kind is str else _whole(row[0])
            except ValueError:
                continue
            for value in [[item] for item in items] if self.size == 1 else [items]:
                fits = self.size in (0, len(value)) and all(type(i) is self.kind for i in value)
                if value and fits and not isinstance(self.check(value), str):
                    yield value


def _whole(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def _begins_line(text: str, start: int) -> bool:
    """Return whether nothing but marks stands on a line before a place in it."""
    line = text[max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1 : start]
    return _BEGINS.match(line) is not None


def _objects(text: str) -> Iterator[Given]:
    """Yield the objects in a text, outermost only."""
    position = 0
    while (start := text.find("{", position)) >= 0:
        given = _object_at(text, start)
        position = start + 1 if given is None else given.end
        if given is not None:
            yield given


def _object_at(text: str, start: int) -> Given | None:
    """Return the object that begins at a place, if one does, in JSON or nearly."""
    try:
        data, end = _DECODER.raw_decode(text, start)
        return Given(data, start, end)
    except (ValueError, RecursionError):
        pass
    flat = _FLAT.match(text, start)
    if flat is None:
        return None
    said = re.sub(r"\\+([{}\[\]_])", r"\1", flat[0]).translate(_QUOTES)
    said = said if '"' in said else _SINGLE.sub('"', said)
    said = re.sub(r"([{,]\s*)([A-Za-z_]\w*)(\s*:)", r'\1"\2"\3', said)
    said = re.sub(r",(\s*[}\]])", r"\1", said)
    try:
        return Given(_DECODER.decode(said), start, flat.end())
    except (ValueError, RecursionError):
        return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that has a key twice."""
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key appears twice")
    return data


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_once, parse_constant=_constant)
