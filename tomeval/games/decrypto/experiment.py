"""The keys of Decrypto experiments, and the pairings that they expand to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tomeval.core.errors import TomevalError, unknown
from tomeval.games.decrypto.cells import DecryptoCell
from tomeval.games.decrypto.game import Rules
from tomeval.games.decrypto.players import DecryptoPlayer
from tomeval.games.decrypto.replays import RecordedGame, read_games
from tomeval.games.decrypto.seats import ROLES, Probes
from tomeval.games.players import RECORD, GameExperiment
from tomeval.lexicon.words import WordLists, read_lists
from tomeval.runs.experiment import located

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
        return [value] if isinstance(value, str) else value


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
        tables = self.pairings or [PairingTable(encoder=[ALL], decoder=[ALL], interceptor=[ALL])]
        pairings: dict[tuple[str, ...], tuple[DecryptoPlayer | None, ...]] = {}
        for index, table in enumerate(tables):
            for players in self._seated(table, f"{self._where}: pairings[{index}]"):
                names = tuple(RECORD if one is None else one.name for one in players)
                pairings.setdefault(names, players)
        return [
            DecryptoCell(self, players, seed, on_invalid)
            for players in pairings.values()
            for seed, on_invalid in itertools.product(self.seed, self.on_invalid)
        ]

    def _seated(
        self, table: PairingTable, where: str
    ) -> Iterator[tuple[DecryptoPlayer | None, ...]]:
        """Yield the players of a table's pairings by role; None answers from the record."""
        axes = [self._names(getattr(table, role), f"{where}.{role}", role) for role in ROLES]
        for encoder, decoder, interceptor in itertools.product(*axes):
            names = (encoder, encoder if decoder == MATCHED else decoder, interceptor)
            if names == (RECORD,) * 3:
                raise TomevalError(f"{where}: at least one seat needs a player, not the record")
            for seated in self.seatings(names, where):
                for role, player in zip(ROLES, seated, strict=True):
                    if player is not None:
                        with located(f"{self._where}: player {player.name!r} as {role}"):
                            player.check(role, self)
                yield seated

    def _names(self, names: Sequence[str], where: str, role: str) -> list[str]:
        """Return the players of one axis."""
        if not names:
            raise TomevalError(f"{where}: is an empty list")
        result = []
        for name in names:
            extra = [ALL] + [MATCHED] * (role == "decoder") + [RECORD] * bool(self.records)
            if name == RECORD and not self.records:
                raise TomevalError(f"{where}: no recorded games: set 'records' to a file")
            if name not in self.named and name not in extra:
                raise unknown("player", name, [*self.named, *extra], where)
            result += list(self.by_name) if name == ALL else [name]
        if not result:
            raise TomevalError(f"{self._where}: no players: add a table players.NAME")
        return result
