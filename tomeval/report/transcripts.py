"""An episode for readers, with what is new in each prompt; and the few that a report shows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.numbers import number
from tomeval.core.outcomes import LENIENT
from tomeval.core.text import in_line, lines_of
from tomeval.runs import tallies
from tomeval.runs.cell import RunCell
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run
from tomeval.strategies.asking import replaced


def transcript_lines(run: Run, cell: int, episode: int, calls: bool = True) -> Iterator[str]:
    """Yield the lines of one episode; with `calls` what models read and wrote in every step.

    Of the start that a prompt shares with the last one for the same purpose, only the length is
    printed.

    Raises
    ------
    TomevalError
        No such cell or episode.
    """
    which = next((one for one in run.cells if one.number == cell), None)
    if which is None:
        last = max(one.number for one in run.cells)
        raise TomevalError(f"{run.folder}: no cell {cell}, there are 0 to {last}")
    if run.store.status(cell, episode) is None:
        raise TomevalError(f"{run.folder}: cell {cell} has no episode {episode}")
    asked: dict[int, list[dict[str, Any]]] = {}
    seats = len({seat for _, seat, _, _ in run.store.calls(cell, episode)})
    for step, seat, form, record in run.store.calls(cell, episode) if calls else ():
        purpose = str(record.get("purpose", form))
        said = f"{seat}: {purpose}" if seats > 1 else purpose
        asked.setdefault(step, []).append({**record, "purpose": said})
    for step, group in itertools.groupby(which.lines(episode), key=lambda line: line.step):
        shown = list(group)
        for line in shown:
            if line.heading:
                yield from ("", f"==== {in_line(line.text)}")
        texts = [in_line(line.text) for line in shown if not line.heading]
        if not texts:
            continue
        if step <= 0:
            yield from ([""] if step < 0 else [])
            yield from texts
            continue
        yield ""
        yield f"== step {step}: {texts[0]}"
        yield from (f"   {text}" for text in texts[1:])
        for call in asked.pop(step, []):
            yield from call_lines(call)


def call_lines(call: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of one call."""
    attempt = call.get("attempt", 1)
    yield f"-- {call['purpose']}" + (f", attempt {attempt}" if attempt > 1 else "")
    if "prompt_rest" in call:
        same = call["prompt_same"]
        if same:
            yield f"   > [... {same} characters as before]"
        for line in lines_of(call["prompt_rest"]):
            yield f"   > {line}"
    if note := replaced(call):
        yield f"   > [{in_line(note)}]"
    reply, scores = call.get("reply"), call.get("scores")
    if reply is not None:
        if reply.get("reasoning"):
            yield from (f"   ({line})" for line in lines_of(reply["reasoning"]))
        yield from (f"   {line}" for line in lines_of(reply["text"]))
        became = [reply["finish"], call.get("outcome", ""), call.get("fault", "")]
        became += ["read leniently: not exactly in the form asked for"] * (
            call.get(LENIENT) is True
        )
        yield f"   [{in_line(', '.join(filter(None, became)))}]"
    if scores is not None:
        pairs = zip(call["labels"], scores["logprobs"], strict=True)
        told = ", ".join(f"{in_line(label)} {logprob:.3f}" for label, logprob in pairs)
        yield f"   log-probabilities: {told} (mass {scores['mass']:.3f}, {scores['method']})"
    if "error" in call:
        yield f"   error: {in_line(call['error'])}"


MOST = 24
"""Games on a page; with fewer episodes than that, all are shown."""
LENIENT_CELLS = 5
"""Cells of whose lenient replies the longest is shown."""
_LONGEST = 60_000  # characters of one game


class Game(NamedTuple):
    """An episode: who plays what, why it is shown, its transcript, what prints all of it."""

    title: str
    why: str
    text: str
    command: str


def games(run: Run, measures: Sequence[Measure]) -> list[Game]:
    """Return at most `MOST` games, in the run's order.

    The first of the `measures` that has a better side decides which complete episode of a cell is
    the worst.
    """
    cells = {cell.number: cell for cell in run.cells}
    episodes = {number: run.store.episodes(number) for number in cells}
    reasons: dict[tuple[int, int], list[str]] = {}
    if sum(map(len, episodes.values())) <= MOST:
        reasons = {(of, episode): [] for of, held in episodes.items() for episode in held}
    for of_cell, (episode, _) in tallies.lenient_replies(run.store, LENIENT_CELLS).items():
        if of_cell in cells:
            reasons.setdefault((of_cell, episode), []).append("the longest lenient reply")
    judged = next((measure for measure in measures if measure.better), None)
    for cell in run.cells:
        picked = [(held, "the first") for held in episodes[cell.number][:1]]
        picked += _worst(cell, judged) if judged else []
        for episode, why in picked:
            if len(reasons) < MOST or (cell.number, episode) in reasons:
                reasons.setdefault((cell.number, episode), []).append(why)
    return [_game(run, cells[at[0]], at[1], reasons[at]) for at in sorted(reasons)]


def _worst(cell: RunCell, measure: Measure) -> list[tuple[int, str]]:
    """Return the complete episode with the worst value, and the words for that."""
    values = measure.better * cell.totals(measure.name).values
    if len(values) < 2 or not np.isfinite(values).any():
        return []
    place = int(np.nanargmin(values))
    value = number(measure.better * float(values[place]), measure.digits)
    return [(int(cell.episodes[place]), f"the worst {measure.heading} here: {value}")]


def _game(run: Run, cell: RunCell, episode: int, why: Sequence[str]) -> Game:
    """Return one game; a long one only in part."""
    text = "\n".join(transcript_lines(run, cell.number, episode)).strip("\n")
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}\n[... {len(text) - _LONGEST:,} more characters]"
    title = ", ".join(filter(None, (cell.title, cell.domain.task_words(cell.shown_task))))
    status = run.store.status(cell.number, episode)
    command = f"tomeval transcript {run.folder.name} --cell {cell.number} --episode {episode}"
    return Game(f"{title}: episode {episode} ({status})", "; ".join(why), text, command)
