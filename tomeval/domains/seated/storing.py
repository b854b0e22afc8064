"""Rows of a run's games, read by the names of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tomeval.core.outcomes import COMPLETE
from tomeval.runs.store import Store

_WITH_EPISODES = "JOIN episodes e USING (cell, episode)"
_FROM = {
    "episodes": ("episodes e", "episode"),
    "steps": (f"steps s {_WITH_EPISODES}", "episode, step"),
    "answers": (
        f"answers a JOIN steps s USING (cell, episode, step) {_WITH_EPISODES}",
        "episode, step, a.seat, question",
    ),
}
"""What rows of each kind are read from, and their order."""


def read_rows(
    store: Store,
    kind: str,
    columns: Sequence[str],
    cell: int,
    episode: int | None = None,
    complete: bool = False,
) -> list[tuple[Any, ...]]:
    """Return columns of a cell's episodes, steps or answers, in order.

    Parameters
    ----------
    kind : {"episodes", "steps", "answers"}
        Steps have the columns of their episodes too, and answers those of both; a name that stands
        in several is told apart by ``e.``, ``s.`` and ``a.``.
    episode : int, optional
        Of this one alone.
    complete : bool
        Of complete episodes alone.
    """
    source, order = _FROM[kind]
    where, values = "cell = ?", [cell]
    if episode is not None:
        where, values = f"{where} AND episode = ?", [cell, episode]
    if complete:
        where += f" AND e.status = '{COMPLETE}'"
    sql = f"SELECT {', '.join(columns)} FROM {source} WHERE {where} ORDER BY {order}"
    return store.query(sql, tuple(values))
