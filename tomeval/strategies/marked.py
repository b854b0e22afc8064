"""The one rule for marked answers: where a reply states its answer, and where it does not."""

from __future__ import annotations

import re
from typing import Any, Generic, NamedTuple, TypeVar

from tomeval.strategies.thinking import visible
from tomeval.strategies.wrappings import closed, closer, normal, opened

MARKER = "Final answer:"

NOUN = r"\b(?:option|action|choice|move|label|letter|strategy|answer|prediction)\b"
"""Words for what is chosen, which may stand before a label: "Option J"."""

T = TypeVar("T")

_WORDS = re.compile(r"\s+".join(MARKER[:-1].split()), re.IGNORECASE)
_COLON = re.compile(r"\s*[:：]")
_HEADING = re.compile(r"#{1,6}\s*")
# Headings, quotes, lists and check marks that may begin a line; it matches nothing else, too.
_LEAD = re.compile(r"^(?:\s|>|#{1,6}|[-+*•]\s|\d{1,2}[.)]\s|[✅✔☑➡→👉🎯🏁]\ufe0f?)*")


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
    2. Thinking is set aside (`visible`); if it never ends, the reply is ``truncated``.
    3. A marked line begins with the marker. Case, width, and what Markdown, LaTeX, tags or quotes
       put around the line or the marker do not matter, nor does a heading, list or quote mark
       before it. What it marks stands on the line or, if nothing does, below it. The marker as a
       heading (with ``#`` or in bold, alone on its line) needs no colon. A reply without a marked
       line is ``unparsable``: no other text is ever searched for an answer.
    4. The last marked line is the answer. Earlier ones must give the same answer, except where they
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
    shown = visible(text)
    if finish == "length" or shown is None:
        return Read("truncated")
    lines = shown.splitlines(keepends=True)
    found = [(place, said) for place, line in enumerate(lines) if (said := _said(line)) is not None]
    if not found:
        return Read("unparsable", fault=f"no line with {MARKER!r}")
    ends = [place for place, _ in found[1:]] + [len(lines)]
    claims = [
        Claim(said, _ending(lines[place]) + "".join(lines[place + 1 : end]))
        for (place, said), end in zip(found, ends, strict=True)
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


def _ending(line: str) -> str:
    return line[len(line.rstrip()) :]


def _said(line: str) -> str | None:
    """Return what a marked line marks, or None if the line is not marked."""
    found = _marks(line)
    return _marks(normal(line)) if found is None and not line.isascii() else found


def _marks(line: str) -> str | None:
    """Return what is left of a line without its marker and the marks around line and marker."""
    line = line.strip()
    text = _LEAD.sub("", line, count=1)
    closing: list[str] = []
    while not _WORDS.match(text):
        pair = closer(text)
        if pair is None:
            return None
        closing.append(pair[1])
        text = _LEAD.sub("", text[len(pair[0]) :], count=1)
    marked_up = bool(closing or _HEADING.match(line))
    text = _close(_WORDS.sub("", text, count=1), closing)
    colon = _COLON.match(text)
    if colon is None:
        return "" if marked_up and not closing and not text.strip() else None
    text = _close(text[colon.end() :], closing)
    for right in closing:
        text = text.rstrip()
        inner = closed(text, right)
        inner = closed(text.removesuffix("."), right) if inner is None else inner
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
