"""What is said of runs that other processes play."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tomeval.cli.progress_text import columns, cut, money, rate
from tomeval.cli.progress_words import clock, line_of, percent, time_left
from tomeval.core.numbers import MISSING
from tomeval.core.text import in_line

if TYPE_CHECKING:
    from tomeval.runs.live_state import State
    from tomeval.runs.standing import Standing

_AGAIN = "everything finished is kept: run the same command again to go on"


def headline(one: Standing) -> str:
    """Say which run this is, who plays it and since when."""
    state = one.state
    if state is None:
        return in_line(f"{one.folder}")
    shard = f", shard {state.shard}" if state.shard else ""
    since = datetime.fromtimestamp(state.began).strftime("%Y-%m-%d %H:%M:%S")
    return in_line(f"{one.folder}: {state.name}{shard}, {state.process}, since {since}")


def standing_words(one: Standing) -> str:
    """Say whether a run goes on, and what to do if it does not; empty while it does."""
    state, said = one.state, ""
    if one.goes == "none":
        said = "nothing was played yet"
    elif one.goes == "unknown":
        said = "nobody plays it, and no live.json says how it went: it was merged or imported; "
        said += f"what it holds says tomeval status {one.folder}"
    elif one.goes == "begins":
        said = "it begins just now"
    elif state is None or one.goes == "goes":
        # What was said to the one who stopped it begins with the name of the program.
        said = state.note.removeprefix("tomeval: ") if state else ""
        said = said or ("it starts" if state and not state.total else "")
    elif one.goes == "silent":
        said = f"not heard of for {clock(one.age)}, but its process holds the folder: its machine "
        said += "may be suspended, or the shared folder slow"
    elif one.goes == "gone":
        said = f"its process is gone without a word, {clock(one.age)} ago; {_AGAIN}"
    elif state.over == "finished":
        said = (
            f"finished after {clock(state.written - state.began)}; see tomeval table {one.folder}"
        )
    elif state.over == "stopped":
        said = f"stopped after {clock(state.written - state.began)}; {_AGAIN}"
    else:
        said = (
            f"failed after {clock(state.written - state.began)}: {state.why or 'no reason known'}"
        )
    parts = filter(None, (said, one.trouble and f"{one.trouble}; what was read before is shown"))
    return in_line("; ".join(parts))


def report(seen: Sequence[Standing]) -> list[str]:
    """Return the lines of a report: all of one run, or a line for each of several and a total."""
    if len(seen) > 1:
        return several(seen, 116)
    (one,) = seen
    lines = [headline(one), standing_words(one)]
    if one.state is not None and one.state.total:
        lines += line_of(still(one)).split("\n")
    return [line for line in lines if line]


def several(seen: Sequence[Standing], width: int) -> list[str]:
    """Return a table with a line for each run, and a total."""
    states = [None if one.state is None else still(one) for one in seen]
    head = ["done", "left", "episodes", "per s", "tokens/s", "cost"]
    rows = [_cells(one, state) for one, state in zip(seen, states, strict=True)]
    names = _names(seen)
    total = _total([state for state in states if state is not None])
    lines = columns(["run", *names, "all"], [head, *rows, total], width)
    words = [standing_words(one) if _notable(one) else "" for one in seen]
    found = [lines[0]]
    for line, said in zip(lines[1:-1], words, strict=True):
        found += [line, cut(f"  {said}", width)] if said else [line]
    return [*found, lines[-1]]


def _names(seen: Sequence[Standing]) -> list[str]:
    """Return what the runs are called: their folders, without what all begin with, and shards."""
    parents = {one.folder.absolute().parent for one in seen}
    home = Path(os.path.commonpath(parents))
    names = [one.folder.absolute().relative_to(home) for one in seen]
    shards = [f" ({one.state.shard})" if one.state and one.state.shard else "" for one in seen]
    return [in_line(f"{name}{shard}") for name, shard in zip(names, shards, strict=True)]


def _notable(one: Standing) -> bool:
    finished = one.goes == "over" and one.state is not None and one.state.over == "finished"
    return bool(one.trouble) or not (finished or one.goes == "goes")


def still(one: Standing) -> State:
    """Return a run's state; of one that plays no more nothing is left and nothing goes."""
    assert one.state is not None
    if one.goes == "goes":
        return one.state
    left = one.state.left if one.goes == "silent" else None
    left = 0.0 if one.goes == "over" and one.state.over == "finished" else left
    replicas = tuple(
        replace(each, episodes_speed=None, tokens_speed=None, state=_after(one, each.state))
        for each in one.state.replicas
    )
    return replace(
        one.state,
        over="gone" if one.goes == "gone" else one.state.over,
        left=left,
        note="",
        unseen=0,
        episodes_speed=None,
        tokens_speed=None,
        replicas=replicas,
    )


def _after(one: Standing, state: str) -> str:
    """Return the state of a replica of a run that plays no more."""
    return state if one.goes == "silent" or state == "lost" else "ended"


def _cells(one: Standing, state: State | None) -> list[str]:
    if state is None:
        return [MISSING] * 6
    left = state.over or one.goes
    if one.goes == "goes":
        left = "stopping" if state.note else time_left(state.left).removesuffix(" left")
        left = "not known" if left.startswith("time") else left
    return [f"{percent(state)} %", left, *_counted(state)]


def _counted(state: State) -> list[str]:
    speeds = (rate(state.episodes_speed), rate(state.tokens_speed))
    return [f"{state.ended:,}/{state.wanted:,}", *speeds, money(state.cost)]


def _total(states: Sequence[State]) -> list[str]:
    """Return the cells of all runs together: over when the last one is."""
    if not states:
        return [MISSING] * 6
    left = [state.left for state in states]
    known = [seconds for seconds in left if seconds is not None]
    steps, total = sum(state.steps for state in states), sum(state.total for state in states)
    known_speeds = [
        [each for state in states if (each := getattr(state, name)) is not None]
        for name in ("episodes_speed", "tokens_speed")
    ]
    speeds = [rate(sum(found) if found else None) for found in known_speeds]
    costs = [state.cost for state in states if state.cost is not None]
    share = 100 * steps // total if total else 100
    return [
        f"{share} %",
        clock(max(known)) if known and len(known) == len(left) else "not known",
        f"{sum(state.ended for state in states):,}/{sum(state.wanted for state in states):,}",
        *speeds,
        money(sum(costs) if costs else None),
    ]
