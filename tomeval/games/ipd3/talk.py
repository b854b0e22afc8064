"""The fixed rule that reduces a message to acts: promise, threaten or nothing toward each opponent.

A *promise* announces cooperation with a player in this round, a *threat* defection. A sentence is
read if the whole of it is an announcement in one of the forms of ``talk.toml``: who announces
(``I will``, ``I won't``, ...), a verb, and the players by number, or both; two announcements can be
joined by a comma, ``and`` or ``but``. All other sentences say nothing: questions, conditions
(``if you ...``), reports, quotations, bare ``you``, announcements for later rounds. Opposite
announcements toward one player in one message cancel each other.

The shape of its errors: it misses announcements in free words (many), and takes little for an
announcement that is not meant as one (irony, a condition in a sentence of its own). What scripted
players say is read exactly; a test holds it.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from functools import lru_cache
from pathlib import Path

from tomeval.core.text import ascii_signs

ACTS = ("none", "promise", "threaten")
Acts = tuple[str, str]
"""A message, reduced: an act toward each opponent of the speaker, in ascending order of seats."""

ACT_PAIRS: tuple[Acts, ...] = tuple(itertools.product(ACTS, ACTS))
SILENT: Acts = ("none", "none")
NOTHING = ""
"""A message without words."""

_DATA = tomllib.loads(Path(__file__).with_name("talk.toml").read_text(encoding="utf-8"))
_FORMS = _DATA["read"]
_CLAUSE = (
    r"(?:(?P<will>{will})|(?P<not>{not})) (?:(?P<cooperate>{cooperate})|(?P<defect>{defect}))"
    r"(?: (?:(?P<all>{all})|(?P<players>{players})))?(?: (?:{when}))?"
).format(**_FORMS)
_ONE = re.compile(_CLAUSE)
_VERB = re.compile(rf"(?:{_FORMS['cooperate']}|{_FORMS['defect']})\b")
_JOINT = re.compile(r",? (?:and|but) |, ")
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;\n]*")


@lru_cache(maxsize=4096)
def acts_of(text: str, opponents: tuple[int, int]) -> Acts:
    """Return what a message announces toward each opponent of its speaker.

    Examples
    --------
    >>> acts_of("Hello! I will cooperate with Player 1 and defect on Player 2.", (1, 2))
    ('promise', 'threaten')
    >>> acts_of("I will cooperate if Player 1 does. Will you both cooperate?", (1, 2))
    ('none', 'none')
    """
    acts: dict[int, set[str]] = {seat: set() for seat in opponents}
    for sentence in _SENTENCE.findall(ascii_signs(text.lower(), dashes=False)):
        if "?" not in sentence:
            for act, seats in _announced(" ".join(sentence.strip(" \t\r\n.!;").split()), opponents):
                for seat in seats:
                    acts[seat].add(act)
    first, second = (acts[seat].pop() if len(acts[seat]) == 1 else "none" for seat in opponents)
    return first, second


def sentence_of(acts: Acts, opponents: tuple[int, int]) -> str:
    """Return what scripted players say for acts; nothing for none.

    Examples
    --------
    >>> sentence_of(("promise", "threaten"), (0, 2))
    'I will cooperate with Player 0. I will defect on Player 2.'
    """
    parts = []
    for act, form in _DATA["says"].items():
        meant = [f"Player {seat}" for seat, own in zip(opponents, acts, strict=True) if own == act]
        if meant:
            parts.append(form.format(names=" and ".join(meant)))
    return " ".join(parts)


def kept(acts: Acts, moves: tuple[str, str]) -> bool:
    """Return whether moves are what was announced; nothing announced is kept."""
    meant = {"promise": "cooperate", "threaten": "defect"}
    return all(meant.get(act, move) == move for act, move in zip(acts, moves, strict=True))


def _announced(sentence: str, opponents: tuple[int, int]) -> list[tuple[str, tuple[int, ...]]]:
    """Return the acts of a sentence with their targets; empty unless all of it is read."""
    announced = []
    subject = ""
    for clause in _clauses(sentence):
        if subject and _VERB.match(clause):
            clause = f"{subject} {clause}"
        match = _ONE.fullmatch(clause)
        if match is None:
            return []
        subject = match["will"] or ""  # what "I will not A and B" says of B is not clear
        promised = bool(match["cooperate"]) == bool(match["will"])
        named = tuple(int(digit) for digit in re.findall("[0-9]", match["players"] or ""))
        if any(seat not in opponents for seat in named):
            return []
        announced.append(("promise" if promised else "threaten", named or opponents))
    return announced


def _clauses(sentence: str) -> list[str]:
    """Split a sentence before every further announcement."""
    parts, start = [], 0
    for joint in _JOINT.finditer(sentence):
        rest = sentence[joint.end() :]
        if _VERB.match(rest) or re.match(rf"(?:{_FORMS['will']}|{_FORMS['not']}) ", rest):
            parts.append(sentence[start : joint.start()])
            start = joint.end()
    return [*parts, sentence[start:]]
