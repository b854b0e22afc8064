"""Counts of the store against a recount of every answer, row by row."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from support import edit

import tomeval
from tomeval.core.outcomes import INVALID_REASONS, OUTCOMES, VALID
from tomeval.models.base import BackendError
from tomeval.models.scripted import SCRIPTS
from tomeval.runs import tallies

EXPERIMENT = {"games": ["RPS", "IPD"], "subjects": ["rmax", "random"], "horizon": 15, "episodes": 6}


@pytest.fixture
def answered(tmp_path):
    """A run of four cells: outcomes of all kinds, of all but one kind, no answer at all, valid."""
    tomeval.run(EXPERIMENT, tmp_path).close()
    rng = np.random.default_rng(5)
    kinds = {0: OUTCOMES, 1: [VALID, "not_asked"], 2: ["not_asked", "backend_error"]}

    def changed(line):
        for form in ("act", "predict") if line["cell"] < 3 else ():
            line[f"{form}_outcome"] = rng.choice(kinds[line["cell"]], line["steps"]).tolist()
            line[f"{form}_attempts"] = rng.integers(1, 3, line["steps"]).tolist()
        return line

    edit(tmp_path, changed)
    with tomeval.Run(tmp_path) as run:
        yield run


def test_rates_are_shares_of_all_answers(answered) -> None:
    names = ("act_outcome", "predict_outcome", "act_attempts", "predict_attempts")
    rows = [(c, *row) for c in range(4) for row in answered.store.read("steps", names, c)]
    counts = {cell: Counter[str]() for cell in range(4)}
    again = Counter[int]()
    for cell, *said, first, second in rows:
        counts[cell].update(said)
        for outcome, attempts in zip(said, (first, second), strict=True):
            again[cell] += attempts > 1 and outcome not in ("not_asked", "backend_error")
    bad = {
        cell: sum(n for what, n in found.items() if what in {*INVALID_REASONS} - {"backend_error"})
        for cell, found in counts.items()
    }
    asked = {cell: bad[cell] + found[VALID] for cell, found in counts.items()}
    found = {cell: tallies.rates_of(answered.store, [cell]) for cell in (0, 1, 3)}
    rates = {cell: of["invalid_rate"] for cell, of in found.items()}
    assert rates == {cell: bad[cell] / asked[cell] for cell in (0, 1, 3)}  # 2 has no answer
    assert (rates[1], rates[3]) == (0, 0) != rates[0]
    reask = {cell: share["reask_rate"] for cell, share in found.items()}
    assert reask == {cell: again[cell] / asked[cell] for cell in (0, 1, 3)}
    assert (reask[0] > 0, reask[1] > 0, reask[3]) == (True, True, 0)
    pooled = (bad[0] + bad[1]) / (asked[0] + asked[1])
    assert tallies.rates_of(answered.store, [0, 1])["invalid_rate"] == pooled
    assert np.isnan(
        tallies.rates_of(answered.store, [2], lambda seat, question: True)["invalid_rate"]
    )


def test_a_reason_with_half_a_pair_is_told(tmp_path, monkeypatch) -> None:
    """As a server writes that cuts an emoji in two: ``"\\ud83d"`` in its JSON."""

    def fails(request):
        raise BackendError("cut: \ud83d")

    monkeypatch.setitem(SCRIPTS, "cut", fails)
    data = {"games": "IPD", "partners": "tit_for_tat", "horizon": 2, "episodes": 1}
    data |= {"subjects": [{"strategy": "QA"}], "model": "scripted:cut"}
    with tomeval.run(data, tmp_path / "run") as run:
        assert tallies.failures(run.store) == {"cut: \ud83d": 1}
