"""The time left of runs whose steps take a known time: what it is to be is derived by hand."""

from __future__ import annotations

import heapq

import pytest

from tomeval.runs.remaining import LEAST, Remaining, Work


class Played:
    """A run by a clock of its own: every step of a cell takes its seconds, so many at a time."""

    def __init__(self, works, seconds, slots):
        self.now, self.slots, self.seconds, self.works = 0.0, slots, seconds, works
        self.replies = 0
        self.remaining = Remaining(works, slots, lambda: self.replies, lambda: self.now)
        self.waiting = [
            (cell, number)
            for number in range(max(work.episodes for work in works))
            for cell, work in enumerate(works)
            if number < work.episodes
        ]

    def play(self, look=lambda now: None, until=float("inf")):
        """Play all that waits; `look` is called after each step."""
        steps = []
        while self.waiting or steps:
            while self.waiting and len(steps) < self.slots:
                cell, number = self.waiting.pop(0)
                self.remaining.begun(cell, number)
                heapq.heappush(steps, (self.now + self.seconds[cell], cell, number, 1))
            at, cell, number, step = heapq.heappop(steps)
            if at > until:
                return
            self.now, self.replies = at, self.replies + 1
            self.remaining.stepped(cell, number)
            if step == self.works[cell].length:
                self.remaining.ended(cell, number)
            else:
                heapq.heappush(steps, (at + self.seconds[cell], cell, number, step + 1))
            look(at)


def test_a_constant_speed_is_told_to_the_second():
    """Eight episodes of ten steps of 3 s, four at a time: two waves of 30 s."""
    run = Played([Work(("m",), "QA", 10, 8)], [3.0], 4)
    assert run.remaining.left() == (None, 1)
    told = {}
    run.play(lambda now: told.update({now: run.remaining.left()}))
    assert run.now == 60
    for now in (3.0, 6.0, 27.0, 33.0, 57.0):
        assert told[now] == (pytest.approx(60 - now), 0), now
    assert told[60.0] == (0, 0)


def test_kinds_are_timed_apart():
    """200 steps of 1 s and 200 of 9 s, four at a time: 500 s, whatever was played first."""
    works = [Work(("m",), "QA", 10, 20), Work(("m",), "CoT", 10, 20)]
    run = Played(works, [1.0, 9.0], 4)
    run.play(until=90.0)
    # By hand: from 0 to 90 s, 4 x 90 s were played of 2,000 s, so 410 s are left.
    assert run.remaining.left() == (pytest.approx(410, rel=0.02), 0)


def test_kinds_not_seen_yet_are_counted_and_left_out():
    works = [Work(("a",), "QA", 10, 4), Work(("b",), "QA", 10, 4), Work(("b",), "CoT", 10, 4)]
    now = [0.0]
    remaining = Remaining(works, 4, lambda: int(now[0] > 0), lambda: now[0])
    remaining.begun(0, 0)
    for step in range(LEAST):
        now[0] += 2.0
        remaining.stepped(0, 0)
        assert remaining.left()[1] == (3 if step + 1 < LEAST else 2)
    # 40 steps less three, of 2 s, one at a time.
    assert remaining.left() == (pytest.approx(74), 2)
    assert remaining.left("a") == (pytest.approx(74), 0)
    assert remaining.left("b") == (None, 2)


def test_a_server_that_slows_down_is_followed():
    run = Played([Work(("m",), "QA", 1000, 1)], [1.0], 1)
    run.play(until=500.0)
    assert run.remaining.left() == (pytest.approx(500), 0)
    for _ in range(300):
        run.now, run.replies = run.now + 4.0, run.replies + 1
        run.remaining.stepped(0, 0)
    assert run.remaining.left()[0] == pytest.approx(200 * 4, rel=0.06)


def test_replies_kept_from_an_earlier_session_say_nothing_of_the_speed():
    run = Played([Work(("m",), "QA", 100, 1)], [5.0], 1)
    run.remaining.begun(0, 0)
    for _ in range(50):
        run.remaining.stepped(0, 0)
    assert run.remaining.left() == (None, 1)
    for _ in range(10):
        run.now, run.replies = run.now + 5.0, run.replies + 1
        run.remaining.stepped(0, 0)
    assert run.remaining.left() == (pytest.approx(40 * 5), 0)


def test_episodes_played_together_and_those_left_out():
    """Cells without a model: 100 episodes of 10 steps in 2 s, wherever that was."""
    run = Played([Work((), "random", 10, 1000), Work((), "random", 10, 500)], [0, 0], 4)
    for _ in range(3):
        run.now += 2.0
        run.remaining.together(0, 100)
    assert run.remaining.left() == (pytest.approx((700 + 500) * 0.02), 0)
    run.remaining.dropped(1, 500)
    assert run.remaining.left() == (pytest.approx(14), 0)


def test_an_episode_that_a_lost_replica_held_is_played_again():
    run = Played([Work(("m",), "QA", 10, 1)], [1.0], 1)
    run.remaining.begun(0, 0)
    for _ in range(5):
        run.now, run.replies = run.now + 1.0, run.replies + 1
        run.remaining.stepped(0, 0)
    assert run.remaining.left() == (pytest.approx(5), 0)
    run.remaining.returned(0, 0)
    run.remaining.stepped(0, 0)  # news of the lost one that came late
    assert run.remaining.left() == (pytest.approx(10), 0)
