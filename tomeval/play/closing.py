"""What a run holds and lacks, in closing lines: episodes, cells without any, calls and tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tomeval.core.outcomes import COMPLETE, FAILED, VOID
from tomeval.core.printing import wrapped
from tomeval.core.text import both_ends
from tomeval.play.replies import last_unread
from tomeval.runs import tallies
from tomeval.runs.notes import (
    copies_notes,
    enforced_notes,
    mass_notes,
    stop_notes,
    unanswered_notes,
)
from tomeval.runs.results import Run
from tomeval.runs.store import Store

NAMED = 5
"""How many cells are named before "and n more"."""


class Closing(NamedTuple):
    """The lines, and what they amount to.

    `measurable`: whether any episode is complete. `whole`: whether every cell has a complete
    episode and an answer that could be read, no episode failed or is missing, and no cell was
    stopped.
    """

    lines: list[str]
    measurable: bool
    whole: bool


def closing(run: Run) -> Closing:
    """Return what a run holds, over all its sessions."""
    store, stops = run.store, run.store.stops()
    counts = {cell.number: Counter[str]() for cell in run.cells}
    for number, count in tallies.episodes(store).items():
        counts.setdefault(number, Counter()).update(count)
    lacks = {
        cell.number: max(0, (run.wanted(cell) or 0) - counts[cell.number].total())
        for cell in run.cells
    }
    people = [cell.number for cell in run.cells if not cell.wanted(1)]
    lacks |= dict.fromkeys(people, 0)
    without = [number for number in lacks if not counts[number][COMPLETE]]
    empty = [number for number in without if number not in people]
    partly = [number for number in lacks if number in stops and number not in empty]
    unread = [number for number in tallies.unread_cells(store) if number not in empty]
    total, left = sum(counts.values(), Counter[str]()), sum(lacks.values())
    lines = [
        f"episodes: {_counted(total, left)}",
        *(_why_failed(store) if total[FAILED] else ()),
        f"cells: {len(lacks) - len(without):,} with complete episodes, {len(without):,} without",
    ]
    if people:
        lines.append(f"people: {len(people):,} cells are played by people, see tomeval play")
    nothing = "no answer could be read, so the results say nothing about the player"
    for what, some in (
        (f"no episode is complete in {len(empty):,} cells", empty),
        ("stopped before the end", partly),
        (nothing, unread),
    ):
        if some:
            names = {cell.number: cell.name for cell in run.cells}
            lines.append(f"warning: {what}:")
            for number in some[:NAMED]:
                said = _counted(counts[number], lacks[number])
                why = f"; stopped: {stops[number]}" if number in stops else ""
                lines.append(wrapped(f"cell {number}: {names[number]}: {said}{why}", 2))
            lines += [f"  and {len(some) - NAMED:,} more"] * (len(some) > NAMED)
    if not total[COMPLETE]:
        lines += _to_do(store, empty)
    notes = stop_notes(run) + copies_notes(run) + enforced_notes(run)
    notes += unanswered_notes(run) + mass_notes(run)
    lines += [wrapped(f"note: {note}", 2) for note in notes]
    lines += _used(store)
    whole = not (empty or partly or unread or total[FAILED] or left)
    return Closing(lines, bool(total[COMPLETE]), whole)


def nothing_measured(runs: Sequence[Run]) -> str:
    """Return what runs without a complete episode hold, why, and what may help."""
    lines = []
    for run in runs:
        lines += [f"{run.folder}:"] * (len(runs) > 1)
        lines += [*closing(run).lines, f"next: tomeval transcript {run.folder}"]
    return "\n".join(lines)


def _counted(count: Mapping[str, int], left: int) -> str:
    usual = (COMPLETE, VOID, FAILED)
    more = [status for status in count if status not in usual]
    said = ", ".join(f"{count.get(status, 0):,} {status}" for status in (*usual, *more))
    return said + f"; {left:,} not played" * bool(left)


def _why_failed(store: Store) -> Iterator[str]:
    """Yield the commonest reason why episodes failed."""
    if counts := tallies.failures(store):
        ((what, number),) = counts.most_common(1)
        yield wrapped(
            f"most common reason for failed: {both_ends(what)} ({number:,} of {counts.total():,}); "
            "run the same command again to play them",
            2,
        )


def _to_do(store: Store, cells: Sequence[int]) -> Iterator[str]:
    """Yield what may help to read the first reply that ended an episode of these cells."""
    ends = ((cell, episode) for cell in cells for episode in store.episodes(cell, VOID))
    first = min(ends, default=None)
    if first and (reply := last_unread(store, *first)):
        yield wrapped(f"-> {reply.advice}", 2)


def _used(store: Store) -> Iterator[str]:
    """Yield what was asked of language models, in words."""
    total = Counter[str]()
    for row in tallies.paid(store).values():
        total.update(row)
    if not total:
        return
    cached = total["cached_tokens"]
    encoded = total["prompt_tokens"] - cached
    share = f" ({encoded:,} computed, the rest from the prefix cache)" if cached else ""
    yield wrapped(
        f"{total['calls']:,} model calls: {total['prompt_tokens']:,} prompt tokens{share}; "
        f"{total['completion_tokens']:,} generated"
    )
    if begun := sum(tallies.unfinished(store).values()):
        yield f"  including those of {begun:,} unfinished episodes"
