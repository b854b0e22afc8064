"""A replica: plays leases in a thread of its own, and answers the driver from another one.

It holds no state that matters: what it plays came with a lease, and what came out is committed by
the driver.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import platform
import threading
import traceback
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tomeval.core.credentials import trusting
from tomeval.core.errors import TomevalError
from tomeval.core.plugins import use_plugin
from tomeval.core.unpacking import allowing
from tomeval.extensions.cluster.messages import (
    Begun,
    Broken,
    Counts,
    Kept,
    Lease,
    Left,
    Message,
    Opened,
    Order,
    Played,
    Ready,
    Replied,
    Setting,
    TooLong,
    Withdraw,
)
from tomeval.extensions.cluster.outbox import Closed, Outbox
from tomeval.models import BACKENDS, model_name, open_model
from tomeval.models.base import ContextExceeded, LocalModel, Model
from tomeval.models.naming import shown_name
from tomeval.runs.domain import Block, Cell, Domain, get_domain
from tomeval.runs.engine import play_with_models, spec_key
from tomeval.runs.engines import play_stretch
from tomeval.runs.jobs import Job
from tomeval.runs.live import Asked, ModelCount
from tomeval.runs.origins import CPU, versions
from tomeval.runs.rows import Rows
from tomeval.runs.schedule import Schedule
from tomeval.runs.schema import pack
from tomeval.runs.stopping import Stopping

WAIT = 1.0
"""Seconds after which a question is answered, even if there is nothing to say."""


class Worker:
    """Plays leases, begun when it is made; whatever goes wrong is said as `Broken`.

    It is the keeper of replies and the watch of `engine.play_with_models`: both say what they hear.

    Parameters
    ----------
    setting : Setting
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._said = Outbox()
        self._orders: deque[Order] = deque()
        self._came = threading.Event()
        self._closed = False
        self._leases: deque[Lease] = deque()  # not begun
        self._here: set[Job] = set()  # what has not ended
        self._kept: dict[Job, Kept] = {}
        self._opened: dict[str, Model | LocalModel] = {}
        self._asked: dict[str, ModelCount] = {}
        self._asked_before: dict[str, Asked] = {}
        self._loop: asyncio.AbstractEventLoop | None = None  # while language models play
        self._models: tuple[str, ...] = ()
        self._schedule: Schedule | None = None
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
        self._thread.start()

    # What the driver asks for; called from another thread than the one that plays

    def exchange(self, orders: Sequence[Order]) -> list[Message]:
        """Take orders and return the news; the answer before is committed.

        It waits for news for `WAIT` seconds at most.
        """
        self._said.committed()
        self._orders.extend(orders)
        if orders:
            self._wake()
        messages = self._said.answer(WAIT)
        if asked := self._newly_asked():
            messages.append(Counts(asked=asked))
        return messages

    def close(self) -> None:
        """End the thread that plays at its next word; what it has not said is lost."""
        self._closed = True
        self._said.close()
        self._wake()

    def _wake(self) -> None:
        self._came.set()
        if (loop := self._loop) is not None:
            with suppress(RuntimeError):  # it has just ended: the thread looks for orders by itself
                loop.call_soon_threadsafe(self._hear_in_loop)

    def _newly_asked(self) -> dict[str, Asked]:
        """Return what was asked of each model since this was last called."""
        found = {}
        for key, count in list(self._asked.items()):
            now, before = count.asked, self._asked_before.get(key, Asked())
            if now != before:
                found[key] = now.plus(before, -1)
                self._asked_before[key] = now
        return found

    # The thread that plays

    def _run(self) -> None:
        setting = self._setting
        try:
            with trusting(setting.hosts, code=setting.code), allowing(setting.megabytes):
                for plugin in setting.plugins:
                    use_plugin(plugin)
                self.domain: Domain = get_domain(setting.domain)
                self._cells: Sequence[Cell] = pickle.loads(setting.cells)
                self._said.say(Ready(platform.node(), _device(self._cells), versions()))
                while (lease := self._next()) is not None:
                    if lease.models:
                        self._play_with_models(lease.models)
                    else:
                        self._play_stretches()
        except Closed:
            return
        except TomevalError as error:
            self._end(Broken(str(error)))
        except Exception:  # noqa: BLE001 (the driver raises it)
            self._end(Broken("", traceback.format_exc()))

    def _end(self, why: Broken) -> None:
        with suppress(Closed):
            self._said.say(why)

    def _next(self) -> Lease | None:
        """Return the lease to begin with, which stays where it is; None: the replica is closed."""
        while not self._closed:
            self._came.clear()
            self._hear()
            if self._leases:
                return self._leases[0]
            self._came.wait()
        return None

    def _hear(self) -> None:
        """Take the orders that came; begin leases whose models play."""
        while self._orders:
            order = self._orders.popleft()
            if isinstance(order, Withdraw):
                self._withdraw(order.cell)
            else:
                self._take(order)
        schedule = self._schedule
        if schedule is None or not schedule.more:
            return
        while self._leases and self._leases[0].models == self._models:
            schedule.add(self._leases.popleft().jobs)
        if self._leases or self._closed:
            schedule.close()  # other models are opened once nothing is under way

    def _hear_in_loop(self) -> None:
        """Take orders while language models play; an error ends that."""
        try:
            self._hear()
        except Exception as error:  # noqa: BLE001 (raised once they have stopped)
            self._failure = error
            if self._schedule is not None:
                self._schedule.clear()

    def _take(self, lease: Lease) -> None:
        """Take a lease, but for episodes that are here already."""
        jobs = tuple(job for job in lease.jobs if job not in self._here)
        stretches = tuple(one for one in lease.stretches if one[:2] not in self._here)
        self._here |= {*jobs, *(one[:2] for one in stretches)}
        self._kept.update({job: lease.kept[job] for job in jobs if job in lease.kept})
        if jobs or stretches:
            self._leases.append(Lease(lease.models, jobs, stretches=stretches))

    def _withdraw(self, cell: int) -> None:
        """Leave out what has not begun of a cell."""
        left = [] if self._schedule is None else self._schedule.withdraw(cell)
        left += [job for lease in self._leases for job in lease.jobs if job[0] == cell]
        cut = [
            replace(lease, jobs=tuple(job for job in lease.jobs if job[0] != cell))
            for lease in self._leases
        ]
        self._leases = deque(lease for lease in cut if lease.jobs or lease.stretches)
        self._said.say(Left(tuple(left)))
        for job in left:
            self._ended(job)

    def _ended(self, job: Job) -> None:
        """Note that a job needs no more of this replica."""
        self._kept.pop(job, None)
        self._here.discard(job)

    # Cells without a language model

    def _play_stretches(self) -> None:
        for number, first, count in self._leases.popleft().stretches:
            self._said.say(Begun((number, first)))
            block = play_stretch(self.domain, self._cells[number], first, count)
            self._said.say(Played(number, Rows.of(number, block)))
            self._ended((number, first))

    # Cells with language models

    def _play_with_models(self, models: tuple[str, ...]) -> None:
        """Play leases with these models, until one comes with others."""
        self._open(models)
        self._models, self._schedule = models, Schedule((), 0, more=True)
        try:
            play_with_models(
                {key: self._opened[key] for key in models},
                self,
                self._cells,
                self._schedule,
                self._setting.concurrency,
                self,
                Stopping(),
            )
        finally:
            self._loop = self._schedule = None
        if self._failure is not None:
            raise self._failure

    def _open(self, models: tuple[str, ...]) -> None:
        """Open models, after those that are not among them are released."""
        for gone in self._opened.keys() - set(models):
            del self._opened[gone]
        base = Path(self._setting.base) if self._setting.base else None
        for key in models:
            if key not in self._opened:
                self._opened[key] = open_model(
                    json.loads(key),
                    base=base,
                    scores=any(key in _keys(cell) for cell in self._cells if cell.scores),
                    prefix_reuse=self._setting.prefix_reuse,
                )

    # The keeper of replies, see `engine.Keeper`

    def check_revision(self, model: str, revision: str) -> None:
        """Leave it to the driver, which compares replicas; see `ready`."""

    def kept_replies(self, cell: int, episode: int, seat: str) -> dict[str, str]:
        """Return what came with the lease."""
        return dict(self._kept.get((cell, episode), {}).get(seat, {}))

    def keep_reply(self, cell: int, episode: int, seat: str, request: str, reply: str) -> None:
        """Say a reply."""
        self._said.say(Replied((cell, episode), seat, request, pack(reply)))

    # What happens, see `engine.Watch`

    async def ready(self, models: Mapping[str, Model | LocalModel]) -> None:
        """Say which models play, and let orders come."""
        revisions = {key: model.revision for key, model in models.items()}
        self._said.say(Opened(revisions, {key: model.name for key, model in models.items()}))
        self._said.told()  # if it is lost from here on, that was not for opening them
        self._loop = asyncio.get_running_loop()
        self._hear()

    def begun(self, number: int, episode: int) -> None:
        """Say that an episode begins."""
        self._said.say(Begun((number, episode)))

    def on_step(self, number: int, episode: int) -> None:
        """Count a step."""
        self._said.stepped((number, episode))

    def over(self, number: int, episode: int) -> None:
        """Nothing: `done` and `too_long` say it."""

    def asked_again(self) -> None:
        """Count a question that is asked once more."""
        self._said.asked_again()

    def count_of(self, key: str) -> ModelCount:
        """Return the counts of a model."""
        return self._asked.setdefault(key, ModelCount(shown_name(json.loads(key))))

    def done(self, number: int, block: Block, under_way: int, unusable: str) -> None:
        """Say what an episode became."""
        ((episode, *_),) = block.episodes
        job = number, episode
        self._said.say(Played(number, Rows.of(number, block), self._said.ended(job), unusable))
        self._ended(job)

    def too_long(self, number: int, episode: int, under_way: int, error: ContextExceeded) -> None:
        """Say that an episode is broken off."""
        job = number, episode
        self._said.say(TooLong(job, self._said.ended(job), str(error)))
        self._ended(job)


def _keys(cell: Cell) -> set[str]:
    """Return the models of a cell, by `spec_key`."""
    return {spec_key(spec) for spec in cell.models.values()}


def _device(cells: Sequence[Cell]) -> str:
    """Return what models run on; ``cpu`` if no cell has one that runs in this process."""
    specs: list[Any] = [spec for cell in cells for spec in cell.models.values()]
    backends = (BACKENDS[model_name(spec).partition(":")[0]] for spec in specs)
    if not any("torch" in backend.libraries for backend in backends):
        return CPU
    import torch

    if not torch.cuda.is_available():
        return CPU
    count = torch.cuda.device_count()
    name = f"cuda ({torch.cuda.get_device_name(0)})"
    return name if count == 1 else f"{count} x {name}"
