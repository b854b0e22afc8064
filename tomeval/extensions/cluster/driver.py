"""The driver's side of a run on many machines: hands out leases, and commits what comes back.

The driver is the process that a user starts. It alone opens the store, hands out leases and commits
what comes back, so a replica that is lost takes nothing with it but time. What a replica and the
driver say to each other, and what carries it, is in `messages`.

How it works
------------
Cells with the same models are a group. The driver gives each replica leases: episodes of
one group, with the replies that are kept of earlier tries. A replica (`worker`) opens the group's
models and plays its leases with the code that one process plays with; it holds two leases, so that
it never waits for the next one. The first ones are small, later ones take one to five minutes by
the replica's own speed, and towards the end each gets no more than its share of what is left, so
that all end together (`leases`).

A replica says what happens as it happens: an episode begins, a reply came, an episode is over
(`outbox`). The driver commits each answer in one transaction and then asks again; that question
tells the replica that its answer is committed. A replica waits once 32 MB are not.

So a lost replica loses what it had not said. What it held waits again; kept replies go along and
are not asked for again. An episode that had begun counts a loss, and after three it is stored as
failed, as without a reply. One of them may be what kills the process, so an episode that was lost
twice is played last, and alone. A place that loses its replica three times in a
row, with nothing ended between, is given up (six times, where each time one episode was played).
One that does not answer for a minute loses what it held and may come back:
the first result of an episode is kept, a second one is compared with it, and a difference is logged
and never written (`taking`). Libraries and revisions must be the same everywhere.

Cells stop as in one process: the driver counts, and tells replicas to begin no more of them. Cells
with a served model play in the driver.
"""

from __future__ import annotations

import json
import logging
import pickle
import time
from collections.abc import Callable
from pathlib import Path

from tomeval.core.credentials import confirmed_code, confirmed_hosts
from tomeval.core.errors import TomevalError
from tomeval.core.plugins import loaded_plugins
from tomeval.core.unpacking import allowed
from tomeval.extensions.cluster.leases import LOSSES, Gone, Grant, Group, Leases
from tomeval.extensions.cluster.messages import Cluster, Lease, Lost, Message, Setting, Withdraw
from tomeval.extensions.cluster.replicas import ReplicaCount, closing_lines, shown_lines
from tomeval.extensions.cluster.taking import Post, Taking
from tomeval.models import is_served
from tomeval.runs.experiment import Experiment
from tomeval.runs.filling import Filler
from tomeval.runs.schedule import Schedule
from tomeval.runs.stopping import IN_FLIGHT

logger = logging.getLogger(__name__)

SILENT = 60.0
"""Seconds without an answer after which what a replica holds is given to others."""

GONE = 600.0
"""Seconds without an answer after which a replica is ended, and another one takes its place."""

TURN = 1.0
"""Seconds for which answers are waited for before other things are looked after."""


class Replicated:
    """An engine: replicas of a cluster play all cells without a served model.

    Parameters
    ----------
    cluster : Cluster
    count : int
        How many replicas play at a time.
    """

    def __init__(self, cluster: Cluster, count: int) -> None:
        if count < 1:
            raise TomevalError(f"--replicas must be at least 1, is {count}")
        self._cluster, self._count = cluster, count
        self._setting: Setting | None = None
        self._driver: Driver | None = None

    def prepare(self, experiment: Experiment, prefix_reuse: bool, concurrency: int) -> None:
        """Raise if the cluster cannot give what is asked, or cells cannot be sent to it."""
        self._cluster.check()
        self._setting = make_setting(experiment, prefix_reuse, concurrency)

    def play(self, filler: Filler) -> None:
        """Play all cells without a served model.

        Raises
        ------
        TomevalError
            A replica cannot play, replicas differ, or all are lost again and again.
        KeyboardInterrupt, SystemExit
            The run was asked to stop; the leases under way are finished.
        """
        assert self._setting is not None, "prepared"
        self._driver = Driver(self._cluster, self._count, self._setting, filler)
        if not self._driver.leases.done:
            filler.stopping.on_request = lambda: None
            try:
                self._driver.play()
            finally:
                self._driver = None
                filler.stopping.what = IN_FLIGHT
            filler.stopping.check()

    def recall(self, cell: int, then: Callable[[int], None]) -> None:
        """Ask for the episodes of a cell back that have not begun."""
        if self._driver is None:
            then(0)
        else:
            self._driver.recall(cell, then)

    def close(self) -> None:
        """End all replicas."""
        self._cluster.close()


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


class Driver:
    """Joins the state of all jobs, the replicas and the run that takes what they play."""

    def __init__(self, cluster: Cluster, replicas: int, setting: Setting, filler: Filler) -> None:
        self._cluster, self._setting, self._filler = cluster, setting, filler
        self._stretches = {(cell, first): count for cell, first, count in filler.stretches()}
        groups = [Group((), Schedule(list(self._stretches), 0))]
        for models, jobs in filler.groups().items():
            if not any(is_served(json.loads(key)) for key in models):
                schedule = Schedule(jobs, filler.stop_after_voids)
                groups.append(Group(models, schedule, setting.concurrency))
                filler.schedules.update(dict.fromkeys(schedule.cells, schedule))
        self.leases = Leases(groups, replicas)
        self._taking = Taking(filler, self.leases, self._stretches)
        self._posts: list[Post] = []
        self._recalled: dict[int, Callable[[int], None]] = {}
        self._replicas = replicas

    def play(self) -> None:
        """Play until nothing is left; once the run is to stop, what is under way."""
        filler = self._filler
        filler.live.asking = True
        filler.store.note_stops(dict.fromkeys(filler.schedules, ""))
        try:
            for number in range(self._replicas):
                replica = self._cluster.start(number, self._setting)
                self._posts.append(Post(number, replica, ReplicaCount(f"replica {number + 1}")))
            counts = [post.count for post in self._posts]
            filler.live.replica_lines = lambda: shown_lines(counts)
            self._ask()
            while not self.leases.done and not (filler.stopping.signal and self.leases.idle):
                self._turn()
        finally:
            for post in self._posts:
                post.replica.stop()
        self._taking.tell_differences(counts)
        filler.live.closing += closing_lines(counts)

    def recall(self, cell: int, then: Callable[[int], None]) -> None:
        """Ask for the episodes of a cell back that have not begun."""
        self._recalled[cell] = then
        self.leases.recall(cell)
        for post in self._posts:
            post.orders.append(Withdraw(cell))

    # A turn

    def _turn(self) -> None:
        """Commit what has come, look after replicas, and ask again."""
        asked = {id(post.replica): post for post in self._posts if post.asked is not None}
        heard: list[tuple[Post, list[Message]]] = []
        lost: list[tuple[Post, str]] = []
        for replica in self._cluster.wait([post.replica for post in asked.values()], TURN):
            post = asked[id(replica)]
            post.asked = None
            try:
                heard.append((post, replica.answer()))
            except Lost as error:
                lost.append((post, str(error)))
        self._taking.commit(heard)
        for post, why in lost:
            self._lose(post, why)
        self._note_silent()
        for cell, left in self.leases.settled():
            self._recalled.pop(cell)(left)
        self._ask()

    def _ask(self) -> None:
        """Ask all replicas that have answered, with their orders and new leases."""
        now = time.monotonic()
        for post in self._posts:
            if post.asked is not None or post.count.state == "lost":
                continue
            while (
                post.origin is not None
                and not self._filler.stopping.signal
                and (grant := self.leases.grant(post.number, now, post.in_vain)) is not None
            ):
                post.orders.append(self._lease(grant))
            orders, post.orders = post.orders, []
            post.asked = now
            post.replica.send(orders)
            if post.origin is not None:
                post.count.state = "playing" if self.leases.leases_of(post.number) else "idle"
        count = self.leases.under_way
        leases = "1 lease" if count == 1 else f"{count} leases"
        self._filler.stopping.what = f"{leases}, up to some minutes"

    def _lease(self, grant: Grant) -> Lease:
        """Return a lease as it is sent, with the replies that are kept."""
        models, jobs = grant.group.models, grant.jobs
        if not models:
            return Lease(stretches=tuple((*job, self._stretches[job]) for job in jobs))
        store, cells = self._filler.store, self._filler.cells
        kept = {
            job: {seat: store.kept_replies(*job, seat) for seat in cells[job[0]].models}
            for job in jobs
        }
        return Lease(
            models, jobs, {job: seats for job, seats in kept.items() if any(seats.values())}
        )

    # Replicas that are lost or silent

    def _lose(self, post: Post, why: str) -> None:
        """Take back what a lost replica held, and start another one in its place."""
        gone = self.leases.lost(post.number, post.opened)
        self._take_back(gone)
        post.in_vain += 1
        who = str(post)
        post.origin, post.orders, post.opened = None, [], ()
        post.lost = why
        post.count.state, post.count.last_error = "lost", why
        post.count.lost += 1
        for job in gone.failed:
            self._taking.fail(job, f"its replica was lost three times: {why}")
        if self._filler.stopping.signal:
            logger.warning("%s is lost (%s); what it held is left for the next session", who, why)
            return
        # Where it played one episode, that may be what it was lost for; others may do better.
        if post.in_vain < (2 * LOSSES if len(gone.blamed) == 1 else LOSSES):
            logger.warning("%s is lost (%s); what it held is given out again", who, why)
            post.replica = self._cluster.start(post.number, self._setting)
            post.count.state = "starting"
            return
        times = post.in_vain
        logger.warning("%s was lost %d times in a row and is given up (%s)", who, times, why)
        self.leases.give_up(post.number)
        post.given_up = True
        if all(other.given_up for other in self._posts) and not self.leases.done:
            raise TomevalError(
                f"all replicas were lost at least {LOSSES} times in a row; the last one, {who}: "
                f"{why}; everything is kept: run the same command again to go on"
            )

    def _note_silent(self) -> None:
        """Give what a replica holds to others if it does not answer."""
        now = time.monotonic()
        for post in self._posts:
            if post.origin is None and (note := post.replica.note):
                post.count.last_error = note
            quiet = 0.0 if post.asked is None else now - post.asked
            if quiet > SILENT and post.origin is not None and post.count.state != "silent":
                self._take_back(self.leases.silent(post.number))
                post.count.state = "silent"
                post.count.last_error = f"no answer for {SILENT:.0f} s"
                logger.warning("%s does not answer; what it held is given out again", post)
            if quiet > GONE and post.count.state == "silent":
                post.replica.stop()
                post.asked = None
                self._lose(post, f"no answer for {GONE:.0f} s")

    def _take_back(self, gone: Gone) -> None:
        for job in gone.begun:
            self._taking.begin_anew(job)
