r"""Read the answer that a reply ends in: one rule, for every kind of game.

The answer is what stands on the last line that begins with the marker, or below it if that line
ends there; a reply that is nothing but the answer needs no marker. The line gives the label: alone,
in marks, after a word of the question ("Option", "I choose"), or before a reason that follows a
comma, a dash, a stop or a bracket and names no other label. Text above it is not read, but
different answers on two marked lines without a whole sentence between them are a list and no
answer. Text below it may name another label only if its first words, up to a comma, a stop, a colon
or a dash, name the answer (a heading of one word aside). An answer in JSON is the last object with
the asked key, and another one is to it what another label is to a label. Thinking is cut first;
what was cut off or is anything else is invalid.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tomeval.core.outcomes import VALID
from tomeval.core.thinking import without_thinking

MARKER = "Final answer:"

T = TypeVar("T")

_TAG = (  # HTML, and ends of turns that some servers leave
    r"<(?-i:b|i|u|p|em|strong|code|mark|center|answer|final|final_answer)>|</\w+>|<eos>"
    r"|<[|｜]\w[^<>|｜\s]*[|｜]>|<end_of_turn>"
)
_NO_MARK = r"\w\s.!/?~¬≠…❌❎✖✗✘🚫⛔👎❓❔🤔-"  # what denies or doubts is no mark
MARKS = (
    rf"(?:{_TAG}|\\+(?:boxed|text\w*|math\w*)\b|(?!<!--)[^{_NO_MARK}]|[\s_]|-(?=[\s>-])(?!->))*+"
)
"""What may stand beside an answer: Markdown, lists, quotes, LaTeX, tags, pictures."""

_MARKED = tuple(
    re.compile(
        rf"{MARKS}(?:\d{{1,2}}[.)]\s{MARKS})?(?:(?:so|thus|therefore),?\s+)?"
        rf"(?:(?:my|the)\s+)?{words}(?![^\W_])"
        r"(?:[\W_]*?(?:\bis\b[\s\"'*_]*:?|[:=])|\s+[–—→-]+>?\s|(?=[\W_]*\Z))",
        re.IGNORECASE,
    )
    for words in (r"final[\s_-]+answer", "answer")
)
_ANYWHERE = re.compile(r"final[\s_-]+answer\s*[:=]", re.IGNORECASE)
_KEY = re.compile(r'(?<=[{,])(?=\s*"(?:final[ _])?answer"\s*:)', re.IGNORECASE)
_BREAK = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
_NOTHING = re.compile(rf"(?:```\w*|~~~\w*)?{MARKS}")
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad"))

_NOUN = r"(?:option|action|choice|move|label|letter|strategy|answer|prediction)"
_WHO = r"(?:i|they|(?:the\s+)?other\s+player)"
_WORD = rf"(?:(?:(?:the|my)\s+)?{_NOUN}\b(?:\s+is)?|{_WHO}(?:['’]ll|\s+will)?\s+choose)\b"
_REASON = re.compile(r"[^\w\s,;:(\[.。–—…?~-]*+(?:\s*[,;:(\[–—]|\s*-+\s|[.!。](?![\w.]))")
_HEADING = re.compile(r"[\W_]*(?:[^\W\d_]+[\s*_]*:)?[\W_]*")
_STOP = re.compile(r"(?<!\d)[.!?](?=\W|$)|[,:;。、]|\s-+\s|[–—]")
_ENDING = re.compile(rf"{MARKS}[.!。]?{MARKS}")
SENTENCE = re.compile(r"\w\W*?[.!?。]")


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

    @property
    def schema(self) -> str:
        """A JSON schema of the object that can be read, as JSON; empty if none is asked for."""

    def read(self, text: str, finish: str) -> Read[T]:
        """Read a whole reply; `finish` is ``stop``, ``length`` or ``refusal``."""


class Marked(NamedTuple):
    """The last marked line of a reply: the text above it, what it says, and the text below.

    `before` has what the marked line before it says, if there is one, and the text between them.
    """

    above: str
    said: str
    below: str
    before: tuple[str, str] | None


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
    >>> find_marked("J, I think.\n**Final answer:** J\nBye")
    Marked(above='J, I think.\n', said='** J\n', below='Bye', before=None)
    """
    lines = [part for line in _BREAK.split(shown) for part in _parts(line) if part]
    for marker in _MARKED:
        said = [
            (i, rest) for i, line in enumerate(lines) if (rest := _said(line, marker)) is not None
        ]
        if said or has_marker(shown):
            break
    if not said:
        return None
    *earlier, (index, answer) = said
    before = None
    if earlier:
        place, words = earlier[-1]
        before = words, "".join(lines[place + 1 : index])
    return Marked("".join(lines[:index]), answer, "".join(lines[index + 1 :]), before)


def has_marker(text: str) -> bool:
    """Tell whether the marker stands anywhere in a text."""
    return _ANYWHERE.search(plain(text)) is not None


def _parts(line: str) -> list[str]:
    """Return a line; of an object, its key "answer" begins a new one."""
    return _KEY.split(line) if line.lstrip().startswith("{") else [line]


def _said(line: str, marker: re.Pattern[str]) -> str | None:
    """Return what a line says after its marker; None if it is not marked.

    Behind signs that are no marks, such as a stroke, it says all of itself, which is no answer.
    """
    for text in dict.fromkeys((line, plain(line))):
        if mark := marker.match(text):
            return text[mark.end() :]
    return line if _ANYWHERE.match(re.sub(r"\A[\W_]+", "", plain(line))) else None


def first_said(said: str, below: str) -> tuple[str, str]:
    """Return what stands on a marked line, or on the next line that says something; the rest."""
    line, lines = said, _BREAK.split(below)
    while lines and _NOTHING.fullmatch(line):
        line, *lines = lines
    said, below = (line, "".join(lines)) if line.strip() else (said, below)
    return plain(said), plain(below)


def above_answer(text: str) -> str | None:
    """Return what stands above a reply's answer; None without a marked line or an object."""
    shown = shown_text(text, "stop")
    if isinstance(shown, Read):
        return None
    if (marked := find_marked(shown)) is not None:
        return marked.above
    objects = list(re.finditer(r"^[`\w]*\s*\{", shown, re.MULTILINE))
    return shown[: objects[-1].start()] if objects else None


def explains(below: str, mentions: Iterable[tuple[int, bool]]) -> bool:
    """Tell whether text below an answer takes nothing back.

    `mentions` says where answers are named in it, and whether it is the one that was given: another
    may be named only if the first words name that one.
    """
    named = sorted(mentions)
    if all(own for _, own in named):
        return True
    heading = _HEADING.match(below)
    stop = _STOP.search(below, heading.end() if heading else 0)
    return named[0][1] and (stop is None or named[0][0] < stop.start())


def plain(text: str) -> str:
    """Return a text in compatible forms (NFKC), without characters that do not show."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text.translate(_INVISIBLE))


def last_line(shown: str) -> tuple[str, bool]:
    """Return the last line of a reply, and whether the one above it leads to it by a colon."""
    *above, last = [line.strip() for line in _BREAK.split(shown) if line.strip()] or [""]
    return last, bool(above) and above[-1].rstrip("*_ ").endswith((":", "："))


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
    >>> reader.read("### Final answer:\n**Option F** (Defect)\n\nI chose F, as J loses.", "stop")
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

    @property
    def schema(self) -> str:
        """Empty: no object is asked for."""
        return ""

    def read(self, text: str, finish: str) -> Read[int]:
        """Read the index of the label that a reply names."""
        shown = shown_text(text, finish)
        if isinstance(shown, Read):
            return shown
        marked = find_marked(shown)
        last, led = last_line(shown)
        exact = last in self.choices
        said, below = first_said(marked.said, marked.below) if marked else (plain(shown), "")
        action, rest = (self.choices.index(last), "") if exact else self._label(said)
        if marked is None and (action is None or rest.strip(".")):
            return Read("unparsable", fault=f"no line begins with {MARKER!r}")
        if action is None:
            wanted, said = " or ".join(self.labels), said.strip()[:40]
            return Read("illegal", fault=f"{said!r} is not an option; choose {wanted}")
        beside, named = self._named(rest), [] if exact else self._named(below)
        explained = explains(below, ((start, index == action) for start, index, _ in named))
        for _, index, name in beside if explained else beside + named:
            if index != action:
                fault = f"text after the answer names another option: {name!r}"
                return Read("unparsable", fault=fault)
        once = True
        if marked is not None and marked.before is not None:
            words, between = first_said(*marked.before)
            once = self._label(words)[0] in (None, action)
            if not once and not SENTENCE.search(between):
                return Read("unparsable", fault="two marked lines name different options")
        return Read(VALID, action, lenient=led or not (exact and once))

    def _label(self, said: str) -> tuple[int | None, str]:
        """Return the label that a line gives, and the words beside it; None if it gives none."""
        if (whole := self._names.get(_folded(said))) is not None:
            return whole, ""
        answer = self._answer.match(said)
        rest = "" if answer is None else said[answer.end() :]
        if answer is None or not (_REASON.match(rest) or _ENDING.fullmatch(rest)):
            return None, ""
        beside = (answer["word"] or "") + ("" if _ENDING.fullmatch(rest) else rest)
        return self._names[_folded(answer["label"])], beside

    @cached_property
    def _names(self) -> dict[str, int]:
        """What a label may be called: by itself, or without its noun where that is clear."""
        names = [_folded(label) for label in self.labels]
        short = [_folded(_short(label)) for label in self.labels]
        clear = {name: i for i, name in enumerate(short) if short.count(name) == 1}
        return {name: i for name, i in clear.items() if name not in names} | {
            name: i for i, name in enumerate(names) if names.count(name) == 1
        }

    @cached_property
    def _answer(self) -> re.Pattern[str]:
        """What a marked line begins with that names a label."""
        names = "|".join(map(_pattern, sorted(self._names, key=len, reverse=True)))
        return re.compile(
            rf"{MARKS}(?:(?P<word>{_WORD}):?{MARKS})?(?P<label>{names or '(?!)'})(?![^\W_])",
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

    def _named(self, text: str) -> list[tuple[int, int, str]]:
        """Return the labels that a text names: where, index, and as written."""
        return [
            (match.start(), self._names.get(_folded(match[0]), -1), match[0])
            for match in self._mentions.finditer(text)
        ]


def _short(label: str) -> str:
    """Return a label without the noun that it begins with."""
    return re.sub(rf"^{_NOUN}\s+(?=\S)", "", plain(label).strip(), flags=re.IGNORECASE)


def _pattern(name: str) -> str:
    return r"\s+".join(map(re.escape, name.split()))
