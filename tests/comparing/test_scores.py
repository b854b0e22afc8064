"""Scores are compared over all tasks in which they have a value."""

from __future__ import annotations

import numpy as np
import pytest

import tomeval
from tomeval.comparing.comparison import compare

PLAYERS = [
    {"kind": "simulated", "name": "half", "p": 0.8, "q": 0.5},
    {"kind": "simulated", "name": "whole", "p": 0.8, "q": 1.0},
]


def test_tasks_without_a_use_to_see_are_left_out_of_the_mean(tmp_path) -> None:
    """In the prisoner's dilemma no prediction changes the best move; rock, paper, scissors and
    battle of the sexes count the same, and only they.
    """
    data = {"games": ["RPS", "IPD", "IBS"], "subjects": PLAYERS, "horizon": 10, "episodes": 12}
    with tomeval.run(data, tmp_path / "run") as run:
        found = compare(run, "subject", "half", metrics=["uses", "plays"])
        uses = {
            c.game.name: c.estimate(["uses_percent"]).mean[0]
            for c in run.cells
            if c.player == "whole"
        }
    assert np.isnan(uses["IPD"])
    level, difference = found.level_mean[:, 0, 0], found.difference[:, 0, 0]
    assert level[0] == pytest.approx((uses["RPS"] + uses["IBS"]) / 2)
    places = {name: number for number, name in enumerate(found.scopes)}
    rps, ipd, ibs = (
        next(n for s, n in places.items() if s.startswith(g)) for g in ("RPS", "IPD", "IBS")
    )
    assert np.isnan(difference[ipd])
    assert difference[0] == pytest.approx((difference[rps] + difference[ibs]) / 2)
    # Two independent tasks of one weight, up to the degrees of freedom.
    half = found.t_high[:, 0, 0] - difference
    assert half[0] == pytest.approx(np.hypot(half[rps], half[ibs]) / 2, rel=0.08)
    assert found.p_permutation[0, 0, 0] < 0.01
    assert "uses has no value in IPD" in " ".join(found.notes)
    assert not np.isnan(found.difference[:, 0, 1]).any()  # plays has a value everywhere
