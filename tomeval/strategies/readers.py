r"""Read the answer that a reply ends in: one rule, for every kind of game.

The answer is what stands on the last line that begins with the marker, or below it if that line
ends there; a reply that is nothing but the answer needs no marker. The line gives the label: alone,
in marks, after a word of the question ("Option", "I choose"), or before a reason that follows a
comma, a dash, a stop or a bracket and names no other label. Text above it is not read, but
different answers on two marked lines without a whole sentence between them are a list and no
answer. Text below it may not name another label. An answer in JSON is the last object with
the asked key, and another one is to it what another label is to a label. Thinking is cut first;
what was cut off or is anything else is invalid.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tomeval.core.outcomes import EMPTY, REFUSAL, VALID
from tomeval.core.text import ascii_signs, without_thinking

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
_OBJECT = re.compile(r'\A\W*\{\s*"(?:final[ _])?answer"\s*:', re.IGNORECASE)
_BREAK = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
_NOTHING = re.compile(rf"(?:```\w*|~~~\w*)?{MARKS}")
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad"))

SENTENCE = re.compile(r"\w\W*?[.!?。]")


class Read(NamedTuple, Generic[T]):
    """What a reply says.

    `outcome` is ``valid``, ``illegal``, ``unparsable``, ``truncated``, ``empty`` or ``refusal``;
    `value` is None unless it is valid; `fault` may say what is wrong. `lenient` tells whether a
    valid answer was not in the exact form that was asked for.
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

    def read(self, text: str, finish: str, strict: bool = False) -> Read[T]:
        """Read a whole reply; `finish` is ``stop``, ``length`` or ``refusal``.

        If `strict`, an answer that would be lenient is ``unparsable``.
        """


class Marked(NamedTuple):
    """The last marked line of a reply: the text above it, what it says, and the text below.

    `before` has what the marked line before it says, if there is one, and the text between them.
    """

    above: str
    said: str
    below: str
    before: tuple[str, str] | None


def taken(value: T, lenient: bool, strict: bool) -> Read[T]:
    """Return what a reply says that can be read; see `Reader.read`."""
    if lenient and strict:
        return Read("unparsable", fault="the answer is not in the exact form asked for")
    return Read(VALID, value, lenient=lenient)


def shown_text(text: str, finish: str) -> str | Read[Any]:
    """Return a reply without its thinking, or what it is instead of an answer.

    One that was cut off is ``truncated`` whatever it says by then: a label may be the beginning of
    another one. So is one whose thinking never ends. One without a word besides its thinking is
    ``empty``.
    """
    if finish == "refusal":
        return Read(REFUSAL, fault="the model or its provider declined")
    shown = without_thinking(text)
    if finish == "length" or shown is None:
        return Read("truncated", fault="the reply was cut off")
    return shown if plain(shown).strip() else Read(EMPTY, fault="the reply is empty")


def find_marked(shown: str) -> Marked | None:
    r"""Return the last marked line of a reply without thinking, or None.

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
        at, words = earlier[-1]
        before = words, "".join(lines[at + 1 : index])
    return Marked("".join(lines[:index]), answer, "".join(lines[index + 1 :]), before)


def has_marker(text: str) -> bool:
    """Return whether the marker stands anywhere in a text."""
    return _ANYWHERE.search(plain(text)) is not None


def _parts(line: str) -> list[str]:
    """Return a line; of an object, its key "answer" begins a new one."""
    return _KEY.split(line) if line.lstrip().startswith("{") else [line]


def _said(line: str, marker: re.Pattern[str]) -> str | None:
    """Return what a line says after its marker; None if it is not marked.

    After any other sign the whole line is returned, which matches no label.
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
    return _OBJECT.sub("", plain(said)), plain(below)


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
    """Return a text in compatible forms (NFKC), without characters that do not show.

    Typographic apostrophes, quotes and hyphens become those of ASCII.
    """
    if text.isascii():
        return text
    shown = ascii_signs(text.translate(_INVISIBLE), dashes=False)
    return unicodedata.normalize("NFKC", shown)


def last_line(shown: str) -> tuple[str, bool]:
    """Return the last line of a reply, and whether the one above it leads to it by a colon."""
    *above, last = [line.strip() for line in _BREAK.split(shown) if line.strip()] or [""]
    return last, bool(above) and above[-1].rstrip("*_ ").endswith((":", "："))
