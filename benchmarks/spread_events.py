"""The events of a simulated run on many GPUs; `spread_simulation` measures and prints."""

from __future__ import annotations

import heapq
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from tomeval.extensions.cluster import leases as lease_module
from tomeval.extensions.cluster.leases import Grant, Group, Leases
from tomeval.runs.jobs import Job
from tomeval.runs.schedule import Schedule

NOTICED = 18.6
"""Seconds until Ray 2.60 tells of a lost node, as measured on two local nodes."""

ANSWER = 4_000_000
"""Bytes of one answer; what a replica has beyond that waits for the next one."""

HOUR = 3600.0


@dataclass(frozen=True)
class Costs:
    """What is put in.

    Attributes
    ----------
    seconds : float
        Of a GPU, for an episode, when it plays `slots` at a time.
    calls : int
        Replies of an episode.
    slots : int
        Episodes that a replica plays at a time.
    turn, exchange, reply, episode : float
        Seconds of the driver: for a transaction, for the answer of a replica, for keeping a reply,
        and for an episode that is over.
    kilobytes : float
        Sent for an episode, with its replies.
    latency : float
        Seconds one way.
    bandwidth : float
        Megabytes a second that reach the driver.
    load : float
        Seconds until a replica has its model.
    losses : float
        Per replica and hour.
    spread : float
        Standard deviation of the logarithm of an episode's length.
    """

    seconds: float = 2.0
    calls: int = 20
    slots: int = 32
    turn: float = 0.002
    exchange: float = 0.001
    reply: float = 5e-5
    episode: float = 1e-3
    kilobytes: float = 20.0
    latency: float = 0.001
    bandwidth: float = 1000.0
    load: float = 60.0
    losses: float = 0.01
    spread: float = 0.2

    @property
    def writer(self) -> float:
        """Return the episodes a second that the driver can commit, answers being full."""
        answers = self.kilobytes * 1000 / ANSWER
        return 1 / (self.episode + self.calls * self.reply + answers * self.exchange)

    def bound(self, replicas: int) -> float:
        """Return the most episodes a second that any schedule reaches: of GPUs, driver, network."""
        return min(replicas / self.seconds, self.writer, self.bandwidth * 1000 / self.kilobytes)


@dataclass(frozen=True)
class Found:
    """What a simulation gives: seconds are simulated ones, but those of `bookkeeping`."""

    replicas: int
    episodes: int
    seconds: float
    steady: float  # episodes a second until nothing waits, but for a first tenth; NaN if too few
    driver: float  # share of the time that the driver works
    tail: float  # share of all replicas' time that they idle at the end
    again: int  # episodes that were begun again after a loss
    failed: int  # episodes that lost three replicas
    bookkeeping: float  # CPU seconds that the leases' own code took, per episode: measured

    @property
    def rate(self) -> float:
        """Return episodes a second, loading and the end included."""
        return self.episodes / self.seconds


@dataclass
class _Replica:
    number: int
    life: int = 0
    up: bool = False
    waiting: deque[Job] = field(default_factory=deque)
    active: set[Job] = field(default_factory=set)
    grants: list[tuple[int, set[Job]]] = field(default_factory=list)
    said: list[tuple[str, Any]] = field(default_factory=list)
    replies: float = 0.0  # made and not yet told
    since: float = 0.0  # when `replies` was right
    asked: bool = False  # a question is under way and not answered
    poll: int = 0
    busy_until: float = 0.0


class _Simulation:
    """The events of one run; `now` is the simulated time."""

    def __init__(self, costs: Costs, replicas: int, episodes: int, seed: int) -> None:
        self.costs, self.rng = costs, np.random.default_rng(seed)
        jobs = [(0, episode) for episode in range(episodes)]
        self.schedule = Schedule(jobs, 0)
        self.leases = Leases([Group(("model",), self.schedule, costs.slots)], replicas)
        self.replicas = [_Replica(number) for number in range(replicas)]
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.count = 0
        self.now = self.line = self.worked = self.bookkeeping = 0.0
        self.inbox: list[tuple[_Replica, int, list[tuple[str, Any]], float]] = []
        self.driving = False
        self.lost: list[_Replica] = []
        self.done = self.again = self.failed = 0
        self.ends: list[float] = []
        self.drained = math.inf

    # The machinery

    def at(self, when: float, what: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.events, (when, self.count, what))

    def run(self) -> None:
        for replica in self.replicas:
            self.start(replica)
        while not self.leases.done:
            self.now, _, what = heapq.heappop(self.events)
            what()

    # Replicas

    def start(self, replica: _Replica) -> None:
        """Load a model; then say so, which is the first answer."""
        life = replica.life
        c = self.costs
        if c.losses:
            self.at(self.now + self.rng.exponential(HOUR / c.losses), lambda: self.lose(replica))

        def ready() -> None:
            if replica.life == life:
                replica.up, replica.asked, replica.since = True, True, self.now
                replica.said.append(("ready", None))
                self.answer(replica)

        self.at(self.now + c.load, ready)

    def lose(self, replica: _Replica) -> None:
        """Take a replica away; the driver hears of it later."""
        replica.life += 1
        replica.up = replica.asked = False
        replica.waiting.clear()
        replica.active.clear()
        replica.grants.clear()
        replica.said.clear()
        replica.replies = 0.0

        def noticed() -> None:
            self.lost.append(replica)
            self.drive()

        self.at(self.now + NOTICED, noticed)

    def tally(self, replica: _Replica) -> None:
        """Count the replies up to now."""
        rate = len(replica.active) / self.costs.slots * self.costs.calls / self.costs.seconds
        replica.replies += rate * (self.now - replica.since)
        replica.since = self.now

    def play(self, replica: _Replica) -> None:
        """Let episodes begin as long as there is room for them."""
        c = self.costs
        self.tally(replica)
        while replica.waiting and len(replica.active) < c.slots:
            job = replica.waiting.popleft()
            replica.active.add(job)
            replica.said.append(("begun", job))
            length = c.seconds * c.slots
            if c.spread:
                length *= self.rng.lognormal(-(c.spread**2) / 2, c.spread)
            self.at(self.now + length, partial(self.end, replica, replica.life, job))
        self.answer(replica)

    def end(self, replica: _Replica, life: int, job: Job) -> None:
        """Let an episode end."""
        if replica.life != life:
            return
        self.tally(replica)
        replica.active.remove(job)
        replica.said.append(("ended", job))
        replica.busy_until = self.now
        for grant in list(replica.grants):
            grant[1].discard(job)
            if not grant[1]:
                replica.grants.remove(grant)
        self.play(replica)

    def answer(self, replica: _Replica) -> None:
        """Answer the question under way, if there is something to say."""
        if not (replica.up and replica.asked):
            return
        self.tally(replica)
        c = self.costs
        batch = len(replica.active)  # a local model answers all at once
        if not replica.said and (replica.replies < batch or not batch):
            if batch:
                rate = batch / c.slots * c.calls / c.seconds
                replica.poll += 1
                poll = replica.poll

                def again() -> None:
                    if replica.poll == poll:
                        self.answer(replica)

                self.at(self.now + (batch - replica.replies) / rate + 1e-6, again)
            return
        each = c.kilobytes * 1000 / c.calls
        told = min(replica.replies, ANSWER / each)
        said = replica.said
        replica.said, replica.replies, replica.asked = [], replica.replies - told, False
        replica.poll += 1
        # One line into the driver: what comes at once comes one after the other.
        self.line = max(self.line, self.now) + told * each / (c.bandwidth * 1e6)
        life = replica.life

        def arrives() -> None:
            self.inbox.append((replica, life, said, told))
            self.drive()

        self.at(self.line + c.latency, arrives)

    # The driver

    def drive(self) -> None:
        """Take all that has come, unless a turn is under way."""
        if self.driving or not (self.inbox or self.lost):
            return
        self.driving = True
        heard, self.inbox = self.inbox, []
        lost, self.lost = self.lost, []
        c = self.costs
        took = c.turn + len(heard) * c.exchange
        for _, _, said, told in heard:
            took += told * c.reply + sum(what == "ended" for what, _ in said) * c.episode
        self.worked += took
        self.at(self.now + took, lambda: self.turned(heard, lost))

    def turned(self, heard: Sequence[Any], lost: Sequence[_Replica]) -> None:
        """End a turn: what was heard is committed, and replicas are asked again."""
        began = time.process_time()
        asking = []
        for replica, life, said, _ in heard:
            if life != replica.life:
                continue  # its loss is told of later, and this came too late to count
            for what, told in said:
                if what == "begun":
                    self.leases.begun(replica.number, told, self.now)
                elif what == "ended" and self.leases.ended(replica.number, told, self.now):
                    self.done += 1
                    self.ends.append(self.now)
            asking.append(replica)
        for replica in lost:
            gone = self.leases.lost(replica.number)
            self.again += len(gone.begun) - len(gone.failed)
            for job in gone.failed:
                self.leases.ended(None, job, self.now)
                self.failed += 1
            self.start(replica)
        if lost:  # what it held waits again: those with nothing to do may have it
            asking += [one for one in self.replicas if one.up and one.asked and one not in asking]
        given = [(replica, self.grants(replica)) for replica in asking]
        self.bookkeeping += time.process_time() - began
        if not len(self.schedule):
            self.drained = min(self.drained, self.now)
        for replica, grants in given:
            later = partial(self.asked, replica, replica.life, grants)
            self.at(self.now + self.costs.latency, later)
        self.driving = False
        self.drive()

    def grants(self, replica: _Replica) -> list[Grant]:
        found = []
        while (grant := self.leases.grant(replica.number, self.now)) is not None:
            found.append(grant)
        return found

    def asked(self, replica: _Replica, life: int, grants: Sequence[Grant]) -> None:
        """Hear a question, with new leases."""
        if replica.life != life:
            return
        replica.asked = True
        for grant in grants:
            replica.waiting.extend(grant.jobs)
            replica.grants.append((grant.number, set(grant.jobs)))
        self.play(replica)


def simulate(
    costs: Costs,
    replicas: int,
    episodes: int,
    *,
    lease: tuple[float, float] = (lease_module.LEAST, lease_module.MOST),
    seed: int = 0,
) -> Found:
    """Simulate a run.

    Parameters
    ----------
    costs : Costs
    replicas, episodes : int
    lease : pair of float
        Seconds that a lease is to take at least and at most.
    seed : int
        Of lengths and losses.

    Returns
    -------
    Found
    """
    with (
        mock.patch.object(lease_module, "LEAST", lease[0]),
        mock.patch.object(lease_module, "MOST", lease[1]),
    ):
        run = _Simulation(costs, replicas, episodes, seed)
        run.run()
    # After the first tenth of what ends before nothing waits any more; a turn commits many at once.
    ends = np.array([end for end in run.ends if end <= run.drained])
    began = ends[len(ends) // 10] if len(ends) else math.nan
    after = ends[ends > began]
    # Episodes that begin together end together: fewer than four rounds of them show no rate.
    span = after[-1] - began if len(after) else 0.0
    steady = len(after) / span if span >= 4 * costs.slots * costs.seconds else math.nan
    idle = sum(run.now - max(one.busy_until, min(run.drained, run.now)) for one in run.replicas)
    return Found(
        replicas,
        episodes,
        run.now,
        float(steady),
        run.worked / run.now,
        idle / (run.now * replicas),
        run.again,
        run.failed,
        run.bookkeeping / episodes,
    )
