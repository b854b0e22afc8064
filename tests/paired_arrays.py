"""Arrays of differences as pairings, for tests of comparisons."""

from __future__ import annotations

import numpy as np

from tomeval.comparing.pairing import Meeting, Pairing
from tomeval.games.matrix.measures import MEASURES, METRICS

LEVELS = ("a", "b", "c", "d", "e")


def paired(*differences) -> Pairing:
    """Pair levels with a baseline of 0, one meeting per array of shape (n, L)."""
    meetings = []
    for number, table in enumerate(differences):
        values = np.asarray(table)[:, None, :, None]
        units = [(0, i) for i in range(len(values))]
        met = np.ones(values.shape[:3], dtype=bool)
        meetings.append(Meeting(units, [number], values, np.zeros(values.shape), met))
    count, levels = len(differences), LEVELS[: np.asarray(differences[0]).shape[1]]
    names = tuple(str(i) for i in range(count))
    tasks = tuple({"game": name} for name in names)
    none = np.zeros((count, len(levels)), dtype=np.int64)
    chosen = (MEASURES[METRICS[0]],)
    return Pairing(
        "subject", "base", levels, chosen, names, tasks, meetings, none, np.ones((count, 1))
    )
