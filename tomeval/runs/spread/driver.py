"""The driver's side of a run on many machines: hands out leases, and commits what comes back.

Each turn it waits for answers, commits all that they say in one transaction, and only then asks
again, with new leases: the question tells a replica that its answer is committed.
"""

from __future__ import annotations

import json
import logging
import math
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import FAILED
from tomeval.core.plugins import loaded_plugins
from tomeval.core.unpacking import allowed
from tomeval.models import is_served
from tomeval.models.base import ContextExceeded
from tomeval.models.naming import shown_name
from tomeval.models.trust import confirmed_code, confirmed_hosts
from tomeval.runs.domain import Block, Cell
from tomeval.runs.engine import Watch
from tomeval.runs.experiment import Experiment
from tomeval.runs.jobs import Job, Jobs
from tomeval.runs.live import Live
from tomeval.runs.origins import Origin, versions
from tomeval.runs.processes import Task
from tomeval.runs.rows import Rows
from tomeval.runs.schedule import Schedule
from tomeval.runs.spread.contract import Engine, Lost, Replica
from tomeval.runs.spread.leases import LOSSES, Gone, Group, Leases
from tomeval.runs.spread.lost import LostModel, failed_block
from tomeval.runs.spread.messages import (
    Begun,
    Broken,
    Counts,
    Lease,
    Left,
    Message,
    Opened,
    Order,
    Over,
    Played,
    Ready,
    Replied,
    Setting,
    TooLong,
    Withdraw,
)
from tomeval.runs.spread.replicas import ReplicaCount, closing_lines
from tomeval.runs.spread.same import Same
from tomeval.runs.stopping import IN_FLIGHT, Stopping
from tomeval.runs.store import Store

logger = logging.getLogger(__name__)

SILENT = 60.0
"""Seconds without an answer after which what a replica holds is given to others."""

GONE = 600.0
"""Seconds without an answer after which a replica is ended, and another one takes its place."""

TURN = 1.0
"""Seconds for which answers are waited for before other things are looked after."""

Recall = Callable[[int, Callable[[int], None]], None]
"""Asks for the episodes of a cell back that have not begun; calls back with how many these are."""


class Filler(Watch, Protocol):
    """What the driver needs of the run that it plays: see `tomeval.runs.filling`.

    `origin` is where the episodes were played that it takes next.
    """

    origin: Origin
    store: Store
    cells: Sequence[Cell]
    live: Live
    stopping: Stopping
    stop_after_voids: int
    schedules: dict[int, Schedule]
    recall: Recall

    def stretches(self) -> list[Task]:
        """Return what is to be played of the cells that ask no model."""

    def groups(self) -> dict[tuple[str, ...], dict[int, Sequence[int]]]:
        """Return the episodes that language models are to play, by models and by cell."""

    def done(self, number: int, block: Block | Rows, under_way: int, unusable: str) -> None:
        """Take an episode of a cell that is over, see `Watch`."""

    def together(self, number: int, block: Rows) -> None:
        """Take a stretch of a cell that asks no model, which a replica played."""

    def stepped(self, number: int, episode: int, count: int) -> None:
        """Hear that an episode has got through so many steps."""

    def lost(self, number: int, episode: int, under_way: int) -> None:
        """Hear that an episode under way will begin anew."""

    def name(self, number: int) -> str:
        """Return what messages call a cell."""


def make_setting(experiment: Experiment, prefix_reuse: bool, concurrency: int) -> Setting:
    """Return what replicas are to know of a run.

    Raises
    ------
    TomevalError
        A part of a cell cannot be sent to another process, as a lambda of a plugin.
    """
    try:
        cells = pickle.dumps(list(experiment.cells))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TomevalError(
            f"the cells of this experiment cannot be sent to replicas: {error}; what they are made "
            "of must be at the top of a module"
        ) from None
    named = [plugin.module for plugin in loaded_plugins() if not plugin.package]
    files = [str(Path(name).resolve()) if name.endswith(".py") else name for name in named]
    return Setting(
        domain=experiment.domain,
        cells=cells,
        base="" if experiment.base is None else str(Path(experiment.base).resolve()),
        plugins=tuple(files),
        hosts=tuple(confirmed_hosts()),
        code=confirmed_code(),
        megabytes=allowed(),
        prefix_reuse=prefix_reuse,
        concurrency=concurrency,
    )


def drive(engine: Engine, replicas: int, setting: Setting, filler: Filler) -> None:
    """Play all cells without a served model on replicas; `filler` takes what they play.

    Raises
    ------
    TomevalError
        A replica cannot play, replicas differ, or all are lost again and again.
    KeyboardInterrupt, SystemExit
        The run was asked to stop; the leases under way are finished.
    """
    driver = _Driver(engine, replicas, setting, filler)
    if driver.leases.done:
        return
    filler.stopping.on_request = lambda: None
    before, filler.recall = filler.recall, driver.recall
    try:
        driver.play()
    finally:
        filler.recall, filler.stopping.what = before, IN_FLIGHT
    filler.stopping.check()


@dataclass(eq=False)
class _Place:
    """A replica, or the next one in the place of a lost one."""

    number: int
    replica: Replica
    count: ReplicaCount
    origin: Origin | None = None  # known once it has started
    asked: float | None = None  # when, if a question is under way
    orders: list[Order] = field(default_factory=list)  # to go with the next question
    opened: tuple[str, ...] = ()  # the models that it has now
    lost: str = ""  # why, the last time
    in_vain: int = 0  # how often it was lost since it finished something
    given_up: bool = False

    def __str__(self) -> str:
        return f"{self.count.name} on {self.count.host}" if self.count.host else self.count.name


class _Driver:
    """Joins the state of all jobs, the replicas and the run that takes what they play."""

    def __init__(self, engine: Engine, replicas: int, setting: Setting, filler: Filler) -> None:
        self._engine, self._setting, self._filler = engine, setting, filler
        self._store, self._cells, self._stopping = filler.store, filler.cells, filler.stopping
        self._counts = {(cell, first): count for cell, first, count in filler.stretches()}
        groups = [Group((), Schedule(list(self._counts), 0))]
        for models, jobs in filler.groups().items():
            if not any(is_served(json.loads(key)) for key in models):
                schedule = Schedule(jobs, filler.stop_after_voids)
                groups.append(Group(models, schedule, setting.concurrency))
                filler.schedules.update(dict.fromkeys(schedule.cells, schedule))
        self._schedules = {
            cell: group.schedule for group in groups for cell in group.schedule.cells
        }
        self.leases = Leases(groups, replicas)
        self._places: list[_Place] = []
        self._replicas = replicas
        self._steps: dict[Job, int] = {}  # of episodes under way, as counted
        self._committed = Jobs()
        self._replies: dict[Job, list[tuple[int, int, str, str, bytes]]] = {}  # of this turn
        self._recalled: dict[int, Callable[[int], None]] = {}
        self._rounding = 0.0  # by how much second results differ that are the same but for that
        self._same = Same()
        self._names: dict[str, tuple[str, str]] = {}  # of models: name and revision
        self._error: Exception | None = None

    def play(self) -> None:
        """Play until nothing is left; once the run is to stop, what is under way."""
        filler = self._filler
        filler.live.asking = True
        filler.store.note_stops(dict.fromkeys(filler.schedules, ""))
        try:
            for number in range(self._replicas):
                name = f"replica {number + 1}"
                place = _Place(
                    number, self._engine.start(number, self._setting), ReplicaCount(name)
                )
                self._places.append(place)
            counts = [place.count for place in self._places]
            filler.live.replicas = lambda: [count.row() for count in counts]
            self._ask()
            while not self.leases.done and not (self._stopping.signal and self.leases.idle):
                self._turn()
        finally:
            for place in self._places:
                place.replica.stop()
        self._tell_differences()
        filler.live.closing += closing_lines(counts)

    # A turn

    def _turn(self) -> None:
        """Commit what has come, look after replicas, and ask again."""
        asked = {id(place.replica): place for place in self._places if place.asked is not None}
        heard: list[tuple[_Place, list[Message]]] = []
        lost: list[tuple[_Place, str]] = []
        for replica in self._engine.wait([place.replica for place in asked.values()], TURN):
            place = asked[id(replica)]
            place.asked = None
            try:
                heard.append((place, replica.answer()))
            except Lost as error:
                lost.append((place, str(error)))
        with self._store.together():
            for place, messages in heard:
                for message in messages:
                    self._hear(place, message)
            self._keep_replies()
        if self._error is not None:
            raise self._error
        for place, why in lost:
            self._lose(place, why)
        self._note_silent()
        for cell, left in self.leases.settled():
            self._recalled.pop(cell)(left)
        self._ask()

    def _keep_replies(self) -> None:
        """Keep the replies of this turn to episodes that have not ended in it."""
        self._store.keep_replies(row for rows in self._replies.values() for row in rows)
        self._replies.clear()

    def _ask(self) -> None:
        """Ask all replicas that have answered, with their orders and new leases."""
        now = time.monotonic()
        for place in self._places:
            if place.asked is not None or place.count.state == "lost":
                continue
            while (
                place.origin is not None
                and not self._stopping.signal
                and (grant := self.leases.grant(place.number, now, place.in_vain)) is not None
            ):
                place.orders.append(self._lease(*grant))
            orders, place.orders = place.orders, []
            place.asked = now
            place.replica.send(orders)
            place.count.leases = self.leases.leases_of(place.number)
            if place.origin is not None:
                place.count.state = "playing" if place.count.leases else "idle"
        self._stopping.what = self._under_way(now)

    def _under_way(self, now: float) -> str:
        """Return what is finished if the run is to stop now, and how long that takes."""
        count, seconds = self.leases.rest(now)
        leases = "1 lease" if count == 1 else f"{count} leases"
        if seconds is None:
            return f"{leases}, up to some minutes"
        return f"{leases}, up to {math.ceil(seconds / 60)} min" if count else leases

    def _lease(self, number: int, group: Group, jobs: tuple[Job, ...]) -> Lease:
        """Return a lease as it is sent, with the replies that are kept."""
        if not group.models:
            return Lease(number, stretches=tuple((*job, self._counts[job]) for job in jobs))
        kept = {
            job: {seat: self._store.kept_replies(*job, seat) for seat in self._cells[job[0]].models}
            for job in jobs
        }
        kept = {job: seats for job, seats in kept.items() if any(seats.values())}
        return Lease(number, group.models, jobs, kept)

    def recall(self, cell: int, then: Callable[[int], None]) -> None:
        """Ask for the episodes of a cell back that have not begun."""
        self._recalled[cell] = then
        self.leases.recall(cell)
        for place in self._places:
            place.orders.append(Withdraw((cell,)))

    # Replicas that are lost or silent

    def _lose(self, place: _Place, why: str) -> None:
        """Take back what a lost replica held, and start another one in its place."""
        gone = self.leases.lost(place.number, place.opened)
        self._take_back(gone)
        place.in_vain += 1
        who = str(place)
        place.origin, place.orders, place.opened = None, [], ()
        place.lost = why
        place.count.state, place.count.last_error, place.count.leases = "lost", why, 0
        place.count.lost += 1
        for job in gone.failed:
            self._fail(job, f"its replica was lost three times: {why}")
        if self._stopping.signal:
            logger.warning("%s is lost (%s); what it held is left for the next session", who, why)
            return
        # Where it played one episode, that may be what it was lost for; others may do better.
        if place.in_vain < (2 * LOSSES if len(gone.blamed) == 1 else LOSSES):
            logger.warning("%s is lost (%s); what it held is given out again", who, why)
            place.replica = self._engine.start(place.number, self._setting)
            place.count.state = "starting"
            return
        times = place.in_vain
        logger.warning("%s was lost %d times in a row and is given up (%s)", who, times, why)
        self.leases.give_up(place.number)
        place.given_up = True
        if all(other.given_up for other in self._places) and not self.leases.done:
            raise TomevalError(
                f"all replicas were lost at least {LOSSES} times in a row; the last one, {who}: "
                f"{why}; everything is kept: run the same command again to go on"
            )

    def _note_silent(self) -> None:
        """Give what a replica holds to others if it does not answer."""
        now = time.monotonic()
        for place in self._places:
            if place.origin is None and (note := place.replica.note):
                place.count.last_error = note
            quiet = 0.0 if place.asked is None else now - place.asked
            if quiet > SILENT and place.origin is not None and place.count.state != "silent":
                self._take_back(self.leases.silent(place.number))
                place.count.state, place.count.leases = "silent", 0
                place.count.last_error = f"no answer for {SILENT:.0f} s"
                logger.warning("%s does not answer; what it held is given out again", place)
            if quiet > GONE and place.count.state == "silent":
                place.replica.stop()
                place.asked = None
                self._lose(place, f"no answer for {GONE:.0f} s")

    def _take_back(self, gone: Gone) -> None:
        for job in gone.begun:
            if (steps := self._steps.pop(job, None)) is not None:
                self._filler.lost(*job, steps)

    def _fail(self, job: Job, why: str) -> None:
        """Store an episode as failed; a stretch of episodes without a model stays unplayed."""
        self.leases.ended(None, job, time.monotonic())
        if job in self._counts:
            last = job[1] + self._counts[job] - 1
            episodes = f"episode {last}" if last == job[1] else f"episodes {job[1]} to {last}"
            logger.warning("%s: %s not played: %s", self._filler.name(job[0]), episodes, why)
            return
        models = {key: LostModel(*known, why) for key, known in self._names.items()}
        block = failed_block(self._store, self._cells[job[0]], job, models)
        self._filler.origin = Origin(versions=versions())
        self._filler.begun(*job)
        self._filler.over(*job)
        self._filler.done(job[0], block, 0, "")

    # What replicas say

    def _hear(self, place: _Place, message: Message) -> None:
        """Take one message; `_error` is set if it is to stop the run."""
        match message:
            case Ready():
                self._started(place, message)
            case Opened():
                self._opened(place, message)
            case Begun(job=job):
                if self.leases.begun(place.number, job, time.monotonic()):
                    self._begin(place, job)
            case Replied(job=job):
                if job not in self._committed:
                    kept = (*job, message.seat, message.request, message.reply)
                    self._replies.setdefault(job, []).append(kept)
            case Counts():
                self._count(place, message)
            case Played():
                self._played(place, message)
            case TooLong(job=job):
                if self._ends(place, job):
                    error = ContextExceeded(message.why)
                    self._filler.too_long(*job, self._steps.pop(job), error)
                    self._schedules[job[0]].ended(*job)
            case Left(jobs=jobs):
                self.leases.left(place.number, jobs)
            case Over(lease=number):
                self.leases.over(number)
            case Broken():
                self._error = self._error or _error_of(place, message)

    def _started(self, place: _Place, said: Ready) -> None:
        place.count.host, place.count.device = said.host, said.device
        place.origin = Origin(place.count.name, said.host, said.device, said.versions)
        place.count.last_error = place.lost  # no longer that it waits
        with self._noting():
            self._same.versions(str(place), said.versions)

    def _opened(self, place: _Place, said: Opened) -> None:
        place.opened = tuple(said.revisions)
        for key, revision in said.revisions.items():
            model = shown_name(json.loads(key))
            with self._noting():
                if self._same.revision(str(place), model, revision):
                    self._names[key] = said.names[key], revision
                    self._store.check_revision(model, revision)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Let an error wait until what came with it is committed."""
        try:
            yield
        except TomevalError as error:
            self._error = self._error or error

    def _begin(self, place: _Place, job: Job) -> None:
        if job not in self._counts:
            self._steps[job] = 0
            self._filler.begun(*job)

    def _ends(self, place: _Place, job: Job) -> bool:
        """Tell whether this is the end of a job, which then has begun."""
        if not self.leases.ended(place.number, job, time.monotonic()):
            return False
        place.in_vain = 0
        if job not in self._counts:
            if job not in self._steps:
                self._begin(place, job)
            self._filler.over(*job)
        return True

    def _played(self, place: _Place, said: Played) -> None:
        """Commit episodes, or compare them with what is committed."""
        job, block = (said.cell, said.block.episodes[0][0]), said.block
        if not self._ends(place, job):
            if job in self._committed:
                self._compare(place, job, block)
            return
        assert place.origin is not None
        self._filler.origin = place.origin
        if job in self._counts:
            self._filler.together(said.cell, block)
        else:
            self._filler.done(said.cell, block, self._steps.pop(job), said.unusable)
        place.count.episodes += len(block.episodes)
        place.count.steps += sum(row[2] for row in block.episodes)
        if all(row[1] != FAILED for row in block.episodes):
            self._committed.add(job)
            self._replies.pop(job, None)  # its rows have them

    def _compare(self, place: _Place, job: Job, block: Rows) -> None:
        """Hold a second result against the first one, which stays."""
        place.count.second += 1
        table, rounding = self._store.differs(job[0], block)
        if rounding and not table:
            place.count.rounded += 1
            self._rounding = max(self._rounding, rounding)
        if table:
            place.count.differed += 1
            logger.warning(
                "%s, episode %d: played again by %s, with other %s; the first result is kept",
                *(self._filler.name(job[0]), job[1], place, table),
            )

    def _tell_differences(self) -> None:
        """Say how many episodes were played twice and are not the same."""
        if differed := sum(place.count.differed for place in self._places):
            logger.warning(
                "%d episodes were played twice with different results: the first ones are kept",
                differed,
            )
        if rounded := sum(place.count.rounded for place in self._places):
            logger.warning(
                "%d episodes were played twice with results that differ by rounding only, at most "
                "by %.1g: the first ones are kept",
                *(rounded, self._rounding),
            )

    def _count(self, place: _Place, said: Counts) -> None:
        for job, steps in said.steps.items():
            if self.leases.holds(place.number, job) and job in self._steps:
                self._steps[job] += steps
                self._schedules[job[0]].stepped(job[0])
                self._filler.stepped(*job, steps)
        for key, asked in said.asked.items():
            self._filler.count_of(key).add(asked)
            place.count.tokens += asked.prompt + asked.completion
        for _ in range(said.again):
            self._filler.asked_again()
        place.count.memory = said.memory or place.count.memory


def _error_of(place: _Place, said: Broken) -> Exception:
    """Return what is raised for an error of a replica; a traceback is logged."""
    if said.told:
        return TomevalError(f"{place}: {said.told}")
    logger.error("%s:\n%s", place, said.trace)
    last = said.trace.strip().splitlines()[-1]
    return RuntimeError(f"an error of the program on {place}: {last}")
