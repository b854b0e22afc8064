"""Counts of the store against a recount of every answer, row by row."""

from __future__ import annotations

import sqlite3
from collections import Counter

import numpy as np
import pytest
from support import forget_checksums

import tomeval
from tomeval.core.outcomes import INVALID_REASONS, OUTCOMES, VALID
from tomeval.runs import tallies
from tomeval.runs.store import STORE

EXPERIMENT = {"games": ["RPS", "IPD"], "subjects": ["rmax", "random"], "horizon": 15, "episodes": 6}


@pytest.fixture
def answered(tmp_path):
    """A run of four cells: outcomes of all kinds, of all but one kind, no answer at all, valid."""
    tomeval.run(EXPERIMENT, tmp_path).close()
    rng = np.random.default_rng(5)
    with sqlite3.connect(tmp_path / STORE) as db:
        places = db.execute("SELECT cell, episode, step FROM steps").fetchall()
        kinds = {0: OUTCOMES, 1: [VALID, "not_asked"], 2: ["not_asked", "backend_error"]}
        rows = [
            (*rng.choice(kinds[place[0]], 2).tolist(), *place) for place in places if place[0] < 3
        ]
        db.executemany(
            "UPDATE steps SET act_outcome = ?, predict_outcome = ? "
            "WHERE cell = ? AND episode = ? AND step = ?",
            rows,
        )
    db.close()
    forget_checksums(tmp_path)
    with tomeval.Run(tmp_path) as run:
        yield run


def test_rates_are_shares_of_all_answers(answered) -> None:
    sql = "SELECT cell, act_outcome, predict_outcome FROM steps"
    counts = {cell: Counter[str]() for cell in range(4)}
    for cell, *said in answered.store.query(sql):
        counts[cell].update(said)
    bad = {
        cell: sum(n for what, n in found.items() if what in {*INVALID_REASONS} - {"backend_error"})
        for cell, found in counts.items()
    }
    asked = {cell: bad[cell] + found[VALID] for cell, found in counts.items()}
    rates = tallies.invalid_rates(answered.store)
    assert rates == {cell: bad[cell] / asked[cell] for cell in (0, 1, 3)}  # 2 has no answer
    assert (rates[1], rates[3]) == (0, 0) != rates[0]
    assert tallies.answers(answered.store, range(4)) == {c: (bad[c], asked[c]) for c in range(4)}
    pooled = (bad[0] + bad[1]) / (asked[0] + asked[1])
    assert tallies.invalid_rate(answered.store, [0, 1], "1") == pooled
    assert np.isnan(tallies.invalid_rate(answered.store, [2], "1"))
