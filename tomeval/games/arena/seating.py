"""Seat a line-up for one game, and play it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache

from tomeval.core.streams import Stream
from tomeval.games.arena.cells import ArenaCell
from tomeval.games.arena.named_games import game_from
from tomeval.games.arena.players import PLANNER, RANDOM, ArenaPlayer
from tomeval.games.chairs import Chair, Door
from tomeval.games.play import SUBJECT_SLOT, Table, play_game
from tomeval.games.played import PlayedGame
from tomeval.games.running import naming_game
from tomeval.games.seats import PlannerSeat, ScriptedSeat, Seat
from tomeval.games.solver import Solver
from tomeval.models.base import Model


def table_of(
    cell: ArenaCell, episode: int, models: Mapping[str, Model], on_step: Callable[[], None]
) -> Table:
    """Seat a line-up for one game; `models` by slot."""
    deal, seats = cell.seated(episode)
    door = Door()
    players = [
        seat_of(cell, episode, slot, seats[slot], models, door) for slot in range(len(cell.players))
    ]
    return Table(
        game=cell.game,
        players=players,
        seats=seats,
        deal=Stream.of(cell.seed, "arena", "deal", cell.table.stream).episode(deal),
        chance=Stream.of(cell.seed, "arena", "chance", cell.table.stream).episode(episode),
        fallback=Stream.of(cell.seed, "arena", "fallback", *cell.key).episode(episode),
        on_invalid=cell.on_invalid,
        door=door,
        solver=solver_of(cell, episode) if cell.values else None,
        measured=(SUBJECT_SLOT,) if cell.experiment.probes else (),
        side_by_side=bool(models),
        on_step=lambda decision: on_step(),
    )


def seat_of(
    cell: ArenaCell, episode: int, slot: int, seat: int, models: Mapping[str, Model], door: Door
) -> Seat:
    """Seat one player; its draws depend on game, slot and name, not on who else plays."""
    player, name = cell.players[slot], cell.slots[slot]
    stream = Stream.of(cell.seed, "arena", "seat", cell.table.stream, name, player.name)
    chair = Chair(
        seat,
        stream.episode(episode),
        models.get(name),
        "/".join(["arena", *cell.key, str(episode), name]),
        cell.experiment.base,
        door if slot == 0 else Door(),
        cell.attempts,
    )
    if player.model:
        from tomeval.games.llm.seat import LLMSeat

        options = player.llm_options
        return LLMSeat(chair, options, options.parsed, options.templates("arena", chair.base))
    kind = PlannerSeat if player.kind == PLANNER else ScriptedSeat
    slips = (player.error_rate, player.error)
    return kind(chair, cell.seat_policies.get(slot), player.kind == RANDOM, *slips)


def solver_of(cell: ArenaCell, episode: int) -> Solver | None:
    """Return the solver of the subject's seat; None if not all others are known policies."""
    if cell.policies(episode) is None:
        return None
    _, seats = cell.seated(episode)
    others = {
        seats[slot]: (player.kind, player.options)
        for slot, player in enumerate(cell.players)
        if slot
    }
    key = {"game": cell.table.definition, "seat": seats[0], "others": sorted(others.items())}
    return _solver(json.dumps(key))


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


async def play_one(
    cell: ArenaCell, episode: int, models: Mapping[str, Model], on_step: Callable[[], None]
) -> PlayedGame:
    """Play one game of a line-up."""
    with naming_game(f"{', '.join(cell.key)}, game {episode}"):
        table = table_of(cell, episode, models, on_step)
        return await play_game(table, episode, cell.seated(episode)[0])
