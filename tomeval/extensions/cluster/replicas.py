"""What is said of replicas: a row for each while they play, and lines at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tomeval.core.text import excerpt

_ROWS = 8
"""So many replicas have a line at the end; of more, those that were lost first."""

_LONGEST = 300
"""Characters of what machines said."""


@dataclass
class ReplicaCount:
    """What a replica does.

    Attributes
    ----------
    name, host, device : str
    state : {"starting", "playing", "idle", "silent", "lost"}
        Whether it has said that it started, has a lease, and answers.
    episodes : int
        Those that were committed, of this session.
    last_error : str
        The last thing that went wrong; empty: nothing did.
    lost : int
        How often it was lost and another one took its place, or none.
    second, differed, rounded : int
        Results that came after those of another replica, how many of them were different, and how
        many only by rounding.
    """

    name: str
    host: str = ""
    device: str = ""
    state: Literal["starting", "playing", "idle", "silent", "lost"] = "starting"
    episodes: int = 0
    last_error: str = ""
    lost: int = 0
    second: int = 0
    differed: int = 0
    rounded: int = 0

    @property
    def where(self) -> str:
        """Its host, without a domain, and its device."""
        numeric = self.host.replace(".", "").isdigit()
        host = self.host if numeric else self.host.partition(".")[0]
        return ", ".join(filter(None, (host, self.device)))

    def __str__(self) -> str:
        """Return what is shown of it while it plays."""
        where = f" ({self.where})" if self.where else ""
        trouble = f"; {excerpt(self.last_error, _LONGEST)}" if self.last_error else ""
        return f"{self.name}{where}: {self.state}, {self.episodes:,} episodes{trouble}"


def shown_lines(replicas: Sequence[ReplicaCount]) -> list[str]:
    """Return a line for each; of many those in trouble come first, and the rest is summed up."""
    order = list(replicas)
    if len(order) > _ROWS:
        order.sort(key=lambda one: not one.last_error)
    lines = [str(one) for one in order[:_ROWS]]
    if rest := order[_ROWS:]:
        lines.append(f"{len(rest):,} more replicas: {sum(o.episodes for o in rest):,} episodes")
    return lines


def closing_lines(replicas: Sequence[ReplicaCount]) -> list[str]:
    """Return what is said of the replicas at the end of a run: episodes, losses, second results."""
    if not replicas:
        return []
    lost, second = sum(one.lost for one in replicas), sum(one.second for one in replicas)
    differed = sum(one.differed for one in replicas)
    head = f"replicas: {len(replicas):,}, lost {_times(lost)}" if lost else ""
    lines = [head or f"replicas: {len(replicas):,}, none was lost"]
    order = sorted(range(len(replicas)), key=lambda place: (-replicas[place].lost, place))
    for place in sorted(order[:_ROWS]):
        one = replicas[place]
        line = f"  {one.name}{f' ({one.where})' if one.where else ''}: {one.episodes:,} episodes"
        line += f"; lost {_times(one.lost)}, the last: {one.last_error}" if one.lost else ""
        lines.append(line)
    if rest := [replicas[place].episodes for place in order[_ROWS:]]:
        lines.append(f"  {len(rest):,} more: {min(rest):,} to {max(rest):,} episodes each")
    if second:
        rounded = " up to rounding" if any(one.rounded for one in replicas) else ""
        same = f"all the same{rounded}" if not differed else f"{differed:,} of them different"
        which = "" if not differed else "; the first ones are kept, see the warnings above"
        lines.append(f"episodes played twice, and compared: {second:,}, {same}{which}")
    return lines


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
