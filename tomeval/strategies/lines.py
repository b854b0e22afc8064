"""Lines of a reply: what a reader sees as lines, and which of them are notes to nobody."""

from __future__ import annotations

import re

_BREAK = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
_COMMENTS = (("<!--", "-->"), ("/*", "*/"))
_FENCE = re.compile(r"\s*(?:>\s*)*(`{3,}|~{3,})\s*(\w*)")
_PROSE = ("", "markdown", "md", "text", "txt", "plain", "plaintext", "latex", "tex")
_HASH = re.compile(r"\s*(?:#|--|//|%|;)")


def split_lines(text: str) -> list[str]:
    r"""Return the lines of a text, with what ends them: a line feed, a carriage return or both.

    Other characters that Unicode calls line separators show as a space or as nothing, so that a
    reader sees one sentence where `str.splitlines` sees two lines.

    Examples
    --------
    >>> split_lines("one\r\ntwo\x0bstill two\u2028and two\nthree")
    ['one\r\n', 'two\x0bstill two\u2028and two\n', 'three']
    """
    return [line for line in _BREAK.split(text) if line]


def without_comments(text: str) -> str:
    r"""Return a text without what it comments out, in HTML, in C or in a block of code.

    A line that begins with ``#`` is a heading, and a comment inside a block of program code.

    Examples
    --------
    >>> without_comments("One.\n<!-- Two. --> Three.")
    'One.\n Three.'
    """
    lines, program, fence = [], False, ""
    for line in split_lines(_cut(text)):
        found = _FENCE.match(line)
        if found and not fence:
            fence, program = found[1], found[2].casefold() not in _PROSE
        elif found and found[1].startswith(fence) and not found[2]:
            fence, program = "", False
        elif program and _HASH.match(line):
            line = "\n"
        lines.append(line)
    return "".join(lines)


def _cut(text: str) -> str:
    """Cut out comments that begin a line or go over several; a label may look like one."""
    for begin, end in _COMMENTS:
        kept, place = [], 0
        while (start := text.find(begin, place)) >= 0:
            found = text.find(end, start + len(begin))
            stop = len(text) if found < 0 else found + len(end)
            line = text[max(text.rfind("\n", 0, start) + 1, place) : start]
            many = begin == "<!--" and found >= 0 and "\n" in text[start:stop]
            comment = many or not line.strip(" \t\r>")
            after = stop if comment or found >= 0 else start + len(begin)
            kept.append(text[place : start if comment else after])
            place = after
        text = "".join([*kept, text[place:]])
    return text
