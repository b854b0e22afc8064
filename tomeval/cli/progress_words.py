"""What is said of a run while it goes: the time left, a line, or the lines of a display."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from tomeval.cli.progress_replicas import replica_lines, replica_screen
from tomeval.cli.progress_text import columns, cut, money, per_second, short
from tomeval.core.numbers import MISSING
from tomeval.core.text import in_line

if TYPE_CHECKING:
    from tomeval.runs.live import Live
    from tomeval.runs.live_state import ModelState, State
    from tomeval.runs.timing import Took

WIDTH = 80
"""Columns that the display of a run needs; in narrower terminals it is cut."""

_ROWS = 8
"""So many models have a row; of more, those that play."""


def time_left(seconds: float | None) -> str:
    """Return a time left in words.

    Examples
    --------
    >>> time_left(3725.2), time_left(0.4), time_left(None)
    ('1:02:05 left', '0:00:00 left', 'time left: not known yet')
    """
    if seconds is None or not math.isfinite(seconds):
        return "time left: not known yet"
    return f"{clock(seconds)} left"


def time_words(found: Sequence[Took]) -> str:
    """Say how long a run will take, model by model."""
    known = [took.seconds for took in found if took.seconds is not None]
    text = f"time: about {clock(sum(known))}" if known else "time: not known"
    if known and len(known) < len(found):
        text += " and what is not known"
    each = [
        f"{in_line(took.name)} {clock(took.seconds)} ({took.why})"
        for took in found
        if took.seconds is not None
    ]
    for why in dict.fromkeys(took.why for took in found if took.seconds is None):
        names = [took.name for took in found if took.seconds is None and took.why == why]
        each.append(f"{in_line(', '.join(names))} not known ({why})")
    return f"{text}; {'; '.join(each)}"


def clock(seconds: float) -> str:
    """Return seconds as hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def line_of(live: Live | State) -> str:
    """Return all that is shown of a run, in a line, with a line below it for each replica."""
    state = _state(live)
    parts = [f"{percent(state)} %, {left_words(state)}", f"episodes: {state.counts}"]
    spent = spend_words(state) if len(state.models) > 1 else ""  # else the model's own line has it
    parts += filter(None, (speed_words(state), spent))
    for model in _rows(state):
        if model.calls:
            said = f"{model.calls:,} calls, {short(model.prompt)} tokens in, "
            said += f"{short(model.completion)} out"
            said += f", cost {money(model.cost)}" if model.cost is not None else ""
            said += f", {model.retries:,} retries" if model.retries else ""
            said += f", {_share(model)} unreadable" if model.answers else ""
        else:
            said = "nothing asked yet"
        said += f", {model.ended:,} of {model.wanted:,} episodes"
        parts.append(f"{in_line(model.name)}: {said}")
    parts += [*_unseen(state), *(in_line(line) for line in _servers(state))]
    return "\n".join(["; ".join(parts), *(f"  {line}" for line in replica_lines(state.replicas))])


def screen_of(live: Live | State, width: int = WIDTH, height: int = 24) -> list[str]:
    """Return what a terminal shows below the bar: at most `width` columns wide.

    Of replicas so many have a row as a terminal of that height has room for, and at least three.
    """
    state = _state(live)
    said = f"episodes: {state.counts}"
    speed = ", ".join(filter(None, (speed_words(state), spend_words(state))))
    lines = [f"{said}; {speed}"] if len(said) + len(speed) + 2 <= width else [said, speed]
    rows = _rows(state)
    if rows:
        priced = any(model.cost is not None for model in rows)
        head = ["episodes", "calls", "in", "out", *["cost"] * priced, "retries", "unread"]
        table = [head, *([*_cells(model, priced)] for model in rows)]
        lines += columns(["model", *(in_line(model.name) for model in rows)], table, width)
    if hidden := len(state.models) - len(rows):
        lines.append(f"and {hidden:,} more models")
    lines += _unseen(state)
    for line in _servers(state):
        lines += wrap(in_line(line), width, max_lines=2, placeholder=" …", subsequent_indent="  ")
    note = wrap(state.note, width)
    if state.replicas:
        lines += replica_screen(state.replicas, width, height - 2 - len(lines) - len(note))
    return [cut(line, width) for line in (*lines, *note) if line]


def speed_words(state: State) -> str:
    """Say how fast a run goes of late; empty if that is not known, or it is over."""
    if state.over or state.episodes_speed is None:
        return ""
    text = per_second(state.episodes_speed, "episode")
    if state.tokens_speed is not None:
        text += f", {short(state.tokens_speed)} tokens/s"
    return text


def spend_words(state: State) -> str:
    """Say what was spent; empty without prices."""
    if state.cost is None:
        return ""
    known = sum(model.cost is not None for model in state.models)
    asked = sum(model.cost is not None or model.calls > 0 for model in state.models)
    rest = f" for {known} of {asked} models" if known < asked else ""
    return f"cost {money(state.cost)}{rest}"


def _state(live: Live | State) -> State:
    from tomeval.runs.live_state import State, state_of

    return live if isinstance(live, State) else state_of(live)


def percent(state: Live | State) -> int:
    """Return the share of steps that are done."""
    return 100 * state.steps // state.total if state.total else 100


def left_words(state: State) -> str:
    """Return the time left; while nothing goes on it does not get less, which is said."""
    if state.over:
        return state.over
    if state.note:
        return "stopping"
    return time_left(state.left) + (" after the wait" if state.left and state.stalled else "")


def _unseen(state: State) -> list[str]:
    """Return what the time left supposes, if models have not begun."""
    if not (count := state.unseen) or not state.left:
        return []
    many = "1 model has" if count == 1 else f"{count:,} models have"
    return [f"{many} not begun: the time left takes the speed of the others"]


def _rows(state: State) -> list[ModelState]:
    """Return the models to show: if they are many, those that are at work first."""
    models = list(state.models)
    if len(models) > _ROWS:
        models.sort(key=lambda model: (not model.calls > 0, model.ended >= model.wanted))
    return models[:_ROWS]


def _cells(model: ModelState, priced: bool) -> Iterator[str]:
    yield f"{model.ended:,}/{model.wanted:,}"
    yield from map(short, (model.calls, model.prompt, model.completion))
    if priced:
        yield money(model.cost)
    yield short(model.retries)
    yield _share(model)


def _share(model: ModelState) -> str:
    return f"{100 * model.unreadable / model.answers:.3g} %" if model.answers else MISSING


def _servers(state: State) -> Iterator[str]:
    """Yield a line for every server that is waited for."""
    for model in state.models:
        if model.waits:
            yield f"{model.name}: {model.waits}"
