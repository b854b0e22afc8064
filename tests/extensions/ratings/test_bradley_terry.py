"""Ratings against closed forms, another optimiser, published estimates and known strengths."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from tomeval.core.errors import TomevalError
from tomeval.extensions.ratings.bradley_terry import PRIOR, Pairs, rate

UNKNOWN = math.nan


def pairs(names, games, deal=None):
    """Return games (players of one team, of the other, won) as pairs."""
    apart = [
        [one.count(name) / len(one) - other.count(name) / len(other) for name in names]
        for one, other, _ in games
    ]
    won = np.array([result for *_, result in games], dtype=float)
    deals = np.arange(len(games)) if deal is None else np.array(deal)
    return Pairs(tuple(names), np.array(apart).reshape(len(games), len(names)), won, deals)


def rated(table, given=None):
    known = np.full(len(table.names), UNKNOWN) if given is None else np.array(given)
    return rate(table, known, np.random.default_rng(3))


def test_two_players_have_the_root_of_one_equation():
    games = [("A", "B", 1)] * 7 + [("B", "A", 1)] * 2 + [("A", "B", 0.5)] * 2
    value = rated(pairs("AB", games)).value
    gap = value[0] - value[1]
    # Eight of eleven wins; each of two ratings is pulled to 0 by half of the gap.
    assert 8 - 11 / (1 + math.exp(-gap)) == pytest.approx(gap / 2 / PRIOR**2, abs=1e-9)


def test_teams_and_ties_as_another_optimiser_finds_them():
    draws = np.random.default_rng(5)
    games = []
    for _ in range(80):
        seats = "".join(draws.permutation(list("ABCDEF")))
        games.append((seats[:2], seats[2:], draws.choice([0, 0.5, 1])))
    table = pairs("ABCDEF", games)

    def loss(place):
        gap = table.apart @ place
        fit = table.won * np.logaddexp(0, -gap) + (1 - table.won) * np.logaddexp(0, gap)
        return fit.sum() + (place**2).sum() / 2 / PRIOR**2

    best = minimize(loss, np.zeros(6), tol=1e-12).x
    assert rated(table).value == pytest.approx(best - best.mean(), abs=1e-4)
    back = rated(pairs("FEDCBA", games[::-1]))
    assert back.value[::-1] == pytest.approx(rated(table).value, abs=1e-9)


BASEBALL = {
    "Milwaukee": (0, 7, 9, 7, 7, 9, 11),
    "Detroit": (6, 0, 7, 5, 11, 9, 9),
    "Toronto": (4, 6, 0, 7, 7, 8, 12),
    "New York": (6, 8, 6, 0, 6, 7, 10),
    "Boston": (6, 2, 6, 7, 0, 7, 12),
    "Cleveland": (4, 4, 5, 6, 6, 0, 6),
    "Baltimore": (2, 4, 1, 3, 1, 7, 0),
}
"""Wins of the American League's East in 1987; Agresti, Categorical Data Analysis, table 10.10."""


def test_published_estimates():
    names = tuple(BASEBALL)
    games = [
        ([one], [other], 1)
        for one, wins in BASEBALL.items()
        for other, count in zip(names, wins, strict=True)
        for _ in range(count)
    ]
    value = rated(pairs(names, games)).value
    published = [1.58, 1.44, 1.29, 1.25, 1.11, 0.68, 0.0]  # without a prior
    assert value - value[-1] == pytest.approx(published, abs=0.02)


def test_given_ratings_stay_and_set_the_scale():
    games = [("N", "X", 1)] * 6 + [("N", "X", 0)] * 6 + [("N", "Y", 1)] * 2 + [("N", "Y", 0)] * 4
    pool = [UNKNOWN, 1.0, 1.5]
    fitted = rated(pairs("NXY", games), pool)
    n = fitted.value[0]
    score = 8 - 12 / (1 + math.exp(1.0 - n)) - 6 / (1 + math.exp(1.5 - n))
    assert score == pytest.approx(n / PRIOR**2, abs=1e-9)
    assert fitted.value[1:].tolist() == pool[1:]
    assert np.isnan(fitted.low).tolist() == [False, True, True]
    assert not fitted.base.any()


@pytest.mark.parametrize(
    ("games", "without", "base"),
    [
        ([("A", "B", 1), ("B", "A", 1), ("A", "C", 1), ("B", "C", 1)] * 6, "C", "AB"),
        ([("A", "B", 1)] * 6, "AB", "AB"),  # nobody has a limit: 0 is the mean of all
        ([("A", "B", 0.5), ("C", "A", 1)] * 6, "C", "AB"),
        ([("AB", "CD", 1), ("CD", "AB", 1)] * 6, "", "ABCD"),
    ],
)
def test_who_beat_nobody_or_lost_to_nobody_has_no_interval(games, without, base):
    names = sorted({name for one, other, _ in games for name in one + other})
    fitted = rated(pairs(names, games))
    assert "".join(np.array(names)[np.isnan(fitted.low)]) == without
    assert "".join(np.array(names)[fitted.base]) == base
    assert fitted.value[fitted.base].mean() == pytest.approx(0, abs=1e-12)
    assert np.isfinite(fitted.value).all()


def test_deals_are_the_sampling_unit():
    lucky = np.random.default_rng(1).random(40) < 0.5
    games = [("A", "B", won) for won in lucky.tolist() for _ in range(4)]
    same = rated(pairs("AB", games, np.repeat(np.arange(40), 4)))
    alone = rated(pairs("AB", games))
    assert same.value == pytest.approx(alone.value)
    assert same.deals.tolist() == [40, 40]
    ratio = (same.high - same.low) / (alone.high - alone.low)
    assert ratio == pytest.approx([2, 2], rel=0.15)
    few = rated(pairs("AB", games, np.repeat(np.arange(4), 40)))
    assert np.isnan([few.low, few.high]).all()


def test_bad_input_is_one_clear_line():
    apart = [("A", "B", 1), ("B", "A", 1), ("C", "D", 1)]
    for table, given, message in (
        (pairs("ABCD", apart), None, "no chain of games connects {A, B} and {C, D}"),
        (pairs("ABCD", apart), [0, UNKNOWN, UNKNOWN, UNKNOWN], "{A, B} and {C, D}"),
        (pairs("ABZ", apart[:2]), None, "{A, B} and {Z}"),
        (pairs("AB", []), None, "no game of two different teams is complete"),
        (pairs("AB", apart[:2]), [0.0, 1.0], "there is nobody to rate"),
    ):
        with pytest.raises(TomevalError) as caught:
            rated(table, given)
        assert message in str(caught.value)
    # Two pools of given ratings need no chain between them.
    known = rated(pairs("ABCD", [*apart, ("D", "C", 1)]), [0.0, UNKNOWN, UNKNOWN, 1.0])
    assert known.value[3] == 1.0
