"""Seat a pairing for one game, and play it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from tomeval.core.streams import Stream
from tomeval.games.chairs import Chair, Door
from tomeval.games.decrypto.experiment import DecryptoCell
from tomeval.games.decrypto.game import CODES, Turn
from tomeval.games.decrypto.play import Best, PlayedGame, Table, play_game
from tomeval.games.decrypto.seats import ROLES, Seat, seat_stream
from tomeval.games.running import naming_game
from tomeval.models.base import Model


def best_of(cell: DecryptoCell) -> Best | None:
    """Return the search for the best attainable value of a turn, if the pairing allows it."""
    bob, eve = cell.players["decoder"], cell.players["interceptor"]
    wanted = cell.experiment.best_turn and not cell.experiment.records
    if not wanted or bob is None or eve is None or {bob.kind, eve.kind} != {"embedding"}:
        return None
    from tomeval.games.decrypto.best_turn import BestTurnSearch

    lists = cell.experiment.lists
    return BestTurnSearch(lists, bob.listener_spec(lists), eve.listener_spec(lists))


def table_of(
    cell: DecryptoCell,
    index: int,
    models: Mapping[str, Model],
    on_turn: Callable[[Turn], None] | None,
) -> Table:
    """Seat a pairing for one game; `models` by role."""
    experiment = cell.experiment
    seats: dict[str, Seat | None] = dict.fromkeys(ROLES)
    for role, player in cell.players.items():
        if player is not None:
            stream = seat_stream(cell.seed, role, player.name)
            rng = stream.episode(index, player.draws_per_game(role))
            name = f"{cell.stream}/{index}/{role}"
            door = Door(partial(_belief_chance, cell.seed, index))
            chair = Chair(role, rng, models.get(role), name, experiment.base, door)
            seats[role] = player.seat(chair, experiment.lists)
    _, _, rules = cell.deal(index)
    return Table(
        seats,
        experiment.lists,
        rules=rules,
        probes=experiment.probes,
        on_invalid=cell.on_invalid,
        rng=Stream.of(cell.seed, "decrypto", "fallback", cell.stream).episode(index),
        best=best_of(cell),
        on_turn=on_turn,
        side_by_side=bool(models),
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
    deal, record, _ = cell.deal(index)
    names = ", ".join(cell.name(role) for role in ROLES)
    with naming_game(f"{names}, seed {cell.seed}, game {index}"):
        table = table_of(cell, index, models, lambda _: on_step())
        return await play_game(table, index, deal, record)
