"""A clock that only waits move, for requests that are sent again."""

from __future__ import annotations

import pytest
from fake_server import FakeTime

from tomeval.models.served import client
from tomeval.models.served.patience import Patience


@pytest.fixture
def clock(monkeypatch):
    clock = FakeTime()

    async def wait(self, trouble, seconds):
        self.waiting.pauses(trouble, seconds)
        self.waiting.check()
        await clock.sleep(seconds)
        self.waiting.resumes(seconds)

    monkeypatch.setattr(Patience, "wait", wait)
    monkeypatch.setattr(client, "monotonic", clock.monotonic)
    return clock
