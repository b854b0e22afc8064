"""A replica as the driver sees it, and what is said of replicas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tomeval.core.text import excerpt
from tomeval.extensions.cluster.player import Ready
from tomeval.runs.schedule import Job, Schedule

if TYPE_CHECKING:
    from tomeval.extensions.cluster.ray_cluster import RayReplica


class Lost(Exception):
    """A replica is gone, with what it was playing; the text says why, as far as is known."""


@dataclass(frozen=True, eq=False)
class Group:
    """Cells with the same models, by `spec_key`, and what is to be played of them."""

    models: tuple[str, ...]
    schedule: Schedule


@dataclass(eq=False)
class Post:
    """A place for a replica: the one that it has now, and what became of those before.

    Attributes
    ----------
    group : Group or None
        What it plays, with its models if they are open, as `opened` says.
    jobs : list of Job
        What it holds.
    alone : bool
        Whether the one job that it holds is to have no other beside it.
    in_vain, lost : int
        How often it was lost since something ended on it, and in all.
    """

    number: int
    replica: RayReplica
    place: Ready | None = None
    group: Group | None = None
    opened: bool = False
    jobs: list[Job] = field(default_factory=list)
    alone: bool = False
    in_vain: int = 0
    lost: int = 0
    given_up: bool = False
    last_error: str = ""

    @property
    def name(self) -> str:
        """What the user knows it by."""
        return f"replica {self.number + 1}"

    @property
    def state(self) -> str:
        """What it does."""
        if self.given_up:
            return "lost"
        return "starting" if self.place is None else "playing" if self.jobs else "idle"

    def __str__(self) -> str:
        return f"{self.name} on {self.place.host}" if self.place else self.name


def summary(posts: Sequence[Post]) -> str:
    """Return what replicas do and did, in a line."""
    states = Counter(post.state for post in posts)
    lost = sum(post.lost for post in posts)
    parts = [f"{number:,} {state}" for state, number in states.items()]
    if lost:
        last = next(post for post in reversed(posts) if post.lost)
        parts.append(f"lost {lost:,} times, such as {last.name}: {excerpt(last.last_error, 300)}")
    return f"replicas: {', '.join(parts)}"
