"""A clock that only waits move, for requests that are sent again."""

from __future__ import annotations

import pytest
from fake_server import FakeTime

from tomeval.models.served import client


@pytest.fixture
def clock(monkeypatch):
    clock = FakeTime()

    async def wait(self, trouble, seconds):
        await clock.sleep(seconds)

    monkeypatch.setattr(client.Client, "wait", wait)
    monkeypatch.setattr(client, "monotonic", clock.monotonic)
    return clock
