"""The games of a run as plain records, one per game: what ratings and counts of errors read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tomeval.core.outcomes import COMPLETE, VALID
from tomeval.games.arena.results import ArenaRunCell
from tomeval.games.records import struck_seats
from tomeval.runs.columns import flat_share
from tomeval.runs.results import Run
from tomeval.statistics.estimates import clustered_sums

Row = dict[str, Any]

ALL, CLEAN = "all", "clean"
"""All games, and those without errors."""


@dataclass(frozen=True)
class ErrorRecord:
    """One decision whose first answer broke the rules.

    Attributes
    ----------
    seat : int
        Who made it: *caused* by its player, *witnessed* by all others at the table.
    kind : str
        One of `tomeval.games.game.ERRORS`, of the last refused attempt.
    fatal : bool
        It cost the seat the game or its place in it, or made the game void.
    repaired : bool
        A later attempt was valid.
    """

    seat: int
    kind: str
    fatal: bool = False
    repaired: bool = False


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
    players : tuple of str
        By seat.
    teams : tuple of tuple of int
        The seats of each team; every seat is in one.
    rewards : tuple of float
        By seat; empty if the game is not complete.
    rounds, usual : int
        Rounds begun, and what a game without an error can be expected to last.
    status : str
        ``complete``, ``void`` or ``failed``.
    errors : tuple of ErrorRecord
    """

    cell: int
    episode: int
    deal: str
    game: str
    players: tuple[str, ...]
    teams: tuple[tuple[int, ...], ...]
    rewards: tuple[float, ...]
    rounds: int
    usual: int
    status: str = COMPLETE
    errors: tuple[ErrorRecord, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether it was played to an end and paid."""
        return self.status == COMPLETE

    @property
    def clean(self) -> bool:
        """Whether the game had no error."""
        return not self.errors

    def caused(self, player: str) -> list[ErrorRecord]:
        """Return the errors of a player, in whatever seats it sat."""
        return [error for error in self.errors if self.players[error.seat] == player]

    def witnessed(self, player: str) -> list[ErrorRecord]:
        """Return the errors of others."""
        return [error for error in self.errors if self.players[error.seat] != player]


Records = Sequence[GameRecord]


def subsets(records: Records) -> Iterator[tuple[str, list[GameRecord]]]:
    """Yield all games, and the clean ones: every table is made of both."""
    yield ALL, list(records)
    yield CLEAN, [record for record in records if record.clean]


def players_of(records: Records) -> tuple[str, ...]:
    """Return the players in order of appearance."""
    return tuple(dict.fromkeys(name for record in records for name in record.players))


def games_of(records: Records) -> tuple[str, ...]:
    """Return the names of the games in order of appearance."""
    return tuple(dict.fromkeys(record.game for record in records))


def share(records: Records, name: str, hits: Sequence[float]) -> Row:
    """Return the share of games that are hits, in percent, with Wilson's interval by deal.

    A hit can be a part of one, such as a share of a win.
    """
    deals = np.array([record.deal for record in records], dtype=np.str_)
    return flat_share(name, clustered_sums(hits, np.ones(len(hits)), deals))


def game_records(run: Run) -> list[GameRecord]:
    """Return every game of a run, void and failed ones too, in the order of the store.

    Games of one name under several policies for broken rules are told apart by their names, and
    games that share rules, seed and deal share the name of the deal, whoever plays.
    """
    cells = [cell for cell in run.cells if isinstance(cell, ArenaRunCell)]
    several = len({cell.definition["on_invalid"] for cell in cells}) > 1
    return [record for cell in cells for record in _records(cell, several)]


_STEP = ("episode", "seat", "verdict", "answered", "tries")
_GAME = ("episode", "status", "deal", "rounds", "seats", "teams", "rewards", "marks")


def _records(cell: ArenaRunCell, several: bool) -> Iterator[GameRecord]:
    table, policy = cell.table, cell.definition["on_invalid"]
    names = [player["name"] for player in cell.definition["players"]]
    errors: dict[int, list[tuple[Any, ...]]] = {}
    for row in cell.store.read("steps", _STEP, cell.number):
        if row[-1] is not None or row[2] != "valid":
            errors.setdefault(row[0], []).append(row[1:])
    for episode, status, deal, rounds, *lists in cell.store.read("episodes", _GAME, cell.number):
        seats, teams, rewards, marks = lists
        players = [""] * len(seats)
        for slot, seat in enumerate(seats):
            players[seat] = names[slot]
        yield GameRecord(
            cell=cell.number,
            episode=episode,
            deal=f"{cell.seed} {deal} {table.stream}",
            game=f"{table.name}, {policy}" if several else table.name,
            players=tuple(players),
            teams=tuple(map(tuple, teams)),
            rewards=tuple(rewards),
            rounds=rounds,
            usual=table.game.usual,
            status=status,
            errors=tuple(_error(row, marks) for row in errors.get(episode, ())),
        )


def _error(row: tuple[Any, ...], marks: Sequence[Any]) -> ErrorRecord:
    """Return a decision some of whose attempts were refused."""
    seat, verdict, outcome, tries = row
    fatal = verdict == "invalid" or (verdict == "fatal" and seat in struck_seats(marks))
    return ErrorRecord(
        seat,
        tries[-1][0] if tries else "backend",
        fatal=fatal,
        repaired=outcome == VALID,
    )
