"""What ratings and the attribution of errors read: one plain record per game."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.outcomes import COMPLETE

ALL, CLEAN = "all", "clean"
"""All games, and those in which nobody made an error."""


@dataclass(frozen=True)
class ErrorRecord:
    """One decision whose first answer broke the rules.

    Attributes
    ----------
    seat : int
        Who made it: *caused* by its player, *witnessed* by all others at the table.
    step : int
    kind : str
        One of `tomeval.domains.arena.game.ERRORS`, of the last refused attempt.
    fatal : bool
        It cost the seat the game or its place in it, or made the game void.
    decided : bool
        The game ended by it: the seat forfeited the game, the game became void, or the seat's
        elimination was the last thing that happened. An elimination after which others went on is
        fatal and did not decide.
    repaired : bool
        A later attempt was valid.
    refused : int
        Attempts that broke the rules.
    """

    seat: int
    step: int
    kind: str
    fatal: bool = False
    decided: bool = False
    repaired: bool = False
    refused: int = 1


@dataclass(frozen=True)
class GameRecord:
    """One game of a run.

    Attributes
    ----------
    cell, episode : int
        Where it is stored.
    deal : str
        Games with equal texts share a deal: they are one sampling unit.
    game : str
        The name of the game with its parameters.
    players, roles : tuple of str
        By seat.
    teams : tuple of tuple of int
        The seats of each team; every seat is in one.
    rewards, wins : tuple of float
        By seat; empty if the game is not complete.
    rounds, usual : int
        Rounds begun, and what a game without an error can be expected to last.
    status : str
        ``complete``, ``void`` or ``failed``.
    ending : str
    errors : tuple of ErrorRecord
    subject : int
        The seat of the player who is measured in the line-up.
    """

    cell: int
    episode: int
    deal: str
    game: str
    players: tuple[str, ...]
    roles: tuple[str, ...]
    teams: tuple[tuple[int, ...], ...]
    rewards: tuple[float, ...]
    wins: tuple[float, ...]
    rounds: int
    usual: int
    status: str = COMPLETE
    ending: str = ""
    errors: tuple[ErrorRecord, ...] = ()
    subject: int = 0

    @property
    def complete(self) -> bool:
        """Whether it was played to an end and paid."""
        return self.status == COMPLETE

    @property
    def clean(self) -> bool:
        """Whether nobody made an error."""
        return not self.errors

    @property
    def fatal(self) -> bool:
        """Whether an error cost a seat the game or its place."""
        return any(error.fatal for error in self.errors)

    @property
    def decided(self) -> bool:
        """Whether an error ended the game."""
        return any(error.decided for error in self.errors)

    def caused(self, player: str) -> list[ErrorRecord]:
        """Return the errors of a player, in whatever seats it sat."""
        return [error for error in self.errors if self.players[error.seat] == player]

    def witnessed(self, player: str) -> list[ErrorRecord]:
        """Return the errors of others."""
        return [error for error in self.errors if self.players[error.seat] != player]

    def sides(self) -> list[str]:
        """Return what each seat plays: its role, or its seat if all roles of the game are equal."""
        if len(set(self.roles)) > 1:
            return list(self.roles)
        return [f"seat {seat}" for seat in range(len(self.players))]

    def team_sides(self) -> list[str]:
        """Return what each team plays: its roles if teams differ in them, else its seats."""
        named = [" + ".join(sorted({self.roles[seat] for seat in team})) for team in self.teams]
        if len(set(named)) == len(named):
            return named
        return [
            f"seat{'s' if len(team) > 1 else ''} {', '.join(map(str, team))}" for team in self.teams
        ]


Records = Sequence[GameRecord]


def subsets(records: Records) -> Iterator[tuple[str, list[GameRecord]]]:
    """Yield all games, and the clean ones: every table is made of both."""
    yield ALL, list(records)
    yield CLEAN, [record for record in records if record.clean]


def deals(records: Records) -> NDArray[Any]:
    """Return the sampling unit of each game, shape (N,)."""
    return np.array([record.deal for record in records], dtype=np.str_)


def players_of(records: Records) -> tuple[str, ...]:
    """Return the players in order of appearance."""
    return tuple(dict.fromkeys(name for record in records for name in record.players))


def games_of(records: Records) -> tuple[str, ...]:
    """Return the names of the games in order of appearance."""
    return tuple(dict.fromkeys(record.game for record in records))


def struck_seats(marks: Sequence[Any]) -> set[int]:
    """Return the seats that a broken rule cost the game or their place, from a game's record.

    Of several that break the rules in one stage the first is struck; if that ends the game, it cost
    the others nothing.

    Examples
    --------
    >>> struck_seats([0, 1, (2, "vote", "eliminate"), 0])
    {2}
    """
    return {mark[0] for mark in marks if not isinstance(mark, int)}
