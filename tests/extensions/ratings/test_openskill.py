"""OpenSkill's columns against the package itself, and without it."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

from tomeval.core.errors import TomevalError
from tomeval.extensions.ratings.openskill import Outcome, openskill

GAMES = [Outcome([[0], [1]], [0, 1]), Outcome([[1], [2]], [0, 1]), Outcome([[0, 2], [1]], [0, 0])]


def test_without_the_package_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "openskill.models", None)
    with pytest.raises(TomevalError, match=r"pip install 'tomeval\[openskill\]'"):
        openskill(GAMES, 3, np.random.default_rng(1))


def test_one_game_is_the_packages_own():
    models = pytest.importorskip("openskill.models")
    model = models.PlackettLuce()
    few, many = [model.rating() for _ in range(2)], [model.rating() for _ in range(4)]
    raw = model.rate([few, many], ranks=[0, 0])
    found = openskill([Outcome([[0, 1], [2, 3, 4, 5]], [0, 0])], 6, np.random.default_rng(1))
    assert found.mu == pytest.approx([raw[0][0].mu] * 2 + [raw[1][0].mu] * 4)
    assert found.sigma[0] == pytest.approx(raw[0][0].sigma)
    assert found.spread == pytest.approx(0)
    # What a draw of two with four says of it: the two are far stronger, because skills are summed.
    assert found.mu[0] > found.mu[2] + 2


def test_orders_are_averaged():
    models = pytest.importorskip("openskill.models")
    model = models.PlackettLuce()
    ends = []
    for order in itertools.permutations(range(3)):
        rated = [model.rating() for _ in range(3)]
        for k in order:
            teams, places = GAMES[k]
            after = model.rate([[rated[i] for i in team] for team in teams], ranks=list(places))
            for team, fresh in zip(teams, after, strict=True):
                for i, one in zip(team, fresh, strict=True):
                    rated[i] = one
        ends.append([one.mu for one in rated])
    found = openskill(GAMES, 3, np.random.default_rng(1), shuffles=600)
    assert found.mu == pytest.approx(np.mean(ends, axis=0), abs=0.1)
    assert found.spread == pytest.approx(np.std(ends, axis=0), abs=0.1)
    again = openskill(GAMES, 3, np.random.default_rng(1), shuffles=600)
    assert again.mu.tolist() == found.mu.tolist()
