"""The driver's side of a run on many machines: asks replicas for episodes, and commits them.

The driver is the process that a user starts. It alone opens the store, so a replica that is lost
takes nothing with it but time. Cells with the same models are a group. A replica (`player`) opens a
group's models, and is then asked for its episodes, as many at a time as it can play and a few more:
each is one call of its actor. It stays with its models while episodes of that group wait.

What a lost replica held waits again, and another replica starts in its place. As nobody knows which
of them it was lost for, an episode that was lost twice is played last, and alone; after a third
time it is left unplayed. A place that loses its replica three times in a row, with nothing ended
between, is given up (six times, where each time one episode was played). Libraries and revisions
must be the same everywhere.

Cells stop as in one process: the driver counts, and begins no more of them. Cells with a served
model play in the driver.
"""

from __future__ import annotations

import json
import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from tomeval.core.errors import TomevalError
from tomeval.extensions.cluster.player import Ended, Ready, Setting
from tomeval.extensions.cluster.replicas import (
    Group,
    Lost,
    Post,
    summary,
)
from tomeval.models import is_served, model_name
from tomeval.models.base import ContextExceeded
from tomeval.runs.filling import Filler
from tomeval.runs.folder import versions
from tomeval.runs.record import Record
from tomeval.runs.schedule import Job, Schedule
from tomeval.runs.spent import by_seat
from tomeval.runs.tallies import asked_of

if TYPE_CHECKING:
    from tomeval.extensions.cluster.ray_cluster import RayCluster

logger = logging.getLogger(__name__)

AHEAD = 2
"""Episodes that a replica holds beyond those that it can play at a time."""

LOSSES = 3
"""So often may an episode lose its replica, and a place lose one with nothing ended between."""

TURN = 1.0
"""Seconds for which answers are waited for before other things are looked after."""


class Driver:
    """Asks replicas for all that is to be played, and hands the run what comes of it."""

    def __init__(
        self, cluster: RayCluster, replicas: int, setting: Setting, filler: Filler
    ) -> None:
        self._cluster, self._setting, self._filler = cluster, setting, filler
        self._replicas, self._slots = replicas, setting.concurrency + AHEAD
        self._stretches = {(cell, first): count for cell, first, count in filler.stretches()}
        self._groups = [Group((), Schedule(list(self._stretches), 0))]
        for models, jobs in filler.groups().items():
            if not any(is_served(json.loads(key)) for key in models):
                schedule = Schedule(jobs, filler.stop_after_voids)
                self._groups.append(Group(models, schedule))
                filler.schedules.update(dict.fromkeys(schedule.cells, schedule))
        self._posts: list[Post] = []
        self._asked: dict[Any, tuple[Post, Callable[[Post, Any], None]]] = {}
        self._losses: Counter[Job] = Counter()
        self._opened: dict[str, tuple[str, str]] = {}  # by model: its revision, and whose
        self._error: Exception | None = None

    @property
    def done(self) -> bool:
        """Whether nothing is left to play."""
        return not (self._under_way or any(len(group.schedule) for group in self._groups))

    @property
    def _under_way(self) -> int:
        return sum(len(post.jobs) for post in self._posts)

    def play(self) -> None:
        """Play until nothing is left; once the run is to stop, what is under way."""
        filler = self._filler
        filler.live.asking = True
        filler.store.note_stops(dict.fromkeys(filler.schedules, ""))
        try:
            for number in range(self._replicas):
                self._posts.append(Post(number, self._cluster.start(number, self._setting)))
                self._ask(self._posts[-1], self._started, "start")
            filler.live.replica_lines = lambda: [summary(self._posts)]
            while not (self.done or (filler.stopping.asked and not self._under_way)):
                self._turn()
        finally:
            for post in self._posts:
                post.replica.stop()
        filler.live.closing.append(summary(self._posts))

    def _ask(self, post: Post, then: Callable[[Post, Any], None], method: str, *given: Any) -> None:
        self._asked[post.replica.ask(method, *given)] = post, then

    def _turn(self) -> None:
        """Commit what has come, and ask for more; raise then what is wrong."""
        for asked in self._cluster.wait(list(self._asked), TURN):
            if asked in self._asked:  # else its replica was lost in this turn
                post, then = self._asked.pop(asked)
                try:
                    said = self._cluster.result(asked)
                except Lost as error:
                    self._lose(post, str(error))
                except (TomevalError, RuntimeError) as error:
                    self._error = self._error or _told(post, error)
                else:
                    then(post, said)
        if self._error is not None:
            raise self._error
        for post in self._posts:
            self._give(post)
        episodes = f"{self._under_way} episode{'s' * (self._under_way != 1)}"
        self._filler.stopping.what = f"{episodes}, up to some minutes"

    # What replicas say

    def _started(self, post: Post, said: Ready) -> None:
        post.place = said
        mine = versions()
        if differing := [
            f"{name} {said.versions.get(name, 'missing')}, not {mine.get(name, 'missing')}"
            for name in sorted({*said.versions, *mine})
            if said.versions.get(name) != mine.get(name)
        ]:
            self._error = self._error or TomevalError(
                f"{post} differs from this machine: {'; '.join(differing)}; rows must not depend "
                "on where they are played: install the same versions everywhere"
            )

    def _have_opened(self, post: Post, said: Mapping[str, str]) -> None:
        post.opened = True
        for key, revision in said.items():
            model = model_name(json.loads(key))
            if key not in self._opened:
                self._opened[key] = revision, str(post)
                try:
                    self._filler.store.check_revision(model, revision)
                except TomevalError as error:
                    self._error = self._error or error
            known, whose = self._opened[key]
            if revision != known:
                self._error = self._error or TomevalError(
                    f"{model} is at revision {revision or 'unknown'} for {post}, at "
                    f"{known or 'unknown'} for {whose}; pin one with @revision, or bring the same "
                    "files everywhere"
                )

    def _count(self, number: int, record: Record) -> None:
        """Count what an episode's models were asked, and what came of their questions."""
        keys = self._filler.keys[number]
        if record.steps > 1:  # of a void one the last
            self._filler.schedules[number].stepped(number)
        for seat, said in by_seat(record.calls).items():
            self._filler.count_of(keys[seat]).add(asked_of(said))
            for _ in range(said.again):
                self._filler.asked_again()
        last = {call[:3]: call for call in record.calls if "outcome" in call[3]}
        for _, seat, _, call in last.values():  # the last attempt at each question
            self._filler.settled(number, record.episode, keys[seat], call["outcome"], call)

    def _has_ended(self, job: Job, post: Post, said: Ended) -> None:
        """Hand an episode to the run, or a stretch."""
        filler, number = self._filler, job[0]
        post.jobs.remove(job)
        post.in_vain = 0
        if job not in self._stretches:
            filler.over(*job)
        if said.records is None:
            filler.too_long(*job, 0, ContextExceeded(said.too_long))
            filler.schedules[number].ended(*job)
            return
        if job in self._stretches:
            filler.together(number, said.records)
        else:
            (record,) = said.records
            self._count(number, record)
            filler.done(number, record, 0, said.unusable)

    # What replicas are given

    def _give(self, post: Post) -> None:
        """Ask a replica for as many episodes as it can hold."""
        if post.place is None or post.given_up or self._filler.stopping.asked:
            return
        if not post.jobs:
            post.alone = False
            self._choose(post)
        if (group := post.group) is None or not post.opened:
            return
        most = self._share(group)
        while len(post.jobs) < most and not post.alone:
            if (job := group.schedule.take()) is None:
                return
            if self._losses[job] == LOSSES - 1:
                if post.jobs:
                    group.schedule.give_back(job, last=True)
                    return
                post.alone = True
            post.jobs.append(job)
            then = partial(self._has_ended, job)
            if job in self._stretches:
                self._ask(post, then, "stretch", *job, self._stretches[job])
            else:
                self._filler.begun(*job)
                store, seats = self._filler.store, self._filler.cells[job[0]].models
                kept = {seat: store.kept_replies(*job, seat) for seat in seats}
                self._ask(post, then, "play", job, kept)

    def _share(self, group: Group) -> int:
        """Return how much a replica is to hold: no more than its share of what is left."""
        held = sum(len(post.jobs) for post in self._posts if post.group is group)
        waiting = sum(bool(len(other.schedule)) for other in self._groups)
        mates = sum(not post.given_up for post in self._posts) // max(1, waiting)
        share = math.ceil((len(group.schedule) + held) / max(1, mates))
        return min(share, self._slots if group.models else AHEAD)

    def _choose(self, post: Post) -> None:
        """Let a replica that holds nothing stay with its models, or open others."""
        if post.group is not None and (len(post.group.schedule) or not post.opened):
            return

        def preference(group: Group) -> tuple[bool, float]:
            mates = sum(other.group is group for other in self._posts)
            return bool(group.models), -len(group.schedule) / (1 + mates)

        waiting = [group for group in self._groups if len(group.schedule)]
        if waiting:
            post.group = min(waiting, key=preference)
            post.opened = not post.group.models
            if not post.opened:
                self._ask(post, self._have_opened, "open", post.group.models)

    # Replicas that are lost

    def _lose(self, post: Post, why: str) -> None:
        """Take back what a lost replica held, and start another one in its place."""
        alone, who = len(post.jobs) == 1, str(post)
        post.replica.stop()
        self._asked = {asked: one for asked, one in self._asked.items() if one[0] is not post}
        for job in reversed(post.jobs):
            self._take_back(post, job, why)
        post.place, post.group, post.opened, post.jobs = None, None, False, []
        post.lost, post.last_error = post.lost + 1, why
        post.in_vain += 1
        if self._filler.stopping.asked:
            post.given_up = True
            logger.warning("%s is lost (%s); its episodes are left for the next session", who, why)
        elif post.in_vain < (2 * LOSSES if alone else LOSSES):
            logger.warning("%s is lost (%s); its episodes are played again", who, why)
            post.replica = self._cluster.start(post.number, self._setting)
            self._ask(post, self._started, "start")
        else:
            post.given_up = True
            times = post.in_vain
            logger.warning("%s was lost %d times in a row and is given up (%s)", who, times, why)
            if all(other.given_up for other in self._posts) and not self.done:
                self._error = self._error or TomevalError(
                    f"all replicas were lost at least {LOSSES} times in a row; the last one, {who}"
                    f": {why}; everything is kept: run the same command again to continue"
                )

    def _take_back(self, post: Post, job: Job, why: str) -> None:
        """Let a job of a lost replica wait again, or leave it unplayed."""
        assert post.group is not None
        self._losses[job] += 1
        if job not in self._stretches:
            self._filler.lost(*job)
        if self._losses[job] < LOSSES:
            last = self._losses[job] == LOSSES - 1
            post.group.schedule.give_back(job, last=last)
            return
        if job not in self._stretches:
            post.group.schedule.ended(*job)
        first, last_one = job[1], job[1] + self._stretches.get(job, 1) - 1
        episodes = f"episode {first}" if first == last_one else f"episodes {first} to {last_one}"
        logger.warning(
            "%s: %s not played: its replica was lost three times: %s",
            *(self._filler.name(job[0]), episodes, why),
        )


def _told(post: Post, error: Exception) -> Exception:
    """Return what is raised for an error of a replica; a traceback is logged."""
    if isinstance(error, TomevalError):
        return TomevalError(f"{post}: {error}")
    logger.error("%s:\n%s", post, error)
    last = f"{error}".strip().splitlines()[-1]
    return RuntimeError(f"a program error on {post}: {last}")
