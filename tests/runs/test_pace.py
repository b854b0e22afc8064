"""The time left, on traces of made-up runs with a clock of their own: it must be within a factor
of two from the first tenth of the time on. How long a trace takes is known because it is made up.
"""

from __future__ import annotations

import heapq
import itertools
import random

import pytest

from tomeval.runs.pace import Pace
from tomeval.runs.pace_fit import Work


class Trace:
    """A run whose steps take what `seconds` says, by (cell, step, now); time passes by events."""

    def __init__(self, works, episodes, seconds, *, slots=8, load=0.0, ends=None, batch=None):
        self.works, self.seconds, self.slots, self.load = works, seconds, slots, load
        self.ends = ends or (lambda cell, episode: works[cell].length)
        self.now, self.every, self.batch = 0.0, 1.0, batch
        waiting = dict.fromkeys(range(len(works)), episodes)
        self.pace = Pace(works, waiting, slots, lambda: self.now)
        self.said: list[tuple[float, float | None]] = []
        for cell, work in enumerate(works):
            if work.models == ():
                self.to(self.now + seconds(cell, 0, self.now))
                self.pace.together(cell, episodes)
        groups = dict.fromkeys(work.models for work in works if work.models != ())
        for models in groups:
            self.pace.group()
            self.to(self.now + load)
            mine = [cell for cell, work in enumerate(works) if work.models == models]
            jobs = [(cell, e) for e in range(episodes) for cell in mine]
            (self.play_in_lockstep if batch else self.play)(jobs)
        self.end = self.now

    def to(self, when):
        """Let time pass, and ask for the time left as a display would."""
        tick = (int(self.now / self.every) + 1) * self.every
        while tick < when:
            self.now = tick
            self.said.append((tick, self.pace.left()))
            tick += self.every
        self.now = when

    def play(self, jobs):
        events, number, queue = [], itertools.count(), iter(jobs)

        def begin():
            job = next(queue, None)
            if job is not None:
                self.pace.begun(*job)
                push(job, 1)

        def push(job, step):
            took = self.seconds(job[0], step, self.now)
            heapq.heappush(events, (self.now + took, next(number), job, step))

        for _ in range(self.slots):
            begin()
        while events:
            when, _, job, step = heapq.heappop(events)
            self.to(when)
            self.pace.stepped(*job)
            if step == self.ends(*job):
                self.pace.ended(*job)
                begin()
            else:
                push(job, step + 1)

    def play_in_lockstep(self, jobs):
        """Play as a local model does: one batch holds the next step of every episode."""
        queue, live = list(jobs), {}
        while queue or live:
            while queue and len(live) < self.slots:
                job = queue.pop(0)
                self.pace.begun(*job)
                live[job] = 0
            self.to(self.now + self.batch([(cell, done + 1) for (cell, _), done in live.items()]))
            for job in list(live):
                live[job] += 1
                self.pace.stepped(*job)
                if live[job] == self.ends(*job):
                    self.pace.ended(*job)
                    del live[job]

    def worst(self, first=0.1, last=0.9):
        """Return the largest factor between what was said and what was true in this stretch."""
        factors = [1.0]
        for when, left in self.said:
            if first * self.end <= when <= last * self.end:
                assert left is not None, f"nothing said at {when:.0f} of {self.end:.0f} s"
                true = self.end - when
                factors.append(max(left / true, true / max(left, 1e-9)))
        return max(factors)


def llm(length, players="QA", models="m"):
    return Work(length, models, players)


def noisy(seconds, seed=0, spread=0.6):
    chance = random.Random(seed)
    return lambda *at: seconds(*at) * chance.lognormvariate(0, spread)


def test_steps_that_cost_the_same():
    trace = Trace([llm(20)] * 2, 30, lambda *_: 1.0)
    assert trace.worst() < 1.2


@pytest.mark.parametrize("episodes", [4, 12, 60])
def test_steps_whose_cost_grows(episodes):
    grows = Trace([llm(100)] * 2, episodes, lambda cell, step, now: 0.02 + 0.01 * step)
    assert grows.worst() < 2
    with_noise = Trace([llm(100)] * 2, episodes, noisy(lambda cell, step, now: 0.01 * step))
    assert with_noise.worst() < 2


def test_noise_is_no_growth():
    for seed in range(5):
        trace = Trace([llm(100)] * 4, 8, noisy(lambda *_: 1.0, seed, 1.0))
        assert trace.worst() < 2


def test_a_slow_start():
    def seconds(cell, step, now):
        return 20.0 if now < 5 else 0.5  # the first requests wait until the server has loaded

    trace = Trace([llm(30)] * 4, 200, seconds, slots=16, load=10.0)
    assert trace.worst() < 2


def test_tabular_cells_are_instant_and_say_nothing_of_models():
    works = [Work(100, (), ("rmax",))] * 20 + [llm(20)] * 4
    trace = Trace(works, 20, lambda cell, step, now: 0.05 if cell < 20 else 1.0, slots=8)
    assert trace.worst() < 1.3
    assert trace.said[0][1] is None  # nothing is known of models yet, and nothing is made up


def test_vectorised_cells_alone():
    works = [Work(100, (), (kind,)) for kind in ("rmax", "random") for _ in range(10)]
    trace = Trace(works, 500, lambda cell, *_: 3.0 if cell < 10 else 5.0)
    assert trace.worst() < 2


def test_cells_of_different_speeds():
    cost = {"LM": 0.1, "QA": 1.0, "CoT": 12.0}
    works = [llm(20, kind) for kind in cost for _ in range(4)]
    trace = Trace(works, 10, noisy(lambda cell, *_: cost[works[cell].players]), slots=8)
    assert trace.worst() < 2


def test_cells_of_different_speeds_one_after_the_other():
    """Episodes of many cells, of which a tenth has begun: the others are known by their players."""
    cost = {"LM": 0.1, "QA": 1.0, "CoT": 12.0}
    works = [llm(20, kind) for _ in range(40) for kind in cost]
    trace = Trace(works, 1, noisy(lambda cell, *_: cost[works[cell].players]), slots=8)
    assert trace.worst() < 2


def test_noise_of_whole_batches_is_no_growth():
    works = [llm(100, kind)._replace(local=True) for kind in ("LM", "QA", "CoT")]
    for seed in range(5):
        took = noisy(lambda _: 1.0, seed)
        trace = Trace(works, 6, None, slots=32, batch=took)
        assert trace.worst() < 2


@pytest.mark.parametrize("episodes", [3, 9, 40])
@pytest.mark.parametrize("fixed", [0.0, 2.0])
def test_a_local_model_in_lockstep(episodes, fixed):
    """Batches take what their slowest part takes, and grow with the past and with their size."""
    cost = {"LM": 0.02, "QA": 0.1, "CoT": 0.5}
    works = [llm(30, kind)._replace(local=True) for kind in cost for _ in range(3)]

    def batch(steps):
        slowest = max(cost[works[cell].players] for cell, _ in steps)
        return fixed + slowest + sum(0.01 + 0.002 * step for _, step in steps)

    trace = Trace(works, episodes, None, slots=32, batch=batch)
    assert trace.worst() < 2


def test_two_models_and_their_loading():
    works = [llm(20, "QA", name) for name in "ab" for _ in range(3)]
    trace = Trace(works, 20, lambda cell, *_: 1.0, load=30.0)
    assert trace.worst() < 2
    assert trace.pace.unseen == 0


def test_a_server_that_becomes_slower():
    end = Trace([llm(20)] * 4, 40, lambda *_: 1.0).end
    trace = Trace([llm(20)] * 4, 40, lambda cell, step, now: 1.0 if now < end / 4 else 3.0)
    # It cannot be known before; three recent spans after it happened it must be.
    assert trace.worst(first=(end / 4 + 90) / trace.end) < 2


def test_episodes_that_end_early():
    chance = random.Random(3)
    lengths = {(c, e): chance.choice((2, 5, 20)) for c in range(4) for e in range(60)}
    trace = Trace([llm(20)] * 4, 60, lambda *_: 1.0, ends=lambda c, e: lengths[c, e])
    assert trace.worst() < 2


def test_a_stopped_cell_takes_no_time():
    clock = [0.0]
    pace = Pace([llm(10), llm(10)], {0: 5, 1: 5}, 1, lambda: clock[0])
    pace.begun(0, 0)
    for _ in range(10):
        clock[0] += 1
        pace.stepped(0, 0)
    pace.ended(0, 0)
    clock[0] += 1
    assert pace.left() == pytest.approx(9 * 10)
    pace.dropped(1, 5)
    assert pace.left() == pytest.approx(4 * 10)
    pace.dropped(0, 4)
    assert pace.left() == 0


def test_the_last_episodes_by_hand():
    """Three episodes of ten steps of a second, two at a time: 20 s, or 15 s if one alone is twice
    as fast; what is said lies between."""
    clock = [0.0]
    pace = Pace([llm(10)], {0: 4}, 2, lambda: clock[0])
    pace.begun(0, 0)
    for _ in range(10):
        clock[0] += 1
        pace.stepped(0, 0)
    pace.ended(0, 0)
    clock[0] += 1
    assert 15 <= pace.left() <= 20
