"""A replica as the driver sees it, and what is said of replicas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tomeval.core.text import excerpt
from tomeval.extensions.cluster.player import Ready, Setting
from tomeval.runs.schedule import Job, Schedule

_ROWS = 8
"""So many replicas have a line; of more, those in trouble first."""

_LONGEST = 300
"""Characters of what machines said."""


class Lost(Exception):
    """A replica is gone, with what it was playing; the text says why, as far as is known."""


class Replica(Protocol):
    """A `Player` somewhere."""

    @property
    def note(self) -> str:
        """What keeps it from starting, such as that it waits for a place; empty: nothing known."""

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the player; return what stands for the answer, see `Cluster`."""

    def stop(self) -> None:
        """End it at once."""


class Cluster(Protocol):
    """Starts replicas somewhere; it knows nothing of episodes or models."""

    def check(self) -> None:
        """Raise a one-line `TomevalError` if it has no room for the replicas."""

    def start(self, number: int, setting: Setting) -> Replica:
        """Start a replica, or another in the place of a lost one; it need not be up on return."""

    def wait(self, asked: Sequence[Any], seconds: float) -> Sequence[Any]:
        """Return what has been answered, or is lost; after so many seconds perhaps nothing."""

    def result(self, asked: Any) -> Any:
        """Return an answer; raise what the player raised, or `Lost`."""

    def close(self) -> None:
        """End all replicas."""


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
    jobs : mapping of Job to int
        What it holds, with the steps that were told of each.
    alone : bool
        Whether the one job that it holds is to have no other beside it.
    in_vain, lost : int
        How often it was lost since something ended on it, and in all.
    news_at : float
        When news were asked for last; `waits`: they have not come.
    """

    number: int
    replica: Replica
    place: Ready | None = None
    group: Group | None = None
    opened: bool = False
    jobs: dict[Job, int] = field(default_factory=dict)
    alone: bool = False
    in_vain: int = 0
    lost: int = 0
    given_up: bool = False
    episodes: int = 0
    last_error: str = ""
    news_at: float = 0.0
    waits: bool = False

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


def shown_lines(posts: Sequence[Post], places: Mapping[int, str]) -> list[str]:
    """Return a line for each; `places` has by number where they have played."""
    order = sorted(posts, key=lambda post: not post.last_error) if len(posts) > _ROWS else posts
    lines = []
    for post in order[:_ROWS]:
        trouble = f"; {excerpt(post.last_error, _LONGEST)}" if post.last_error else ""
        head = post.name + places.get(post.number, "")
        many = "s" * (post.episodes != 1)
        lines.append(f"{head}: {post.state}, {post.episodes:,} episode{many}{trouble}")
    if rest := order[_ROWS:]:
        lines.append(f"{len(rest):,} more replicas: {sum(p.episodes for p in rest):,} episodes")
    return lines


def closing_lines(posts: Sequence[Post], places: Mapping[int, str]) -> list[str]:
    """Return the closing lines of a run about its replicas: episodes and losses."""
    lost = sum(post.lost for post in posts)
    lines = [f"replicas: {len(posts):,}, {f'lost {_times(lost)}' if lost else 'none lost'}"]
    order = sorted(posts, key=lambda post: -post.lost)
    for post in sorted(order[:_ROWS], key=lambda post: post.number):
        many = "s" * (post.episodes != 1)
        line = f"  {post.name}{places.get(post.number, '')}: {post.episodes:,} episode{many}"
        line += f"; lost {_times(post.lost)}, the last: {post.last_error}" if post.lost else ""
        lines.append(line)
    if rest := [post.episodes for post in order[_ROWS:]]:
        lines.append(f"  {len(rest):,} more: {min(rest):,} to {max(rest):,} episodes each")
    return lines


def where(place: Ready) -> str:
    """Return a host, without its domain, and its device, in brackets."""
    numeric = place.host.replace(".", "").isdigit()
    host = place.host if numeric else place.host.partition(".")[0]
    return f" ({', '.join(filter(None, (host, place.device)))})"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
