"""Play each distinct episode once: which episodes of a cell are played, and what readers are told.

A cell says which of its episodes are certain copies of earlier ones (`Cell.originals`), but for one
thing that only the answers show: labels that are equally probable, between which an action is
drawn. If any original has such a tie, all episodes of its cell are played.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tomeval.runs.domain import Cell
    from tomeval.runs.results import Run
    from tomeval.runs.store import Store

MOST_NAMES = 3


def episodes_to_play(store: Store, number: int, cell: Cell, count: int) -> Sequence[int]:
    """Return which of the first `count` episodes a cell is to have, given what is stored of it."""
    found, whole = cell.originals(count), range(count)
    if len(found) == count:
        return whole
    found = list(found)
    if any(episode not in found for episode in store.episodes(number) if episode < count):
        return whole  # begun in full
    drawn = any(tied(record) for episode in found for *_, record in store.calls(number, episode))
    return whole if drawn else found


def tied(record: dict[str, Any]) -> bool:
    """Tell whether a model call scored two labels as the most probable ones.

    Examples
    --------
    >>> tied({"scores": {"logprobs": [-1.0, -1.0, -3.0]}}), tied({"scores": {"logprobs": [-1, -2]}})
    (True, False)
    """
    found = record.get("scores", {}).get("logprobs", [])
    return len(found) > 1 and found.count(max(found)) > 1


def copies_notes(run: Run) -> list[str]:
    """Say which cells hold each distinct episode once, and what that does to their numbers."""
    once = [cell for cell in run.cells if cell.each_once]
    if not once:
        return []
    drawn = run.domain.compare.drawn
    notes = [
        f"nothing but the {drawn} is drawn in {first_names(cell.name for cell in once)}: each "
        "distinct episode was played once, as further ones would be copies of it. The number of "
        "episodes is that of distinct ones, and their means have no interval, because there is no "
        "sampling"
    ]
    partly = [cell.name for cell in once if not cell.covers_draws]
    if partly:
        notes.append(
            f"not every {drawn} has a complete episode in {first_names(partly)}, because it was "
            "not drawn or its episode is void: means are over the others alone; more episodes "
            "reach those that were not drawn"
        )
    return notes


def sampled_notes(runs: Sequence[Run]) -> list[str]:
    """Say where statistics that treat episodes as a sample are given distinct ones."""
    once = [cell.name for run in runs for cell in run.cells if cell.each_once]
    if not once:
        return []
    return [
        f"{first_names(once)}: each distinct episode was played once, and there can be no more; "
        "intervals and numbers of episodes here treat them as a sample"
    ]


def first_names(found: Iterable[str]) -> str:
    """Return the first names of a list, and how many more there are."""
    names = list(dict.fromkeys(found))
    more = len(names) - MOST_NAMES
    return "; ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
