"""Read a generated answer, strictly: one marked, final line that names one legal action."""

from __future__ import annotations

import re
from typing import NamedTuple

MARKER = "Final answer:"

_THINK_END = re.compile(r"^.*</think>", re.DOTALL | re.IGNORECASE)
_WRAPPED = (("**", "**"), ("__", "__"), ("*", "*"), ("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"))


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
        label. No other text is ever searched for a label. Markdown or quotes around the line or the
        label, a full stop and case do not matter.

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
    lines = [line for line in (_unwrap(raw) for raw in shown.splitlines()) if line]
    marked = [line for line in lines if line.casefold().startswith(MARKER.casefold())]
    if not lines or len(marked) != 1 or lines[-1] is not marked[0]:
        return Parsed("unparsable", None)
    said = lines[-1][len(MARKER) :].lstrip("*_ ").strip()
    names = {said, _unwrap(said)}
    legal = [i for i, label in enumerate(labels) if any(_same(name, label) for name in names)]
    return Parsed("valid", legal[0]) if len(legal) == 1 else Parsed("illegal", None)


def _same(named: str, label: str) -> bool:
    """Compare without case; a full stop may follow unless the label has one."""
    folded = named.casefold()
    return folded in (label.casefold(), f"{label.casefold()}.")


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
