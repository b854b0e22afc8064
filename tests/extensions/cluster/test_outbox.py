"""What a replica has to say: bounded answers, sums in their place, waiting while too much lies."""

from __future__ import annotations

import pickle
import threading
import time

import pytest

from tomeval.extensions.cluster import outbox
from tomeval.extensions.cluster.messages import Begun, Counts, Replied
from tomeval.extensions.cluster.outbox import Closed, Outbox

JOB = (0, 1)


def reply(number: int, size: int = 1000) -> Replied:
    return Replied(JOB, "seat", str(number), "x" * size)


def test_answers_are_bounded_and_in_order(monkeypatch) -> None:
    monkeypatch.setattr(outbox, "AT_ONCE", 5000)
    said, box = [reply(n) for n in range(20)] + [reply(20, 9000)], Outbox()
    box.stepped(JOB)
    box.say(*said)
    heard = []
    while answer := box.answer(0):
        replies = [message for message in answer if isinstance(message, Replied)]
        size = sum(len(pickle.dumps(message)) for message in replies[:-1])
        assert size < 5000
        heard += answer
        box.committed()
    assert heard == [*said, Counts(steps={JOB: 1})]  # sums follow what they are of


def test_steps_of_an_episode_are_told_before_its_end() -> None:
    box = Outbox()
    for _ in range(3):
        box.stepped(JOB)
    box.asked_again()
    assert box.answer(0) == [Counts(steps={JOB: 3}, again=1)]
    box.stepped(JOB)
    assert box.ended(JOB) == 4
    assert box.answer(0) == [Counts(steps={JOB: 1})]
    assert box.ended(JOB) == 0
    assert box.answer(0) == []


def test_it_waits_while_too_much_is_not_committed(monkeypatch) -> None:
    monkeypatch.setattr(outbox, "MOST", 3000)
    box, done = Outbox(), []

    def speak() -> None:
        for number in range(10):
            box.say(reply(number))
            done.append(number)

    thread = threading.Thread(target=speak)
    thread.start()
    heard = 0
    while heard < 10:
        time.sleep(0.02)
        assert len(done) <= heard + 3
        answer = box.answer(1)
        heard += len(answer)
        assert len(done) <= heard + 3  # what was heard and is not committed counts as well
        box.committed()
    thread.join(5)
    assert done == list(range(10))


def test_whoever_waits_ends_once_it_is_closed(monkeypatch) -> None:
    monkeypatch.setattr(outbox, "MOST", 100)
    box = Outbox()
    box.say(reply(0))
    threading.Timer(0.05, box.close).start()
    with pytest.raises(Closed):
        box.say(Begun(JOB))
    began = time.monotonic()
    box.answer(5)
    box.answer(5)
    assert time.monotonic() - began < 1
