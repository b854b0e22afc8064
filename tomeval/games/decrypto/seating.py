"""Seat a pairing for one game, and play it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from tomeval.core.streams import Stream
from tomeval.games.decrypto.experiment import DecryptoCell
from tomeval.games.decrypto.game import CODES, Game
from tomeval.games.decrypto.seats import ALICE, EVE, ROLES, seat_stream
from tomeval.games.decrypto.stages import Decrypto, trail_of
from tomeval.games.play import Table, play_game
from tomeval.games.played import PlayedGame
from tomeval.games.running import naming_game
from tomeval.games.seats import Chair, Door, Seat
from tomeval.games.solver import Solver
from tomeval.models.base import Model


def solver_of(cell: DecryptoCell) -> Solver | None:
    """Return the search for the best attainable value of a turn, if the pairing allows it."""
    bob, eve = cell.players["decoder"], cell.players["interceptor"]
    wanted = cell.experiment.best_turn and not cell.experiment.records
    if not wanted or bob is None or eve is None or {bob.kind, eve.kind} != {"embedding"}:
        return None
    from tomeval.games.decrypto.best_turn import BestTurnSearch

    lists = cell.experiment.lists
    return BestTurnSearch(lists, bob.listener_spec(lists), eve.listener_spec(lists))


def table_of(
    cell: DecryptoCell, index: int, models: Mapping[str, Model], on_turn: Callable[[], None]
) -> Table:
    """Seat a pairing for one game; `models` by role."""
    experiment = cell.experiment
    players: list[Seat | None] = []
    door = Door(partial(_belief_chance, cell.seed, index))
    for number, (role, player) in enumerate(cell.players.items()):
        if player is None:
            players.append(None)
            continue
        stream = seat_stream(cell.seed, role, player.name)
        rng = stream.episode(index, player.draws_per_game(role))
        name = f"{cell.stream}/{index}/{role}"
        own = door if number == ALICE else Door()
        chair = Chair(number, rng, models.get(role), name, experiment.base, own)
        players.append(player.seat(chair, experiment.lists))
    deal, record, rules = cell.deal(index)
    first, unused = Game(deal, rules), np.random.default_rng(0)
    fallback = Stream.of(cell.seed, "decrypto", "fallback", cell.stream).episode(index)
    return Table(
        Decrypto(experiment.lists, rules, experiment.probes),
        players,
        (0, 1, 2),
        deal=unused,
        chance=unused,
        fallback=lambda slot: fallback,
        on_invalid="ask_again" if cell.on_invalid == "void" else cell.on_invalid,
        door=door,
        solver=solver_of(cell),
        measured=(ALICE, EVE),
        side_by_side=bool(models),
        on_step=lambda decision: on_turn() if decision.seat == EVE else None,
        start=first,
        record=() if record is None else trail_of(record, first),
    )


def _belief_chance(seed: int, index: int, turn: int) -> tuple[float, float]:
    """Return the chance of a turn's belief: one for all players and accuracies, to compare them."""
    draws = Stream.of(seed, "decrypto", "belief").block(index, 1, 2 * len(CODES))
    right, which = draws.reshape(-1, 2)[turn - 1].tolist()
    return right, which


async def play_one(
    cell: DecryptoCell, index: int, models: Mapping[str, Model], on_step: Callable[[], None]
) -> PlayedGame:
    """Play one game of a pairing."""
    names = ", ".join(cell.name(role) for role in ROLES)
    with naming_game(f"{names}, seed {cell.seed}, game {index}"):
        return await play_game(table_of(cell, index, models, on_step), index, index)
