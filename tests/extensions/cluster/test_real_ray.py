"""Ray itself: two nodes here, one of which is taken away, and an actor that is killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import dump

from tomeval.core.errors import TomevalError
from tomeval.extensions.cluster import RayEngine
from tomeval.play.engines import make_engine
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment

pytestmark = pytest.mark.slow

FILE = """
name = "ray"
games = "RPS"
partners = "noisy_tit_for_tat"
subjects = [
    {strategy = "QA", model = "pocket"},
    {strategy = "LM", model = "pocket"},
    {kind = "simulated", p = 0.5, q = 0.5},
    "random",
]
episodes = 16
horizon = 4
"""
EXPERIMENT = tomllib.loads(FILE)


@pytest.fixture
def cluster(monkeypatch) -> Iterator[object]:
    """A cluster of two nodes, which ends with the test; a busy node is not taken for lost."""
    pytest.importorskip("ray", reason="needs Ray: pip install 'tomeval[ray]'")
    for name, value in {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",  # else actors starve beside other work
        "RAY_health_check_initial_delay_ms": "1000",
        "RAY_health_check_period_ms": "1000",
        "RAY_health_check_timeout_ms": "4000",
        "RAY_health_check_failure_threshold": "5",
    }.items():
        monkeypatch.setenv(name, value)
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    try:
        nodes.other = nodes.add_node(num_cpus=2)
        yield nodes
    finally:
        nodes.shutdown()


def players(node) -> list[int]:
    """Return the processes of actors on a node: children of its raylet."""
    raylet = node.all_processes["raylet"][0].process.pid
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            command = path.with_name("cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
        if parent == raylet and command.startswith(b"ray::Player"):
            found.append(int(path.parent.name))
    return found


def test_rows_are_those_of_one_process_when_an_actor_and_a_node_are_lost(
    tmp_path, cluster, caplog, monkeypatch
):
    experiment = make_experiment(EXPERIMENT)
    run_experiment(experiment, tmp_path / "one")
    done: list[str] = []
    opened: list[object] = []
    engine = make_engine(f"ray:{cluster.address}", replicas=3)

    async def call(ray, actor, method, *given, rest=RayEngine.call):
        """Let replicas wait for each other until two are lost, however slow one is to begin."""
        while method == "play" and not done and len(opened) < 3:
            await asyncio.sleep(0.05)
        answer = await rest(ray, actor, method, *given)
        if method == "open":
            opened.append(actor)
        return answer

    def lose(steps, total) -> None:
        if not done and len(opened) == 3 and engine.under_way > 3:
            done.append("both")
            os.kill(players(cluster.head_node)[0], signal.SIGKILL)
            assert players(cluster.other)
            cluster.remove_node(cluster.other, allow_graceful=False)

    monkeypatch.setattr(RayEngine, "call", call)
    run_experiment(experiment, tmp_path / "ray", engine=engine, progress=lose)
    assert done == ["both"]
    lost = [record.getMessage() for record in caplog.records if "is lost" in record.getMessage()]
    assert any("process has died" in text for text in lost), lost

    first, second = dump(tmp_path / "one"), dump(tmp_path / "ray")
    assert first.keys() == second.keys()
    for table in ("cells", "episodes", "meta", "steps", "answers"):
        assert len(first[table]) == len(second[table])
        for a, b in zip(first[table], second[table], strict=True):
            equal_but_for_rounding(a, b)
    assert [key for *key, _ in first["calls"]] == [key for *key, _ in second["calls"]]
    assert first["answered"] == second["answered"] == []

    with pytest.raises(TomevalError, match=r"--replicas 3, .* Ray has 2 cores"):
        check_for_a_minute(cluster.address)  # one node is left, once Ray counts the other as dead

    (tmp_path / "more.toml").write_text(FILE.replace("episodes = 16", "episodes = 18"))
    more = [sys.executable, "-m", "tomeval", "run", "more.toml", "--out", "ray"]
    more += ["--engine", f"ray:{cluster.address}", "--replicas", "1"]
    ended = subprocess.run(more, cwd=tmp_path, capture_output=True, text=True, timeout=400)
    assert ended.returncode == 0, ended.stderr
    assert "ray: 8 episodes played" in ended.stderr
    assert ended.stdout == ""  # Ray writes nothing
    assert "raylet" not in ended.stderr


def check_for_a_minute(address: str) -> None:
    for _ in range(60):
        whole = RayEngine(address, 3, 0.0)
        whole.check()
        whole.close()
        time.sleep(1)


def equal_but_for_rounding(a, b) -> None:
    """Compare rows: numbers, and those within JSON, may differ in the last digits."""
    if isinstance(a, str) and a[:1] in ("[", "{") and a != b:
        a, b = json.loads(a), json.loads(b)
    if isinstance(a, list | tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            equal_but_for_rounding(one, other)
    elif isinstance(a, dict):
        equal_but_for_rounding(list(a.items()), list(b.items()))
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=1e-4, abs=1e-6)
    else:
        assert a == b
