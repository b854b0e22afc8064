"""What a run on replicas shows: their counts, the file for others, what is said when it stops."""

from __future__ import annotations

import pytest
from fake_engine import FakeEngine

from tomeval.runs.experiment import make_experiment
from tomeval.runs.live import Live
from tomeval.runs.live_file import experiment_of, read_live
from tomeval.runs.runner import run_experiment
from tomeval.runs.schedule import Schedule
from tomeval.runs.spread.leases import Group, Leases
from tomeval.runs.spread.replicas import ReplicaCount, closing_lines


@pytest.mark.parametrize("kills", [(), (3,)])
def test_replicas_are_counted(tmp_path, kills) -> None:
    keys = {"name": "e", "games": ["RPS", "IPD"], "subjects": ["random"], "episodes": 40}
    live = Live()
    engine = FakeEngine(kills)
    run_experiment(
        make_experiment(keys | {"horizon": 5}), tmp_path, engine=engine, replicas=2, live=live
    )
    state = read_live(tmp_path, experiment_of(tmp_path))
    assert state.over == "finished"
    assert [one["name"] for one in state.replicas] == ["replica 1", "replica 2"]
    assert state.counts.complete == state.wanted == sum(one["episodes"] for one in state.replicas)
    assert state.steps == state.total == 5 * state.wanted
    assert all(one["where"] for one in state.replicas if one["episodes"])
    assert state.left == 0
    head, *each = live.closing
    assert head == ("replicas: 2, lost once" if kills else "replicas: 2, none was lost")
    assert [" ".join(line.split()[:2]) for line in each] == ["replica 1", "replica 2"]
    assert ("killed at message 3" in "".join(each)) == bool(kills)


def test_closing_lines_of_replicas() -> None:
    counts = [ReplicaCount(f"replica {n}", "h", "cpu", episodes=n) for n in range(1, 13)]
    assert closing_lines(counts)[0] == "replicas: 12, none was lost"
    counts[11].lost, counts[11].last_error = 2, "gone"
    counts[0].second, counts[1].second, counts[1].differed = 3, 1, 1
    found = closing_lines(counts)
    assert found[0] == "replicas: 12, lost 2 times"
    assert "  replica 12 (h, cpu): 12 episodes; lost 2 times, the last: gone" in found
    assert "  4 more: 8 to 11 episodes each" in found
    assert found[-1].startswith("episodes played twice, and compared: 4, 1 of them different; ")
    assert closing_lines([]) == []


def test_how_long_the_leases_under_way_take() -> None:
    """Replica 0 ends four of its jobs in 20 s; what is left of its leases takes 5 s for each."""
    jobs = [(0, episode) for episode in range(40)]
    leases = Leases([Group(("m",), Schedule(jobs, 0), slots=8)], 1)
    assert leases.rest(0.0) == (0, 0.0)
    grant = leases.grant(0, 0.0)
    assert leases.rest(0.0) == (1, None)
    for job in grant.jobs[:4]:
        leases.begun(0, job, 0.0)
    for job in grant.jobs[:4]:
        leases.ended(0, job, 20.0)
    count, seconds = leases.rest(20.0)
    assert count == 1
    assert seconds == pytest.approx(5 * (len(grant.jobs) - 4))
