"""What replicas say is taken into the run: episodes are committed, second results compared."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import FAILED
from tomeval.extensions.cluster.leases import Leases
from tomeval.extensions.cluster.messages import (
    Begun,
    Broken,
    Counts,
    Left,
    Message,
    Opened,
    Order,
    Played,
    Ready,
    Replica,
    Replied,
    TooLong,
)
from tomeval.extensions.cluster.replicas import ReplicaCount
from tomeval.models.base import (
    BackendError,
    ContextExceeded,
    GenerateRequest,
    Model,
    Reply,
    ScoreRequest,
    Scores,
)
from tomeval.models.batching import RememberingModel
from tomeval.models.naming import known_name, shown_name
from tomeval.runs.domain import Block, Cell
from tomeval.runs.engine import spec_key
from tomeval.runs.engines import run_loop
from tomeval.runs.filling import Filler
from tomeval.runs.jobs import Job, Jobs
from tomeval.runs.origins import Origin, versions
from tomeval.runs.store import Store

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class Post:
    """A replica, or the next one in the place of a lost one."""

    number: int
    replica: Replica
    count: ReplicaCount
    origin: Origin | None = None  # known once it has started
    asked: float | None = None  # when, if a question is under way
    orders: list[Order] = field(default_factory=list)  # to go with the next question
    opened: tuple[str, ...] = ()  # the models that it has now
    lost: str = ""  # why, the last time
    in_vain: int = 0  # how often it was lost since something ended on it
    given_up: bool = False

    def __str__(self) -> str:
        return f"{self.count.name} on {self.count.host}" if self.count.host else self.count.name


class Taking:
    """Takes what replicas say. They must be alike: the same libraries and revisions of models.

    Parameters
    ----------
    filler : Filler
        The run.
    leases : Leases
    stretches : mapping of (cell, first episode) to int
        How many episodes each job has that asks no model.
    """

    def __init__(self, filler: Filler, leases: Leases, stretches: Mapping[Job, int]) -> None:
        self._filler, self._leases, self._stretches = filler, leases, stretches
        self._store = filler.store
        self._steps: dict[Job, int] = {}  # of episodes under way, as counted
        self._committed = Jobs()
        self._replies: dict[Job, list[tuple[int, int, str, str, bytes]]] = {}  # of this turn
        self._rounding = 0.0  # by how much second results differ that are the same but for that
        self._versions: tuple[str, Mapping[str, str]] = "this machine", versions()
        self._models: dict[str, tuple[str, str, str]] = {}  # by key: name, revision, whose
        self._error: Exception | None = None

    def commit(self, heard: Sequence[tuple[Post, Sequence[Message]]]) -> None:
        """Take the messages of a turn in one transaction; raise then what is to stop the run."""
        with self._store.together():
            for post, messages in heard:
                for message in messages:
                    self._hear(post, message)
            # Not those to episodes that have ended in this turn.
            self._store.keep_replies(row for rows in self._replies.values() for row in rows)
            self._replies.clear()
        if self._error is not None:
            raise self._error

    def _hear(self, post: Post, message: Message) -> None:
        match message:
            case Ready():
                self._started(post, message)
            case Opened():
                self._opened(post, message)
            case Begun(job=job):
                if self._leases.begun(post.number, job, time.monotonic()):
                    self._begin(job)
            case Replied(job=job):
                if job not in self._committed:
                    kept = (*job, message.seat, message.request, message.reply)
                    self._replies.setdefault(job, []).append(kept)
            case Counts():
                self._count(post, message)
            case Played():
                self._played(post, message)
            case TooLong(job=job):
                if self._ends(post, job):
                    error = ContextExceeded(message.why)
                    self._filler.too_long(*job, self._steps.pop(job), error)
                    self._filler.schedules[job[0]].ended(*job)
            case Left(jobs=jobs):
                self._leases.left(post.number, jobs)
            case Broken():
                self._error = self._error or _error_of(post, message)

    # Replicas must be alike

    def _started(self, post: Post, said: Ready) -> None:
        post.count.host, post.count.device = said.host, said.device
        post.origin = Origin(post.count.name, said.host, said.device, said.versions)
        post.count.last_error = post.lost  # no longer that it waits
        first, theirs = self._versions
        differing = [
            f"{name} {said.versions.get(name, 'missing')}, not {theirs.get(name, 'missing')}"
            for name in sorted({*said.versions, *theirs})
            if said.versions.get(name) != theirs.get(name)
        ]
        if differing:
            self._error = self._error or TomevalError(
                f"{post} differs from {first}: {'; '.join(differing)}; rows must not depend on "
                "where they are played: install the same versions everywhere"
            )

    def _opened(self, post: Post, said: Opened) -> None:
        post.opened = tuple(said.revisions)
        for key, revision in said.revisions.items():
            model = shown_name(json.loads(key))
            first = key not in self._models
            mine = said.names[key], revision, str(post)
            _, known, whose = self._models.setdefault(key, mine)
            with self._noting():
                if first:
                    self._store.check_revision(model, revision)
                elif revision != known:
                    raise TomevalError(
                        f"{model} is at revision {revision or 'unknown'} for {post}, at "
                        f"{known or 'unknown'} for {whose}; pin one with @revision, or bring the "
                        "same files everywhere"
                    )

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Let an error wait until what came with it is committed."""
        try:
            yield
        except TomevalError as error:
            self._error = self._error or error

    # Episodes

    def _begin(self, job: Job) -> None:
        if job not in self._stretches:
            self._steps[job] = 0
            self._filler.begun(*job)

    def begin_anew(self, job: Job) -> None:
        """Take back that an episode had begun."""
        if (steps := self._steps.pop(job, None)) is not None:
            self._filler.lost(*job, steps)

    def _ends(self, post: Post, job: Job) -> bool:
        """Tell whether this is the end of a job, which then has begun."""
        if not self._leases.ended(post.number, job, time.monotonic()):
            return False
        post.in_vain = 0
        if job not in self._stretches:
            if job not in self._steps:
                self._begin(job)
            self._filler.over(*job)
        return True

    def _played(self, post: Post, said: Played) -> None:
        """Commit episodes, or compare them with what is committed."""
        job, block = (said.cell, said.block.episodes[0][0]), said.block
        if not self._ends(post, job):
            if job in self._committed:
                self._compare(post, said)
            return
        assert post.origin is not None
        self._filler.origin = post.origin
        if job in self._stretches:
            self._filler.together(said.cell, block)
        else:
            self._filler.done(said.cell, block, self._steps.pop(job), said.unusable)
        post.count.episodes += len(block.episodes)
        if all(row[1] != FAILED for row in block.episodes):
            self._committed.add(job)
            self._replies.pop(job, None)  # its rows have them

    def _compare(self, post: Post, said: Played) -> None:
        """Hold a second result against the first one, which stays."""
        post.count.second += 1
        table, rounding = self._store.differs(said.cell, said.block)
        if table:
            post.count.differed += 1
            episode = said.block.episodes[0][0]
            logger.warning(
                "%s, episode %d: played again by %s, with other %s; the first result is kept",
                *(self._filler.name(said.cell), episode, post, table),
            )
        elif rounding:
            post.count.rounded += 1
            self._rounding = max(self._rounding, rounding)

    def tell_differences(self, counts: Sequence[ReplicaCount]) -> None:
        """Say how many episodes were played twice and are not the same."""
        played = "%d episodes were played twice with results that differ%s: the first ones are kept"
        if differed := sum(count.differed for count in counts):
            logger.warning(played, differed, "")
        if rounded := sum(count.rounded for count in counts):
            logger.warning(played, rounded, f" by rounding only, at most by {self._rounding:.1g}")

    def _count(self, post: Post, said: Counts) -> None:
        for job, steps in said.steps.items():
            if self._leases.holds(post.number, job) and job in self._steps:
                self._steps[job] += steps
                self._filler.schedules[job[0]].stepped(job[0])
                self._filler.stepped(*job, steps)
        for key, asked in said.asked.items():
            self._filler.count_of(key).add(asked)
        for _ in range(said.again):
            self._filler.asked_again()

    def fail(self, job: Job, why: str) -> None:
        """Store an episode as failed; a stretch of episodes without a model stays unplayed."""
        self._leases.ended(None, job, time.monotonic())
        if job in self._stretches:
            last = job[1] + self._stretches[job] - 1
            episodes = f"episode {last}" if last == job[1] else f"episodes {job[1]} to {last}"
            logger.warning("%s: %s not played: %s", self._filler.name(job[0]), episodes, why)
            return
        models = {key: LostModel(*known[:2], why) for key, known in self._models.items()}
        block = failed_block(self._store, self._filler.cells[job[0]], job, models)
        self._filler.origin = Origin(versions=versions())
        self._filler.begun(*job)
        self._filler.over(*job)
        self._filler.done(job[0], block, 0, "")


def _error_of(post: Post, said: Broken) -> Exception:
    """Return what is raised for an error of a replica; a traceback is logged."""
    if said.told:
        return TomevalError(f"{post}: {said.told}")
    logger.error("%s:\n%s", post, said.trace)
    last = said.trace.strip().splitlines()[-1]
    return RuntimeError(f"an error of the program on {post}: {last}")


class LostModel(Model):
    """A model that is gone; `name` and `revision` are those that it had, which decide hashes."""

    def __init__(self, name: str, revision: str, why: str) -> None:
        self.name, self.revision, self._why = name, revision, why
        self.asked = False

    async def generate(self, request: GenerateRequest) -> Reply:
        """Refuse."""
        self.asked = True
        raise BackendError(self._why)

    async def score(self, request: ScoreRequest) -> Scores:
        """Refuse."""
        self.asked = True
        raise BackendError(self._why)


def failed_block(store: Store, cell: Cell, job: Job, models: Mapping[str, LostModel]) -> Block:
    """Return an episode up to its last kept reply, with the domain's rows for one that failed.

    `models` has those of the cell by `spec_key`. It failed even if it lacks only the answer to a
    probe, without which domains call it complete; if all replies were kept, it is over.
    """
    seats: dict[str, Model] = {}
    for seat, spec in cell.models.items():
        model, kept = models[spec_key(spec)], store.kept_replies(*job, seat)
        name = known_name(spec, model.name)
        seats[seat] = RememberingModel(model, kept, lambda request, reply: None, name)
    block = run_loop(store.domain.play.episode(cell, job[1], seats, lambda: None))
    if not any(model.asked for model in models.values()):
        return block
    return replace(block, episodes=[(row[0], FAILED, *row[2:]) for row in block.episodes])
