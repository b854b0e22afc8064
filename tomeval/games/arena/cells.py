"""Line-ups of arena experiments: who plays what, in which seats, how they are seated and play."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.streams import Stream
from tomeval.games.arena.named_games import NamedGame, game_from
from tomeval.games.arena.players import PLANNER, RANDOM, SLIPS, ArenaPlayer
from tomeval.games.cells import GameCell
from tomeval.games.game import ArenaGame
from tomeval.games.play import SUBJECT_SLOT
from tomeval.games.sampled import MadeUp, made_up
from tomeval.games.seats import Chair, PlannerSeat, ScriptedSeat
from tomeval.games.solver import Policy, Solver
from tomeval.runs.experiment import located

SUBJECT = "subject"


def slot_name(slot: int) -> str:
    """Return what a slot is called: the subject, then the others from 1."""
    return f"other_{slot}" if slot else SUBJECT


ASK_AGAIN, FORFEIT, ELIMINATE, DEFAULT = "ask_again", "forfeit", "eliminate", "default"
POLICIES = (ASK_AGAIN, FORFEIT, ELIMINATE, DEFAULT, "random")
"""What follows if a seat's answers keep breaking the rules: the game is void; the seat has lost it;
the seat is out of it; the game's default action counts, or a random one."""

ATTEMPTS = {FORFEIT: 2, ELIMINATE: 2, DEFAULT: 1}
"""How often a decision is asked for if the experiment does not say; all others: 10 times."""


@dataclass(frozen=True, eq=False)
class ArenaCell(GameCell):
    """One line-up at one seed; player 0 is the subject."""

    table: NamedGame
    episodes: int | None = None
    own_values: bool | None = None

    @property
    def game(self) -> ArenaGame[Any]:
        """The game."""
        return self.table.game

    @property
    def measured(self) -> tuple[int, ...]:
        """The subject, if it is asked literal questions."""
        return (SUBJECT_SLOT,) if self.experiment.probes else ()

    @property
    def made_up(self) -> Iterator[MadeUp]:
        """Games of random actions: enough that every role is asked all that it can be asked."""
        return (made_up(self.game, number) for number in range(12))

    @property
    def values(self) -> bool:
        """Whether V* and Q* are computed."""
        return self.experiment.values if self.own_values is None else self.own_values

    @property
    def slots(self) -> tuple[str, ...]:
        """The players' places, wherever they sit."""
        return tuple(map(slot_name, range(len(self.players))))

    @property
    def attempts(self) -> int:
        """How often a decision is asked for."""
        given = self.experiment.attempts
        own = given.get(self.on_invalid, 0) if isinstance(given, dict) else given
        return own or ATTEMPTS.get(self.on_invalid, 10)

    @property
    def key(self) -> tuple[str, ...]:
        """What tells this cell from the others."""
        return (self.table.name, *super().key)

    def policies(self, episode: int) -> dict[int, Policy] | None:
        """Return the policies of all seats but the subject's; None if they are not all known.

        They are not if a player breaks rules and that has consequences.
        """
        others = self.players[1:]
        if not all(p.known(self.table.kind.name) for p in others):
            return None
        if self.on_invalid != ASK_AGAIN and any(p.error_rate for p in others):
            return None
        seats = self.seated(episode)[1]
        return {seats[i]: policy for i, policy in self.seat_policies.items() if i}

    @cached_property
    def seat_policies(self) -> dict[int, Policy]:
        """The policies of known players by slot."""
        kind, where = self.table.kind.name, f"{self.experiment._where}: players"
        known = ((i, one) for i, one in enumerate(self.players) if one.known(kind))
        return {i: one.policy(kind, self.game, f"{where}.{one.name}") for i, one in known}

    @property
    def without_chance(self) -> bool:
        """Whether every game in one seating is the same."""
        policies = self.seat_policies
        return self.game.without_chance and all(
            not player.error_rate
            and (player.kind == PLANNER or (slot in policies and policies[slot].without_chance))
            for slot, player in enumerate(self.players)
        )

    def wanted(self, planned: int) -> int:
        """Return how many games the line-up plays: one for every seating if nothing is drawn."""
        planned = planned if self.episodes is None else self.episodes
        return min(planned, len(self.game.rotations)) if self.without_chance else planned

    def check(self, where: str) -> None:
        """Raise a `TomevalError` if the line-up cannot play this game."""
        _ = self.seat_policies
        if self.on_invalid in (FORFEIT, ELIMINATE, DEFAULT):
            known = self.game.on_broken
            if self.on_invalid not in known:
                raise TomevalError(
                    f"{where}: on_invalid {self.on_invalid!r} has no meaning in "
                    f"{self.table.name!r}; it supports {', '.join(known)}"
                )
        for index, player in enumerate(self.players):
            if player.kind == RANDOM and player.options and index not in self.seat_policies:
                wrong = next(iter(player.options))
                raise TomevalError(
                    f"{where}: player {player.name!r}: random players of {self.table.name!r} have "
                    f"no option {wrong!r}{did_you_mean(wrong, ['kind', *SLIPS])}"
                )
            if player.kind == PLANNER and (index or self.policies(0) is None):
                raise TomevalError(
                    f"{where}: player {player.name!r}: a planner must be the subject, and all "
                    "others must be known policies"
                )
            if player.model:
                with located(f"{where}: player {player.name!r}"):
                    player.llm_options.check(self.table.kind.name, self.game, is_subject=not index)

    @property
    def data(self) -> dict[str, Any]:
        """What defines it besides seed, templates, and what an invalid answer does."""
        return {
            "game": self.table.definition,
            "players": [player.definition for player in self.players],
            "attempts": self.attempts,
            "probes": self.experiment.probes,
            "values": self.values,
            "without_chance": self.without_chance,
            "episodes": self.episodes,
            "pool": None if self.experiment.pool is None else self.experiment.pool.model_dump(),
        }

    def chance(self, episode: int, slot: int) -> np.random.Generator:
        """Return a player's own chance: it depends on game, slot and name."""
        who = self.slots[slot], self.players[slot].name
        return Stream.of(self.seed, "arena", "seat", self.table.stream, *who).episode(episode)

    def called(self, episode: int) -> str:
        """Return the name of an episode."""
        return "/".join(["arena", *self.key, str(episode)])

    def scripted(self, slot: int, chair: Chair) -> ScriptedSeat:
        """Seat a planner, a policy, or a random player."""
        player = self.players[slot]
        kind = PlannerSeat if player.kind == PLANNER else ScriptedSeat
        slips = (player.error_rate, player.error)
        return kind(chair, self.seat_policies.get(slot), player.kind == RANDOM, *slips)

    def drawn(self, what: str, episode: int) -> np.random.Generator:
        """Return chance: games on one deal share it, and line-ups of one game their chance."""
        of = (self.table.stream,) if what in ("deal", "chance") else self.key
        number = self.seated(episode)[0] if what == "deal" else episode
        return Stream.of(self.seed, "arena", what, *of).episode(number)

    def solver(self, episode: int) -> Solver | None:
        """Return the solver of the subject's seat; None if not all others are known policies."""
        if self.policies(episode) is None:
            return None
        _, seats = self.seated(episode)
        others = zip(seats[1:], self.players[1:], strict=True)
        known = sorted((seat, (player.kind, player.options)) for seat, player in others)
        return _solver(
            json.dumps({"game": self.table.definition, "seat": seats[0], "others": known})
        )


def schedule_sha256(cells: Sequence[ArenaCell]) -> str:
    """Return the hash of what subjects meet: games, other players, policies, seeds, numbers."""
    met = set()
    for cell in cells:
        said, count = cell.definition, cell.wanted(cell.experiment.episodes)
        rest = [said["on_invalid"], said["attempts"], said["seed"], count]
        met.add(json.dumps([said["game"], said["players"][1:], rest], sort_keys=True))
    return hashlib.sha256("\n".join(sorted(met)).encode()).hexdigest()


@lru_cache(maxsize=64)
def _solver(key: str) -> Solver | None:
    """Return a solver; what it has computed serves every cell that needs the same."""
    data = json.loads(key)
    table = game_from(data["game"])
    policies = {
        seat: ArenaPlayer("", kind, options).policy(table.kind.name, table.game, f"seat {seat}")
        for seat, (kind, options) in data["others"]
    }
    return table.kind.solver(table.game, data["seat"], policies)
