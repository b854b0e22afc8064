"""The one rule for marked answers: where a reply states its answer, and where it does not."""

from __future__ import annotations

import re
from typing import Any, Generic, NamedTuple, TypeVar

from tomeval.core.thinking import without_thinking
from tomeval.strategies.introductions import is_own
from tomeval.strategies.lines import split_lines, without_comments
from tomeval.strategies.loose_json import read_object
from tomeval.strategies.wrappings import (
    AFTER,
    EMOJI,
    INVISIBLE,
    closed,
    closer,
    normal,
    opened,
    without_ends,
)

MARKER = "Final answer:"

NOUN = r"\b(?:option|action|choice|move|label|letter|strategy|answer|prediction)\b"
"""Words for what is chosen, which may stand before a label: "Option J"."""

T = TypeVar("T")

_WORDS = re.compile(r"\s+".join(MARKER[:-1].split()), re.IGNORECASE)
_COLON = re.compile(r"\s*[:：]")
# The marker behind signs that are no marks: such a line is not looked past for a looser form.
_BEHIND_SIGNS = re.compile(rf"[\W_]*{_WORDS.pattern}{_COLON.pattern}", re.IGNORECASE)
# Other words that say the same, where a reply has no line in the form that was asked for.
_LOOSE_WORDS = re.compile(
    r"(?:(?:and |so|thus|hence|therefore|overall|in (?:conclusion|short|summary)),?\s+)?"
    r"(?:(?:my|the)\s+)?(?:final[\s_-]+)?answer\b",
    re.IGNORECASE,
)
_LOOSE_COLON = re.compile(
    r"\s*(?:is\s*)?[:：]|\s+is\b(?!\s*$)|\s+(?:[-=]>|[-–—=→])(?=\s)", re.IGNORECASE
)
_TAGGED = re.compile(r"<(answer|final_answer|final)>\s*", re.IGNORECASE)
_BOXED = re.compile(r"(?:\$\$?|\\[\[(])?\s*\\+boxed\s*\{")
_OBJECT = re.compile(r"\{\s*(?:[\"'“”‘’\w]|$)")
_OBJECTS, _OBJECT_LINES = 20, 200  # nobody writes more
_UNDERLINE = re.compile(r"\s*(?:-{3,}|={3,})\s*")
_HEADING = re.compile(r"#{1,6}\s*")
# Headings, quotes, lists and check marks that may begin a line; it matches nothing else, too.
_LEAD = re.compile(rf"^(?:[\s{INVISIBLE}]|>|#{{1,6}}|[-+*•–—]\s|[-=]>|\d{{1,2}}[.)]\s|{EMOJI})*")


class Read(NamedTuple, Generic[T]):
    """What a reply says.

    `outcome` is ``valid``, ``illegal``, ``unparsable``, ``truncated`` or ``refusal``; `value` is
    None unless it is valid; `fault` may say what is wrong.
    """

    outcome: str
    value: T | None = None
    fault: str = ""


class Claim(NamedTuple):
    """A marked line: what it says, and the text below it, up to the next marked line."""

    said: str
    below: str


class Marked(NamedTuple):
    """A reply's marked lines.

    `before` is the text above the last one, which says `said`; `below` is the text below it.
    `earlier` are those above it that say something.
    """

    before: str
    said: str
    below: str
    earlier: tuple[Claim, ...] = ()


def marked_answer(text: str, finish: str) -> Marked | Read[Any]:
    r"""Find the answer of a reply, by the one rule for marked answers.

    1. A reply that the backend calls a refusal is ``refusal``. One that was cut off is
       ``truncated``, whatever it says by then: a label may be the beginning of another one, and
       the rest might have taken it back.
    2. Thinking is set aside (`without_thinking`); if it never ends, the reply is ``truncated``.
    3. A marked line begins with the marker. Case, width, and what Markdown, LaTeX, tags or quotes
       put around the line or the marker do not matter, nor does a heading, list or quote mark
       before it. What it marks stands on the line or, if nothing does, below it. The marker as a
       heading (with ``#``, underlined or in bold, alone on its line) needs no colon. If no line is
       marked so, nor begins with the marker behind other signs, other words that say the same mark
       it ("So my answer is"), and if there are none, a tag, a box or an object that begins a line.
       A reply without any is ``unparsable``: no other text is ever searched for an answer.
    4. What is commented out is not there (`without_comments`). A last marked line that its
       introduction gives to somebody else, or asks about, is no answer (`is_own`).
    5. The last marked line is the answer. Earlier ones must give the same answer, except where they
       repeat the instruction with its dots, or are headings that have only prose below them.
       Readers check that (`same`), and that nothing follows the answer but marks or the same
       answer again.

    Examples
    --------
    >>> marked_answer("J, I think.\n**Final answer:** J\n```", "stop")
    Marked(before='J, I think.\n', said=' J', below='\n```', earlier=())
    """
    if finish == "refusal":
        return Read("refusal")
    shown = without_thinking(text)
    if finish == "length" or shown is None:
        return Read("truncated")
    lines = split_lines(without_comments(shown))
    found = _marked_lines(lines)
    if not found:
        return Read("unparsable", fault=f"no line with {MARKER!r}")
    if not is_own(lines[: found[-1][0]]):
        return Read("unparsable", fault="the marked line is introduced as no answer")
    ends = [place for place, _, _ in found[1:]] + [len(lines)]
    claims = [
        Claim(said, _ending(lines[after - 1]) + "".join(lines[after:end]))
        for (_, after, said), end in zip(found, ends, strict=True)
    ]
    *earlier, (said, below) = claims
    said_before = tuple(claim for claim in earlier if not _echo(claim.said))
    return Marked("".join(lines[: found[-1][0]]), said, below, said_before)


def _echo(said: str) -> bool:
    """Tell whether dots stand in place of the answer, as the instruction has them.

    They may stand after a word such as "Option", or in a list under a key.
    """
    key, _, rest = said.rpartition(":")
    dotted = "..." in rest or "…" in rest
    words = re.findall(r"\w+", re.sub(NOUN, "", rest, count=1, flags=re.IGNORECASE))
    return dotted and not words and len(re.findall(r"\w+", key)) <= 1


def _marked_lines(lines: list[str]) -> list[tuple[int, int, str]]:
    """Return the marked lines in the first form that any has: place, what follows, what they say.

    The forms are the marker, other words that say the same, and what says it without words: tags,
    a box, an object.
    """
    for words, colon in ((_WORDS, _COLON), (_LOOSE_WORDS, _LOOSE_COLON)):
        found = []
        for place, line in enumerate(lines):
            ruled = place + 1 < len(lines) and _UNDERLINE.fullmatch(lines[place + 1]) is not None
            said = _said(line, words, colon, ruled)
            if said is not None and not (words is _LOOSE_WORDS and _OBJECT.match(line.lstrip())):
                found.append((place, place + 1, said))
        if found or any(_BEHIND_SIGNS.match(line) for line in lines):
            return found
    return _unmarked(lines)


def _unmarked(lines: list[str]) -> list[tuple[int, int, str]]:
    """Return the lines that begin with a tag, a box or an object, which say that they answer."""
    found: list[tuple[int, int, str]] = []
    objects = [place for place, line in enumerate(lines) if _OBJECT.match(_LEAD.sub("", line))]
    objects = objects[-_OBJECTS:]
    for place, line in enumerate(lines):
        text = _LEAD.sub("", line.strip(), count=1)
        tag = _TAGGED.match(text)
        if found and place < found[-1][1]:
            continue
        if tag:
            whole = closed(without_ends(text), f"</{tag[1]}>")
            found.append((place, place + 1, text[tag.end() :] if whole is None else text))
        elif _BOXED.match(text):
            found.append((place, place + 1, text))
        elif place in objects:
            length = _object_lines([text, *lines[place + 1 : place + _OBJECT_LINES]])
            if length:
                said = " ".join(
                    [text, *(line.strip() for line in lines[place + 1 : place + length])]
                )
                found.append((place, place + length, said))
    return found


def _object_lines(lines: list[str]) -> int:
    """Return on how many lines the object stands that the first one begins with; 0: none.

    Nothing but marks may follow on the last of them.
    """
    text = "\n".join(line.rstrip("\r\n") for line in lines)
    try:
        _, rest = read_object(text)
    except ValueError:
        return 0
    alone = AFTER.fullmatch(rest.partition("\n")[0])
    return text[: len(text) - len(rest)].count("\n") + 1 if alone else 0


def _ending(line: str) -> str:
    return line[len(line.rstrip()) :]


def _said(
    line: str, words: re.Pattern[str], colon: re.Pattern[str], ruled: bool = False
) -> str | None:
    """Return what a marked line marks, or None if the line is not marked.

    `words` and `colon` are the marker; `ruled` tells whether the line is underlined: a heading.
    """
    found = _marks(line, words, colon, ruled)
    if found is None and not line.isascii():
        return _marks(normal(line), words, colon, ruled)
    return found


def _marks(line: str, words: re.Pattern[str], colon: re.Pattern[str], ruled: bool) -> str | None:
    """Return what is left of a line without its marker and the marks around line and marker."""
    line = line.strip()
    text = _LEAD.sub("", line, count=1)
    closing: list[str] = []
    while not words.match(text):
        pair = closer(text)
        if pair is None:
            return None
        closing.append(pair[1])
        text = _LEAD.sub("", text[len(pair[0]) :], count=1)
    marked_up = bool(closing or ruled or _HEADING.match(line))
    text = _close(words.sub("", text, count=1), closing)
    joint = colon.match(text)
    if joint is None:
        return "" if marked_up and not closing and not text.strip() else None
    text = _close(text[joint.end() :], closing)
    for right in closing:
        text = text.rstrip()
        inner = closed(text, right)
        inner = closed(without_ends(text).removesuffix("."), right) if inner is None else inner
        if inner is None:
            return f"{right}{text}"  # open to the end: marked, but by no label or object
        text = inner
    return text


def _close(text: str, closing: list[str]) -> str:
    """Take the marks that a text begins with and that close open ones, innermost first."""
    while closing:
        rest = opened(text.lstrip(), closing[-1])
        if rest is None:
            return text
        text = rest
        closing.pop()
    return text
