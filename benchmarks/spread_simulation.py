"""How many GPUs one run can use: a simulation of the driver, its replicas and the network.

It gives leases by the state machine that runs have (`tomeval.runs.spread.leases`), and simulates
what is around it: replicas that load a model, play so many episodes at a time, tell what they have
to say and are lost now and then, a network, and the driver, which takes in turn all answers that
have come, commits them and gives new leases. What the driver needs for a reply and for an episode
is measured first, through the run folder's own writer; the seconds that a GPU needs for an episode
are given. Then the same is held against a run: real replicas in threads of this process, with a
scripted model that takes its time (``--check``).

    python benchmarks/spread_simulation.py --check --out docs/images/spread_simulation.png

Left out: the 32 MB that a replica may hold uncommitted, which two leases are below at these sizes,
and models of several kinds.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import heapq
import math
import pickle
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from one_thread import use_one_thread

from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.models.scripted import SCRIPTS, Said, ScriptedModel
from tomeval.report.tables import render
from tomeval.runs.domain import Block, get_domain
from tomeval.runs.experiment import Experiment, make_experiment
from tomeval.runs.runner import run_experiment
from tomeval.runs.schedule import Job, Schedule
from tomeval.runs.spread import leases as lease_module
from tomeval.runs.spread.leases import Grant, Group, Leases
from tomeval.runs.spread.messages import Begun, Played, Replied
from tomeval.runs.store import Store, identity_sha256

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
    steady: float  # episodes a second, from when all models are loaded until nothing waits
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
                replica.said.append(("over", grant[0]))
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
                elif what == "over":
                    self.leases.over(told)
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
    steady = len(after) / (after[-1] - began) if len(after) else math.nan
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


# What is measured


def made(horizon: int, characters: int) -> tuple[Experiment, list[Block]]:
    """Return an experiment and four episodes of it, with replies of so many characters."""
    rng = np.random.default_rng(1)
    words = Path(__file__).with_name("spread_simulation.py").read_text(encoding="utf-8").split()

    def say(request: GenerateRequest | ScoreRequest) -> Said:
        start = int(rng.integers(len(words)))
        text = " ".join(words[start:] + words)[: max(0, characters - 15)]
        return f"{text}\nFinal answer: {'JF'[rng.integers(2)]}"

    experiment = make_experiment(
        {
            **{"name": "spread", "games": "IPD", "partners": "tit_for_tat", "labels": "neutral"},
            **{"horizon": horizon, "model": "scripted:spread", "subjects": [{"strategy": "CoT"}]},
        }
    )
    (cell,) = experiment.cells
    domain = get_domain("matrix")
    models = {seat: ScriptedModel(say) for seat in cell.models}
    played = (domain.play(cell, number, dict(models), lambda: None) for number in range(4))
    return experiment, [asyncio.run(one) for one in played]


def measured(costs: Costs, work: Path, episodes: int, horizon: int, characters: int) -> Costs:
    """Return the costs with what the driver needs, in CPU seconds, and what episodes weigh."""
    experiment, played = made(horizon, characters)
    calls = len(played[0].calls)
    texts = [str(call[-1]["reply"]["text"]) for block in played for call in block.calls]
    folder = work / "writer"
    folder.mkdir()
    store, identity = Store(folder, get_domain("matrix")), experiment.identity()
    store.begin(identity, identity_sha256(identity))
    took: dict[str, list[float]] = {"turn": [], "reply": [], "episode": []}
    (seat,) = experiment.cells[0].models

    def timed(what: str, count: int, began: float) -> None:
        took[what].append((time.process_time() - began) / count)

    size = 0
    for number in range(episodes):
        one = played[number % len(played)]
        requests = [hashlib.sha256(f"{number} {k}".encode()).hexdigest() for k in range(calls)]
        job = (0, number)
        replies = [
            Replied(job, seat, request, texts[k % len(texts)]) for k, request in enumerate(requests)
        ]
        block = Block(
            *([(number, *row[1:]) for row in part] for part in (one.episodes, one.steps)),
            answers=[(number, *row[1:]) for row in one.answers],
            calls=[(number, *call[1:]) for call in one.calls],  # type: ignore[misc]
        )
        sent = pickle.dumps([Begun(job), *replies])
        over = pickle.dumps([Played(0, block)])
        size = len(sent) + len(over)
        with store.together():
            began = time.process_time()
            for said in pickle.loads(sent)[1:]:
                store.keep_reply(*said.job, said.seat, said.request, said.reply)
            timed("reply", calls, began)
            began = time.process_time()
            store.add(0, pickle.loads(over)[0].block)
            timed("episode", 1, began)
        began = time.process_time()
        with store.together():
            store.keep_reply(0, number + episodes, seat, requests[0], texts[0])
        timed("turn", 1, began)
    store.close()
    found = {name: statistics.median(values) for name, values in took.items()}
    return replace(costs, calls=calls, kilobytes=size / 1000, **found)


def ray_exchange(times: int = 200) -> tuple[float, float]:
    """Return the seconds of a question and its answer on a local Ray: wall clock, and CPU here."""
    import os

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:

        class Echo:
            def exchange(self, orders: list[Any]) -> bytes:
                return b"x" * 2000

        actor = ray.remote(num_cpus=1)(Echo).remote()
        ray.get(actor.exchange.remote([]))
        walls, began = [], time.process_time()
        for _ in range(times):
            start = time.perf_counter()
            ray.get(actor.exchange.remote([]))
            walls.append(time.perf_counter() - start)
        return statistics.median(walls), (time.process_time() - began) / times
    finally:
        ray.shutdown()


def checked(work: Path, engine: Any, replicas: int, episodes: int, pause: float) -> float:
    """Return the episodes a second of a run on real replicas that sleep in every call.

    `engine` is one of threads, as the tests have it. A replica sleeps for one call at a time.
    """

    def sleeps(request: GenerateRequest | ScoreRequest) -> Said:
        time.sleep(pause)
        return "Final answer: J"

    data = {"name": "check", "games": "IPD", "partners": "tit_for_tat", "labels": "neutral"}
    more = {"horizon": 5, "model": "scripted:sleeps", "subjects": [{"strategy": "QA"}]}
    experiment = make_experiment({**data, **more, "episodes": episodes})
    with mock.patch.dict(SCRIPTS, sleeps=sleeps):
        began = time.perf_counter()
        run_experiment(
            experiment, work / f"check{replicas}", engine=engine, replicas=replicas, concurrency=4
        )
        return episodes / (time.perf_counter() - began)


# What is shown


def row_of(costs: Costs, found: Found) -> dict[str, Any]:
    """Return a row of the table."""
    bound = costs.bound(found.replicas)
    return {
        "GPUs": found.replicas,
        "s per episode": costs.seconds,
        "episodes": found.episodes,
        "hours": round(found.seconds / HOUR, 2),
        "episodes/s": round(found.steady, 1),
        "bound": round(bound, 1),
        "share of ideal": round(found.steady * costs.seconds / found.replicas, 3),
        "writer busy %": round(100 * found.driver, 1),
        "leases busy %": round(100 * found.bookkeeping * found.rate, 1),
        "idle at the end %": round(100 * found.tail, 1),
        "played again": found.again,
        "failed": found.failed,
        "writer's limit, GPUs": round(costs.writer * costs.seconds),
    }


def draw(rows: Sequence[dict[str, Any]], costs: Sequence[Costs], path: Path) -> None:
    """Draw episodes a second against GPUs, with the bounds."""
    from tomeval.plots.style import add_head, line_style, new_figure

    figure, (axes,) = new_figure(6.4, 3.8)
    for index, one in enumerate(costs):
        mine = [row for row in rows if row["s per episode"] == one.seconds]
        gpus = [row["GPUs"] for row in mine]
        axes.plot(
            gpus,
            [row["episodes/s"] for row in mine],
            label=f"{one.seconds:g} GPU s per episode",
            **line_style(index),
        )
        axes.plot(gpus, [one.bound(n) for n in gpus], color="grey", linewidth=0.8)
    axes.axhline(costs[0].writer, color="grey", linestyle=":")
    axes.set(xscale="log", yscale="log", xlabel="GPUs (one replica each)", ylabel="episodes per s")
    add_head(figure, "Episodes per second of one driver")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measure, simulate, and print the tables."""
    use_one_thread()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, nargs="+", default=[2.0, 20.0])
    parser.add_argument("--gpus", type=int, nargs="+", default=[8, 64, 512])
    parser.add_argument("--each", type=int, default=300, help="episodes for each GPU")
    parser.add_argument("--horizon", type=int, default=10)
    parser.add_argument("--characters", type=int, default=500, help="of a reply")
    parser.add_argument("--slots", type=int, default=32)
    parser.add_argument("--load", type=float, default=60.0, help="seconds")
    parser.add_argument("--bandwidth", type=float, default=1000.0, help="MB a second")
    parser.add_argument("--losses", type=float, default=0.01, help="per GPU and hour")
    parser.add_argument("--episodes", type=int, default=200, help="that are written to measure")
    parser.add_argument("--ray", action="store_true", help="measure an exchange on a local Ray")
    parser.add_argument("--check", action="store_true", help="hold it against a run in threads")
    parser.add_argument("--out", type=Path, help="draw a figure")
    asked = parser.parse_args()
    base = Costs(slots=asked.slots, load=asked.load, bandwidth=asked.bandwidth, losses=asked.losses)
    with tempfile.TemporaryDirectory() as name:
        base = measured(base, Path(name), asked.episodes, asked.horizon, asked.characters)
        if asked.ray:
            wall, cpu = ray_exchange()
            base = replace(base, exchange=cpu, latency=wall / 2)
        print(render([{k: float(f"{v:.4g}") for k, v in vars(base).items() if k != "seconds"}]))
        if asked.check:
            print(render(check(Path(name), base)))
    rows, costs = [], [replace(base, seconds=seconds) for seconds in asked.seconds]
    for one in costs:
        for gpus in asked.gpus:
            rows.append(row_of(one, simulate(one, gpus, gpus * asked.each)))
    print(render(rows))
    print(render(by_lease(costs[0], asked.gpus[len(asked.gpus) // 2], asked.each)))
    if asked.out:
        draw(rows, costs, asked.out)


def by_lease(costs: Costs, gpus: int, each: int) -> list[dict[str, Any]]:
    """Return how the length of leases matters, with losses as given and a hundred times those."""
    rows = []
    for losses in (costs.losses, 100 * costs.losses):
        for lease in ((10.0, 30.0), (60.0, 300.0), (600.0, 1800.0)):
            one = replace(costs, losses=losses)
            found = simulate(one, gpus, gpus * each, lease=lease)
            rows.append(
                {
                    "leases, s": f"{lease[0]:.0f} to {lease[1]:.0f}",
                    "losses per GPU hour": losses,
                    "GPUs": gpus,
                    "episodes/s": round(found.steady, 1),
                    "share of ideal, all": round(found.rate * one.seconds / gpus, 3),
                    "idle at the end %": round(100 * found.tail, 1),
                    "played again": found.again,
                    "failed": found.failed,
                }
            )
    return rows


def check(work: Path, base: Costs, pause: float = 0.1) -> list[dict[str, Any]]:
    """Return what runs in threads reach beside what is simulated of them.

    What an episode takes is that of the run on one replica, so this row agrees by construction.
    """
    import sys

    sys.path.append(str(Path(__file__).parents[1] / "tests" / "runs" / "spread"))
    from fake_engine import FakeEngine  # type: ignore[import-not-found]

    rows: list[dict[str, Any]] = []
    calls, seconds = 10, 0.0  # five steps of QA, each with a prediction
    for replicas in (1, 2, 4):
        episodes = 24 * replicas
        real = checked(work, FakeEngine(), replicas, episodes, pause)
        seconds = seconds or 1 / real
        one = replace(base, seconds=seconds, calls=calls, slots=4, load=0, losses=0)
        one = replace(one, kilobytes=4.0, latency=1e-4, spread=0)
        found = simulate(one, replicas, episodes)
        rows.append(
            {
                "replicas": replicas,
                "run, episodes/s": round(real, 2),
                "simulated": round(found.rate, 2),
                "bound": round(one.bound(replicas), 2),
            }
        )
    return rows


if __name__ == "__main__":
    main()
