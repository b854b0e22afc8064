"""What is to be played, and by whom: knows no clock, no store and no network, and is told all.

A job is an episode, or a stretch of them named by its first one. It waits in its group's schedule,
is held by one replica, or has ended; in cells that were stopped it may also be left out. A replica
holds two leases at most, so that one is there when the other is over.

A job may be what kills the process that plays it, and with others beside it nobody knows which one
it was. So one that was lost twice is played last and alone: a third loss is then its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tomeval.runs.jobs import Job, Jobs
from tomeval.runs.schedule import Schedule

AT_A_TIME = 2
"""Leases that a replica may hold."""

LOSSES = 3
"""How often an episode may lose its replica, after which it is not tried again."""

LEAST, MOST = 60.0, 300.0
"""Seconds that a lease is to take, as long as much is left."""


@dataclass(eq=False)
class Group:
    """Cells with the same models, which a replica opens for all of them.

    Attributes
    ----------
    models : tuple of str
        By `tomeval.runs.engine.spec_key`; empty: cells without a model.
    schedule : Schedule
        Their jobs; what it has handed out was taken for a lease, and has begun as far as it knows.
    slots : int
        Jobs that a replica plays at a time.
    """

    models: tuple[str, ...]
    schedule: Schedule
    slots: int = 1


class Grant(NamedTuple):
    """Jobs that a replica is given; `number` is that of the lease."""

    number: int
    group: Group
    jobs: tuple[Job, ...]


class Gone(NamedTuple):
    """Jobs that a replica had begun and plays no more; `failed` were lost too often to try again.

    The others wait again, with those that it had not begun. `blamed` are those that it may have
    been lost for.
    """

    begun: list[Job]
    failed: list[Job]
    blamed: list[Job]


@dataclass
class _Lease:
    replica: int
    group: Group
    jobs: dict[Job, None]  # in the order of play
    alone: bool
    begun: set[Job] = field(default_factory=set)


@dataclass
class _Speed:
    """How fast a replica plays a group: jobs that ended, and seconds in which it held some."""

    ended: int = 0
    seconds: float = 0.0
    since: float | None = None

    def rate(self, now: float) -> float:
        """Return the jobs per second; 0: not known."""
        seconds = self.seconds + (0.0 if self.since is None else now - self.since)
        return self.ended / seconds if seconds > 0 else 0.0


class Leases:
    """The state of all jobs.

    Parameters
    ----------
    groups : sequence of Group
        No cell is in two of them.
    replicas : int
        They have the numbers from 0 on.
    """

    def __init__(self, groups: Sequence[Group], replicas: int) -> None:
        self._groups = list(groups)
        self._group_of = {cell: group for group in groups for cell in group.schedule.cells}
        self._plays: dict[int, Group | None] = dict.fromkeys(range(replicas))  # who can be given
        self._leases: dict[int, _Lease] = {}
        self._holder: dict[Job, int] = {}  # by job, the number of its lease
        self._losses: Counter[Job] = Counter()
        self._suspects: set[Job] = set()  # lost so often that they are played alone
        self._failing: set[Job] = set()
        self._tried = Jobs()
        self._ended, self._left_out = Jobs(), Jobs()
        self._stopped: dict[int, int] = {}  # by cell, how many of its jobs came back
        self._unanswered: dict[int, set[Job]] = {}  # of stopped cells: not known to have begun
        self._speeds: dict[tuple[int, tuple[str, ...]], _Speed] = {}
        self._next = 0

    # What is known

    @property
    def idle(self) -> bool:
        """Whether no replica holds anything."""
        return not self._holder

    @property
    def done(self) -> bool:
        """Whether nothing is left to play, or to be noted as failed."""
        waiting = any(len(group.schedule) for group in self._groups)
        return not (waiting or self._holder or self._failing)

    def holds(self, replica: int, job: Job) -> bool:
        """Tell whether a job is in a lease of this replica."""
        return self._replica_of(job) == replica

    def leases_of(self, replica: int) -> int:
        """Return how many leases a replica holds."""
        return sum(lease.replica == replica for lease in self._leases.values())

    @property
    def under_way(self) -> int:
        """How many leases replicas hold."""
        return len(self._leases)

    def _replica_of(self, job: Job) -> int | None:
        number = self._holder.get(job)
        return None if number is None else self._leases[number].replica

    # What happens to jobs

    def grant(self, replica: int, now: float, in_vain: int = 0) -> Grant | None:
        """Give a replica a lease; None: it has two, or there is nothing for it now.

        One in whose place several were lost, `in_vain` without an end of a job between them, is
        given one job at a time, so that the next loss tells more.
        """
        mine = [lease for lease in self._leases.values() if lease.replica == replica]
        if len(mine) >= AT_A_TIME or any(lease.alone for lease in mine):
            return None
        self._plays.setdefault(replica, None)
        for group in self._choice(replica):
            alone = in_vain >= (1 if group.slots == 1 else LOSSES - 1)
            size = 1 if alone else self._size(replica, group, now)
            jobs = [] if alone and mine else self._take(group, size, free=not mine)
            if jobs:
                self._next += 1
                self._plays[replica] = group
                alone = alone or jobs[0] in self._suspects
                self._leases[self._next] = _Lease(replica, group, dict.fromkeys(jobs), alone)
                self._holder.update(dict.fromkeys(jobs, self._next))
                return Grant(self._next, group, tuple(jobs))
        return None

    def _take(self, group: Group, size: int, free: bool) -> list[Job]:
        """Take jobs for a lease: one to be played alone only by itself, on a free replica."""
        jobs: list[Job] = []
        while len(jobs) < size and (job := group.schedule.take()) is not None:
            suspect = job in self._suspects
            if suspect and (jobs or not free):
                group.schedule.give_back(job, last=True)
                break
            jobs.append(job)
            if suspect:
                break
        return jobs

    def begun(self, replica: int, job: Job, now: float) -> bool:
        """Record that a replica begins a job; return whether it holds it."""
        if not self.holds(replica, job):
            return False
        lease = self._leases[self._holder[job]]
        lease.begun.add(job)
        self._tried.add(job)
        self._answered(job)
        speed = self._speed(replica, lease.group)
        if speed.since is None:
            speed.since = now
        return True

    def ended(self, replica: int | None, job: Job, now: float) -> bool:
        """Record that a job has ended; return whether it counts.

        It does not if it ended before, or was left out. None: it did not end on a replica.
        """
        if job in self._ended or job in self._left_out:
            return False
        group = self._group_of[job[0]]
        if job in self._holder:
            holder = self._release(job)
            if holder == replica:
                self._speed(holder, group).ended += 1
            self._rest(holder, group, now)
        elif job in self._failing:
            self._failing.remove(job)
        elif not group.schedule.claim(job):
            return False  # its cell was stopped while it waited
        self._ended.add(job)
        self._answered(job)
        return True

    def left(self, replica: int, jobs: Sequence[Job]) -> None:
        """Record that a replica will not begin jobs of a stopped cell."""
        for job in jobs:
            if self.holds(replica, job):
                self._release(job)
                self._leave_out(job)

    def _release(self, job: Job) -> int:
        """Take a job from its lease, which is over with its last one; return whose that was."""
        number = self._holder.pop(job)
        lease = self._leases[number]
        del lease.jobs[job]
        lease.begun.discard(job)
        if not lease.jobs:
            del self._leases[number]
        return lease.replica

    # What happens to replicas

    def lost(self, replica: int, opened: Container[str] = ()) -> Gone:
        """Record that a replica is gone; another one may take its place.

        `opened` has the models that it was known to have opened.
        """
        gone = self._take_back(replica, self._blamed(replica, opened))
        self._plays[replica] = None
        for key in [key for key in self._speeds if key[0] == replica]:
            del self._speeds[key]
        return gone

    def silent(self, replica: int) -> Gone:
        """Record that a replica does not answer; it is given nothing until `grant` names it."""
        gone = self._take_back(replica, [])
        self._plays.pop(replica, None)
        return gone

    def give_up(self, replica: int) -> None:
        """Record that a replica is lost for good."""
        self._plays.pop(replica, None)

    def _blamed(self, replica: int, opened: Container[str]) -> list[Job]:
        """Return the jobs that a replica was playing when it was lost.

        What it said last is lost with it: if it had begun nothing that is known, and was not
        opening a model, it had begun the first ones.
        """
        leases = [lease for lease in self._leases.values() if lease.replica == replica]
        begun = [job for lease in leases for job in lease.begun]
        first = next(iter(leases), None)
        if begun or first is None or not all(key in opened for key in first.group.models):
            return begun
        return list(first.jobs)[: first.group.slots]

    def _take_back(self, replica: int, blamed: list[Job]) -> Gone:
        """Let the jobs of a replica wait again, in their order."""
        gone = Gone([], [], blamed)
        self._losses.update(blamed)
        mine = [number for number, lease in self._leases.items() if lease.replica == replica]
        leases = [self._leases.pop(number) for number in mine]
        found = [(job, lease) for lease in leases for job in lease.jobs]
        for job, lease in sorted(found, key=lambda one: one[0][::-1], reverse=True):
            del self._holder[job]
            if job in lease.begun:
                gone.begun.append(job)
            if self._losses[job] >= LOSSES:
                self._failing.add(job)
                gone.failed.append(job)
            elif job[0] in self._stopped and job not in self._tried:
                self._leave_out(job)
            else:
                if self._losses[job] == LOSSES - 1:
                    self._suspects.add(job)
                lease.group.schedule.give_back(job, last=job in self._suspects)
        return gone

    # Cells that stop

    def recall(self, cell: int) -> None:
        """Stop a cell: what has not begun is not to be played; see `settled`."""
        if cell not in self._stopped:
            self._stopped[cell] = 0
            held = (job for job in self._holder if job[0] == cell)
            self._unanswered[cell] = {job for job in held if job not in self._tried}

    def settled(self) -> list[tuple[int, int]]:
        """Return recalled cells with how many jobs came back, once that is known; each once."""
        known = [cell for cell, jobs in self._unanswered.items() if not jobs]
        for cell in known:
            del self._unanswered[cell]
        return [(cell, self._stopped[cell]) for cell in known]

    def _answered(self, job: Job) -> None:
        self._unanswered.get(job[0], set()).discard(job)

    def _leave_out(self, job: Job) -> None:
        self._left_out.add(job)
        self._stopped[job[0]] += 1
        self._answered(job)

    # How much a replica is given

    def _choice(self, replica: int) -> list[Group]:
        """Return the groups that a replica may play, the best one first.

        It stays with models that it has opened; else it goes where most is left for each replica.
        """
        mine = self._plays[replica]
        if mine is not None and len(mine.schedule):
            return [mine]
        open_ones = [group for group in self._groups if len(group.schedule)]
        return sorted(
            open_ones,
            key=lambda g: (bool(g.models), -len(g.schedule) / (1 + len(self._mates(g)))),
        )

    def _mates(self, group: Group) -> list[int]:
        return [replica for replica, plays in self._plays.items() if plays is group]

    def _size(self, replica: int, group: Group, now: float) -> int:
        """Return how many jobs a lease is to have.

        No more than the replica's share of what is left, by its speed, so that all end together;
        less than that as long as it has enough to do, so that wrong estimates can be mended.
        """
        mates = {*self._mates(group), replica}
        coming = sum(plays is None for who, plays in self._plays.items() if who != replica)
        coming //= sum(bool(len(other.schedule)) for other in self._groups)
        known = {who: self._speed(who, group).rate(now) for who in mates}
        found = [rate for rate in known.values() if rate]
        mean = sum(found) / len(found) if found else 1.0
        rate = known[replica] or mean
        total = sum(known[who] or mean for who in mates) + coming * mean
        waiting, held = len(group.schedule), Counter[int]()
        for lease in self._leases.values():
            if lease.group is group:
                held[lease.replica] += len(lease.jobs)
        left = waiting + held.total()
        share = math.ceil(left * rate / total) - held[replica]
        several = len(mates) + coming > 1
        half = math.ceil(waiting / (2 * (len(mates) + coming))) if several else waiting
        ahead = group.slots
        if known[replica]:  # else it has enough for the moment, and its speed will show
            seconds = min(max(left / total / 4, LEAST), MOST)
            ahead = max(ahead, math.ceil(rate * seconds))
        return min(waiting, share, max(group.slots - held[replica], min(ahead, half)))

    def _speed(self, replica: int, group: Group) -> _Speed:
        return self._speeds.setdefault((replica, group.models), _Speed())

    def _rest(self, replica: int, group: Group, now: float) -> None:
        """Stop a replica's watch if it holds nothing of a group."""
        speed = self._speed(replica, group)
        mine = (lease.replica == replica for lease in self._leases.values())
        if speed.since is not None and not any(mine):
            speed.seconds += now - speed.since
            speed.since = None
