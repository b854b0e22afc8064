"""The few games of a run that a report shows: the first, the worst, the longest lenient reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tomeval.core.numbers import number
from tomeval.report.transcripts import transcript_lines
from tomeval.runs import tallies
from tomeval.runs.cell import RunCell
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run

MOST = 24
"""Games on a page; with fewer episodes than that, all are shown."""
LENIENT = 5
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
    for of_cell, (episode, _) in tallies.lenient_replies(run.store, LENIENT).items():
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
    title = ", ".join(filter(None, (cell.title, cell.domain.compare.words(cell.shown_task))))
    status = run.store.status(cell.number, episode)
    command = f"tomeval transcript {run.folder.name} --cell {cell.number} --episode {episode}"
    return Game(f"{title}: episode {episode} ({status})", "; ".join(why), text, command)
