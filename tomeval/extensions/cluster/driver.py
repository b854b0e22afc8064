"""The driver's side of a run on many machines: asks replicas for episodes, and commits them.

The driver is the process that a user starts. It alone opens the store, so a replica that is lost
takes nothing with it but time. Cells with the same models are a group. A replica (`player`) opens a
group's models, and is then asked for its episodes, as many at a time as it can play and a few more:
each is one call of its actor. It stays with its models while episodes of that group wait.

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
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from tomeval.core.errors import TomevalError
from tomeval.extensions.cluster.player import Ended, Ready, Setting
from tomeval.models import is_served, model_name
from tomeval.models.base import ContextExceeded
from tomeval.runs.filling import Filler
from tomeval.runs.folder import versions
from tomeval.runs.record import Record
from tomeval.runs.schedule import Job, Schedule

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


@dataclass(frozen=True, eq=False)
class _Group:
    """Cells with the same models, by `spec_key`, and what is to be played of them."""

    models: tuple[str, ...]
    schedule: Schedule


@dataclass(eq=False)
class _Replica:
    """A place for an actor: the one that it has now, and how often it has lost one."""

    number: int
    actor: Any = None
    host: str = ""
    group: _Group | None = None
    opened: bool = False  # the models of the group
    jobs: list[Job] = field(default_factory=list)
    alone: bool = False  # the one job that it holds is to have no other beside it
    lost: int = 0
    in_vain: int = 0

    @property
    def given_up(self) -> bool:
        return self.in_vain >= IN_VAIN

    def __str__(self) -> str:
        return f"replica {self.number + 1}{f' on {self.host}' * bool(self.host)}"


class Driver:
    """Asks replicas for all that is to be played, and hands the run what comes of it."""

    def __init__(self, cluster: RayCluster, count: int, setting: Setting, filler: Filler) -> None:
        self._cluster, self._setting, self._filler = cluster, setting, filler
        self._replicas = [_Replica(number) for number in range(count)]
        self._stretches = {(cell, first): number for cell, first, number in filler.stretches()}
        firsts: dict[int, list[int]] = {}
        for cell, first in self._stretches:
            firsts.setdefault(cell, []).append(first)
        self._groups = [_Group((), Schedule(firsts, 0))]
        for models, jobs in filler.groups().items():
            if not any(is_served(json.loads(key)) for key in models):
                schedule = Schedule(jobs, filler.stop_after_voids)
                self._groups.append(_Group(models, schedule))
                filler.schedules.update(dict.fromkeys(schedule.cells, schedule))
        self._asked: dict[Any, tuple[_Replica, Callable[[Any], None]]] = {}
        self._losses: Counter[Job] = Counter()

    @property
    def done(self) -> bool:
        """Whether nothing is left to play."""
        return not (self._under_way or any(len(group.schedule) for group in self._groups))

    @property
    def _under_way(self) -> int:
        return sum(len(replica.jobs) for replica in self._replicas)

    def play(self) -> None:
        """Play until nothing is left; once the run is to stop, what is under way."""
        filler = self._filler
        filler.live.asking, filler.live.replica_line = True, self._summary
        filler.ready()
        try:
            for replica in self._replicas:
                replica.actor = self._cluster.start(replica.number, self._setting)
            while not (self.done or (filler.stopping.asked and not self._under_way)):
                for replica in self._replicas:
                    self._give(replica)
                self._take()
        finally:
            for replica in self._replicas:
                if replica.actor is not None:
                    replica.actor.stop()
        filler.live.closing.append(self._summary())

    def _summary(self) -> str:
        """Return what replicas do and did, in a line."""
        replicas = self._replicas
        states = [
            "given up" if r.given_up else "playing" if r.jobs else "idle" if r.host else "starting"
            for r in replicas
        ]
        said = [f"{number:,} {state}" for state, number in Counter(states).items()]
        lost = sum(replica.lost for replica in replicas)
        return f"replicas: {', '.join(said + [f'lost {lost:,} times'] * bool(lost))}"

    def _ask(self, replica: _Replica, then: Callable[[Any], None], call: str, *given: Any) -> None:
        self._asked[replica.actor.ask(call, *given)] = replica, then

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

    # What replicas are given

    def _give(self, replica: _Replica) -> None:
        """Ask a replica for as many episodes as it can hold."""
        if replica.given_up or self._filler.stopping.asked:
            return
        if not replica.jobs:
            replica.alone = False
            self._choose(replica)
        if (group := replica.group) is None or not replica.opened:
            return
        most = self._share(group)
        while len(replica.jobs) < most and not replica.alone:
            if (job := group.schedule.take()) is None:
                return
            if self._losses[job] == LOSSES - 1:
                if replica.jobs:
                    group.schedule.give_back(job)
                    return
                replica.alone = True
            replica.jobs.append(job)
            ended = partial(self._ended, replica, job)
            if job in self._stretches:
                self._ask(replica, ended, "stretch", *job, self._stretches[job])
            else:
                store, seats = self._filler.store, self._filler.cells[job[0]].models
                kept = {seat: store.kept_replies(*job, seat) for seat in seats}
                self._ask(replica, ended, "play", job, kept)

    def _share(self, group: _Group) -> int:
        """Return how much a replica is to hold: no more than its share of what is left."""
        held = sum(len(other.jobs) for other in self._replicas if other.group is group)
        waiting = sum(bool(len(other.schedule)) for other in self._groups)
        mates = sum(not other.given_up for other in self._replicas) // max(1, waiting)
        share = math.ceil((len(group.schedule) + held) / max(1, mates))
        return min(share, (self._setting.concurrency if group.models else 0) + AHEAD)

    def _choose(self, replica: _Replica) -> None:
        """Let a replica that holds nothing stay with its models, or open others."""
        if replica.group is not None and (len(replica.group.schedule) or not replica.opened):
            return

        def preference(group: _Group) -> tuple[bool, float]:
            mates = sum(other.group is group for other in self._replicas)
            return bool(group.models), -len(group.schedule) / (1 + mates)

        if waiting := [group for group in self._groups if len(group.schedule)]:
            replica.group, replica.opened = min(waiting, key=preference), False
            self._ask(replica, partial(self._opened, replica), "open", replica.group.models)

    # What replicas say

    def _opened(self, replica: _Replica, said: Ready) -> None:
        replica.host, replica.opened = said.host, True
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

    def _ended(self, replica: _Replica, job: Job, said: Ended) -> None:
        """Hand an episode to the run, or a stretch."""
        filler, number = self._filler, job[0]
        replica.jobs.remove(job)
        replica.in_vain = 0
        if said.records is None:
            filler.too_long(*job, 0, ContextExceeded(said.too_long))
            filler.schedules[number].ended(*job)
        elif job in self._stretches:
            filler.together(number, said.records)
        else:
            (record,) = said.records
            self._settle(number, record)
            filler.done(number, record, 0, said.unusable)

    def _settle(self, number: int, record: Record) -> None:
        """Tell what came of the questions of an episode."""
        keys = self._filler.keys[number]
        if record.steps > 1:  # of a void one the last
            self._filler.schedules[number].stepped(number)
        last = {call[:3]: call for call in record.calls if "outcome" in call[3]}
        for _, seat, _, call in last.values():  # the last attempt at each question
            self._filler.settled(number, record.episode, keys[seat], call["outcome"], call)

    # Replicas that are lost

    def _lose(self, replica: _Replica, why: str) -> None:
        """Take back what a lost replica held, and start another one in its place."""
        replica.actor.stop()
        self._asked = {asked: one for asked, one in self._asked.items() if one[0] is not replica}
        for job in replica.jobs:
            self._take_back(replica, job, why)
        then = "its episodes are played again"
        replica.lost, replica.in_vain = replica.lost + 1, replica.in_vain + 1
        if self._filler.stopping.asked:
            then = "its episodes are left for the next session"
        elif replica.given_up:
            then = f"and is given up, after {IN_VAIN} times in a row"
        logger.warning("%s is lost (%s); %s", replica, why, then)
        replica.host, replica.group, replica.opened, replica.jobs = "", None, False, []
        if not (replica.given_up or self._filler.stopping.asked):
            replica.actor = self._cluster.start(replica.number, self._setting)
        if all(other.given_up for other in self._replicas) and not self.done:
            raise TomevalError(
                f"every replica was lost {IN_VAIN} times in a row; the last one, {replica}: {why}; "
                "everything is kept: run the same command again to continue"
            )

    def _take_back(self, replica: _Replica, job: Job, why: str) -> None:
        """Let a job of a lost replica wait again, or leave it unplayed."""
        assert replica.group is not None
        self._losses[job] += 1
        if self._losses[job] < LOSSES:
            replica.group.schedule.give_back(job)
            return
        replica.group.schedule.ended(*job)
        first, last = job[1], job[1] + self._stretches.get(job, 1) - 1
        episodes = f"episode {first}" if first == last else f"episodes {first} to {last}"
        logger.warning(
            "%s: %s not played: its replica was lost three times: %s",
            *(self._filler.name(job[0]), episodes, why),
        )
