"""Arrays of values as pairings, for tests of comparisons."""

from __future__ import annotations

import numpy as np

from tomeval.comparing.layout import Meeting, Pairing
from tomeval.games.matrix.measures import MEASURES, METRICS

LEVELS = ("a", "b", "c", "d", "e")


def paired(*differences) -> Pairing:
    """Pair levels with a baseline of 0, one meeting per array of shape (n, L)."""
    tables = [np.asarray(table)[..., None] for table in differences]
    return pairing_of(*((table, np.zeros(table.shape)) for table in tables))


def pairing_of(*tasks, metrics=METRICS[:1], size=1.0) -> Pairing:
    """Pair levels with a baseline, one meeting per task, both of shape (n, L, M)."""
    meetings = [
        Meeting(
            [(0, i) for i in range(len(level))],
            [number],
            level[:, None],
            baseline[:, None],
            np.ones((len(level), 1, level.shape[1]), dtype=bool),
            np.zeros((len(level), 1, level.shape[1]), dtype=np.int64),
        )
        for number, (level, baseline) in enumerate(tasks)
    ]
    levels, count = LEVELS[: tasks[0][0].shape[1]], len(tasks)
    names = tuple(str(number) for number in range(count))
    words = tuple({"game": name} for name in names)
    measures = tuple(MEASURES[name] for name in metrics)
    none = np.zeros((count, len(levels)), dtype=np.int64)
    sizes = np.full((count, len(measures)), size)
    return Pairing("subject", "base", levels, measures, names, words, meetings, none, sizes)
