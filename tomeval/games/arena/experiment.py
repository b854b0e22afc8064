"""The keys of arena experiments, and the line-ups of players that they expand to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tomeval.core.errors import TomevalError, unknown
from tomeval.games.arena.cells import ASK_AGAIN, POLICIES, ArenaCell, schedule_sha256
from tomeval.games.arena.named_games import NamedGame, all_games, is_game, named_game
from tomeval.games.arena.players import ArenaPlayer
from tomeval.games.players import GameExperiment, check_name
from tomeval.models import model_name
from tomeval.models.naming import without_address
from tomeval.runs.domain import Rows
from tomeval.runs.experiment import among, axis, located

MODELS = "models"
"""What stands in line-ups for all models of the experiment."""

Count = Annotated[int, Field(ge=0, le=10**6)]


class LineupTable(BaseModel):
    """One entry of ``lineups``: who plays what; lists are axes of a grid.

    Attributes
    ----------
    game : list of str
        Names of ``games``, or games with their own parameters.
    subject : list of str
        Players who are measured, one after the other; ``models``: every model of the experiment.
    others : list of (str or list of str)
        The other players, in order: one name for all other seats, or a name for each. Teams keep
        together: in Codenames the first of them is the subject's mate. ``models``: a round robin,
        see `ArenaExperiment`.
    episodes : int, optional
        Games per line-up and seed, if not the experiment's.
    values : bool, optional
        Whether V* and Q* are computed, if not as the experiment says.
    """

    model_config = ConfigDict(extra="forbid", strict=True)
    game: list[str]
    subject: list[str]
    others: list[str | list[str]]
    episodes: int | None = Field(default=None, ge=1, le=10**7)
    values: bool | None = None

    @field_validator("game", "subject", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return axis(value)

    @field_validator("others", mode="before")
    @classmethod
    def _one_lineup(cls, value: Any) -> Any:
        """Take names for single seats as one line-up; a list of lists as several."""
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return [value]
        return axis(value)


class PoolTable(BaseModel):
    """The table ``pool``: the players to meet are a frozen reference.

    Attributes
    ----------
    sha256 : str
        Of the schedule: every line-up without its subject, with game, seeds and numbers of games,
        see `schedule_sha256`. An experiment whose schedule is another one is refused.
    ratings : dict of str to (float or dict of str to float)
        Frozen ratings of the pool's players in Elo-like points, one number or one by game; subjects
        are rated against them.
    """

    model_config = ConfigDict(extra="forbid", strict=True)
    sha256: str
    ratings: dict[str, float | dict[str, float]] = Field(default={})


class ArenaExperiment(GameExperiment):
    """What to play: games, players, line-ups of them, and how many games each plays.

    Parameters
    ----------
    games : dict
        Tables by name: ``game``, a kind of game, ``preset``, one of its named sets of parameters,
        and parameters.
    model : str or table, or a list of them
        Language models; the only one is that of players without a model. In line-ups ``models``
        stands for all, each a player of its own name. As others they make a round robin: the seats
        beside the subject go to the other models in turn, in as many line-ups as there are other
        models, so that each of them has each of these places as often. One model meets itself.
    lineups : list of table
        See `LineupTable`.
    episodes : int
        Games per line-up and seed; default 36. Players take every seat in turn on one deal, then on
        the next.
    on_invalid : str or list
        What follows if a seat's answers keep breaking the rules, see `POLICIES`.
    pool : table, optional
        See `PoolTable`.
    attempts : int or dict
        How often a decision is asked for before that: for every policy, or by policy; 0: as
        `ATTEMPTS` says.
    probes : bool
        Ask the subject the literal question beside every decision.
    values : bool
        Compute V* and Q* of the subject's decisions, where all others are known.
    """

    POLICIES: ClassVar = POLICIES
    PLAYER = ArenaPlayer
    RESERVED = (MODELS,)

    domain: str = "arena"
    name: str = "arena"
    episodes: int = Field(default=36, ge=1, le=10**7)
    on_invalid: list[str] = Field(default=[ASK_AGAIN])
    model: list[str | dict[str, Any]] = Field(default=[])
    games: dict[str, dict[str, Any]] = Field(default={})
    lineups: list[LineupTable] = Field(default=[])
    pool: PoolTable | None = None
    attempts: Count | dict[str, Count] = 0
    probes: bool = True
    values: bool = True

    @field_validator("model", mode="before")
    @classmethod
    def _one_model_is_a_list(cls, value: Any) -> Any:
        return axis(value) if value else []

    @field_validator("attempts")
    @classmethod
    def _by_policy(cls, value: Any) -> Any:
        if isinstance(value, dict):
            among("policy", list(value), POLICIES)
        return value

    @classmethod
    def tables(cls) -> dict[str, type[BaseModel]]:
        """Return the keys that are tables."""
        return {"lineups": LineupTable, "pool": PoolTable}

    @property
    def default_model(self) -> Any:
        """The only model; several are players of their own."""
        return self.model[0] if len(self.model) == 1 else ""

    def bounds(self) -> Rows:
        """Return what line-ups can attain, and what random play earns."""
        from tomeval.games.arena.described import bounds_rows

        return bounds_rows([cell for cell in self.cells if isinstance(cell, ArenaCell)])

    def tables_of_players(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield the tables of players, and one for each of the models."""
        yield from super().tables_of_players()
        for spec in self.model:
            with located(where := f"{self._where}: model"):
                yield where, without_address(model_name(spec)), {"model": spec}

    @cached_property
    def league(self) -> list[str]:
        """The names of the experiment's models as players."""
        tables = [name for _, name, _ in self.tables_of_players()][len(self.players) :]
        return [player.name for name in tables for player in self.named[name]]

    @cached_property
    def by_game(self) -> dict[str, NamedGame]:
        """The games that the experiment gives parameters for."""
        for name in self.games:
            check_name(name, f"{self._where}: games")
        return {
            name: named_game(name, table, f"{self._where}: games.{name}")
            for name, table in self.games.items()
        }

    def expand(self) -> list[ArenaCell]:
        """Return the line-ups for every seed, in the order of the file."""
        if not self.lineups:
            raise TomevalError(f"{self._where}: nothing to play: add [[lineups]]")
        by_key: dict[str, ArenaCell] = {}
        for index, table in enumerate(self.lineups):
            where = f"{self._where}: lineups[{index}]"
            for game, players in self._tables(table, where):
                for seed, on_invalid in itertools.product(self.seed, self.on_invalid):
                    own = (game, table.episodes, table.values)
                    cell = ArenaCell(self, players, seed, on_invalid, *own)
                    if repr(cell.key) not in by_key:
                        cell.check(where)
                        by_key[repr(cell.key)] = cell
        cells = list(by_key.values())
        if self.pool is not None:
            self._check_pool(self.pool, cells)
        return cells

    def _tables(
        self, table: LineupTable, where: str
    ) -> Iterator[tuple[NamedGame, tuple[ArenaPlayer, ...]]]:
        """Yield every game of a line-up's table with its players, the subject first."""
        if MODELS in (*table.subject, *table.others) and not self.league:
            raise TomevalError(f"{where}: {MODELS!r} needs models: list them in the key model")
        mine = [self.league if name == MODELS else [name] for name in table.subject]
        for name, subject in itertools.product(table.game, itertools.chain(*mine)):
            game = self._game(name, f"{where}.game")
            seats = game.game.seats - 1
            for others in table.others:
                if others == MODELS:
                    lineups = round_robin(subject, self.league, seats)
                else:
                    lineups = [[others] * seats if isinstance(others, str) else others]
                for names in lineups:
                    if len(names) != seats:
                        raise TomevalError(
                            f"{where}.others: {game.name!r} has {seats + 1} seats, so the subject "
                            f"needs {seats} others, not {len(names)}"
                        )
                    for players in self.seatings([subject, *names], where):
                        yield game, players

    def _check_pool(self, pool: PoolTable, cells: Sequence[ArenaCell]) -> None:
        """Raise if the schedule is not the frozen one, or a rating names no player of it."""
        where = f"{self._where}: pool."
        names = {player.name for cell in cells for player in cell.players[1:]}
        for name in pool.ratings:
            if name not in names:
                raise unknown("player", name, names, f"{where}ratings")
        if (actual := schedule_sha256(cells)) != pool.sha256:
            raise TomevalError(
                f"{where}sha256: the line-ups are not the frozen schedule: their hash is "
                f"{actual}; to play another schedule, remove the table pool"
            )

    def _game(self, name: str, where: str) -> NamedGame:
        if name in self.by_game:
            return self.by_game[name]
        if not is_game(name):
            raise unknown("game", name, dict.fromkeys([*self.by_game, *all_games()]), where)
        return named_game(name, {"game": name}, where)


def round_robin(subject: str, players: Sequence[str], seats: int) -> list[list[str]]:
    """Return whom a subject meets in so many seats: every other player as often in each of them.

    Examples
    --------
    >>> round_robin("a", ["a", "b", "c"], 3)
    [['b', 'c', 'b'], ['c', 'b', 'c']]
    >>> round_robin("a", ["a"], 2)
    [['a', 'a']]
    """
    rest = [name for name in players if name != subject] or [subject]
    turns = range(len(rest))
    return [[rest[(turn + seat) % len(rest)] for seat in range(seats)] for turn in turns]
