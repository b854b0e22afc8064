"""Speeds of counts by looks now and then, against rates that are made up."""

from __future__ import annotations

import random

import pytest

from tomeval.runs.counts import Counts
from tomeval.runs.live import Live
from tomeval.runs.live_state import state_of
from tomeval.runs.speeds import Meter, Speeds


def looked(grows, every=2.0, end=1200.0):
    """Return what a meter says at each look at a count that `grows` tells for a time."""
    meter, said, now = Meter(), [], 0.0
    while now <= end:
        meter.see(now, grows(now))
        said.append((now, meter.speed(now)))
        now += every
    return said


def test_episodes_that_end_together() -> None:
    """Thirty-two of them every three minutes: in most minutes there are none."""
    said = looked(lambda now: 32 * int(now / 180))
    assert {speed for now, speed in said if now < 180} == {None}
    assert all(speed == pytest.approx(32 / 180, rel=0.02) for now, speed in said if now >= 182)


@pytest.mark.parametrize("news", [1.0, 5.0, 20.0])
def test_news_in_batches(news) -> None:
    """Seven in a second on average, by chance, told of in batches: right within a tenth."""
    chance = random.Random(1)
    times = sorted(chance.random() * 1200 for _ in range(8400))
    told = []
    for batch in range(int(1200 / news) + 1):
        told.append(sum(time <= batch * news for time in times))
    said = looked(lambda now: told[int(now / news)], end=1190)
    later = [speed for now, speed in said if now > 90]
    assert all(speed == pytest.approx(7, rel=0.25) for speed in later)
    assert sum(later) / len(later) == pytest.approx(7, rel=0.03)


def test_a_change_of_speed_is_seen_within_a_minute() -> None:
    said = dict(looked(lambda now: 10 * min(now, 600) + 2 * max(0, now - 600)))
    assert said[600] == pytest.approx(10)
    assert said[664] == pytest.approx(2)


def test_what_stands_still_gets_slower_and_slower() -> None:
    said = dict(looked(lambda now: 10 * min(now, 600)))
    assert said[600] == pytest.approx(10)
    assert said[610] > said[640] > said[700] > said[1000]
    assert said[1000] < 0.2


def test_what_earlier_sessions_played_is_no_speed() -> None:
    """A run that goes on is looked at before the episodes on disk are counted."""
    now, live = [0.0], Live()
    live.speeds = Speeds(lambda: now[0])
    assert state_of(live).episodes_speed is None
    live.counts, live.total = Counts(complete=96_665), 1000
    said = []
    for second in (10.0, 20.0, 30.0):
        now[0] = second
        live.counts = Counts(complete=96_665 + 5 * int(second - 10))
        said.append(state_of(live).episodes_speed)
    assert said == [None, 5, 5]


def test_a_count_that_falls_is_another_one() -> None:
    now = [0.0]
    speeds = Speeds(lambda: now[0])
    for second in range(20):
        now[0] = float(second)
        speeds.of("replica 1", 100 * second)
    assert speeds.of("replica 1", 5) is None
    assert speeds.of("replica 2", 5) is None
