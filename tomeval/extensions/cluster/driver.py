"""The driver's side of a run on many machines: asks replicas for episodes, and commits them.

The driver is the process that a user starts. It alone opens the store, so a replica that is lost
takes nothing with it but time. Cells with the same models are played together, one group after the
other, as in one process: every replica (`player`) opens the models, and is then asked for episodes,
as many at a time as it can play and a few more; each is one call of its actor.

What a lost replica held waits again, and another replica starts in its place. As nobody knows which
of them it was lost for, an episode that was lost twice is played last, and alone; after a third
time it is left unplayed. Libraries and revisions must be the same everywhere.

Cells stop as in one process: the driver counts, and begins no more of them. Cells with a served
model play in the driver.
"""

from __future__ import annotations

import json
import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from tomeval.core.errors import TomevalError
from tomeval.extensions.cluster.player import Ended, Ready, Setting
from tomeval.models import is_served, model_name
from tomeval.models.base import ContextExceeded
from tomeval.play.filling import Filler
from tomeval.play.schedule import Job, Schedule
from tomeval.runs.folder import versions
from tomeval.runs.record import Record

if TYPE_CHECKING:
    from tomeval.extensions.cluster.ray_cluster import RayCluster

logger = logging.getLogger(__name__)

AHEAD = 2
"""Episodes that a replica holds beyond those that it can play at a time."""

LOSSES = 3
"""So often may an episode lose its replica."""

IN_VAIN = 6
"""So often in a row may a place lose its replica, with nothing ended between."""

TURN = 1.0
"""Seconds for which answers are waited for before other things are looked after."""


class Lost(Exception):
    """A replica is gone, with what it was playing; the text says why, as far as is known."""


@dataclass(eq=False)
class _Replica:
    """A place for an actor: the one that it has now, and how often it has lost one."""

    number: int
    actor: Any = None
    host: str = ""
    opening: bool = False
    opened: bool = False  # the models of the group that plays
    jobs: list[Job] = field(default_factory=list)
    lost: int = 0
    in_vain: int = 0

    @property
    def given_up(self) -> bool:
        return self.in_vain >= IN_VAIN

    @property
    def state(self) -> str:
        if self.given_up:
            return "given up"
        return "playing" if self.jobs else "idle" if self.opened else "starting"

    def __str__(self) -> str:
        return f"replica {self.number + 1}{f' on {self.host}' * bool(self.host)}"


class Driver:
    """Asks replicas for all that is to be played, and hands the run what comes of it."""

    def __init__(self, cluster: RayCluster, count: int, setting: Setting, filler: Filler) -> None:
        self._cluster, self._setting, self._filler = cluster, setting, filler
        self._replicas = [_Replica(number) for number in range(count)]
        self._stretches = {(cell, first): number for cell, first, number in filler.stretches()}
        self._groups = {
            models: jobs
            for models, jobs in filler.groups().items()
            if not any(is_served(json.loads(key)) for key in models)
        }
        self._models: tuple[str, ...] = ()
        self._schedule = Schedule({}, 0)
        self._asked: dict[Any, tuple[_Replica, Callable[[Any], None]]] = {}
        self._losses: Counter[Job] = Counter()

    @property
    def done(self) -> bool:
        """Whether there is nothing to play."""
        return not (self._stretches or self._groups)

    def play(self) -> None:
        """Play all; once the run is to stop, what is under way."""
        filler = self._filler
        filler.live.asking, filler.live.replica_line = True, self._summary
        try:
            for replica in self._replicas:
                replica.actor = self._cluster.start(replica.number, self._setting)
            firsts: dict[int, list[int]] = {}
            for cell, first in self._stretches:
                firsts.setdefault(cell, []).append(first)
            self._play_group((), firsts, 0)
            for models, jobs in self._groups.items():
                self._play_group(models, jobs, filler.stop_after_voids)
        finally:
            for replica in self._replicas:
                if replica.actor is not None:
                    replica.actor.stop()
        filler.live.closing.append(self._summary())

    def _play_group(
        self, models: tuple[str, ...], jobs: Mapping[int, Sequence[int]], stop_after_voids: int
    ) -> None:
        """Play cells with the same models; those without any in stretches."""
        filler = self._filler
        self._models, self._schedule = models, Schedule(jobs, stop_after_voids)
        if not len(self._schedule) or filler.stopping.asked:
            return
        if models:
            filler.schedules |= dict.fromkeys(self._schedule.cells, self._schedule)
            filler.ready()
        for replica in self._replicas:
            self._open(replica)
        while self._under_way or (len(self._schedule) and not filler.stopping.asked):
            for replica in self._replicas:
                self._give(replica)
            self._take()

    @property
    def _under_way(self) -> int:
        return sum(len(replica.jobs) for replica in self._replicas)

    def _summary(self) -> str:
        """Return what replicas do and did, in a line."""
        states = Counter(replica.state for replica in self._replicas)
        said = [f"{number:,} {state}" for state, number in states.items()]
        lost = sum(replica.lost for replica in self._replicas)
        return f"replicas: {', '.join(said + [f'lost {lost:,} times'] * bool(lost))}"

    def _ask(self, replica: _Replica, then: Callable[[Any], None], call: str, *given: Any) -> None:
        self._asked[replica.actor.ask(call, *given)] = replica, then

    def _open(self, replica: _Replica) -> None:
        """Have a replica open the models of the group, once it has opened those of the last one."""
        replica.opened = False
        if not (replica.given_up or replica.opening):
            replica.opening = True
            then = partial(self._opened, replica, self._models)
            self._ask(replica, then, "open", self._models)

    def _give(self, replica: _Replica) -> None:
        """Ask a replica for as many episodes as it can hold, but no more than its share."""
        if not replica.opened or self._filler.stopping.asked:
            return
        mates = sum(not other.given_up for other in self._replicas)
        share = math.ceil((len(self._schedule) + self._under_way) / mates)
        most = min(share, (self._setting.concurrency if self._models else 0) + AHEAD)
        # One that was lost twice is alone.
        while len(replica.jobs) < most and not any(map(self._alone, replica.jobs)):
            if (job := self._schedule.take()) is None:
                return
            if replica.jobs and self._alone(job):
                self._schedule.give_back(job)
                return
            replica.jobs.append(job)
            ended = partial(self._ended, replica, job)
            if not self._models:
                self._ask(replica, ended, "stretch", *job, self._stretches[job])
                continue
            store, seats = self._filler.store, self._filler.cells[job[0]].models
            kept = {seat: store.kept_replies(*job, seat) for seat in seats}
            self._ask(replica, ended, "play", job, kept)

    def _alone(self, job: Job) -> bool:
        return self._losses[job] == LOSSES - 1

    def _take(self) -> None:
        """Commit what has come; raise then what went wrong."""
        errors: list[Exception] = []
        for asked in self._cluster.wait(list(self._asked), TURN):
            if asked not in self._asked:
                continue  # its replica was lost in this turn
            replica, then = self._asked.pop(asked)
            try:
                answer = self._cluster.result(asked)
            except Lost as error:
                self._lose(replica, str(error))
            except TomevalError as error:
                errors.append(TomevalError(f"{replica}: {error}"))
            except RuntimeError as error:
                logger.error("%s:\n%s", replica, error)
                last = f"{error}".strip().splitlines()[-1]
                errors.append(RuntimeError(f"a program error on {replica}: {last}"))
            else:
                then(answer)
        if errors:
            raise errors[0]
        episodes = f"{self._under_way} episode{'s' * (self._under_way != 1)}"
        self._filler.stopping.what = f"{episodes}, up to some minutes"

    # What replicas say

    def _opened(self, replica: _Replica, models: tuple[str, ...], said: Ready) -> None:
        replica.host, replica.opening, replica.opened = said.host, False, models == self._models
        mine = versions()
        if differing := [
            f"{name} {said.versions.get(name, 'missing')}, not {mine.get(name, 'missing')}"
            for name in sorted({*said.versions, *mine})
            if said.versions.get(name) != mine.get(name)
        ]:
            raise TomevalError(
                f"{replica} differs from this machine: {'; '.join(differing)}; rows must not "
                "depend on where they are played: install the same versions everywhere"
            )
        for key, revision in said.revisions.items():
            self._filler.store.check_revision(model_name(json.loads(key)), revision)
        if not replica.opened:
            self._open(replica)

    def _ended(self, replica: _Replica, job: Job, said: Ended) -> None:
        """Hand an episode to the run, or a stretch."""
        filler, number = self._filler, job[0]
        replica.jobs.remove(job)
        replica.in_vain = 0
        if said.records is None:
            filler.too_long(*job, 0, ContextExceeded(said.too_long))
            self._schedule.ended(*job)
        elif not self._models:
            filler.together(number, said.records)
        else:
            (record,) = said.records
            self._settle(number, record)
            filler.done(number, record, 0, said.unusable)

    def _settle(self, number: int, record: Record) -> None:
        """Tell what came of the questions of an episode."""
        if record.steps > 1:  # of a void one the last
            self._schedule.stepped(number)
        last = {call[:3]: call for call in record.calls if "outcome" in call[3]}
        for _, seat, _, call in last.values():  # the last attempt at each question
            key = self._filler.keys[number][seat]
            self._filler.settled(number, record.episode, key, call["outcome"], call)

    def _lose(self, replica: _Replica, why: str) -> None:
        """Take back what a lost replica held, and start another one in its place."""
        replica.actor.stop()
        self._asked = {asked: one for asked, one in self._asked.items() if one[0] is not replica}
        for job in replica.jobs:
            self._take_back(job, why)
        replica.jobs, replica.opening, replica.opened = [], False, False
        replica.lost, replica.in_vain = replica.lost + 1, replica.in_vain + 1
        then = "its episodes are played again"
        if self._filler.stopping.asked:
            then = "its episodes are left for the next session"
        elif replica.given_up:
            then = f"and is given up, after {IN_VAIN} times in a row"
        else:
            replica.actor = self._cluster.start(replica.number, self._setting)
            self._open(replica)
        logger.warning("%s is lost (%s); %s", replica, why, then)
        if all(other.given_up for other in self._replicas) and len(self._schedule):
            raise TomevalError(
                f"every replica was lost {IN_VAIN} times in a row; the last one, {replica}: {why}; "
                "everything is kept: run the same command again to continue"
            )

    def _take_back(self, job: Job, why: str) -> None:
        """Let a job of a lost replica wait again, or leave it unplayed."""
        self._losses[job] += 1
        if self._losses[job] < LOSSES:
            self._schedule.give_back(job)
            return
        self._schedule.ended(*job)
        first, last = job[1], job[1] + (1 if self._models else self._stretches[job]) - 1
        episodes = f"episode {first}" if first == last else f"episodes {first} to {last}"
        logger.warning(
            "%s: %s not played: its replica was lost three times: %s",
            *(self._filler.name(job[0]), episodes, why),
        )
