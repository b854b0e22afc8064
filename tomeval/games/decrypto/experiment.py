"""Decrypto experiments: their keys, and the pairings of players that they expand to."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator

from tomeval.core.errors import TomevalError
from tomeval.core.streams import Stream
from tomeval.games.cells import GameCell
from tomeval.games.decrypto.best_turn import BestTurnSearch
from tomeval.games.decrypto.embedding_players import ENCODER_DRAWS
from tomeval.games.decrypto.game import CODES, Game, Rules
from tomeval.games.decrypto.players import DecryptoPlayer, embedding_sha256
from tomeval.games.decrypto.replays import RecordedGame, RecordedSeat, Replay, read_games
from tomeval.games.decrypto.seats import ALICE, BOB, EVE, ROLES, Probes
from tomeval.games.decrypto.stages import Decrypto, random_hints
from tomeval.games.game import Stage
from tomeval.games.players import RECORD, GameExperiment
from tomeval.games.sampled import MadeUp
from tomeval.games.seats import Chair, Door, Seat
from tomeval.games.solver import Solver
from tomeval.lexicon.words import WordLists, read_lists
from tomeval.models.base import Model
from tomeval.runs.experiment import axis, located


@dataclass(frozen=True, eq=False)
class DecryptoCell(GameCell):
    """One pairing at one seed; the players are by role, as their seats are."""

    @property
    def slots(self) -> tuple[str, ...]:
        """The roles."""
        return ROLES

    @property
    def length(self) -> int:
        """The most decisions of a game."""
        recorded = (3 * len(game.turns) for game in self.experiment.recorded)
        return max(recorded, default=self.game.length)

    @property
    def game(self) -> Decrypto:
        """The game."""
        return Decrypto(self.experiment.lists, self.experiment.rules, self.experiment.probes)

    @property
    def measured(self) -> tuple[int, ...]:
        """Alice and Eve."""
        return ALICE, EVE

    @property
    def made_up(self) -> list[MadeUp]:
        """One game of all turns: hints are drawn, Bob guesses right and Eve wrong."""
        rng, trail = np.random.default_rng(0), list[Stage[Game]]()
        state = self.first(0)
        for code in state.deal.codes:
            hints = random_hints(state.view(ALICE), self.experiment.lists.hints, rng)
            guesses = {BOB: code, EVE: CODES[(CODES.index(code) + 1) % len(CODES)]}
            trail.append(Stage(state, {ALICE: hints}))
            trail.append(Stage(replace(state, hints=hints), guesses))
            state = state.after(hints, guesses[BOB], guesses[EVE])
        return [MadeUp(trail, state)]

    def game_of(self, episode: int) -> Decrypto:
        """Return the game of an episode, or a record that is played again."""
        e = self.experiment
        if not e.records:
            return self.game
        return Replay(e.lists, e.probes, e.recorded[episode], None in self.players[1:])

    def first(self, episode: int) -> Game:
        """Return a game as it is dealt."""
        return self.game_of(episode).deal(self.drawn("deal", episode))

    @property
    def data(self) -> dict[str, Any]:
        """What defines it besides seed, templates, and what an invalid answer does."""
        e = self.experiment
        return {
            "players": dict(zip(ROLES, map(self._definition, self.players), strict=True)),
            "rules": e.rules.model_dump(),
            "probes": e.probes.model_dump(),
            "best_turn": e.best_turn,
            "words": _sha256([e.lists.keywords, e.lists.hints]),
            "records": _sha256([game.as_json() for game in e.recorded]) if e.records else "",
        }

    def _definition(self, player: Any) -> dict[str, Any]:
        if player is None:
            return {"name": RECORD, "model": ""}
        if "embedding" not in player.options:
            return dict(player.definition)
        vectors = embedding_sha256(player.embedding(self.experiment.lists))
        return {**player.definition, "vectors": vectors}

    def chance(self, episode: int, slot: int) -> np.random.Generator:
        """Return a player's own chance: it depends on role and name."""
        player = self.players[slot]
        most = ENCODER_DRAWS if slot == ALICE and player.kind == "embedding" else None
        stream = Stream.of(self.seed, "decrypto", ROLES[slot], player.name)
        return stream.episode(episode, most)

    @property
    def stream(self) -> str:
        """The pairing and its seed, as chance and seeds of requests derive from them."""
        return json.dumps([*self.names, self.seed])

    def called(self, episode: int) -> str:
        """Return the name of an episode."""
        return f"{self.stream}/{episode}"

    def seat(self, episode: int, slot: int, models: Mapping[str, Model], door: Door) -> Seat:
        """Seat one player, or what answers as recorded."""
        if self.players[slot] is not None:
            return super().seat(episode, slot, models, door)
        return RecordedSeat(self.experiment.recorded[episode])

    def scripted(self, slot: int, chair: Chair) -> Seat:
        """Seat a player without a model."""
        seat: Seat = self.players[slot].seat(self.experiment.lists, chair)
        return seat

    def drawn(self, what: str, episode: int) -> np.random.Generator:
        """Return chance: all pairings of a seed share their deals."""
        of = () if what == "deal" else (self.stream,)
        return Stream.of(self.seed, "decrypto", what, *of).episode(episode)

    @property
    def values(self) -> bool:
        """Whether the best attainable value of a turn is searched for."""
        return bool(self.experiment.best_turn)

    def solver(self, episode: int) -> Solver | None:
        """Return the search for the best attainable value of a turn, if the pairing allows it.

        Both listeners play over embeddings, and Bob is greedy.
        """
        e, (_, bob, eve) = self.experiment, self.players
        if e.records or {bob.kind, eve.kind} != {"embedding"}:
            return None
        greedy = bob.options["matching"] == "greedy"
        return BestTurnSearch(e.lists, bob.spec(e.lists), eve.spec(e.lists)) if greedy else None


def _sha256(data: Any) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()


ALL, MATCHED = "all", "matched"


class PairingTable(BaseModel):
    """One entry of ``pairings``: who may sit where; lists are axes of a grid."""

    model_config = ConfigDict(extra="forbid", strict=True)
    encoder: list[str]
    decoder: list[str]
    interceptor: list[str]

    @field_validator("encoder", "decoder", "interceptor", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return axis(value)


class DecryptoExperiment(GameExperiment):
    """What to play: players, pairings of them, and how many games each pairing gets.

    Parameters
    ----------
    model : str or table, or a list of them
        That of language-model players who name none; a list is an axis.
    pairings : list of table
        With ``encoder``, ``decoder``, ``interceptor``: a player's name, a list of names, ``all``,
        for the decoder also ``matched`` (the encoder's player), in replays ``record``. Default: all
        in every seat.
    episodes : int
        Games per pairing and seed; default 32. In replays the most games; default all.
    rules : table
        How long games are, and what ends them: ``turns``, ``miscommunications``, ``interceptions``.
    probes : table
        Which questions are asked beside the moves: ``eve``, ``eve_reminded``, ``bob``, ``beliefs``,
        ``beliefs_in_view``.
    best_turn : bool
        Search, in every turn of an encoder with embedding partners and a greedy decoder, for the
        best value that it could have reached: needed for ΔFunctional/T and ΔToM/T.
    keywords, hints : str
        Files of own word lists.
    records : str
        A file of recorded games to replay in place of new ones.
    max_attempts : int
        Default of language-model players.
    """

    PLAYER = DecryptoPlayer
    RESERVED = (ALL, MATCHED, RECORD)

    domain: str = "decrypto"
    name: str = "decrypto"
    episodes: int = Field(default=32, ge=1, le=10**7)
    model: str | dict[str, Any] | list[str | dict[str, Any]] = ""
    pairings: list[PairingTable] = Field(default=[])
    rules: Rules = Rules()
    probes: Probes = Probes()
    best_turn: bool = False
    keywords: str = ""
    hints: str = ""
    records: str = ""
    max_tokens: int | dict[str, int] = 750
    max_attempts: int = 10

    @cached_property
    def lists(self) -> WordLists:
        """The word lists."""
        return read_lists(self._path(self.keywords), self._path(self.hints))

    @cached_property
    def recorded(self) -> list[RecordedGame]:
        """The games to replay; empty if new ones are played."""
        path = self._path(self.records)
        most = self.episodes if "episodes" in self.model_fields_set else None
        return [] if path is None else read_games(path)[:most]

    @property
    def per_cell(self) -> int:
        """How many games a pairing gets for one seed."""
        return len(self.recorded) if self.records else self.episodes

    @classmethod
    def tables(cls) -> dict[str, type[BaseModel]]:
        """Return the keys that are tables."""
        return {"rules": Rules, "probes": Probes, "pairings": PairingTable}

    def _path(self, name: str) -> Path | None:
        return (self._base or Path()) / name if name else None

    def expand(self) -> list[DecryptoCell]:
        """Return the pairings for every seed, in the order of the file."""
        if not self.by_name:
            raise TomevalError(f"{self._where}: no players: add a table players.NAME")
        tables = self.pairings or [PairingTable(encoder=[ALL], decoder=[ALL], interceptor=[ALL])]
        pairings: dict[tuple[str, ...], DecryptoCell] = {}
        for index, table in enumerate(tables):
            for players in self._seated(table, f"{self._where}: pairings[{index}]"):
                for seed, on_invalid in itertools.product(self.seed, self.on_invalid):
                    cell = DecryptoCell(self, players, seed, on_invalid)
                    pairings.setdefault(cell.key, cell)
        return list(pairings.values())

    def _seated(self, table: PairingTable, where: str) -> Iterator[tuple[Any, ...]]:
        """Yield the players of a table's pairings by role; None answers from the record."""
        known = {ALL: list(self.by_name)}
        axes = [
            [player for name in getattr(table, role) for player in known.get(name, [name])]
            for role in ROLES
        ]
        for encoder, decoder, interceptor in itertools.product(*axes):
            names = (encoder, encoder if decoder == MATCHED else decoder, interceptor)
            if RECORD in names and not self.records:
                raise TomevalError(f"{where}: {RECORD!r} needs a file of games in the key records")
            if {*names} == {RECORD}:
                raise TomevalError(f"{where}: at least one seat needs a player, not the record")
            for seated in self.seatings(names, where):
                for role, player in zip(ROLES, seated, strict=True):
                    if player is not None:
                        with located(f"{self._where}: player {player.name!r} as {role}"):
                            player.check(role, self)
                yield seated
