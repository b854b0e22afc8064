"""Parameters of a three-player prisoner's dilemma, where it stands, what is said and known.

Moves are in *places*: a seat's two opponents in ascending order of seats, so that an action, such
as ``("cooperate", "defect")``, has the move toward the lower seat first.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from tomeval.core.text import ascii_signs
from tomeval.games.game import Event, Public, View

if TYPE_CHECKING:
    from tomeval.games.ipd3.rules import Ipd3


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
    """Return what a message announces toward each opponent of its speaker, by a fixed rule.

    A *promise* announces cooperation with a player in this round, a *threat* defection. A sentence
    is read if the whole of it is an announcement in one of the forms of ``talk.toml``: who
    announces (``I will``, ``I won't``, ...), a verb, and the players by number, or both; two can be
    joined by a comma, ``and`` or ``but``. All other sentences say nothing: questions, conditions,
    reports, quotations, bare ``you``, later rounds. Opposite announcements toward one player
    cancel each other. So it misses what is said in free words, and takes little for an announcement
    that is not meant as one. What scripted players say is read exactly.

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


class Payoffs(BaseModel):
    """What a pair pays to one of its two players: reward, temptation, sucker, punishment."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    R: float = 3
    T: float = 5
    S: float = 0
    P: float = 1


class Rules(BaseModel):
    """Parameters of a game.

    Attributes
    ----------
    rounds : int
    talk : int
        Turns of talk per round and player: 0 or 1.
    reward : str
        ``points``: `scale` times the points of both pairs and all rounds; ``rank``: by points, the
        first 1, the second 0, the third -1; see `Ipd3.rewards` for ties.
    payoffs : Payoffs
    dilemma : bool
        Whether the payoffs are to be a dilemma, which is then checked; false says that they may be
        anything.
    scale : float
        Reward per point.
    message_limit : int
        Characters of a message; at least 100, which scripted players never need.
    rules : str
        ``own``, or ``textarena-0.7.4``: a message that is too long loses its beginning instead of
        breaking the rules, white space in messages is closed up, and tied ranks are spread as
        TextArena does.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    rounds: int = Field(default=5, ge=1, le=1000)
    talk: int = Field(default=1, ge=0, le=1)
    reward: Literal["points", "rank"] = "points"
    payoffs: Payoffs = Payoffs()
    dilemma: bool = True
    scale: float = Field(default=1, gt=0, le=1e9)
    message_limit: int = Field(default=1000, ge=100, le=100_000)
    rules: Literal["own", "textarena-0.7.4"] = "own"


MOVES = ("cooperate", "defect")
PAIRS = tuple(itertools.product(MOVES, MOVES))
"""The four actions of a decision."""

OPPONENTS = ((1, 2), (0, 2), (0, 1))
"""The opponents of every seat, in the order of its moves."""

PLACE = tuple({seat: place for place, seat in enumerate(OPPONENTS[i])} for i in range(3))
"""``PLACE[i][j]``: at which place of seat i's action its move toward seat j is."""

DECIDE = 3
"""The last stage of a round; the three before it are talk."""


class State(NamedTuple):
    """Where a game stands."""

    log: tuple[Event, ...]  # all that has happened; all of it is public
    round: int  # the one that was begun last, from 1
    stage: int  # who is to talk (0 to 2), or `DECIDE`
    units: tuple[int, ...]  # points so far, in units of `Ipd3.parts`
    out: tuple[int, ...] = ()  # seats that were eliminated, and that forfeited
    lost: tuple[int, ...] = ()
    ending: str = ""  # how the game ended; empty while it goes on


class Ipd3View(View[State]):
    """What a seat knows, which is everything that has happened."""

    __slots__ = ()
    game: Ipd3
    events = Public[tuple[Event, ...]]("log")
    """All events, oldest first."""
    round = Public[int]()
    """The current round, from 1."""
    out = Public[tuple[int, ...]]()
    """The seats that were eliminated."""

    @property
    def opponents(self) -> tuple[int, ...]:
        """The two others, in the order of moves."""
        return OPPONENTS[self.seat]

    @property
    def said(self) -> Mapping[int, str]:
        """What was said in this round, by seat."""
        by_seat: dict[Any, str] = {}
        for event in self._state.log:
            if event.kind == "points":
                by_seat = {}
            elif event.kind == "talk":
                by_seat[event.seat] = event.data
        return by_seat

    @property
    def acts(self) -> Mapping[int, Acts]:
        """What that amounts to, by seat: acts toward the speaker's opponents."""
        return {seat: acts_of(text, OPPONENTS[seat]) for seat, text in self.said.items()}
