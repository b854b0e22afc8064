"""What an engine is: it starts replicas somewhere and carries what the driver and they say.

An engine knows nothing of leases, episodes or models. Ray is one, and the tests have one that loses
replicas where they like.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tomeval.runs.spread.messages import Message, Order, Setting


class Lost(Exception):
    """A replica is gone, with what it had not said yet; the text says why, as far as is known."""


class Replica(Protocol):
    """A worker somewhere. One question is under way at a time."""

    @property
    def name(self) -> str:
        """What tables call it, such as ``replica 3``; one that takes its place has its name."""

    @property
    def note(self) -> str:
        """What keeps it from starting, such as that it waits for a place; empty: nothing known."""

    def send(self, orders: Sequence[Order]) -> None:
        """Give orders, and ask for news; what it said before is committed."""

    def answer(self) -> list[Message]:
        """Return what it says, once `Engine.wait` has named it; raise `Lost` if it is gone."""

    def stop(self) -> None:
        """End it at once; what it has not said is lost."""


class Engine(Protocol):
    """Starts replicas."""

    def check(self) -> None:
        """Raise `TomevalError`, in one line, if it cannot give what was asked of it."""

    def start(self, number: int, setting: Setting) -> Replica:
        """Start a replica, or another in the place of a lost one; it need not be up on return."""

    def wait(self, replicas: Sequence[Replica], seconds: float) -> list[Replica]:
        """Return those that have answered, or are lost; after so many seconds perhaps none."""

    def close(self) -> None:
        """End all replicas."""
