"""Read a generated answer strictly: one marked line states it, and nothing follows.

The rule is the same for every kind of game; a `Reader` says what may stand behind the marker.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tomeval.core.outcomes import VALID

MARKER = "Final answer:"

T = TypeVar("T")

_THINK_END = re.compile(r"^.*</think>", re.DOTALL | re.IGNORECASE)
_WRAPPED = (("**", "**"), ("__", "__"), ("*", "*"), ("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"))
# The marker, maybe emphasised with or without its colon, and what it marks.
_MARKED = re.compile(
    rf"(\*\*|__|\*|_|){re.escape(MARKER[:-1])}(?:{MARKER[-1]}\1|\1{MARKER[-1]})(.*)", re.IGNORECASE
)
# Emphasis and a code fence around a JSON object.
_BEFORE = re.compile(r"\s*(?:\*\*|__|\*|_|)\s*(?:```(?:json)?|`)?\s*", re.IGNORECASE)
_AFTER = re.compile(r"[\s`*_.]*")


class Read(NamedTuple, Generic[T]):
    """What a reply says.

    `outcome` is ``valid``, ``illegal``, ``unparsable``, ``truncated`` or ``refusal``; `value` is
    None unless it is valid; `fault` may say what is wrong.
    """

    outcome: str
    value: T | None = None
    fault: str = ""


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
    See `marked_answer` for ``refusal``, ``truncated`` and ``unparsable``. The label stands on the
    marked line; anything else there is ``illegal``. No other text is ever searched for a label.
    Markdown or quotes around the line, the marker or the label, a full stop and case do not matter,
    except where a label has them.

    Examples
    --------
    >>> reader = Labels(("J", "F"))
    >>> reader.read("J looks good.\nFinal answer: F", "stop").value
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
        if marked.below.strip():
            return Read("unparsable")
        action = self._find(marked.said.strip())
        return Read("illegal") if action is None else Read(VALID, action)

    def _find(self, said: str) -> int | None:
        """Return the label named: as written, else without full stop, else unwrapped."""
        folded = [label.casefold() for label in self.labels]
        inner = _unwrap(said)
        for name in (said, said.removesuffix("."), inner, inner.removesuffix(".")):
            if name.casefold() in folded:
                return folded.index(name.casefold())
        return None


@dataclass(frozen=True)
class JsonShape(Generic[T]):
    r"""Reads a JSON object with one key, whose value is a list of texts or of whole numbers.

    Parameters
    ----------
    key : str
        The only key that the object may have.
    kind, size
        Type of the list's items, and its length.
    check : callable
        Given a list of right length and types, returns the answer, or says which rule it breaks.

    Notes
    -----
    See `marked_answer` for ``refusal``, ``truncated`` and ``unparsable``. The object begins on the
    marked line or below it and ends the reply, Markdown apart; any other shape is ``unparsable``
    too. What `check` objects to is ``illegal``.

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
        return f'{{"{self.key}": [{", ".join([item] * self.size)}]}}'

    def read(self, text: str, finish: str) -> Read[T]:
        """Read the answer that a reply ends in."""
        marked = marked_answer(text, finish)
        if isinstance(marked, Read):
            return marked
        rest = _BEFORE.sub("", marked.said + marked.below, count=1)
        try:
            data, end = _DECODER.raw_decode(rest)
        except (ValueError, RecursionError) as error:
            return Read("unparsable", fault=f"no JSON object after {MARKER!r}: {error}")
        if not _AFTER.fullmatch(rest[end:]):
            return Read("unparsable", fault="text after the answer")
        fault = self._shape_fault(data)
        if fault:
            return Read("unparsable", fault=fault)
        answer = self.check(data[self.key])
        return Read("illegal", fault=answer) if isinstance(answer, str) else Read(VALID, answer)

    def _shape_fault(self, data: Any) -> str:
        """Return how an answer differs from the form that was asked for, or an empty text."""
        if not isinstance(data, dict) or list(data) != [self.key]:
            return f"not an object with the key {self.key!r} alone"
        value = data[self.key]
        if not isinstance(value, list) or len(value) != self.size:
            return f"{self.key!r} is not a list of {self.size}"
        if any(type(item) is not self.kind for item in value):
            wanted = "texts" if self.kind is str else "whole numbers"
            return f"{self.key!r} holds something else than {wanted}"
        return ""


class Marked(NamedTuple):
    """A reply's answer: the text before the marked line, what that line says, the text below."""

    before: str
    said: str
    below: str


def marked_answer(text: str, finish: str) -> Marked | Read[Any]:
    """Find the answer of a reply, by the one rule for marked answers.

    Thinking is dropped first. Then exactly one line must begin with the marker, Markdown or quotes
    around it apart. The reader decides whether what follows, up to the end, is an answer. A reply
    without one is ``refusal`` or ``truncated`` by `finish`, ``truncated`` also for thinking that
    never ends, and ``unparsable`` if no line or several lines are marked.
    """
    if finish == "refusal":
        return Read("refusal")
    shown = visible(text)
    if finish == "length" or shown is None:
        return Read("truncated")
    lines = shown.splitlines(keepends=True)
    named = {place: said for place, line in enumerate(lines) if (said := _named(line)) is not None}
    if len(named) != 1:
        fault = f"no line with {MARKER!r}" if not named else f"{len(named)} lines with {MARKER!r}"
        return Read("unparsable", fault=fault)
    ((place, said),) = named.items()
    ending = lines[place][len(lines[place].rstrip()) :]
    return Marked("".join(lines[:place]), said, ending + "".join(lines[place + 1 :]))


def visible(text: str) -> str | None:
    """Return a reply without its thinking, or None if the thinking was never closed.

    Everything up to the last ``</think>`` is thinking, even if the prompt opened it.

    Examples
    --------
    >>> visible("<think>J or F?</think>Final answer: J")
    'Final answer: J'
    >>> visible("<think>J or") is None
    True
    """
    rest = _THINK_END.sub("", text, count=1)
    return None if "<think>" in rest.lower() else rest


def _named(line: str) -> str | None:
    """Return what a marked line names, or None if the line is not marked."""
    found = _MARKED.fullmatch(line.strip()) or _MARKED.fullmatch(_unwrap(line))
    return found[2] if found else None


def _unwrap(text: str) -> str:
    """Drop white space and Markdown or quotes that enclose the whole text."""
    text = text.strip()
    changed = True
    while changed:
        changed = False
        for left, right in _WRAPPED:
            inner = text.removesuffix(".")
            for candidate in (text, inner):
                wrapped = len(candidate) > len(left) + len(right)
                if wrapped and candidate.startswith(left) and candidate.endswith(right):
                    text, changed = candidate[len(left) : -len(right)].strip(), True
                    break
    return text


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that has a key twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key comes twice")
    return found


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_constant)
