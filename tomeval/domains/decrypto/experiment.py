"""Decrypto experiments: the TOML file or its Python twin, checked, and expanded into pairings."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.core.outcomes import ON_INVALID
from tomeval.domains.decrypto.game import Deal, Rules, deal, deal_stream
from tomeval.domains.decrypto.lexicon import WordLists, read_lists
from tomeval.domains.decrypto.players import (
    RECORD,
    Player,
    embedding_sha256,
    llm_option_names,
    player_from_table,
)
from tomeval.domains.decrypto.probes import Probes
from tomeval.domains.decrypto.replays import RecordedGame, read_games
from tomeval.domains.decrypto.seats import ROLES

ALL, MATCHED = "all", "matched"
_RESERVED = (ALL, MATCHED, RECORD)


class RulesTable(BaseModel):
    """The table ``rules``; see `tomeval.domains.decrypto.game.Rules`."""

    model_config = ConfigDict(extra="forbid", strict=True)
    turns: int = 8
    miscommunications: int = 2
    interceptions: int = 2
    no_repeat_hints: bool = False


class ProbesTable(BaseModel):
    """The table ``probes``; see `tomeval.domains.decrypto.probes.Probes`."""

    model_config = ConfigDict(extra="forbid", strict=True)
    eve: bool = False
    eve_reminded: bool = False
    bob: bool = False
    beliefs: bool = False


class PairingTable(BaseModel):
    """One entry of ``pairings``: who may sit where; lists are axes of a grid."""

    model_config = ConfigDict(extra="forbid", strict=True)
    encoder: list[str]
    decoder: list[str]
    interceptor: list[str]

    @field_validator("encoder", "decoder", "interceptor", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


class Experiment(BaseModel):
    """What to play: players, pairings of them, and how many games each pairing gets.

    Parameters
    ----------
    name : str
    players : dict
        Tables by name; see `tomeval.domains.decrypto.players.player_from_table`.
    pairings : list of table
        With ``encoder``, ``decoder``, ``interceptor``: a player's name, a list of names, ``all``,
        for the decoder also ``matched`` (the encoder's player), in replays ``record``. Default: all
        in every seat.
    games : int
        Per pairing and seed. In replays at most; default all.
    seed : int or list of int
    rules, probes : table
    on_invalid : {"void", "random", "stop"}
        See `tomeval.domains.decrypto.play`.
    best_turn : bool
        Search, in every turn of an encoder with embedding partners, for the best value that it
        could have reached: needed for ΔFunctional/T and ΔToM/T.
    keywords, hints : str
        Files of own word lists.
    records : str
        A file of recorded games to replay in place of new ones.
    model, strategy, memory, temperature, probe_temperature, max_tokens, max_attempts, prompts
        For language-model players that say nothing else.

    Raises
    ------
    TomevalError
        By `load_experiment` and `make_experiment`: what is wrong, where, and the near match.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = "decrypto"
    players: dict[str, dict[str, Any]] = {}
    pairings: list[PairingTable] = []
    games: int | None = Field(default=None, ge=1, le=10**7)
    seed: list[int] = [0]
    rules: RulesTable = RulesTable()
    probes: ProbesTable = ProbesTable()
    on_invalid: str = "void"
    best_turn: bool = False
    keywords: str = ""
    hints: str = ""
    records: str = ""
    model: str | dict[str, Any] = ""
    strategy: str | dict[str, str] = "QA"
    memory: str = "restated"
    temperature: float = 0.6
    probe_temperature: float = 0.0
    max_tokens: int = 750
    max_attempts: int = 10
    prompts: str = ""
    _base: Path | None = None
    _where: str = "experiment"

    @field_validator("seed", mode="before")
    @classmethod
    def _axis(cls, value: Any) -> Any:
        value = list(value) if isinstance(value, list | tuple) else [value]
        if not value:
            raise ValueError("must not be empty")
        if len(set(value)) < len(value):
            raise ValueError("holds a seed twice")
        return value

    @field_validator("seed")
    @classmethod
    def _storable(cls, value: list[int]) -> list[int]:
        for item in value:
            if not -(2**63) <= item < 2**63:
                raise ValueError(f"must fit into 64 bits, is {item}")
        return value

    @field_validator("on_invalid")
    @classmethod
    def _known_policy(cls, value: str) -> str:
        if value not in ON_INVALID:
            raise ValueError(
                f"unknown policy {value!r}{did_you_mean(value, ON_INVALID)}; it is one of: "
                + ", ".join(ON_INVALID)
            )
        return value

    @property
    def base(self) -> Path | None:
        """Folder that relative paths start from."""
        return self._base

    @cached_property
    def lists(self) -> WordLists:
        """The word lists."""
        keywords, hints = (self._path(name) for name in (self.keywords, self.hints))
        return read_lists(keywords, hints)

    @cached_property
    def recorded(self) -> list[RecordedGame]:
        """The games to replay; empty where new ones are played."""
        path = self._path(self.records)
        return [] if path is None else read_games(path)[: self.games]

    @property
    def games_per_cell(self) -> int:
        """How many games a pairing gets for one seed."""
        return len(self.recorded) if self.records else (self.games or 32)

    @cached_property
    def by_name(self) -> dict[str, Player]:
        """The players."""
        defaults = {key: getattr(self, key) for key in ("model", *llm_option_names())}
        found = {}
        for name, table in self.players.items():
            where = f"{self._where}: players.{name}"
            if name in _RESERVED or not name.strip() or not name.isprintable():
                raise TomevalError(f"{where}: this name is taken or cannot be shown")
            found[name] = player_from_table(name, table, defaults, where, self._base)
        return found

    def _path(self, name: str) -> Path | None:
        return (self._base or Path()) / name if name else None

    @cached_property
    def cells(self) -> list[Cell]:
        """The pairings for every seed, in the order of the file."""
        tables = self.pairings or [PairingTable(encoder=[ALL], decoder=[ALL], interceptor=[ALL])]
        found: dict[tuple[str, ...], None] = {}
        for index, table in enumerate(tables):
            where = f"{self._where}: pairings[{index}]"
            axes = [self._names(getattr(table, role), f"{where}.{role}", role) for role in ROLES]
            for encoder, decoder, interceptor in itertools.product(*axes):
                names = (encoder, encoder if decoder == MATCHED else decoder, interceptor)
                if names == (RECORD,) * 3:
                    raise TomevalError(f"{where}: somebody must sit at the table, not the record")
                found[names] = None
        cells = []
        for seated in found:
            players = {
                role: None if name == RECORD else self.by_name[name]
                for role, name in zip(ROLES, seated, strict=True)
            }
            for role, player in players.items():
                if player is not None:
                    player.check(role, f"{self._where}: player {player.name!r} as {role}", self)
            cells += [Cell(self, players, seed) for seed in self.seed]
        return cells

    def _names(self, names: Sequence[str], where: str, role: str) -> list[str]:
        """Return the players of one axis."""
        if not names:
            raise TomevalError(f"{where}: is an empty list")
        result = []
        for name in names:
            extra = [ALL] + [MATCHED] * (role == "decoder") + [RECORD] * bool(self.records)
            if name == RECORD and not self.records:
                raise TomevalError(f"{where}: there is no record: set 'records' to a file of games")
            if name not in self.by_name and name not in extra:
                raise unknown("player", name, [*self.by_name, *extra], where)
            result += list(self.by_name) if name == ALL else [name]
        if not result:
            raise TomevalError(f"{self._where}: there are no players: add a table players.NAME")
        return result

    def identity(self) -> dict[str, Any]:
        """Return what makes this experiment itself: all but `games`, which may grow later."""
        return {"name": self.name, "cells": [cell.definition for cell in self.cells]}


@dataclass(frozen=True, eq=False)
class Cell:
    """One pairing at one seed.

    Attributes
    ----------
    experiment : Experiment
    players : dict
        By role; None: forced to the record.
    seed : int
    """

    experiment: Experiment
    players: dict[str, Player | None]
    seed: int

    @property
    def rules(self) -> Rules:
        """The rules; those of a record where one is replayed."""
        return Rules(**self.experiment.rules.model_dump())

    @property
    def probes(self) -> Probes:
        """The probes."""
        return Probes(**self.experiment.probes.model_dump())

    def name(self, role: str) -> str:
        """Return who sits in a seat."""
        player = self.players[role]
        return RECORD if player is None else player.name

    @property
    def key(self) -> str:
        """What tells this cell from the others."""
        return json.dumps([*(self.name(role) for role in ROLES), self.seed])

    def deal(self, index: int) -> tuple[Deal, RecordedGame | None, Rules]:
        """Return keywords, codes, record and rules of a game."""
        if self.experiment.records:
            record = self.experiment.recorded[index]
            codes = tuple(turn.code for turn in record.turns)
            return Deal(record.keywords, codes), record, record.rules
        rng = deal_stream(self.seed).episode(index)
        return deal(self.experiment.lists.keywords, self.rules, rng), None, self.rules

    @cached_property
    def definition(self) -> dict[str, Any]:
        """The cell as JSON-ready data."""
        e = self.experiment
        players = [player for player in self.players.values() if player is not None]
        templates = {player.templates for player in players} - {""}
        data = {
            "players": {role: self._definition(player) for role, player in self.players.items()},
            "rules": asdict(self.rules),
            "probes": asdict(self.probes),
            "on_invalid": e.on_invalid,
            "best_turn": e.best_turn,
            "words": _sha256([e.lists.keywords, e.lists.hints]),
            "templates": " ".join(sorted(templates)),
            "records": _sha256([game.as_json() for game in e.recorded]) if e.records else "",
            "seed": self.seed,
        }
        found: dict[str, Any] = json.loads(json.dumps(data))
        return found

    def _definition(self, player: Player | None) -> dict[str, Any]:
        if player is None:
            return {"name": RECORD, "model": ""}
        if player.kind != "embedding":
            return player.definition
        vectors = embedding_sha256(player.embedding(self.experiment.lists))
        return {**player.definition, "vectors": vectors}


def _sha256(data: Any) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()
