"""Cells of games of seats: who plays in which slot, how they are seated, and games played."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import run_now
from tomeval.games.game import ArenaGame
from tomeval.games.play import Table, play_game
from tomeval.games.played import PlayedGame
from tomeval.games.players import RECORD
from tomeval.games.sampled import MadeUp
from tomeval.games.seats import Chair, Door, Seat
from tomeval.games.solver import Solver
from tomeval.models.base import Model, Stopped
from tomeval.runs.domain import Cell, Player
from tomeval.runs.record import Record

DRAWN = ("deal", "chance", "fallback", "statements")
"""The fields of `Table` that chance is drawn from."""


@dataclass(frozen=True, eq=False)
class GameCell(Cell):
    """Players by slot, at one seed; a slot without a player (None) answers as recorded."""

    experiment: Any
    players: tuple[Any, ...]
    seed: int
    on_invalid: str

    @property
    @abstractmethod
    def slots(self) -> tuple[str, ...]:
        """The players' places, wherever they sit."""

    @property
    @abstractmethod
    def data(self) -> dict[str, Any]:
        """What defines it besides seed, templates, and what an invalid answer does."""

    @property
    @abstractmethod
    def game(self) -> ArenaGame[Any]:
        """The game."""

    @property
    @abstractmethod
    def measured(self) -> tuple[int, ...]:
        """The slots that are asked the literal questions."""

    @property
    @abstractmethod
    def made_up(self) -> Iterable[MadeUp]:
        """Made-up games in which all is asked that a slot can be asked."""

    def seated(self, episode: int) -> tuple[int, tuple[int, ...]]:
        """Return which deal an episode plays, and the seat of every player."""
        deal, rotation = divmod(episode, len(self.game.rotations))
        return deal, self.game.rotations[rotation]

    @abstractmethod
    def chance(self, episode: int, slot: int) -> np.random.Generator:
        """Return a player's own chance, which does not depend on who else plays."""

    @abstractmethod
    def called(self, episode: int) -> str:
        """Return the name of an episode: seeds of requests derive from it."""

    @abstractmethod
    def scripted(self, slot: int, chair: Chair) -> Seat:
        """Seat a player without a model."""

    @abstractmethod
    def drawn(self, what: str, episode: int) -> np.random.Generator:
        """Return what a field of `Table` with this name is drawn from in an episode."""

    @abstractmethod
    def solver(self, episode: int) -> Solver | None:
        """Return the solver of the measured seat; None: its values are not known."""

    def game_of(self, episode: int) -> ArenaGame[Any]:
        """Return the game of an episode."""
        return self.game

    @property
    def length(self) -> int:
        """The most decisions of a game."""
        return self.game.length

    @property
    def values(self) -> bool:
        """Whether the values of decisions are wanted."""
        return True

    @property
    def attempts(self) -> int:
        """How often a decision is asked for; 0: as the player's options say."""
        return 0

    @property
    def seats(self) -> Mapping[str, Player | None]:
        """The players by slot."""
        return dict(zip(self.slots, self.players, strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        """Who plays, by slot."""
        return tuple(RECORD if one is None else one.name for one in self.players)

    @property
    def key(self) -> tuple[str, ...]:
        """What tells this cell from the others."""
        return (*self.names, str(self.seed), self.on_invalid)

    @property
    def language_models(self) -> dict[str, Any]:
        """The players with a model, by slot."""
        return {slot: one for slot, one in self.seats.items() if one is not None and one.model}

    @property
    def scores(self) -> bool:
        """Whether any model scores labels."""
        models = self.language_models.items()
        return any(one.llm_options.strategy_in(slot).scores for slot, one in models)

    @cached_property
    def definition(self) -> dict[str, Any]:
        """The cell as JSON-ready data."""
        hashes = {one.templates(slot) for slot, one in self.language_models.items()}
        more = {"on_invalid": self.on_invalid, "seed": self.seed}
        data = {**self.data, **more, "templates": " ".join(sorted(hashes))}
        definition: dict[str, Any] = json.loads(json.dumps(data))
        return definition

    def seat(self, episode: int, slot: int, models: Mapping[str, Model], door: Door) -> Seat:
        """Seat one player, given models by slot."""
        name, player = self.slots[slot], self.players[slot]
        chair = Chair(
            self.seated(episode)[1][slot],
            self.chance(episode, slot),
            models.get(name),
            f"{self.called(episode)}/{name}",
            self.experiment.base,
            door,
            self.attempts,
        )
        return player.llm_options.seat(chair, name) if player.model else self.scripted(slot, chair)

    def new_table(
        self, episode: int, models: Mapping[str, Model], on_step: Callable[[], None]
    ) -> Table:
        """Seat all players for one game."""
        door = Door()
        players = [
            self.seat(episode, slot, models, door if not slot else Door())
            for slot in range(len(self.players))
        ]
        return Table(
            self.game_of(episode),
            players,
            self.seated(episode)[1],
            **{what: self.drawn(what, episode) for what in DRAWN},
            on_invalid=self.on_invalid,
            door=door,
            solver=self.solver(episode) if self.values else None,
            measured=self.measured,
            side_by_side=bool(models),
            on_step=lambda decision: on_step(),
        )

    async def play(
        self, episode: int, models: Mapping[str, Model], on_step: Callable[[], None]
    ) -> PlayedGame:
        """Play one game."""
        with naming_game(f"{', '.join(self.key)}, game {episode}"):
            table = self.new_table(episode, models, on_step)
            return await play_game(table, episode, self.seated(episode)[0])


GAMES_PER_CHUNK = 50
"""Games without a language model that are played and stored together."""


def play_of(as_record: Callable[[Any, Any], Record]) -> dict[str, Any]:
    """Return how a domain of `GameCell` plays, by the names of `Domain`.

    `as_record` is given a cell and a game.

    Games without a model are played in chunks, without event loop.
    """

    async def one(
        cell: Any, episode: int, models: Mapping[str, Model], on_step: Callable[[], None]
    ) -> Record:
        return as_record(cell, await cell.play(episode, models, on_step))

    def many(cell: Any, first: int, count: int) -> list[Record]:
        played = (cell.play(first + number, {}, lambda: None) for number in range(count))
        return [as_record(cell, run_now(game)) for game in played]

    chunk = lambda cell: 0 if cell.models else GAMES_PER_CHUNK  # noqa: E731
    return {"play": one, "together": chunk, "play_many": many}


@contextmanager
def naming_game(name: str) -> Iterator[None]:
    """Name the game in an error that is raised inside; what stops a run stays as it is."""
    try:
        yield
    except Stopped:
        raise
    except TomevalError as error:
        raise TomevalError(f"{name}: {error}") from None
