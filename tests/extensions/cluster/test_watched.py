"""What a run on replicas shows: their counts, the file for others, what is said when it stops."""

from __future__ import annotations

import re

import pytest
from fake_engine import FakeEngine

from tomeval.extensions.cluster.replicas import ReplicaCount, closing_lines, shown_lines
from tomeval.runs.experiment import make_experiment
from tomeval.runs.live import Live
from tomeval.runs.live_file import read_live
from tomeval.runs.runner import run_experiment


@pytest.mark.parametrize("kills", [(), (3,)])
def test_replicas_are_counted(tmp_path, kills) -> None:
    keys = {"name": "e", "games": ["RPS", "IPD"], "subjects": ["random"], "episodes": 40}
    live = Live()
    engine = FakeEngine(kills)
    run_experiment(make_experiment(keys | {"horizon": 5}), tmp_path, engine=engine, live=live)
    state = read_live(tmp_path, "")
    assert state.over == "finished"
    shown = [re.fullmatch(r"(replica .)(.*): \w+, (\d+) episodes.*", one) for one in state.replicas]
    assert [one[1] for one in shown] == ["replica 1", "replica 2"]
    assert state.counts.complete == state.wanted == sum(int(one[3]) for one in shown)
    assert state.steps == state.total == 5 * state.wanted
    assert all(one[2] for one in shown if int(one[3]))
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


@pytest.mark.parametrize("number", [2, 64])
def test_replicas_have_a_line_each_those_in_trouble_first(number) -> None:
    counts = [
        ReplicaCount(f"replica {n + 1}", "node", "H200", "playing", 10) for n in range(number)
    ]
    counts[-1].state, counts[-1].last_error = "lost", "node died"
    lines = shown_lines(counts)
    lost = f"replica {number} (node, H200): lost, 10 episodes; node died"
    assert len(lines) == min(number, 8) + (number > 8)
    assert lines.index(lost) == (0 if number == 64 else 1)
    assert ("56 more replicas: 560 episodes" in lines) == (number == 64)
