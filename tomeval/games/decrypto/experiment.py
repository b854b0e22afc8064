"""The keys of Decrypto experiments, and the pairings that they expand to."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tomeval.core.errors import TomevalError, unknown
from tomeval.games.decrypto.game import Deal, Rules, deal, deal_stream
from tomeval.games.decrypto.players import (
    LLM_OPTIONS,
    RECORD,
    DecryptoPlayer,
    embedding_sha256,
    player_from_table,
)
from tomeval.games.decrypto.replays import RecordedGame, read_games
from tomeval.games.decrypto.seats import ROLES, Probes
from tomeval.games.players import GameExperiment, check_name
from tomeval.lexicon.words import WordLists, read_lists
from tomeval.runs.domain import Cell, Player
from tomeval.runs.experiment import located

ALL, MATCHED = "all", "matched"
_RESERVED = (ALL, MATCHED, RECORD)


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


class DecryptoExperiment(GameExperiment):
    """What to play: players, pairings of them, and how many games each pairing gets.

    Parameters
    ----------
    model : str or table
        That of language-model players who name none.
    pairings : list of table
        With ``encoder``, ``decoder``, ``interceptor``: a player's name, a list of names, ``all``,
        for the decoder also ``matched`` (the encoder's player), in replays ``record``. Default: all
        in every seat.
    episodes : int
        Games per pairing and seed; default 32. In replays the most games; default all.
    rules : table
        How long games are, and what ends them: ``turns``, ``miscommunications``, ``interceptions``,
        ``no_repeat_hints``.
    probes : table
        Which questions are asked beside the moves: ``eve``, ``eve_reminded``, ``bob``, ``beliefs``,
        ``beliefs_in_view``.
    best_turn : bool
        Search, in every turn of an encoder with embedding partners, for the best value that it
        could have reached: needed for ΔFunctional/T and ΔToM/T.
    keywords, hints : str
        Files of own word lists.
    records : str
        A file of recorded games to replay in place of new ones.
    max_attempts : int
        Default of language-model players.
    """

    domain: str = "decrypto"
    name: str = "decrypto"
    episodes: int = Field(default=32, ge=1, le=10**7)
    model: str | dict[str, Any] = ""
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

    @cached_property
    def by_name(self) -> dict[str, DecryptoPlayer]:
        """The players."""
        for name in self.players:
            check_name(name, f"{self._where}: players", _RESERVED)
        return self.named(player_from_table, self.model, LLM_OPTIONS)

    def _path(self, name: str) -> Path | None:
        return (self._base or Path()) / name if name else None

    def expand(self) -> list[DecryptoCell]:
        """Return the pairings for every seed, in the order of the file."""
        tables = self.pairings or [PairingTable(encoder=[ALL], decoder=[ALL], interceptor=[ALL])]
        pairings: dict[tuple[str, ...], None] = {}
        for index, table in enumerate(tables):
            where = f"{self._where}: pairings[{index}]"
            axes = [self._names(getattr(table, role), f"{where}.{role}", role) for role in ROLES]
            for encoder, decoder, interceptor in itertools.product(*axes):
                names = (encoder, encoder if decoder == MATCHED else decoder, interceptor)
                if names == (RECORD,) * 3:
                    raise TomevalError(f"{where}: at least one seat needs a player, not the record")
                pairings[names] = None
        cells = []
        for seated in pairings:
            players = {
                role: None if name == RECORD else self.by_name[name]
                for role, name in zip(ROLES, seated, strict=True)
            }
            for role, player in players.items():
                if player is not None:
                    with located(f"{self._where}: player {player.name!r} as {role}"):
                        player.check(role, self)
            cells += [
                DecryptoCell(self, players, seed, on_invalid)
                for seed, on_invalid in itertools.product(self.seed, self.on_invalid)
            ]
        return cells

    def _names(self, names: Sequence[str], where: str, role: str) -> list[str]:
        """Return the players of one axis."""
        if not names:
            raise TomevalError(f"{where}: is an empty list")
        result = []
        for name in names:
            extra = [ALL] + [MATCHED] * (role == "decoder") + [RECORD] * bool(self.records)
            if name == RECORD and not self.records:
                raise TomevalError(f"{where}: no recorded games: set 'records' to a file")
            if name not in self.by_name and name not in extra:
                raise unknown("player", name, [*self.by_name, *extra], where)
            result += list(self.by_name) if name == ALL else [name]
        if not result:
            raise TomevalError(f"{self._where}: no players: add a table players.NAME")
        return result


@dataclass(frozen=True, eq=False)
class DecryptoCell(Cell):
    """One pairing at one seed: players by role, None for a seat that answers from the record."""

    experiment: DecryptoExperiment
    players: dict[str, DecryptoPlayer | None]
    seed: int
    on_invalid: str

    @property
    def seats(self) -> Mapping[str, Player | None]:
        """The players by role."""
        return self.players

    @property
    def length(self) -> int:
        """The most turns of a game."""
        if self.experiment.records:
            return max((len(game.turns) for game in self.experiment.recorded), default=1)
        return self.experiment.rules.turns

    def name(self, role: str) -> str:
        """Return who sits in a seat."""
        player = self.players[role]
        return RECORD if player is None else player.name

    @property
    def key(self) -> tuple[str, ...]:
        """What tells this cell from the others."""
        return (*map(self.name, ROLES), str(self.seed), self.on_invalid)

    @property
    def stream(self) -> str:
        """The pairing and its seed, as seeds of requests derive from them."""
        return json.dumps([*map(self.name, ROLES), self.seed])

    def deal(self, index: int) -> tuple[Deal, RecordedGame | None, Rules]:
        """Return keywords, codes, record and rules of a game."""
        if self.experiment.records:
            record = self.experiment.recorded[index]
            codes = tuple(turn.code for turn in record.turns)
            return Deal(record.keywords, codes), record, record.rules
        rng = deal_stream(self.seed).episode(index)
        rules = self.experiment.rules
        return deal(self.experiment.lists.keywords, rules, rng), None, rules

    @cached_property
    def definition(self) -> dict[str, Any]:
        """The cell as JSON-ready data."""
        e = self.experiment
        players = [player for player in self.players.values() if player is not None]
        templates = {player.templates for player in players} - {""}
        data = {
            "players": {role: self._definition(player) for role, player in self.players.items()},
            "rules": e.rules.model_dump(),
            "probes": e.probes.model_dump(),
            "on_invalid": self.on_invalid,
            "best_turn": e.best_turn,
            "words": _sha256([e.lists.keywords, e.lists.hints]),
            "templates": " ".join(sorted(templates)),
            "records": _sha256([game.as_json() for game in e.recorded]) if e.records else "",
            "seed": self.seed,
        }
        definition: dict[str, Any] = json.loads(json.dumps(data))
        return definition

    def _definition(self, player: DecryptoPlayer | None) -> dict[str, Any]:
        if player is None:
            return {"name": RECORD, "model": ""}
        if not player.embeds:
            return player.definition
        vectors = embedding_sha256(player.embedding(self.experiment.lists))
        return {**player.definition, "vectors": vectors}


def _sha256(data: Any) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()
