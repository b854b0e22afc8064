r"""Read the answer that a reply ends in: one rule, for every kind of game.

The answer is what stands on the last line that begins with the marker, after marks such as ``**``,
``#`` or ``>``: the label alone or in marks, after a word such as "Option", or before a reason. The
reason comes after a comma, a dash, a stop or a bracket and names no other label, except that one
sentence that begins with "because" or "since" may say what is wrong with it. Text below the line is
fine unless it names another label. Thinking is cut first. Anything else is invalid.

Where the marker stands nowhere, lines that begin with "Answer:" count instead; in an object, its
key "answer" begins one. Where the line ends after the marker, as a heading does, the next line
that says something is what it marks.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tomeval.core.outcomes import VALID
from tomeval.core.thinking import without_thinking

MARKER = "Final answer:"

T = TypeVar("T")

_PICTURE = "(?:(?![❌❎✖✗✘🚫⛔👎❓❔🤔])[←-⇿⌀-⏿■-➿⬀-⯿🌀-🫿]\ufe0f?)"
_END_OF_TURN = r"<[|｜]\w[^<>|｜\s]*[|｜]>|</s>|<eos>|<end_of_turn>"  # left by some servers
_TAG = "<(?-i:b|i|u|p|em|strong|code|mark|center|answer|final|final_answer)>"
# No text is a mark in two ways: else a long row of them would be tried in all ways.
_SIGN = rf"[\s*_#`\"'“”„‘’«»‹›|$>]|==|{_PICTURE}"
_OPENING = _TAG + r"|[「『【《<(\[{·•]|[–—+-](?=\s)|[-=]>|\d{1,2}[.)]\s|\\+[a-z]*\s*\{|\\+[(\[]"
_CLOSING = rf"[」』】》)\]}}]|\\+[)\]]|</\w+>|{_END_OF_TURN}"
MARK = f"{_CLOSING}|{_OPENING}|{_SIGN}"
"""What may be beside an answer: Markdown, lists, quotes, LaTeX, tags, pictures that say no "no"."""
_BEFORE, _AFTER = f"(?:{_SIGN}|{_OPENING})*", f"(?:{_SIGN}|{_CLOSING})*+"

_COLON = rf"(?:{_AFTER}(?:(?:is\s*)?[:=]|is\b(?=.*\w)|(?=\s*\Z))|\s+(?:[–—→-]|[-=]>)\s)"
_MARKED = tuple(
    re.compile(
        rf"{_BEFORE}(?:(?:so|thus|hence|therefore),?\s+)?(?:(?:my|the)\s+)?{words}(?![^\W_]){_COLON}",
        re.IGNORECASE,
    )
    for words in (r"final[\s_-]+answer", "answer")
)
_KEY = re.compile(r'(?<=[{,])(?=\s*"(?:final[ _])?answer"\s*:)', re.IGNORECASE)
_BREAK = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
_MARKS_ALONE = re.compile(rf"(?:```\w*|~~~\w*|[-─━═]{{3,}}\s*)?(?:{MARK})*+")
_ANYWHERE = re.compile(r"final[\s_-]+answer\s*[:=]", re.IGNORECASE)
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad"))

_NOUN = r"(?:option|action|choice|move|label|letter|strategy|answer|prediction)"
_WHO = r"(?:i|we|you|they|he|she|it|(?:the\s+other\s+)?player(?:\s+\d+)?|my\s+(?:partner|opponent))"
_WORD = (
    rf"(?:(?:the\s+|my\s+)?{_NOUN}\b(?:\s+is\b)?|(?:{_WHO}\s+)?(?:choose|pick|play|select|predict)\b"
    rf"|{_WHO}(?:['’](?:ll|d)|\s+will|\s+would)\b(?:\s+(?:choose|pick|play|select|predict)\b)?)[\"'”*]*\s*:?"
)
_REASON = re.compile(
    rf"{_AFTER}(?:[,;:(\[–—]|-+\s|[.!。](?![\w.])|(?<=\W)(?:because|since)\b)", re.IGNORECASE
)
_NOTHING_MORE = re.compile(rf"{_AFTER}[.!。]?{_AFTER}")
_BECAUSE = re.compile(rf"{_AFTER}[,;:(\[–—-]*\s*(?:because|since)\b[^.;!?\n]*", re.IGNORECASE)


class Read(NamedTuple, Generic[T]):
    """What a reply says.

    `outcome` is ``valid``, ``illegal``, ``unparsable``, ``truncated`` or ``refusal``; `value` is
    None unless it is valid; `fault` may say what is wrong. `lenient` tells whether a valid answer
    was not in the exact form that was asked for.
    """

    outcome: str
    value: T | None = None
    fault: str = ""
    lenient: bool = False


class Reader(Protocol[T]):
    """Turns a reply into an answer."""

    @property
    def choices(self) -> tuple[str, ...]:
        """Every marked line that can be read if there are few, else empty."""

    def read(self, text: str, finish: str) -> Read[T]:
        """Read a whole reply; `finish` is ``stop``, ``length`` or ``refusal``."""


class Marked(NamedTuple):
    """A reply's last marked line: the text above it, what it says, and the text below that.

    `earlier` is what marked lines above it say; `last` is the last line of the reply as written.
    """

    above: str
    said: str
    below: str
    earlier: tuple[str, ...]
    last: str


def shown_text(text: str, finish: str) -> str | Read[Any]:
    """Return a reply without its thinking, or what it is instead of an answer.

    One that was cut off is ``truncated`` whatever it says by then: a label may be the beginning of
    another one. So is one whose thinking never ends.
    """
    if finish == "refusal":
        return Read("refusal", fault="the model or its provider declined")
    shown = without_thinking(text)
    if finish == "length" or shown is None:
        return Read("truncated", fault="the reply was cut off")
    return shown


def find_marked(shown: str) -> Marked | None:
    r"""Return the last marked line of a reply without thinking, or None if it has none.

    Examples
    --------
    >>> find_marked("J, I think.\n**Final answer:** J\n").said
    '** J\n'
    """
    lines = [part for line in _BREAK.split(shown) for part in _parts(line) if part]
    for marker in _MARKED:
        said = {
            i: rest for i, line in enumerate(lines) if (rest := _said(line, marker)) is not None
        }
        if said or has_marker(shown):
            break
    if not said:
        return None
    index, answer = said.popitem()
    return Marked(
        "".join(lines[:index]),
        answer,
        "".join(lines[index + 1 :]),
        tuple(said.values()),
        next((line.strip() for line in reversed(lines) if line.strip()), ""),
    )


def _parts(line: str) -> list[str]:
    """Return a line; of an object, its key "answer" begins a new one."""
    return _KEY.split(line) if line.lstrip().startswith("{") else [line]


def has_marker(text: str) -> bool:
    """Tell whether the marker stands anywhere in a text."""
    return _ANYWHERE.search(plain(text)) is not None


def _said(line: str, marker: re.Pattern[str]) -> str | None:
    """Return what a line says after its marker; None if it is not marked.

    Behind signs that are no marks, such as a stroke, it says all of itself, which is no answer.
    """
    for text in dict.fromkeys((line, plain(line))):
        if mark := marker.match(text):
            return text[mark.end() :]
    return line if _ANYWHERE.match(re.sub(r"\A[\W_]+", "", plain(line))) else None


def first_said(marked: Marked) -> tuple[str, str]:
    """Return what stands on the marked line, or on the next line that says something; the rest."""
    said, below = marked.said, _BREAK.split(marked.below)
    while below and _MARKS_ALONE.fullmatch(said):
        said, *below = below
    return plain(said), "".join(below)


def above_answer(text: str) -> str | None:
    """Return what stands above a reply's answer; None without a marked line or an object."""
    shown = shown_text(text, "stop")
    if isinstance(shown, Read):
        return None
    if (marked := find_marked(shown)) is not None:
        return marked.above
    objects = list(re.finditer(r"^[`\w]*\s*\{", shown, re.MULTILINE))
    return shown[: objects[-1].start()] if objects else None


def plain(text: str) -> str:
    """Return a text in compatible forms (NFKC), without characters that do not show."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text.translate(_INVISIBLE))


def _folded(text: str) -> str:
    return " ".join(plain(text).casefold().split())


@dataclass(frozen=True)
class Labels:
    r"""Reads which of several labels, different beyond case, is named: its index.

    The rule is that of this module; a marked line that names no label in this way is ``illegal``.
    The exact form is a reply whose last line is the marker and the label.

    Examples
    --------
    >>> reader = Labels(("J", "F"))
    >>> reader.read("J looks good.\nFinal answer: F", "stop")
    Read(outcome='valid', value=1, fault='', lenient=False)
    >>> reader.read("### Final answer:\n**Option F** (Defect)\n\nCan I help?", "stop")
    Read(outcome='valid', value=1, fault='', lenient=True)
    >>> reader.read("Final answer: J\n\nWait, F is better.", "stop").fault
    "text after the answer names another option: 'F'"
    >>> reader.read("Final answer: J or F", "stop").fault
    "'J or F' is not an option; choose J or F"
    """

    labels: tuple[str, ...]

    @property
    def choices(self) -> tuple[str, ...]:
        """The marked line of every label."""
        return tuple(f"{MARKER} {label}" for label in self.labels)

    def read(self, text: str, finish: str) -> Read[int]:
        """Read the index of the label that a reply names."""
        shown = shown_text(text, finish)
        if isinstance(shown, Read):
            return shown
        marked = find_marked(shown)
        if marked is None:
            return Read("unparsable", fault=f"no line begins with {MARKER!r}")
        exact = marked.last in self.choices
        if exact:
            action = self.choices.index(marked.last)
            more = ""
        else:
            said, below = first_said(marked)
            found = self._answer.match(said)
            rest = "" if found is None else said[found.end() :]
            if found is None or not (_NOTHING_MORE.fullmatch(rest) or _REASON.match(rest)):
                wanted, said = " or ".join(self.labels), said.strip()[:40]
                return Read("illegal", fault=f"{said!r} is not an option; choose {wanted}")
            action = self._names[_folded(found["label"])]
            rest = said[: found.start("label")] + _BECAUSE.sub("", rest, count=1)
            more = f"{rest}\n{below}"
        others = [label for index, label in self._named(more) if index != action]
        if others:
            fault = f"text after the answer names another option: {others[0]!r}"
            return Read("unparsable", fault=fault)
        once = all(index == action for said in marked.earlier for index, _ in self._named(said))
        return Read(VALID, action, lenient=not (exact and once))

    @cached_property
    def _names(self) -> dict[str, int]:
        """What a label may be called: by itself, or without its noun where that is clear."""
        names = [_folded(label) for label in self.labels]
        short = [_folded(_short(label)) for label in self.labels]
        found = {name: i for i, name in enumerate(short) if short.count(name) == 1}
        return {name: i for name, i in found.items() if name not in names} | {
            name: i for i, name in enumerate(names) if names.count(name) == 1
        }

    @cached_property
    def _answer(self) -> re.Pattern[str]:
        """What a marked line begins with that names a label."""
        names = "|".join(map(_pattern, sorted(self._names, key=len, reverse=True)))
        return re.compile(
            rf"(?:{MARK})*(?:{_WORD}{_BEFORE}){{0,2}}(?P<label>{names or '(?!)'})(?![^\W_])",
            re.IGNORECASE,
        )

    @cached_property
    def _mentions(self) -> re.Pattern[str]:
        """Where a text names a label; "a" and "I" are words, and names only as written."""
        written = {_folded(name): name for name in map(_short, self.labels)}
        written |= {_folded(label): plain(label) for label in self.labels}
        parts = []
        for name in sorted(written, key=len, reverse=True):
            word = _pattern(name)
            if name in ("a", "i"):
                word = f"(?-i:{written[name]})"
            if ord(min(name)) < 0x2E80:  # in scripts that leave spaces between words
                word = rf"(?<![^\W_])(?<!\w['’]){word}(?![^\W_])"
            parts.append(word)
        return re.compile("|".join(parts), re.IGNORECASE)

    def _named(self, text: str) -> list[tuple[int, str]]:
        """Return the labels that a text names: index, and as written."""
        found = [match[0] for match in self._mentions.finditer(plain(text))]
        return [(self._names.get(_folded(name), -1), name) for name in found]


def _short(label: str) -> str:
    """Return a label without the noun that it begins with."""
    return re.sub(rf"^{_NOUN}\s+(?=\S)", "", plain(label).strip(), flags=re.IGNORECASE)


def _pattern(name: str) -> str:
    return r"\s+".join(map(re.escape, name.split()))
