"""Read a generated answer as every careful reader would; what one would doubt is no answer.

Where a reply states its answer is one rule for every kind of game, see `marked_answer`; a `Reader`
says what may stand there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from tomeval.core.outcomes import VALID
from tomeval.strategies.lines import split_lines
from tomeval.strategies.loose_json import read_object
from tomeval.strategies.marked import MARKER, NOUN, Claim, Marked, Read, marked_answer
from tomeval.strategies.remarks import in_brackets, leaves_no_doubt
from tomeval.strategies.wrappings import AFTER, BEFORE, folded, lines_that_say, normal, unwrapped

__all__ = ["MARKER", "JsonShape", "Labels", "Marked", "Read", "Reader", "marked_answer"]

T = TypeVar("T")

_LAYERS = 8  # marks within marks; nobody writes more
_REASONS = re.compile(
    r"(?:my )?(?:reason(?:ing|s)?|explanations?|thoughts?|thinking|rationale|analysis)"
)
_ANSWER_KEY = re.compile(
    r"(?:my |the )?(?:final[ _-]?)?(?:answer|action|choice|move|label|option|prediction|decision)"
)
_NOUN = re.compile(rf"[\"'“”]?({NOUN})[\"'“”]?(?:\s*:\s*|\s+)(?=\S)", re.IGNORECASE)
# A label and a short remark on it, such as what it stands for: "J (Cooperate)".
_REMARK = re.compile(r"(.*\S)\s*([(（\[][^()（）\[\]\n]*[)）\]]\.?)")
_WHOLE = re.compile(r"-?[0-9]{1,9}")


class Reader(Protocol[T]):
    """Turns a reply into an answer."""

    @property
    def choices(self) -> tuple[str, ...]:
        """Every marked line that can be read if there are few, else empty."""

    def read(self, text: str, finish: str) -> Read[T]:
        """Read a whole reply; `finish` is ``stop``, ``length`` or ``refusal``."""


@dataclass(frozen=True)
class Labels:
    r"""Reads which of several labels, different beyond case, is named: its index.

    Notes
    -----
    See `marked_answer` for where an answer stands, ``refusal``, ``truncated`` and ``unparsable``.
    What stands there must be one label and nothing else; else it is ``illegal``. These do not
    count:

    - case, full-width and other compatible forms, and white space;
    - a full stop or exclamation mark;
    - Markdown, LaTeX, tags, brackets or quotes around the label, also an object that holds it and
      reasons for it;
    - a word such as "Option" before it;
    - a picture, such as a check mark, that does not say no;
    - a remark in brackets, beside the label or below it, see `leaves_no_doubt`.

    A label that has such marks itself is read as written first. Below the answer may stand marks
    (the end of a code fence, a closing tag) or the same label again; any other text there may take
    the answer back, and the reply is ``unparsable``. So is one with two different answers.

    Examples
    --------
    >>> reader = Labels(("J", "F"))
    >>> reader.read("J looks good.\nFinal answer: F", "stop").value
    1
    >>> reader.read("### Final answer:\n**Option F** (Defect)", "stop").value
    1
    >>> reader.read("Final answer: J or F", "stop").outcome
    'illegal'
    >>> reader.read("I choose J.", "stop").outcome
    'unparsable'
    """

    labels: tuple[str, ...]

    @property
    def choices(self) -> tuple[str, ...]:
        """The marked line of every label."""
        return tuple(f"{MARKER} {label}" for label in self.labels)

    def read(self, text: str, finish: str) -> Read[int]:
        """Read the index of the label that a reply names."""
        marked = marked_answer(text, finish)
        if isinstance(marked, Read):
            return Read(marked.outcome)  # without the fault: label outcomes explain themselves
        lines = self._lines(marked)
        named = [self._find(line) for line in lines]
        if len(named) > 1 and named[-1] is None and self._is_remark(lines[-1], named[0]):
            named.pop()
        if len(set(named)) > 1:
            return Read("unparsable", fault="text after the answer")
        action = named[0] if named else None
        if action is None:
            return Read("illegal")
        if not all(self._agrees(claim, action) for claim in marked.earlier):
            return Read("unparsable", fault="different answers")
        return Read(VALID, action)

    def _agrees(self, claim: Claim, action: int) -> bool:
        """Tell whether an earlier marked line names the same label, or is a heading over prose."""
        lines = self._lines(claim)
        named = self._find(lines[0]) if lines else None
        return named == action or (named is None and not claim.said.strip())

    def _lines(self, claim: Claim | Marked) -> list[str]:
        """Return the marked line's text and the lines below it, without those of marks alone."""
        said = claim.said.strip()
        first = [said] if said in self.labels else lines_that_say(said)
        below = (line.strip() for line in split_lines(claim.below))
        return first + [line for line in below if line in self.labels or lines_that_say(line)]

    def _find(self, said: str) -> int | None:
        """Return the one label that a text names, with as few marks off as possible."""
        layer, seen = [said.strip()], set[str]()
        for _ in range(_LAYERS):
            found = {index for text in layer if (index := self._named(text)) is not None}
            if found:
                return found.pop() if len(found) == 1 else None
            seen.update(layer)
            inner = dict.fromkeys(less for text in layer for less in self._less(text))
            layer = [text for text in inner if text not in seen]
        return None

    def _named(self, text: str) -> int | None:
        """Return the label that a text is: as written, else but for case, width and white space."""
        if text in self.labels:
            return self.labels.index(text)
        return self._folded.get(folded(text))

    @cached_property
    def _folded(self) -> dict[str, int]:
        """Labels by their folded text, without those that are then the same."""
        names = [folded(label) for label in self.labels]
        short = [folded(_NOUN.sub("", label, count=1)) for label in self.labels]
        found = {name: place for place, name in enumerate(short) if short.count(name) == 1}
        return {name: place for name, place in found.items() if name not in names} | {
            name: place for place, name in enumerate(names) if names.count(name) == 1
        }

    def _less(self, text: str) -> Iterator[str]:
        """Yield what is left of a text if one thing that does not count comes off."""
        yield normal(text).strip()
        yield from unwrapped(text)
        noun = _NOUN.match(text)
        if noun and folded(noun[1]) not in map(folded, self.labels):
            yield text[noun.end() :].strip()
        remark = _REMARK.fullmatch(text)
        if remark and self._is_remark(remark[2], self._find(remark[1])):
            yield remark[1]
        if text.startswith("{") and (value := self._in_object(text)) is not None:
            yield value.strip()

    def _is_remark(self, text: str, action: int | None) -> bool:
        """Tell whether a text in brackets leaves no doubt that a label is meant."""
        said = in_brackets(text)
        others = [label for place, label in enumerate(self.labels) if place != action]
        return said is not None and action is not None and leaves_no_doubt(said, others)

    def _in_object(self, text: str) -> str | None:
        """Return what an object in JSON gives as the answer, beside reasons for it."""
        try:
            data, rest = read_object(text)
        except ValueError:
            return None
        if not isinstance(data, dict) or not AFTER.fullmatch(rest):
            return None
        said = [key for key in data if not _REASONS.fullmatch(folded(key))]
        if len(said) != 1 or not _ANSWER_KEY.fullmatch(folded(said[0])):
            return None
        value = data[said[0]]
        return value if isinstance(value, str) else None


@dataclass(frozen=True)
class JsonShape(Generic[T]):
    r"""Reads a JSON object with one key, whose value is a list of texts or of whole numbers.

    Parameters
    ----------
    key : str
        The only key that the object may have.
    kind, size
        Type of the list's items, and its length; 0: any length.
    check : callable
        Given a list of right length and types, returns the answer, or says which rule it breaks.

    Notes
    -----
    See `marked_answer` for where an answer stands, ``refusal``, ``truncated`` and ``unparsable``.
    What stands there must be the object and nothing else, but for a code fence, Markdown, LaTeX,
    tags or quotes around it. The key's case does not matter, nor whether numbers are quoted, nor
    whether those in a list of texts of any length are; where one item is enough (`size` 0 or 1), it
    may stand without its list. See `read_object` for what is understood besides JSON. Any other
    shape is ``unparsable``, and so are two different answers. What `check` objects to is
    ``illegal``.

    Examples
    --------
    >>> reader = JsonShape("pair", int, 2, lambda pair: tuple(pair) if pair[0] else "no zeros")
    >>> reader.form
    '{"pair": [..., ...]}'
    >>> reader.read('So 2 and 4.\nFinal answer: {"pair": [2, 4]}', "stop")
    Read(outcome='valid', value=(2, 4), fault='')
    >>> reader.read('Final answer: {"pair": [0, 4]}', "stop")
    Read(outcome='illegal', value=None, fault='no zeros')
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
    def form(self) -> str:
        """What a reply must end in, with dots in place of the answer."""
        item = '"..."' if self.kind is str else "..."
        items = [item] * self.size or [item, "..."]
        return f'{{"{self.key}": [{", ".join(items)}]}}'

    def read(self, text: str, finish: str) -> Read[T]:
        """Read the answer that a reply ends in."""
        marked = marked_answer(text, finish)
        if isinstance(marked, Read):
            return marked
        try:
            value, rest = self._value(marked.said + marked.below)
        except ValueError as error:
            return Read("unparsable", fault=str(error))
        remark = in_brackets(AFTER.sub("", rest, count=1))
        if not AFTER.fullmatch(rest) and not (remark and leaves_no_doubt(remark)):
            return Read("unparsable", fault="text after the answer")
        if not all(self._agrees(claim, value) for claim in marked.earlier):
            return Read("unparsable", fault="different answers")
        answer = self.check(value)
        return Read("illegal", fault=answer) if isinstance(answer, str) else Read(VALID, answer)

    def _agrees(self, claim: Claim, value: list[Any]) -> bool:
        """Tell whether an earlier marked line says the same, or is a heading over prose."""
        try:
            return self._value(claim.said + claim.below)[0] == value
        except ValueError:
            return not claim.said.strip()

    def _value(self, text: str) -> tuple[list[Any], str]:
        """Return the list of the object that a text begins with, and the text after it.

        A ValueError says how the text differs from the form that was asked for.
        """
        try:
            data, rest = read_object(BEFORE.sub("", text, count=1))
        except ValueError as error:
            raise ValueError(f"no JSON object after {MARKER!r}: {error}") from None
        if not isinstance(data, dict) or [key.casefold() for key in data] != [self.key]:
            raise ValueError(f"not an object with the key {self.key!r} alone")
        (value,) = data.values()
        if self.size < 2 and isinstance(value, str | int):
            value = [value]
        if not isinstance(value, list) or self.size not in (0, len(value)):
            raise ValueError(f"{self.key!r} is not a list{f' of {self.size}' if self.size else ''}")
        if self.kind is int:
            quoted = all(isinstance(item, str) and _WHOLE.fullmatch(item) for item in value)
            value = [int(item) for item in value] if quoted else value
        elif self.size == 0:  # of texts and numbers, such as a word and a count
            value = [str(item) if type(item) is int else item for item in value]
        if any(type(item) is not self.kind for item in value):
            wanted = "texts" if self.kind is str else "whole numbers"
            raise ValueError(f"{self.key!r} holds something else than {wanted}")
        return value, rest
