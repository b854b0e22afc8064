"""A replica on its own: models change between leases, orders while it plays, what it is given."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time

import pytest
from every_domain import episode_of, experiment, good

from tomeval.extensions.cluster import worker
from tomeval.extensions.cluster.messages import (
    Begun,
    Broken,
    Lease,
    Left,
    Opened,
    Played,
    Ready,
    Replied,
    Setting,
    Withdraw,
)
from tomeval.extensions.cluster.worker import Worker
from tomeval.models.scripted import SCRIPTS, ScriptedModel
from tomeval.runs.engine import spec_key
from tomeval.runs.experiment import make_experiment
from tomeval.runs.schema import unpack

A, B = (spec_key(f"scripted:{name}") for name in "ab")


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    monkeypatch.setattr(worker, "WAIT", 0.05)


@pytest.fixture
def replica():
    """Return a function that starts a replica of two toy cells, with the models a and b."""
    begun: list[Worker] = []

    def start(concurrency=2, **changes):
        SCRIPTS.setdefault("a", good("toy"))
        SCRIPTS.setdefault("b", good("toy"))
        cells = [
            make_experiment(experiment("toy", f"scripted:{name}", guessers=["llm"])).cells[0]
            for name in "ab"
        ]
        setting = {"domain": "toy", "cells": pickle.dumps(cells), "concurrency": concurrency}
        begun.append(Worker(Setting(**setting | changes)))
        return begun[-1]

    yield start
    for one in begun:
        one.close()
        one._thread.join(10)
        assert not one._thread.is_alive()


def hear(replica, orders=(), until=lambda heard: False):
    """Exchange until something was heard, at most a few seconds."""
    heard, deadline = replica.exchange(orders), time.monotonic() + 20
    while not until(heard):
        assert time.monotonic() < deadline, heard
        heard += replica.exchange([])
    return heard


def played(*jobs):
    return lambda heard: ends(heard) >= set(jobs)


def ends(heard):
    return {(m.cell, m.block.episodes[0][0]) for m in kinds(heard, Played)}


def kinds(heard, kind):
    return [message for message in heard if isinstance(message, kind)]


def test_models_change_once_nothing_of_the_old_ones_is_under_way(replica, monkeypatch) -> None:
    alive: list[str] = []

    class Noted(ScriptedModel):
        async def start(self) -> None:
            alive.append(self.name)

        async def close(self) -> None:
            alive.append(f"-{self.name}")

    monkeypatch.setattr(
        worker, "open_model", lambda spec, **_: Noted(SCRIPTS[spec.partition(":")[2]], spec)
    )
    here = replica()
    orders = [
        Lease((A,), ((0, 0), (0, 1), (0, 2))),
        Lease((B,), ((1, 0),)),
        Lease((A,), ((0, 3),)),
    ]
    heard = hear(here, orders, played((0, 3)))
    assert isinstance(heard[0], Ready)
    order = [(m.cell, m.block.episodes[0][0]) for m in kinds(heard, Played)]
    assert sorted(order[:3]) == [(0, 0), (0, 1), (0, 2)]
    assert order[3:] == [(1, 0), (0, 3)]
    assert [list(m.revisions) for m in kinds(heard, Opened)] == [[A], [B], [A]]
    assert alive[:5] == ["scripted:a", "-scripted:a", "scripted:b", "-scripted:b", "scripted:a"]


def test_a_lease_with_the_same_models_joins_those_that_play(replica) -> None:
    go = threading.Event()
    SCRIPTS["a"] = lambda request: (episode_of(request) or go.wait(20)) and "1"
    here = replica(concurrency=1)
    hear(here, [Lease((A,), ((0, 0),))], lambda heard: kinds(heard, Begun))
    here.exchange([Lease((A,), ((0, 1),))])
    go.set()
    heard = hear(here, [], played((0, 0), (0, 1)))
    assert not kinds(heard, Opened)  # they are open


def test_what_has_not_begun_can_be_withdrawn(replica) -> None:
    go = threading.Event()
    SCRIPTS["a"] = lambda request: go.wait(20) and "1"
    here = replica(concurrency=2)
    first = Lease((A,), ((0, 0), (0, 1), (0, 2)))
    hear(here, [first], lambda heard: len(kinds(heard, Begun)) == 1)  # a script holds the loop
    here.exchange([Lease((B,), ((1, 0),)), Lease((A,), ((0, 5),)), Withdraw(0)])
    go.set()
    heard = hear(here, [], played((0, 0), (1, 0)))
    (left,) = kinds(heard, Left)
    assert {(0, 5)} <= set(left.jobs) <= {(0, 1), (0, 2), (0, 5)}
    assert ends(heard) | set(left.jobs) == {(0, 0), (0, 1), (0, 2), (0, 5), (1, 0)}
    assert not ends(heard) & set(left.jobs)


def test_kept_replies_are_not_asked_for(replica) -> None:
    asked: list[int] = []
    SCRIPTS["a"] = lambda request: asked.append(episode_of(request)) or "1"
    here = replica()
    heard = hear(here, [Lease((A,), ((0, 0),))], played((0, 0)))
    kept = {m.seat: {} for m in kinds(heard, Replied)}
    for message in kinds(heard, Replied):
        kept[message.seat][message.request] = unpack(message.reply)
    assert asked == [0] * 4
    again = hear(replica(), [Lease((A,), ((0, 0), (0, 1)), {(0, 0): kept})], played((0, 0), (0, 1)))
    assert asked == [0] * 4 + [1] * 4
    first, second = (kinds(h, Played)[0].block.steps for h in (heard, again))
    assert first == second


def test_an_episode_that_is_here_already_is_played_once(replica, monkeypatch) -> None:
    """The driver took it back while this replica was silent, and gives it out again."""
    go, calls, plain = threading.Event(), [], ScriptedModel.generate

    async def generate(self, request):
        calls.append(1)
        while not go.is_set():
            await asyncio.sleep(0.01)
        return await plain(self, request)

    monkeypatch.setattr(ScriptedModel, "generate", generate)
    here = replica(concurrency=1)
    hear(here, [Lease((A,), ((0, 0), (0, 1)))], lambda heard: kinds(heard, Begun))
    heard = here.exchange([Lease((A,), ((0, 1), (0, 0)))])
    go.set()
    heard += hear(here, [], lambda heard: (0, 1) in ends(heard))
    heard += here.exchange([])
    assert len(kinds(heard, Played)) == 2
    assert len(calls) == 8


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"plugins": ("no_such_module_here",)}, "no_such_module_here"),
        ({"domain": "chess"}, "chess"),
    ],
)
def test_what_cannot_be_used_is_told_in_its_line(replica, changes, words) -> None:
    heard = hear(replica(**changes), [], lambda heard: kinds(heard, Broken))
    (broken,) = kinds(heard, Broken)
    assert words in broken.told
    assert broken.trace == ""


def test_a_model_that_cannot_be_opened_is_told(replica) -> None:
    lease = Lease((spec_key("scripted:gone"),), ((0, 0),))
    (broken,) = kinds(hear(replica(), [lease], lambda h: kinds(h, Broken)), Broken)
    assert "gone" in broken.told


def test_an_error_in_an_order_ends_the_replica_and_is_told(replica, monkeypatch) -> None:
    """Not hidden in the loop that plays."""
    go = threading.Event()
    SCRIPTS["a"] = lambda request: go.wait(20) and "1"
    here = replica()
    hear(here, [Lease((A,), ((0, 0),))], lambda heard: kinds(heard, Begun))
    monkeypatch.setattr(here, "_withdraw", lambda cell: 1 / 0)
    here.exchange([Withdraw(0)])
    go.set()
    (broken,) = kinds(hear(here, [], lambda h: kinds(h, Broken)), Broken)
    assert "ZeroDivisionError" in broken.trace


def test_an_order_that_comes_as_the_replica_is_closed_says_nothing(replica, caplog) -> None:
    """What it would answer is not heard any more; that is no error of the loop that plays."""
    go = threading.Event()
    SCRIPTS["a"] = lambda request: go.wait(20) and "1"
    here = replica()
    hear(here, [Lease((A,), ((0, 0),))], lambda heard: kinds(heard, Begun))
    here.exchange([Withdraw(0)])
    here.close()
    go.set()
    here._thread.join(20)
    assert not here._thread.is_alive()
    assert caplog.records == []
