"""What a run holds and lacks, in closing lines: episodes, cells without any, calls and tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tomeval.core.outcomes import COMPLETE, FAILED, VOID
from tomeval.core.text import both_ends, in_line, wrapped
from tomeval.runs import tallies
from tomeval.runs.domain import cell_names
from tomeval.runs.notes import copies_notes, enforced_notes, stop_notes, unanswered_notes
from tomeval.runs.replies import advice, last_unread
from tomeval.runs.results import Run
from tomeval.runs.store import Store

NAMED = 5
"""How many cells are named before "and n more"."""

ALONE = 1
"""How many are named where no cell has a complete episode."""


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
    """Say what a run holds, over all its sessions."""
    store = run.store
    counts, stops = tallies.episodes(store), store.stops()
    cells = [cell.number for cell in run.cells]
    others = [cell.number for cell in run.cells if not cell.wanted(1)]
    total = sum((Counter(count) for count in counts.values()), Counter[str]())
    without = [cell for cell in cells if not counts.get(cell, {}).get(COMPLETE)]
    empty = [cell for cell in without if cell not in others]
    partly = [cell for cell in cells if cell in stops and cell not in empty]
    mine = (cell for cell in run.cells if cell.number not in others)
    lacks = sum(
        max(0, (run.wanted(cell) or 0) - sum(counts.get(cell.number, {}).values())) for cell in mine
    )
    lines = [
        f"episodes: {_counted(total)}" + (f"; {lacks:,} not played" if lacks else ""),
        *_reasons(store, total),
        f"cells: {len(cells) - len(without):,} with complete episodes, {len(without):,} without",
    ]
    if others:
        lines.append(f"people: {len(others):,} cells are played by people, see tomeval play")
    if empty:
        some = "no episode is complete" + (f" in {len(empty):,} cells" if total[COMPLETE] else "")
        if total[COMPLETE] or len(empty) <= ALONE:
            lines += [f"warning: {some}:", *_named(run, empty, counts, stops)]
        else:  # what became of all stands above
            lines.append(f"warning: {some} in any of the {len(empty):,} cells")
        if not total[COMPLETE]:
            lines += _to_do(store, empty)
    if partly:
        lines += ["warning: stopped before the end:", *_named(run, partly, counts, stops)]
    unread = [cell for cell in tallies.unread_cells(store) if cell not in empty]
    if unread:
        lines += [
            "warning: no answer could be read, so the results say nothing about the player:",
            *_named(run, unread, counts, stops),
        ]
    notes = stop_notes(run) + copies_notes(run) + enforced_notes(run) + unanswered_notes(run)
    lines += [wrapped(f"note: {note}", 2) for note in notes]
    lines += _used(store)
    whole = not (empty or partly or unread or total[FAILED] or lacks)
    return Closing(lines, bool(total[COMPLETE]), whole)


def nothing_measured(runs: Sequence[Run]) -> str:
    """Say of runs without a complete episode what they hold, why, and what may help."""
    lines = []
    for run in runs:
        lines += [f"{run.folder}:"] * (len(runs) > 1)
        lines += [*closing(run).lines, f"next: tomeval transcript {run.folder}"]
    return "\n".join(lines)


def _reasons(store: Store, total: Mapping[str, int]) -> Iterator[str]:
    """Yield the commonest reason why episodes are void, and why they failed."""
    reasons = {VOID: Counter[str](), FAILED: Counter[str]()}
    if total.get(VOID):
        reasons[VOID] = tallies.void_reasons(store)
    if total.get(FAILED):
        reasons[FAILED] = tallies.failures(store)
    for status, counts in reasons.items():
        if +counts:
            ((what, number),) = counts.most_common(1)
            what = both_ends(what) if status == FAILED else f"{what.replace('_', ' ')} answers"
            yield wrapped(
                f"most common reason for {status}: {what} ({number:,} of {counts.total():,})", 2
            )
    if total.get(VOID) and (faults := tallies.faults(store)):
        ((what, number),) = faults.most_common(1)
        yield wrapped(f"most common fault of these replies: {in_line(what)} ({number:,} times)", 2)


def _to_do(store: Store, cells: Sequence[int]) -> Iterator[str]:
    """Yield what may help to read the first reply that ended an episode of these cells."""
    ends = ((cell, episode) for cell in cells for episode in store.episodes(cell, VOID))
    first = min(ends, default=None)
    if first and (reply := last_unread(store, *first)):
        yield wrapped(f"-> {advice(reply)}", 2)


def _named(
    run: Run,
    numbers: Sequence[int],
    counts: Mapping[int, Mapping[str, int]],
    stops: Mapping[int, str],
) -> Iterator[str]:
    """Yield what cells are and what became of their episodes and answers."""
    invalid = tallies.invalid_answers(run.store)
    cells = {cell.number: cell for cell in run.cells}
    names = cell_names(run.domain, [definition for _, definition in run.store.cells()])
    for number in numbers[:NAMED]:
        count = counts.get(number, {})
        lacks = (run.wanted(cells[number]) or 0) - sum(count.values())
        parts = [_counted(count)] + [f"{lacks:,} not played"] * (lacks > 0)
        parts += [f"stopped: {stops[number]}"] if number in stops else []
        reasons = invalid.get(number, {}).items()
        said = ", ".join(f"{n:,} {what.replace('_', ' ')}" for what, n in reasons if n)
        yield f"  cell {number}: {names[number]}"
        yield wrapped("; ".join(parts), 4)
        yield f"    invalid answers: {said or 'none'}"
    if len(numbers) > NAMED:
        yield f"  and {len(numbers) - NAMED:,} more"


def _counted(count: Mapping[str, int]) -> str:
    usual = (COMPLETE, VOID, FAILED)
    more = [status for status in count if status not in usual]
    return ", ".join(f"{count.get(status, 0):,} {status}" for status in (*usual, *more))


def _used(store: Store) -> Iterator[str]:
    """Yield what was asked of language models, in words."""
    usage = tallies.paid(store).values()
    if not usage:
        return
    total = {name: sum(row[name] for row in usage) for name in next(iter(usage))}
    cached = total["cached_tokens"]
    encoded = total["prompt_tokens"] - cached
    share = f" ({encoded:,} computed, the rest from the prefix cache)" if cached else ""
    yield wrapped(
        f"{total['calls']:,} model calls: {total['prompt_tokens']:,} prompt tokens{share}; "
        f"{total['completion_tokens']:,} generated"
    )
    if begun := sum(tallies.unfinished(store).values()):
        episodes = "episode" if begun == 1 else "episodes"
        yield f"  including those of {begun:,} unfinished {episodes}"
