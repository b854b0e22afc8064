"""The time left of runs whose steps take a known time: what it is to be is derived by hand."""

from __future__ import annotations

import heapq

import pytest

from tomeval.runs.remaining import Remaining, Work


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


def test_episodes_played_together_and_those_left_out():
    """Cells without a model: 100 episodes of 10 steps in 2 s, wherever that was."""
    run = Played([Work((), "random", 10, 1000), Work((), "random", 10, 500)], [0, 0], 4)
    for _ in range(3):
        run.now += 2.0
        run.remaining.together(0, 100)
    assert run.remaining.left() == (pytest.approx((700 + 500) * 0.02), 0)
    run.remaining.dropped(1, 500)
    assert run.remaining.left() == (pytest.approx(14), 0)
