"""The state of all jobs: nothing is lost, nothing ends twice, and leases last as long as wanted."""

from __future__ import annotations

import heapq
import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tomeval.extensions.cluster.leases import AT_A_TIME, LEAST, LOSSES, MOST, Group, Leases
from tomeval.runs.schedule import Schedule

REPLICAS = 3


class Machine(RuleBasedStateMachine):
    """Replicas that do what they like; beside the state, the test keeps books of its own."""

    @initialize(after=st.integers(0, 3), slots=st.integers(1, 4), listed=st.booleans())
    def begin(self, after, slots, listed):
        self.jobs = {(cell, e) for cell in range(4) for e in range(6)}
        ordered = [(cell, e) for e in range(6) for cell in (0, 1)]
        rest = [(cell, e) for e in range(6) for cell in (2, 3)]
        by_cell = {cell: range(6) for cell in (0, 1)}
        self.schedules = [Schedule(ordered if listed else by_cell, after), Schedule(rest, 0)]
        groups = [Group(("m",), self.schedules[0], slots), Group((), self.schedules[1])]
        self.leases = Leases(groups, REPLICAS)
        self.held = {replica: {} for replica in range(REPLICAS)}  # job: its lease
        self.begun, self.ended, self.left, self.failed = set(), set(), set(), set()
        self.losses: dict[tuple[int, int], int] = {}
        self.after, self.now, self.stopped = after, 0.0, set()
        self.through: set[int] = set()
        self.settled: list[tuple[int, int]] = []

    def draw(self, data, jobs):
        return data.draw(st.sampled_from(sorted(jobs)))

    @rule(replica=st.integers(0, REPLICAS - 1), seconds=st.floats(0, 100))
    def grant(self, replica, seconds):
        self.now += seconds
        grant = self.leases.grant(replica, self.now)
        if grant is None:
            return
        assert grant.jobs
        taken = set().union(*self.held.values())
        for job in grant.jobs:
            assert job not in taken | self.ended | self.left | self.failed
            assert job[0] in grant.group.schedule.cells
            self.held[replica][job] = grant.number
            self.begun.discard(job)
        mine = self.held[replica]
        if any(self.losses.get(job, 0) == LOSSES - 1 for job in mine):
            assert len(grant.jobs) == len(mine) == 1  # nothing else can be what it is lost for

    @rule(data=st.data(), replica=st.integers(0, REPLICAS - 1))
    def begins(self, data, replica):
        if jobs := self.held[replica].keys() - self.begun:
            job = self.draw(data, jobs)
            assert self.leases.begun(replica, job, self.now)
            assert not self.leases.begun((replica + 1) % REPLICAS, job, self.now)
            self.begun.add(job)

    @rule(data=st.data(), replica=st.integers(0, REPLICAS - 1), seconds=st.floats(0, 100))
    def ends(self, data, replica, seconds):
        self.now += seconds
        if jobs := self.held[replica].keys() & self.begun:
            job = self.draw(data, jobs)
            assert self.leases.ended(replica, job, self.now)
            assert not self.leases.ended(replica, job, self.now)  # a second result
            self.schedule(job).ended(*job, "complete")
            self.through.add(job[0])
            self.release(replica, job)
            self.ended.add(job)

    @rule(data=st.data(), replica=st.integers(0, REPLICAS - 1))
    def a_silent_one_says_an_end(self, data, replica):
        """Whoever holds it by now, or nobody: it ends, unless it has."""
        job = self.draw(data, self.jobs)
        if job[0] in self.stopped or job in self.failed:
            return
        counts = self.leases.ended(replica, job, self.now)
        assert counts == (job not in self.ended)
        if counts:
            self.schedule(job).ended(*job, "complete")
            for other in self.held:
                if job in self.held[other]:
                    self.release(other, job)
            self.ended.add(job)

    @rule(replica=st.integers(0, REPLICAS - 1), silent=st.booleans())
    def is_lost(self, replica, silent):
        mine, self.held[replica] = self.held[replica], {}
        gone = self.leases.silent(replica) if silent else self.leases.lost(replica)
        begun = mine.keys() & self.begun
        assert set(gone.begun) == begun
        blamed = begun
        if mine and not begun and next(iter(mine))[0] > 1:  # it may have begun without a word
            blamed = {next(iter(mine))}
        if silent:
            blamed = set()
        for job in mine:
            if job in blamed:
                self.losses[job] = self.losses.get(job, 0) + 1
            if self.losses.get(job, 0) >= LOSSES:
                continue
            if job[0] in self.stopped and job not in self.ever_begun():
                self.left.add(job)
        failed = {job for job in blamed if self.losses.get(job, 0) >= LOSSES}
        assert set(gone.failed) == failed
        for job in failed:
            assert self.leases.ended(None, job, self.now)
            self.schedule(job).ended(*job)
        self.failed |= failed

    def ever_begun(self):
        return self.begun | self.tried

    @rule(data=st.data())
    def stops(self, data):
        cell = data.draw(st.sampled_from([0, 1]))
        if cell in self.stopped:
            return
        self.stopped.add(cell)
        waiting = {job for job in self.jobs if job[0] == cell}
        waiting -= set().union(*self.held.values()) | self.ended | self.failed
        assert self.schedules[0].stop(cell, "so") == len(waiting)
        self.left |= waiting
        self.leases.recall(cell)
        self.unknown = {job for mine in self.held.values() for job in mine if job[0] == cell}

    @rule(replica=st.integers(0, REPLICAS - 1))
    def gives_back(self, replica):
        """Answer a recall."""
        jobs = [j for j in self.held[replica] if j[0] in self.stopped and j not in self.begun]
        self.leases.left(replica, jobs)
        for job in jobs:
            self.release(replica, job)
        self.left |= set(jobs)

    def schedule(self, job):
        return self.schedules[job[0] // 2]

    def release(self, replica, job):
        del self.held[replica][job]

    @property
    def tried(self):
        return self.leases._tried

    @invariant()
    def books_agree(self):
        if not hasattr(self, "leases"):
            return
        held = set().union(*self.held.values())
        for replica, mine in self.held.items():
            assert len(set(mine.values())) <= AT_A_TIME
            assert all(self.leases.holds(replica, job) for job in mine)
        waiting = {job for schedule in self.schedules for job in schedule}
        parts = [held, self.ended, self.left, self.failed, waiting]
        assert sum(map(len, parts)) == len(self.jobs)  # every job is in one place
        assert set().union(*parts) == self.jobs
        assert self.leases.idle == (not held)
        assert self.leases.under_way == sum(len(set(mine.values())) for mine in self.held.values())
        assert self.leases.done == (not held and not waiting)
        self.settled += self.leases.settled()
        assert {cell for cell, _ in self.settled} <= self.stopped
        assert len(self.settled) == len({cell for cell, _ in self.settled})

    def teardown(self):
        """Let one replica play what is left."""
        if not hasattr(self, "leases"):
            return
        for replica in range(REPLICAS):
            self.gives_back(replica)
            self.is_lost(replica, silent=True)
        for _ in range(200):
            for job in list(self.held[0]):
                assert self.leases.begun(0, job, self.now)
                assert self.leases.ended(0, job, self.now)
                self.schedule(job).ended(*job, "complete")
                self.release(0, job)
                self.ended.add(job)
            self.grant(0, 1.0)
        assert self.leases.done
        assert self.ended | self.left | self.failed == self.jobs
        self.books_agree()
        assert {cell for cell, _ in self.settled} == self.stopped


Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestLeases = Machine.TestCase


# --- sizes, against a clock that is simulated -----------------------------------------------------


def simulate(speeds, jobs, slots, models=("m",), load=0.0):
    """Play with replicas that finish `slots` jobs at once, a job in so many seconds.

    Return when each replica ended, and all leases: seconds from when they were held to their end.
    """
    drawn = random.Random(0)
    schedule = Schedule([(0, e) for e in range(jobs)], 0)
    leases = Leases([Group(models, schedule, slots)], len(speeds))
    queue: dict[int, list] = {replica: [] for replica in range(len(speeds))}
    free = dict.fromkeys(range(len(speeds)), slots)
    left, spans, ends, events, took = {}, {}, {}, [], []
    for replica in range(len(speeds)):
        heapq.heappush(events, (load * replica, replica, None, None))
    while events:
        now, replica, job, number = heapq.heappop(events)
        if job is not None:
            assert leases.ended(replica, job, now)
            free[replica] += 1
            ends[replica] = now
            left[number] -= 1
            if not left[number]:
                took.append((now - spans[number], number))
        while (grant := leases.grant(replica, now)) is not None:
            left[grant.number] = len(grant.jobs)
            queue[replica] += [(job, grant.number) for job in grant.jobs]
            assert leases.leases_of(replica) <= AT_A_TIME
        while queue[replica] and free[replica]:
            job, number = queue[replica].pop(0)
            free[replica] -= 1
            leases.begun(replica, job, now)
            spans.setdefault(number, now)
            after = now + speeds[replica] * drawn.uniform(0.8, 1.2)
            heapq.heappush(events, (after, replica, job, number))
    assert leases.done
    return ends, [seconds for seconds, _ in took]


@pytest.mark.parametrize("load", [0.0, 5.0])
def test_replicas_end_together_and_leases_take_minutes(load) -> None:
    """One is three times as slow: 20,000 episodes of 4 s, 8 at a time."""
    ends, took = simulate([4.0, 4.0, 12.0, 4.0], 20_000, 8, load=load)
    best = 20_000 / (8 * (3 / 4 + 1 / 12))
    assert max(ends.values()) < 1.03 * best + 2 * load
    assert max(ends.values()) - min(ends.values()) < 30
    long_ones = [seconds for seconds in took if seconds > LEAST]
    assert max(took) < 1.2 * MOST
    assert sum(long_ones) > 0.8 * sum(took)


def test_few_episodes_are_shared_at_once() -> None:
    """20 episodes on 4 replicas with 32 slots: 5 each, in as long as one takes."""
    ends, _ = simulate([10.0] * 4, 20, 32)
    assert len(ends) == 4
    assert max(ends.values()) <= 12.0


def test_slots_do_not_run_dry() -> None:
    """An episode takes longer than a lease is to: a replica still has all slots busy."""
    ends, _ = simulate([600.0], 320, 32)
    assert ends[0] < 1.15 * 600 * 10


def test_replicas_spread_over_models_and_stay_with_them() -> None:
    groups = [
        Group((name,), Schedule([(cell, e) for e in range(100)], 0), 4)
        for cell, name in enumerate("ab")
    ]
    leases = Leases([*groups, Group((), Schedule([(9, 0)], 0))], 4)
    first = [leases.grant(replica, 0.0).group.models for replica in range(4)]
    assert first == [(), ("a",), ("b",), ("a",)]
    assert [leases.grant(r, 0.0).group.models for r in range(4)] == [("b",), ("a",), ("b",), ("a",)]
    assert leases.grant(0, 0.0) is None
