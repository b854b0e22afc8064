"""The simulation of a run on many GPUs, held against what no schedule can pass and closed forms."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from spread_events import Costs, simulate
from spread_simulation import measured

# Nothing but the GPUs takes time, and every episode is as long as the others.
PLAIN = Costs(
    seconds=2.0, slots=4, calls=4, turn=0, exchange=0, reply=0, episode=0, kilobytes=1e-6,
    latency=0, load=0, losses=0, spread=0,
)  # fmt: skip
REAL = replace(PLAIN, turn=0.002, exchange=1e-3, reply=5e-5, episode=1e-3, kilobytes=20, load=30)


@pytest.mark.parametrize("replicas", [1, 3])
def test_where_only_gpus_take_time_all_of_it_is_play(replicas) -> None:
    # 40 rounds of 4 at a time, 8 s each: nobody waits, but for a last round that is not full.
    found = simulate(PLAIN, replicas, 160 * replicas)
    assert 40 * 8 - 1e-6 <= found.seconds <= 41 * 8 + 1e-2
    assert found.tail <= 1 / 41 + 1e-3
    assert found.steady == pytest.approx(replicas / 2, rel=0.05)
    assert (found.again, found.failed) == (0, 0)


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_no_schedule_passes_the_bound(spread) -> None:
    costs = replace(REAL, spread=spread, losses=2.0, latency=0.05)
    for replicas in (1, 4, 8):
        found = simulate(costs, replicas, 100 * replicas)
        assert found.seconds >= costs.load + 100 * costs.seconds * 0.9
        assert found.steady <= 1.1 * costs.bound(replicas)
        assert 0 <= found.driver <= 1
        assert 0 <= found.tail < 1


def test_too_few_rounds_show_no_rate() -> None:
    assert math.isnan(simulate(PLAIN, 2, 24).steady)  # three rounds: nothing waits after the first


def test_one_slow_writer_is_the_limit() -> None:
    slow = replace(REAL, episode=1.0)  # a second for every episode, and little for the rest
    found = simulate(slow, 8, 400)  # the GPUs could play 4 a second
    assert slow.bound(8) == slow.writer
    assert slow.writer == pytest.approx(1, rel=0.01)
    assert found.steady == pytest.approx(slow.writer, rel=0.05)
    assert found.driver > 0.85


def test_losses_cost_time_and_no_episode() -> None:
    fine, lossy = (simulate(replace(REAL, losses=n), 4, 400, seed=3) for n in (0.0, 60.0))
    assert lossy.again > 0
    assert lossy.failed < 10
    assert lossy.seconds > fine.seconds


def test_longer_leases_are_longer(tmp_path) -> None:
    """What a lost replica held waits for others; nothing else depends on the length without one."""
    short, long = (simulate(REAL, 2, 300, lease=pair) for pair in ((5, 5), (120, 120)))
    assert short.seconds == pytest.approx(long.seconds, rel=0.1)


def test_what_is_measured_is_of_a_store(tmp_path) -> None:
    found = measured(PLAIN, tmp_path, 4, 3, 100)
    assert found.calls == 6  # three steps, acted and predicted
    assert found.kilobytes > 6 * 0.1
    assert 0 < found.reply < found.episode < 1
    assert 0 < found.writer < 1 / found.episode
