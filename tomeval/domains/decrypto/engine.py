"""Play games with language models: seats get their models, many games wait at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.streams import Stream
from tomeval.domains.decrypto.experiment import Cell
from tomeval.domains.decrypto.play import Best, PlayedGame, Table, play_game
from tomeval.domains.decrypto.players import Player
from tomeval.domains.decrypto.seats import ROLES, Chair, seat_stream
from tomeval.domains.decrypto.store import GameStore
from tomeval.models.base import GenerateRequest, LocalModel, Model, Reply, ScoreRequest, Scores
from tomeval.models.batching import Batcher
from tomeval.models.remembering import RememberingModel
from tomeval.models.served.limits import BudgetExceeded

Job = tuple[int, int]
"""Cell number and game."""

Done = Callable[[int, Sequence[PlayedGame]], None]


def best_of(cell: Cell) -> Best | None:
    """Return the search for the best attainable value of a turn, where the pairing allows it."""
    bob, eve = cell.players["decoder"], cell.players["interceptor"]
    wanted = cell.experiment.best_turn and not cell.experiment.records
    if not wanted or bob is None or eve is None or {bob.kind, eve.kind} != {"embedding"}:
        return None
    from tomeval.domains.decrypto.best_turn import BestTurnSearch

    lists = cell.experiment.lists
    return BestTurnSearch(lists, bob.listener_spec(lists), eve.listener_spec(lists))


def table_of(cell: Cell, index: int, lines: dict[str, Model | None]) -> Table:
    """Seat a pairing for one game; `lines` are the models of the seats, by role."""
    experiment = cell.experiment
    seats: dict[str, Any] = dict.fromkeys(ROLES)
    for role, player in cell.players.items():
        if player is not None:
            stream = seat_stream(cell.seed, role, player.name)
            chair = Chair(
                role,
                stream.episode(index, player.draws_per_game(role)),
                lines.get(role),
                f"{cell.key}/{index}/{role}",
                experiment.base,
            )
            seats[role] = player.seat(chair, experiment.lists)
    _, _, rules = cell.deal(index)
    return Table(
        seats["encoder"],
        seats["decoder"],
        seats["interceptor"],
        rules=rules,
        probes=cell.probes,
        on_invalid=experiment.on_invalid,
        hint_words=experiment.lists.hints,
        rng=Stream.of(cell.seed, "decrypto", "fallback", cell.key).episode(index),
        best=best_of(cell),
    )


async def play_jobs(
    opened: dict[str, Model | LocalModel],
    cells: Sequence[Cell],
    jobs: Sequence[Job],
    store: GameStore,
    concurrency: int,
    done: Done,
) -> None:
    """Play all jobs of one group of models.

    Parameters
    ----------
    opened : dict
        Models by their spec as JSON.
    cells : sequence of Cell
    jobs : sequence of (cell number, game)
    store : GameStore
        Keeps the replies of games that are not finished, so that a killed run asks for none of
        them again.
    concurrency : int
        Games at a time.
    done : callable
        Called with (cell number, games) for finished games.
    """
    async with started(opened) as lines:
        for model in lines.values():
            store.check_revision(model.name, model.revision)
        waiting = iter(jobs)
        workers = [
            asyncio.ensure_future(_worker(lines, cells, waiting, store, done))
            for _ in range(min(concurrency, len(jobs)))
        ]
        stopped = await _all_done(workers)
        if stopped:
            raise stopped


@asynccontextmanager
async def started(opened: dict[str, Model | LocalModel]) -> AsyncIterator[dict[str, Model]]:
    """Make models ready inside the running loop, and release them afterwards."""
    served: list[Model] = []
    lines: dict[str, Model] = {}
    try:
        for spec, model in opened.items():
            if isinstance(model, Model):
                await model.start()
                served.append(model)
                lines[spec] = model
            else:
                lines[spec] = _OnDemand(Batcher(model))
        yield lines
    finally:
        for model in served:
            await model.close()


async def _all_done(workers: Sequence[asyncio.Future[BudgetExceeded | None]]) -> Any:
    """Wait for all workers; one that fails stops the others; return what stopped them."""
    try:
        await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for worker in workers:
            worker.cancel()
        found = await asyncio.gather(*workers, return_exceptions=True)
    errors = [e for e in found if isinstance(e, Exception)]
    return errors[0] if errors else None


async def _worker(
    lines: dict[str, Model],
    cells: Sequence[Cell],
    jobs: Iterator[Job],
    store: GameStore,
    done: Done,
) -> BudgetExceeded | None:
    """Play one job after another, and return what stopped it, if anything did.

    A call that would pass a cap stops its own game only: others end at their own next call, when
    the replies that they had paid for have come in.
    """
    for number, index in jobs:
        cell = cells[number]
        seats = {
            role: _seat_line(lines, player, store, (number, index, role))
            for role, player in cell.players.items()
        }
        deal, record, _ = cell.deal(index)
        try:
            played = await play_game(table_of(cell, index, seats), index, deal, record)
        except BudgetExceeded as stopped:
            return stopped
        except TomevalError as error:
            names = ", ".join(cell.name(role) for role in ROLES)
            where = f"{names}, seed {cell.seed}, game {index}"
            raise TomevalError(f"{where}: {error}") from None
        done(number, [played])
    return None


def _seat_line(
    lines: dict[str, Model], player: Player | None, store: GameStore, place: tuple[int, int, str]
) -> Model | None:
    """Return a seat's own model, which knows what it was answered before."""
    if player is None or player.kind != "llm":
        return None
    kept = store.kept_answers(*place)
    model = lines[json.dumps(player.model, sort_keys=True)]
    return RememberingModel(
        model.episode(len(kept)),
        kept,
        lambda request, reply: store.keep_answer(*place, request, reply),
    )


class _OnDemand(Model):
    """A local model that waits only for games that have a request for it.

    A game asks several models in turn; a batch that waited for every game would wait for those that
    wait for another model.
    """

    def __init__(self, batcher: Batcher) -> None:
        self._batcher = batcher
        model = batcher.model
        self.name, self.revision, self.capabilities = (
            model.name,
            model.revision,
            model.capabilities,
        )

    async def generate(self, request: GenerateRequest) -> Reply:
        """Join the next batch."""
        with self._batcher.episode() as line:
            return await line.generate(request)

    async def score(self, request: ScoreRequest) -> Scores:
        """Join the next batch."""
        with self._batcher.episode() as line:
            return await line.score(request)
