"""Speech acts: what one may say in the structured day, and which act a free message counts as."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

Act = tuple[Any, ...]
"""``("silent",)``, ``("accuse", seat)``, ``("defend", seat)`` or ``("result", seat, verdict)``."""

SILENT: Act = ("silent",)
VERDICTS = ("mafia", "not")
"""What a claim says of a seat: that the detective learned that it is, or is not, Mafia."""

_SENTENCE = re.compile(r"[.!?;\n]+")
_SEAT = re.compile(r"\bplayer\s*(\d+)", re.IGNORECASE)
_FOUND = re.compile(
    r"\bi(?:'m| am)(?: the)? detective\b|\bi (?:investigated|checked)\b", re.IGNORECASE
)
_DENIED = re.compile(r"\bnot\b|n't\b|\binnocent\b|\bclear(?:ed)?\b", re.IGNORECASE)
_GUILTY = re.compile(r"\bmafia\b|\binnocent\b|\bclear(?:ed)?\b", re.IGNORECASE)
_ACCUSES = re.compile(
    r"\baccus|\bsuspect|\bsuspicious|\bvote\b|\bmafia\b|\blying\b|\bliar\b", re.IGNORECASE
)
_DEFENDS = re.compile(r"\bdefend|\btrust|\bbelieve|\binnocent\b|\bclear\b", re.IGNORECASE)


def acts(others: Sequence[int]) -> tuple[Act, ...]:
    """Return all acts about some seats, silence first, in the order that breaks ties."""
    return (
        SILENT,
        *(("accuse", seat) for seat in others),
        *(("defend", seat) for seat in others),
        *(("result", seat, verdict) for seat in others for verdict in VERDICTS),
    )


def label(act: Act) -> str:
    """Return how an act is written in answers.

    Examples
    --------
    >>> label(("result", 3, "not"))
    'result 3 not'
    """
    return " ".join(str(part) for part in act)


def parse(text: str) -> Act | None:
    """Return the act that is written so, whoever it is about, or None.

    Examples
    --------
    >>> parse("Accuse 3"), parse("blame 3")
    (('accuse', 3), None)
    """
    words = text.lower().split()
    if words == ["silent"]:
        return SILENT
    if len(words) == 2 and words[0] in ("accuse", "defend") and words[1].isdecimal():
        return (words[0], int(words[1]))
    if len(words) == 3 and words[0] == "result" and words[1].isdecimal() and words[2] in VERDICTS:
        return ("result", int(words[1]), words[2])
    return None


def say(act: Act) -> str:
    """Return the message with which scripted players perform an act in free talk."""
    if act == SILENT:
        return ""
    if act[0] == "result":
        denied = "" if act[2] == "mafia" else "not "
        return f"I am the detective: Player {act[1]} is {denied}Mafia."
    return f"I {act[0]} Player {act[1]}."


@lru_cache(maxsize=1 << 14)
def heard(text: str, others: tuple[int, ...]) -> Act:
    """Return the act that a message counts as, for players that do not understand free talk.

    A fixed rule: the last sentence counts that names one of `others` as ``Player 3`` and performs
    an act. Its first such name is meant. A sentence with "Mafia", "innocent" or "clear" is a result
    if the message says "I am the detective", "I investigated" or "I checked". Otherwise a sentence
    defends ("defend", "trust", "believe", "innocent", "clear", or accuses and denies it) or accuses
    ("accuse", "suspect", "vote", "Mafia", "lying"). All else is silence.

    Examples
    --------
    >>> heard("Hello. I think Player 2 is Mafia!", (0, 2))
    ('accuse', 2)
    >>> heard("Player 2 is not Mafia", (0, 2))
    ('defend', 2)
    >>> heard("I checked Player 0: innocent.", (0, 2))
    ('result', 0, 'not')
    """
    act = SILENT
    detective = _FOUND.search(text) is not None
    for sentence in _SENTENCE.split(text):
        named = [int(n) for n in _SEAT.findall(sentence) if int(n) in others]
        if not named:
            continue
        denied = _DENIED.search(sentence) is not None
        if detective and _GUILTY.search(sentence):
            act = ("result", named[0], "not" if denied else "mafia")
        elif _DEFENDS.search(sentence) or (denied and _ACCUSES.search(sentence)):
            act = ("defend", named[0])
        elif _ACCUSES.search(sentence):
            act = ("accuse", named[0])
    return act
