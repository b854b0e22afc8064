"""Pairings of Decrypto: who plays which role at one seed, with what, and how they are seated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.core.streams import Stream
from tomeval.games.cells import RECORD, GameCell
from tomeval.games.decrypto.game import CODES, Deal, Game, Rules, deal, deal_stream
from tomeval.games.decrypto.players import DecryptoPlayer, embedding_sha256
from tomeval.games.decrypto.replays import RecordedGame
from tomeval.games.decrypto.seats import ALICE, EVE, ROLES, seat_stream
from tomeval.games.decrypto.stages import Decrypto, trail_of
from tomeval.games.seats import Beliefs, Chair, Seat
from tomeval.games.solver import Solver

if TYPE_CHECKING:
    from tomeval.games.decrypto.experiment import DecryptoExperiment


@dataclass(frozen=True, eq=False)
class DecryptoCell(GameCell):
    """One pairing at one seed; the players are by role, as their seats are."""

    experiment: DecryptoExperiment
    players: tuple[DecryptoPlayer | None, ...]

    @property
    def slots(self) -> tuple[str, ...]:
        """The roles."""
        return ROLES

    @property
    def length(self) -> int:
        """The most turns of a game."""
        if self.experiment.records:
            return max((len(game.turns) for game in self.experiment.recorded), default=1)
        return self.experiment.rules.turns

    def seated(self, episode: int) -> tuple[int, tuple[int, ...]]:
        """Return the deal of an episode, which is its own, and the seats."""
        return episode, (0, 1, 2)

    def deal(self, index: int) -> tuple[Deal, RecordedGame | None, Rules]:
        """Return keywords, codes, record and rules of a game."""
        if self.experiment.records:
            record = self.experiment.recorded[index]
            codes = tuple(turn.code for turn in record.turns)
            return Deal(record.keywords, codes), record, record.rules
        rng = deal_stream(self.seed).episode(index)
        rules = self.experiment.rules
        return deal(self.experiment.lists.keywords, rules, rng), None, rules

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

    def _definition(self, player: DecryptoPlayer | None) -> dict[str, Any]:
        if player is None:
            return {"name": RECORD, "model": ""}
        if not player.embeds:
            return player.definition
        vectors = embedding_sha256(player.embedding(self.experiment.lists))
        return {**player.definition, "vectors": vectors}

    def chance(self, episode: int, slot: int) -> np.random.Generator:
        """Return a player's own chance: it depends on role and name."""
        role, player = ROLES[slot], self.players[slot]
        assert player is not None
        stream = seat_stream(self.seed, role, player.name)
        return stream.episode(episode, player.draws_per_game(role))

    @property
    def stream(self) -> str:
        """The pairing and its seed, as chance and seeds of requests derive from them."""
        return json.dumps([*self.names, self.seed])

    def called(self, episode: int) -> str:
        """Return the name of an episode."""
        return f"{self.stream}/{episode}"

    def scripted(self, slot: int, chair: Chair) -> Seat:
        """Seat a player without a model."""
        player = self.players[slot]
        assert player is not None
        return player.scripted_seat(self.experiment.lists)(chair)

    def beliefs(self, episode: int) -> Beliefs:
        """Return the chance of a turn's belief: one for all players and accuracies."""

        def of_turn(turn: int, question: str = "") -> tuple[float, float]:
            draws = Stream.of(self.seed, "decrypto", "belief").block(episode, 1, 2 * len(CODES))
            right, which = draws.reshape(-1, 2)[turn - 1].tolist()
            return right, which

        return of_turn

    def setting(self, episode: int, on_step: Callable[[], None]) -> dict[str, Any]:
        """Return rules, the game as dealt or recorded, and what is measured."""
        dealt, record, rules = self.deal(episode)
        first, unused = Game(dealt, rules), np.random.default_rng(0)

        def drawn(what: str) -> np.random.Generator:
            return Stream.of(self.seed, "decrypto", what, self.stream).episode(episode)

        return {
            "game": Decrypto(self.experiment.lists, rules, self.experiment.probes),
            "deal": unused,
            "chance": unused,
            "fallback": drawn("fallback"),
            "statements": drawn("statements"),
            "on_invalid": "ask_again" if self.on_invalid == "void" else self.on_invalid,
            "solver": self.solver(episode),
            "measured": (ALICE, EVE),
            "on_step": lambda decision: on_step() if decision.seat == EVE else None,
            "start": first,
            "record": () if record is None else trail_of(record, first),
        }

    def solver(self, episode: int) -> Solver | None:
        """Return the search for the best attainable value of a turn, if the pairing allows it."""
        _, bob, eve = self.players
        wanted = self.experiment.best_turn and not self.experiment.records
        if not wanted or bob is None or eve is None or {bob.kind, eve.kind} != {"embedding"}:
            return None
        from tomeval.games.decrypto.best_turn import BestTurnSearch

        lists = self.experiment.lists
        return BestTurnSearch(lists, bob.listener_spec(lists), eve.listener_spec(lists))


def _sha256(data: Any) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()
