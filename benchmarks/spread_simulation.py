"""How many GPUs one run can use: a simulation of the driver, its replicas and the network.

It gives leases by the state machine that runs have (`extensions.cluster.leases`), and simulates
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
import pickle
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from one_thread import use_one_thread
from spread_events import HOUR, Costs, Found, simulate

from tomeval.extensions.cluster.messages import Begun, Played, Replied
from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.models.scripted import SCRIPTS, Said, ScriptedModel
from tomeval.report.tables import render
from tomeval.runs.domain import Block, get_domain
from tomeval.runs.experiment import Experiment, make_experiment
from tomeval.runs.rows import Rows
from tomeval.runs.runner import run_experiment
from tomeval.runs.schema import pack
from tomeval.runs.store import Store
from tomeval.runs.stored import identity_sha256

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
    played = (domain.play.episode(cell, number, dict(models), lambda: None) for number in range(4))
    return experiment, [asyncio.run(one) for one in played]


def measured(costs: Costs, work: Path, episodes: int, horizon: int, characters: int) -> Costs:
    """Return the costs with what the driver needs, in CPU seconds, and what episodes weigh."""
    experiment, played = made(horizon, characters)
    calls = len(played[0].calls)
    texts = [call[-1]["reply"]["text"] for block in played for call in block.calls]
    packed = [pack(text) for text in texts]
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
            Replied(job, seat, request, packed[k % len(packed)])
            for k, request in enumerate(requests)
        ]
        block = Block(
            *([(number, *row[1:]) for row in part] for part in (one.episodes, one.steps)),
            answers=[(number, *row[1:]) for row in one.answers],
            calls=[(number, *call[1:]) for call in one.calls],  # type: ignore[misc]
        )
        sent = pickle.dumps([Begun(job), *replies])
        over = pickle.dumps([Played(0, Rows.of(0, block))])  # packed where it was played
        size = len(sent) + len(over)
        with store.together():
            began = time.process_time()
            told = pickle.loads(sent)[1:]
            store.keep_replies((*job, one.seat, one.request, one.reply) for one in told)
            timed("reply", calls, began)
            began = time.process_time()
            store.add(0, pickle.loads(over)[0].block)
            timed("episode", 1, began)
        began = time.process_time()
        with store.together():
            store.keep_reply(0, number + episodes, seat, requests[0], texts[0])
        timed("turn", 1, began)
    store.close()
    turn, reply, over_one = (statistics.median(took[name]) for name in took)
    return replace(
        costs, calls=calls, kilobytes=size / 1000, turn=turn, reply=reply, episode=over_one
    )


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

        actor: Any = ray.remote(num_cpus=1)(Echo).remote()
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
        run_experiment(experiment, work / f"check{replicas}", engine=engine, concurrency=4)
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
    from tomeval.plots.style import MARKERS, line_style, new_figure

    figure, (axes,) = new_figure(6.4, 4.0)
    for index, one in enumerate(costs):
        mine = [row for row in rows if row["s per episode"] == one.seconds]
        gpus = [row["GPUs"] for row in mine]
        bounds = [one.bound(n) for n in gpus]
        axes.plot(gpus, bounds, color="0.6", lw=1, label="bound" if not index else None)
        axes.plot(
            gpus,
            [row["episodes/s"] for row in mine],
            marker=MARKERS[index],
            label=f"simulated, {one.seconds:g} s of a GPU per episode",
            **line_style(index),
        )
    axes.axhline(costs[0].writer, color="0.25", ls=":", label="what the writer commits at most")
    axes.set(
        xscale="log", yscale="log", xlabel="GPUs, one replica each", ylabel="episodes per second"
    )
    axes.set_xticks(gpus, [str(n) for n in gpus])
    axes.minorticks_off()
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measure, simulate, and print the tables."""
    use_one_thread()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, nargs="+", default=[0.5, 2.0, 20.0])
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
    print(render(by_lease(costs[len(costs) // 2], asked.gpus[len(asked.gpus) // 2], asked.each)))
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

    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from fake_engine import FakeEngine  # type: ignore[import-not-found]

    rows: list[dict[str, Any]] = []
    calls, seconds = 10, 0.0  # five steps of QA, each with a prediction
    for replicas in (1, 2, 4):
        episodes = 24 * replicas
        real = checked(work, FakeEngine(replicas=replicas), replicas, episodes, pause)
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
