"""Read a generated answer, strictly: one marked, final line that names one legal action."""

from __future__ import annotations

import re
from typing import NamedTuple

MARKER = "Final answer:"

_THINK_END = re.compile(r"^.*</think>", re.DOTALL | re.IGNORECASE)
_WRAPPED = (("**", "**"), ("__", "__"), ("*", "*"), ("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"))
# The marker, maybe emphasised with or without its colon, and what it marks.
_MARKED = re.compile(
    rf"(\*\*|__|\*|_|){re.escape(MARKER[:-1])}(?:{MARKER[-1]}\1|\1{MARKER[-1]})(.*)", re.IGNORECASE
)


class Parsed(NamedTuple):
    """What a reply says: an action, or why it says none.

    `outcome` is ``valid``, ``illegal``, ``unparsable``, ``truncated`` or ``refusal``; `action` is
    None unless it is valid.
    """

    outcome: str
    action: int | None


def visible(text: str) -> str | None:
    """Return a reply without its thinking, or None where the thinking was never closed.

    Everything up to the last ``</think>`` is thinking, also where the prompt had opened it.

    Examples
    --------
    >>> visible("<think>J or F?</think>Final answer: J")
    'Final answer: J'
    >>> visible("<think>J or") is None
    True
    """
    rest = _THINK_END.sub("", text, count=1)
    return None if "<think>" in rest.lower() else rest


def parse_answer(text: str, finish: str, labels: tuple[str, ...]) -> Parsed:
    r"""Read the action that a reply names.

    Parameters
    ----------
    text : str
        The whole reply.
    finish : {"stop", "length", "refusal"}
    labels : tuple of str
        The legal labels, different beyond case.

    Returns
    -------
    Parsed
        ``refusal`` and ``truncated`` by `finish`, ``truncated`` also for thinking that never ends.
        Else the last line that is not empty must be the marker and a label, and no other marked
        line may stand before it: ``unparsable`` if not, ``illegal`` if what is named is no legal
        label. No other text is ever searched for a label. Markdown or quotes around the line, the
        marker or the label, a full stop and case do not matter, except where a label has them.

    Examples
    --------
    >>> parse_answer("J looks good.\nFinal answer: F", "stop", ("J", "F"))
    Parsed(outcome='valid', action=1)
    >>> parse_answer("Final answer: J or F", "stop", ("J", "F")).outcome
    'illegal'
    >>> parse_answer("I choose J.", "stop", ("J", "F")).outcome
    'unparsable'
    """
    if finish == "refusal":
        return Parsed("refusal", None)
    shown = visible(text)
    if finish == "length" or shown is None:
        return Parsed("truncated", None)
    named = [_marked(line) for line in shown.splitlines() if line.strip()]
    if not named or named[-1] is None or any(said is not None for said in named[:-1]):
        return Parsed("unparsable", None)
    action = _find(named[-1], labels)
    return Parsed("illegal", None) if action is None else Parsed("valid", action)


def _marked(line: str) -> str | None:
    """Return what a marked line names, or None where the line is not marked."""
    found = _MARKED.fullmatch(line.strip()) or _MARKED.fullmatch(_unwrap(line))
    return found[2].strip() if found else None


def _find(said: str, labels: tuple[str, ...]) -> int | None:
    """Return the label that is named: as it is said, else without full stop, else unwrapped."""
    folded = [label.casefold() for label in labels]
    inner = _unwrap(said)
    for name in (said, said.removesuffix("."), inner, inner.removesuffix(".")):
        if name.casefold() in folded:
            return folded.index(name.casefold())
    return None


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
