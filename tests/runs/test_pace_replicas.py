"""The time left of runs on several replicas: made-up ones with a clock of their own.

Replicas differ in speed, are lost, and tell what happened in batches, as the driver hears it. How
long a run takes is known because it is made up.
"""

from __future__ import annotations

import heapq
import itertools
import random
import statistics

import pytest

from tomeval.runs.pace import Pace
from tomeval.runs.pace_fit import Work


class Spread:
    """A run on replicas, of which number r takes `speeds[r]` seconds for a step, on average.

    Each plays `slots` episodes at a time and says every `news` seconds what happened since. Of
    `lost`, pairs of a replica and a time, a replica is gone from then on: the others play its
    episodes, from the step that was told on. `back` seconds later another takes its place.
    """

    def __init__(
        self, works, episodes, speeds, *, slots=4, news=1.0, lost=(), back=None, cost=None
    ):
        self.works, self.speeds, self.slots, self.news = works, speeds, slots, news
        self.cost = cost or (lambda cell: 1.0)
        self.chance, self.now = random.Random(1), 0.0
        self.pace = Pace(works, dict.fromkeys(range(len(works)), episodes), slots, lambda: self.now)
        self.pace.replicas(len(speeds))
        self.pace.group()
        self.queue = [(cell, e) for e in range(episodes) for cell in range(len(works))]
        self.playing = [set() for _ in speeds]  # by replica
        self.unsaid = [[] for _ in speeds]
        self.alive = set(range(len(speeds)))
        self.heard, self.open = {}, set(self.queue)  # steps that were told; episodes to be played
        self.said, self.events, self.number = [], [], itertools.count()
        for replica in self.alive:
            self.at(self.chance.random() * news, self.tell, replica)
            self.fill(replica)
        for replica, when in lost:
            self.at(when, self.lose, replica)
            if back is not None:
                self.at(when + back, self.revive, replica)
        self.at(1.0, self.look)
        while self.open:
            self.now, _, what, more = heapq.heappop(self.events)
            what(*more)
        self.end = self.now

    def at(self, when, what, *more):
        heapq.heappush(self.events, (when, next(self.number), what, more))

    def look(self):
        self.said.append((self.now, self.pace.left()))
        self.at(self.now + 1.0, self.look)

    def fill(self, replica):
        while len(self.playing[replica]) < self.slots and self.queue:
            job = self.queue.pop(0)
            self.playing[replica].add(job)
            self.unsaid[replica].append(("begun", job))
            self.go_on(replica, job, 1, self.heard.get(job, 0))

    def go_on(self, replica, job, step, known):
        took = self.speeds[replica] * self.cost(job[0]) * self.chance.lognormvariate(-0.045, 0.3)
        self.at(self.now + took * (step > known), self.step, replica, job, step, known)

    def step(self, replica, job, step, known):
        if job not in self.playing[replica]:  # of a replica that was lost
            return
        self.unsaid[replica].append(("step", job))
        if step < self.works[job[0]].length:
            self.go_on(replica, job, step + 1, known)
        else:
            self.unsaid[replica].append(("ended", job))
            self.playing[replica].discard(job)
            self.fill(replica)

    def tell(self, replica):
        """Tell the driver what happened: steps as sums, as `messages.Counts` has them."""
        steps = {}
        for what, job in self.unsaid[replica]:
            if what == "begun":
                self.pace.begun(*job, f"replica {replica}")
                self.heard[job] = 0
            elif what == "step":
                steps[job] = steps.get(job, 0) + 1
                self.heard[job] += 1
            else:
                self.pace.ended(*job, steps=self.works[job[0]].length)
                self.open.discard(job)
                steps.pop(job, 0)
        for job, count in steps.items():
            self.pace.stepped(*job, count)
        self.unsaid[replica] = []
        self.at(self.now + self.news, self.tell, replica)

    def lose(self, replica):
        ended = {job for what, job in self.unsaid[replica] if what == "ended"}
        begun = {job for what, job in self.unsaid[replica] if what == "begun"}
        gone = self.playing[replica] | ended
        for job in gone - begun:
            self.pace.returned(*job)
        self.queue[:0] = sorted(gone)
        self.playing[replica], self.unsaid[replica] = set(), []
        self.alive.discard(replica)
        self.pace.replicas(len(self.alive))
        for other in self.alive:
            self.fill(other)

    def revive(self, replica):
        self.alive.add(replica)
        self.pace.replicas(len(self.alive))
        self.fill(replica)

    def factors(self, first=0.1, last=0.9):
        """Return by what factors, from 1 on, what was said was wrong in this stretch."""
        found = []
        for when, left in self.said:
            if first * self.end <= when <= last * self.end:
                assert left is not None, f"nothing said at {when:.0f} of {self.end:.0f} s"
                true = self.end - when
                found.append(max(left / true, true / max(left, 1e-9)))
        return found


def llm(length, players="QA", models="m"):
    return Work(length, models, players, True)


FOUR = [llm(20)] * 4


def middle(run):
    return statistics.median(run.factors())


@pytest.mark.parametrize("news", [1.0, 5.0, 20.0])
def test_batched_news_do_not_fool_it(news):
    run = Spread(FOUR, 60, [1.0] * 4, news=news)
    assert middle(run) < 1.1
    assert max(run.factors()) < 2


@pytest.mark.parametrize("news", [1.0, 5.0])
def test_whole_episodes_between_two_news(news):
    """An episode takes 0.2 s, so that most begin, step and end in one batch of news."""
    run = Spread(FOUR, 1500, [0.01] * 4, news=news)
    assert middle(run) < 1.15
    assert (
        max(run.factors(last=0.8)) < 1.5
    )  # what is left at the end is as long as the news are old


def test_steps_whose_cost_grows_in_batches():
    """A step takes ten times as long at the end; news hold several steps of an episode."""
    run = Grows([llm(60)] * 2, 40, [0.2] * 4, news=3.0)
    assert middle(run) < 1.15
    assert max(run.factors()) < 2


class Grows(Spread):
    """Steps that take the longer the later they are, as prompts grow."""

    def go_on(self, replica, job, step, known):
        self.cost = lambda cell: step / 10
        super().go_on(replica, job, step, known)


@pytest.mark.parametrize("news", [1.0, 20.0])
def test_replicas_of_different_speeds(news):
    """The slowest is eight times as slow: its last episodes are most of what is wrong."""
    run = Spread(FOUR, 60, [0.5, 1.0, 2.0, 4.0], news=news)
    assert middle(run) < 1.3
    assert max(run.factors(last=0.75)) < 2


def test_many_replicas():
    run = Spread(FOUR, 200, [1 + 0.1 * number for number in range(32)])
    assert middle(run) < 1.1
    assert max(run.factors()) < 2


def test_cells_and_replicas_of_different_speeds():
    cost = {"LM": 0.1, "QA": 1.0, "CoT": 5.0}
    works = [llm(10, kind) for kind in cost for _ in range(4)]
    run = Spread(works, 30, [0.5, 1.0, 2.0], cost=lambda cell: cost[works[cell].players])
    assert middle(run) < 1.3
    assert max(run.factors(last=0.8)) < 2


def test_a_loss_is_in_the_time_left_at_once():
    run = Spread(FOUR, 60, [1.0] * 4, lost=[(0, 100), (1, 100)])
    before = max(left for when, left in run.said if 90 < when < 100)
    after = min(left for when, left in run.said if 101 < when < 110)
    assert after > 1.6 * before  # half of the replicas
    assert max(run.factors(first=101 / run.end)) < 1.5


def test_losses_whose_places_are_taken_again():
    run = Spread(FOUR, 60, [1.0] * 4, lost=[(0, 50), (1, 80), (0, 120)], back=15)
    assert max(run.factors(first=0.45)) < 1.6  # those that are still to come nobody knows


def test_slots_that_stay_empty_are_not_counted():
    """Two of eight slots are ever used: 20 episodes of 10 s take 100 s, not 25."""
    now = [0.0]
    pace = Pace([llm(10)], {0: 20}, 8, lambda: now[0])
    for pair in range(4):
        for episode in (2 * pair, 2 * pair + 1):
            pace.begun(0, episode)
        for _ in range(10):
            now[0] += 1
            for episode in (2 * pair, 2 * pair + 1):
                pace.stepped(0, episode)
        for episode in (2 * pair, 2 * pair + 1):
            pace.ended(0, episode)
    assert pace.left() == pytest.approx(60)


def clocked(episodes, length=10):
    now = [0.0]
    return now, Pace([llm(length)], {0: episodes}, 1, lambda: now[0])


def test_a_count_of_steps_is_as_many_steps():
    """Ten seconds of ten steps, told one by one, in batches, or all at the end: the same."""
    found = []
    for batches in ([1] * 10, [3, 3, 4], [10]):
        now, pace = clocked(3)
        pace.begun(0, 0)
        for count in batches:
            now[0] += count
            pace.stepped(0, 0, count)
        pace.ended(0, 0)
        found.append(pace.left())
    assert found == [pytest.approx(20)] * 3


def test_steps_that_the_end_tells_of():
    """Four steps were told of before an episode is over: it had ten, and did not end early."""
    now, pace = clocked(3)
    pace.begun(0, 0)
    now[0] = 4.0
    pace.stepped(0, 0, 4)
    now[0] = 10.0
    pace.ended(0, 0, 10)
    assert pace.left() == pytest.approx(20)


def test_what_is_played_again_from_kept_replies_is_no_speed():
    """Eight steps were kept and come at once; what a step takes is what the others took."""
    now, pace = clocked(3)
    pace.begun(0, 0)
    now[0] = 8.0
    pace.stepped(0, 0, 8)
    pace.returned(0, 0)
    assert pace.left() == pytest.approx(30)
    pace.begun(0, 0)
    pace.stepped(0, 0, 8)
    now[0] = 10.0
    pace.stepped(0, 0, 2)
    pace.ended(0, 0)
    assert pace.left() == pytest.approx(20)


def test_an_episode_counts_once_whoever_plays_it():
    now, pace = clocked(2)
    pace.begun(0, 0)
    now[0] = 5.0
    pace.stepped(0, 0, 5)
    pace.returned(0, 0)  # its replica is silent
    pace.begun(0, 0)
    pace.begun(0, 0)  # said twice
    now[0] = 10.0
    pace.stepped(0, 0, 10)
    pace.ended(0, 0)
    pace.ended(0, 0)  # the silent one was not lost
    assert pace.left() == pytest.approx(10)
    pace.begun(0, 1)
    pace.returned(0, 1)
    pace.ended(0, 1)  # comes from the silent one, before another has begun with it
    assert pace.left() == 0


@pytest.mark.parametrize("many", [1, 5])
def test_stretches_without_a_model_on_replicas(many):
    """Each replica takes 0.1 s for an episode; so many are that many times as fast."""
    now = [0.0]
    pace = Pace([Work(10)], {0: 1000}, 1, lambda: now[0])
    for replica in range(many):
        pace.leased(f"replica {replica}")
    for batch in range(1, 3):
        now[0] = 10.0 * batch
        for replica in range(many):
            pace.together(0, 100, f"replica {replica}")
    assert pace.left() == pytest.approx((1000 - 200 * many) * 0.1 / many)
    if many > 1:
        pace.gone("replica 0")
        assert pace.left() == pytest.approx((1000 - 200 * many) * 0.1 / (many - 1))
