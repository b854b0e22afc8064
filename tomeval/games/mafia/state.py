"""Where a game of Secret Mafia stands, and what one seat may know of it; votes and talk."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tomeval.games.game import Event, Public, View

if TYPE_CHECKING:
    from tomeval.games.mafia.rules import Mafia


MAFIA, DOCTOR, DETECTIVE, VILLAGER = "mafia", "doctor", "detective", "villager"
ROLES = (MAFIA, DOCTOR, DETECTIVE, VILLAGER)
NIGHT = {MAFIA: "kill", DOCTOR: "protect", DETECTIVE: "investigate"}
"""What a role decides at night."""

NOBODY = -1
"""No seat, such as the victim of a night without one."""


class State(NamedTuple):
    """A position and the log of how it came about; nothing but `log` grows with the game."""

    roles: tuple[str, ...]  # by seat
    alive: tuple[int, ...]  # ascending
    phase: str  # ``night``, ``talk``, ``vote`` or ``over``
    round: int  # counts nights, from 1
    queue: tuple[int, ...]  # who is still to speak today, in order
    # Whom every seat's last act of the day was against: whom it accused, or claimed to be Mafia;
    # `NOBODY` if it defended or cleared a seat, or has been silent.
    against: tuple[int, ...]
    # Who claimed which result about whom, in the whole game; ascending.
    claims: tuple[tuple[int, int, str], ...]
    # What the detective learned: whom it investigated, and whether that is Mafia; ascending.
    findings: tuple[tuple[int, bool], ...]
    votes: tuple[tuple[int, int], ...]  # who voted for whom on the last day; ascending
    kills: bool  # whether the Mafia's vote of this night can kill
    ending: str  # see `ENDINGS`; empty while the game goes on
    log: tuple[Event, ...]


class MafiaView(View[State]):
    """What one seat may know: what is public, its role, and what goes with the role."""

    __slots__ = ()
    game: Mafia

    alive = Public[tuple[int, ...]]()
    """The seats that are alive, ascending."""
    day = Public[int]("round")
    """Days that were begun, each with its night first."""
    against = Public[tuple[int, ...]]()
    """Whom every seat's last act of the day was against, or `NOBODY`."""
    claims = Public[tuple[tuple[int, int, str], ...]]()
    """Who claimed which result about whom, in the whole game."""

    @property
    def role(self) -> str:
        """The seat's own role."""
        return self._state.roles[self.seat]

    @property
    def fellows(self) -> tuple[int, ...]:
        """All seats of the Mafia, with its own; empty for everybody else."""
        roles = self._state.roles
        if roles[self.seat] != MAFIA:
            return ()
        return tuple(seat for seat, role in enumerate(roles) if role == MAFIA)

    @property
    def findings(self) -> tuple[tuple[int, bool], ...]:
        """What the detective learned: seat, and whether it is Mafia; empty for everybody else."""
        return self._state.findings if self.role == DETECTIVE else ()

    @property
    def others(self) -> tuple[int, ...]:
        """The other seats that are alive, ascending."""
        return tuple(seat for seat in self._state.alive if seat != self.seat)

    @property
    def votes(self) -> tuple[tuple[int, int], ...]:
        """Who voted for whom on the last day, as far as the seat saw it."""
        if self.game.textarena:
            return tuple(vote for vote in self._state.votes if vote[0] == self.seat)
        return self._state.votes

    def targets(self, kind: str) -> tuple[int, ...]:
        """Return whom a decision of the seat may be about, ascending."""
        if self.game.textarena:
            return self._state.alive
        if kind == "kill":
            roles = self._state.roles
            return tuple(seat for seat in self._state.alive if roles[seat] != MAFIA)
        return self.others


def most_voted(votes: Sequence[int]) -> list[int]:
    """Return the seats with the most votes, ascending."""
    counts = Counter(votes)
    top = max(counts.values())
    return sorted(target for target, count in counts.items() if count == top)


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
