"""Where a game of Secret Mafia stands, and what one seat may know of it; and votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

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
    """A position and the log of how it came about; nothing but `log` grows with the game.

    Attributes
    ----------
    roles : tuple of str
        By seat.
    alive : tuple of int
        Ascending.
    phase : str
        ``night``, ``talk``, ``vote`` or ``over``.
    round : int
        Counts nights, from 1.
    queue : tuple of int
        Who is still to speak today, in order.
    against : tuple of int
        Whom every seat's last act of the day was against: whom it accused, or claimed to be Mafia;
        `NOBODY` if it defended or cleared a seat, or has been silent.
    claims : tuple of (int, int, str)
        Who claimed which result about whom, in the whole game; ascending.
    findings : tuple of (int, bool)
        What the detective learned: whom it investigated, and whether that is Mafia; ascending.
    votes : tuple of (int, int)
        Who voted for whom on the last day; ascending.
    kills : bool
        Whether the Mafia's vote of this night can kill.
    ending : str
        See `ENDINGS`; empty while the game goes on.
    log : tuple of Event
    """

    roles: tuple[str, ...]
    alive: tuple[int, ...]
    phase: str
    round: int
    queue: tuple[int, ...]
    against: tuple[int, ...]
    claims: tuple[tuple[int, int, str], ...]
    findings: tuple[tuple[int, bool], ...]
    votes: tuple[tuple[int, int], ...]
    kills: bool
    ending: str
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
