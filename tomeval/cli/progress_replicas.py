"""What is shown of the replicas that play a run: a row each, of many those with trouble first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tomeval.cli.progress_text import columns, cut, per_second, rate, short, size
from tomeval.core.text import in_line

if TYPE_CHECKING:
    from tomeval.runs.live import ReplicaCount
    from tomeval.runs.live_state import ReplicaState

_ROWS = 8
"""So many replicas have a line in a log; of more, those with trouble and a summary."""

_TROUBLE = {"lost": 0, "silent": 1}
_USUAL = {"starting": 3, "playing": 4, "idle": 5}


def replica_lines(replicas: Sequence[ReplicaState], most: int = _ROWS) -> list[str]:
    """Return a line for each replica, as a log has them; of many, those with trouble first."""
    shown, rest = _chosen(replicas, most)
    lines = []
    for one in shown:
        parts = [one.state, f"{one.episodes:,} episodes"]
        if one.state == "playing" and one.episodes_speed is not None:
            parts.append(per_second(one.episodes_speed, "episode"))
        if one.state == "playing" and one.tokens_speed is not None:
            parts.append(f"{short(one.tokens_speed)} tokens/s")
        if one.memory and one.state in _USUAL:
            parts.append(size(one.memory))
        where = _where(one)
        line = f"{one.name}{f' ({where})' if where else ''}: {', '.join(parts)}"
        lines.append(in_line(line + (f"; {_error(one)}" if one.last_error else "")))
    return lines + _summary(rest)


def replica_screen(replicas: Sequence[ReplicaState], width: int, height: int) -> list[str]:
    """Return the lines of a terminal: a table of replicas, below each with trouble what it was."""
    fit = max(3, height - 2)  # a head, and what the others do
    shown, rest = _chosen(replicas, fit)
    while len(shown) > 3 and len(shown) + sum(bool(one.last_error) for one in shown) > fit:
        shown, rest = _chosen(replicas, len(shown) - 1)
    head = ["state", "episodes", "per s", "tokens/s", "memory"]
    table = [head, *(_cells(one) for one in shown)]
    found = columns(["replica", *(in_line(one.name) for one in shown)], table, width)
    lines = []
    places = ["where", *(in_line(_where(one)) for one in shown)]
    for line, place, one in zip(found, places, (None, *shown), strict=True):
        room = width - len(line) - 2
        lines.append(f"{line}  {cut(place, room)}" if place and room >= 8 else line)
        if one is not None and one.last_error:
            lines.append(cut(f"  {in_line(_error(one))}", width))
    return [*lines, *_summary(rest)]


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
        where = _place(one.host, one.device)
        line = f"  {one.name}{f' ({where})' if where else ''}: {one.episodes:,} episodes"
        line += f"; lost {_times(one.lost)}, the last: {one.last_error}" if one.lost else ""
        lines.append(in_line(line))
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


def _chosen(
    replicas: Sequence[ReplicaState], most: int
) -> tuple[list[ReplicaState], list[ReplicaState]]:
    """Return the replicas to show, in their order, and the others: if many, trouble comes first."""
    if len(replicas) <= most:
        return list(replicas), []
    order = sorted(range(len(replicas)), key=lambda place: (_rank(replicas[place]), place))
    first = sorted(order[:most], key=lambda place: (_rank(replicas[place]) > 2, place))
    return [replicas[place] for place in first], [replicas[place] for place in order[most:]]


def _rank(one: ReplicaState) -> int:
    return _TROUBLE.get(one.state, 2 if one.last_error else _USUAL.get(one.state, 3))


def _cells(one: ReplicaState) -> list[str]:
    goes = one.state in _USUAL
    speeds = (one.episodes_speed, one.tokens_speed) if one.state == "playing" else (None, None)
    memory = size(one.memory if goes else 0)
    return [in_line(one.state), f"{one.episodes:,}", *map(rate, speeds), memory]


def _where(one: ReplicaState) -> str:
    return _place(one.host, one.device)


def _place(host: str, device: str) -> str:
    """Return a host, without its domain, and its device."""
    host = host if host.replace(".", "").isdigit() else host.partition(".")[0]
    return ", ".join(filter(None, (host, device)))


def _error(one: ReplicaState) -> str:
    if one.lost > 1:
        return f"lost {_times(one.lost)}, the last: {one.last_error}"
    return f"{'' if one.state in _TROUBLE else 'before: '}{one.last_error}"


def _summary(rest: Sequence[ReplicaState]) -> list[str]:
    """Return a line for those that have no row."""
    if not rest:
        return []
    states = Counter(one.state for one in rest)
    order = {**_TROUBLE, **_USUAL}
    said = [
        f"{states[state]:,} {'more ' * (place == 0)}{in_line(state)}"
        for place, state in enumerate(sorted(states, key=lambda state: order.get(state, 9)))
    ]
    line = f"{', '.join(said)}: {sum(one.episodes for one in rest):,} episodes"
    play = [one for one in rest if one.state == "playing"]
    if speeds := [one.episodes_speed for one in play if one.episodes_speed is not None]:
        line += f", {per_second(sum(speeds), 'episode')}"
    if speeds := [one.tokens_speed for one in play if one.tokens_speed is not None]:
        line += f", {short(sum(speeds))} tokens/s"
    if most := max((one.memory for one in rest if one.state in _USUAL), default=0):
        line += f", up to {size(most)}"
    return [line]
