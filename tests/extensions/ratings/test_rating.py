"""Ratings against closed forms, published estimates, statsmodels and enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import rating_calibration
import statsmodels.api as sm
from contest_support import contests, draw, duel, without_each
from scipy.optimize import brentq, minimize
from scipy.stats import chi2, kendalltau

from tomeval.core.errors import TomevalError
from tomeval.extensions.ratings.contests import choices_of
from tomeval.extensions.ratings.ends import ClusterSpread
from tomeval.extensions.ratings.fit import Fit
from tomeval.extensions.ratings.rating import ELO, PRIOR, rate

HALF = chi2.ppf(0.95, 1) / 2


def rng():
    return np.random.default_rng(3)


def two_against_four(count, seed=0, strength=(1, 0.6, 0.2, -0.2, -0.6, -1), side=0.5):
    draws = np.random.default_rng(seed)
    names, games = "ABCDEF", []
    theta = np.array(strength)
    for _ in range(count):
        order = draws.permutation(6)
        few, many = order[:2], order[2:]
        chance = 1 / (1 + math.exp(-(theta[few].mean() - theta[many].mean() + side)))
        won = draws.random() < chance
        games.append(
            [
                ([names[i] for i in few], "few", float(not won)),
                ([names[i] for i in many], "many", float(won)),
            ]
        )
    return names, games


def test_two_players_have_the_log_odds_and_the_profile_of_a_binomial():
    found = rate(contests("AB", [duel("A", "B")] * 7 + [duel("B", "A")] * 3), rng())
    gap = found.value[0] - found.value[1]
    assert gap == pytest.approx(math.log(7 / 3), abs=1e-9)
    assert found.value.sum() == pytest.approx(0, abs=1e-12)

    def fall(logit):
        p = 1 / (1 + math.exp(-logit))
        best = 7 * math.log(0.7) + 3 * math.log(0.3)
        return best - 7 * math.log(p) - 3 * math.log(1 - p) - HALF

    # A's rating is half the gap, as the mean is 0.
    assert found.low[0] == pytest.approx(brentq(fall, -5, gap) / 2, abs=1e-5)
    assert found.high[0] == pytest.approx(brentq(fall, gap, 5) / 2, abs=1e-5)
    assert (found.low[1], found.high[1]) == pytest.approx((-found.high[0], -found.low[0]), abs=1e-5)
    assert ELO * math.log(10) == pytest.approx(400)


PUDDING = [
    (1, 2, 19, 22, 16), (1, 3, 16, 19, 12), (2, 3, 19, 19, 10), (1, 4, 18, 23, 13),
    (2, 4, 23, 19, 9), (3, 4, 19, 20, 15), (1, 5, 13, 19, 18), (2, 5, 16, 20, 12),
    (3, 5, 16, 15, 17), (4, 5, 17, 14, 16), (1, 6, 18, 21, 12), (2, 6, 22, 20, 12),
    (3, 6, 13, 18, 10), (4, 6, 14, 19, 18), (5, 6, 11, 21, 12),
]  # fmt: skip


def test_ties_of_two_are_those_of_davidson():
    """Table 2 of Davidson 1970: preferences among six puddings."""
    games = []
    for i, j, first, second, tied in PUDDING:
        one, other = str(i), str(j)
        games += [duel(one, other)] * first + [duel(other, one)] * second
        games += [draw(one, other)] * tied
    found = rate(contests("123456", games), rng())
    worth = np.exp(found.value)
    published = [0.1388005, 0.1729985, 0.1617420, 0.1653930, 0.1586805, 0.2023855]
    # The published iterations stop before the fifth decimal.
    assert worth / worth.sum() == pytest.approx(published, abs=5e-5)


def test_a_team_is_the_mean_of_its_players_as_in_a_logistic_regression():
    names, games = two_against_four(150)
    table = contests(names, games, ("few", "many"))
    found = rate(table, rng())
    outcome = table.place[::2] == 0
    apart = np.hstack(
        [table.players[::2, :-1] - table.players[1::2, :-1], np.ones((150, 1))]
    )  # the last player is 0
    fit = sm.Logit(outcome, apart).fit(disp=0)
    whole = np.append(fit.params[:-1], 0.0)
    assert found.value == pytest.approx(whole - whole.mean(), abs=1e-6)
    choices = choices_of(table, np.full(8, np.nan))
    spread = ClusterSpread(choices, choices.peak()).covariance
    model = fit.cov_params()
    assert spread[0, 0] + spread[1, 1] - 2 * spread[0, 1] == pytest.approx(
        model[0, 0] + model[1, 1] - 2 * model[0, 1], rel=1e-6
    )


def test_profile_ends_are_where_a_fit_with_the_rating_held_has_lost_half_the_quantile():
    names, games = two_against_four(60)
    table = contests(names, games, ("few", "many"))
    found = rate(table, rng())
    sign = np.where(table.place[::2] == 0, 1.0, -1.0)
    apart = table.players[::2] - table.players[1::2]

    def loss(theta, held):
        # Player A's distance from the mean is held; the others are free.
        others = theta[:5]
        first = (held * 6 + others.sum()) / 5
        score = apart @ np.append(first, others) + theta[5]
        return np.logaddexp(0, -sign * score).sum()

    least = minimize(lambda t: loss(t[1:], t[0]), np.zeros(7), tol=1e-10).fun
    for end in (found.low[0], found.high[0]):
        held = minimize(loss, np.zeros(6), args=(end,), tol=1e-10).fun
        assert held - least == pytest.approx(HALF, abs=1e-4)


def weak_orders(count):
    for places in itertools.product(range(count), repeat=count):
        if set(places) == set(range(max(places) + 1)):
            yield places


def order_chance(places, scores, ties):
    """Return the chance of places by the definition: sets are chosen one after the other."""
    left, chance = list(range(len(places))), 1.0
    while left:
        best = min(places[i] for i in left)
        chosen = [i for i in left if places[i] == best]
        weight = {
            group: math.exp(np.mean([scores[i] for i in group]) + ties.get(n, -math.inf))
            for n in range(1, len(left) + 1)
            for group in itertools.combinations(left, n)
        }
        chance *= weight[tuple(chosen)] / sum(weight.values())
        left = [i for i in left if i not in chosen]
    return chance


def test_three_players_with_ties_are_as_enumerated():
    draws = np.random.default_rng(5)
    scores, ties = np.array([0.6, 0.0, -0.6]), {1: 0.0, 2: -0.4, 3: -1.0}
    orders = list(weak_orders(3))
    chances = np.array([order_chance(order, scores, ties) for order in orders])
    assert chances.sum() == pytest.approx(1)
    drawn = [orders[k] for k in draws.choice(len(orders), size=80, p=chances)]
    table = contests("ABC", [[(n, None, o[i]) for i, n in enumerate("ABC")] for o in drawn])
    found = rate(table, rng())

    def loss(at):
        known = {1: 0.0, 2: at[2], 3: at[3]}
        whole = np.array([at[0], at[1], -at[0] - at[1]])
        return -sum(math.log(order_chance(o, whole, known)) for o in drawn)

    best = minimize(loss, np.zeros(4), tol=1e-9)
    assert found.value[:2] == pytest.approx(best.x[:2], abs=1e-4)
    choices = choices_of(table, np.full(3, np.nan))
    assert choices.peak().place[3:] == pytest.approx(best.x[2:], abs=1e-4)
    assert choices.peak().height == pytest.approx(-best.fun, abs=1e-6)


def test_neither_order_nor_names_nor_a_second_copy_move_a_rating():
    names, games = two_against_four(50)
    found = rate(contests(names, games, ("few", "many")), rng())
    back = rate(contests(names, games[::-1], ("many", "few")), rng())
    assert back.value == pytest.approx(found.value, abs=1e-8)
    assert back.low == pytest.approx(found.low, abs=1e-5)
    renamed = rate(contests(names[::-1], games, ("few", "many")), rng())
    assert renamed.value[::-1] == pytest.approx(found.value, abs=1e-8)
    twice = rate(contests(names, games * 2, ("few", "many")), rng())
    assert twice.value == pytest.approx(found.value, abs=1e-8)
    # Copies in one cluster add nothing; taken as independent they would halve the variance.
    copies = contests(names, games * 2, ("few", "many"), cluster=[*range(50)] * 2)
    ends = rate(copies, rng())
    assert (twice.high - twice.low < 0.8 * (ends.high - ends.low)).all()


def test_the_clustered_variance_is_that_of_leaving_out_each_cluster():
    names, games = two_against_four(120)
    cluster = np.arange(120) // 4
    table = contests(names, games, ("few", "many"), cluster=cluster)
    choices = choices_of(table, np.full(8, np.nan))
    peak = choices.peak()
    contrast = np.array([1.0, -1, 0, 0, 0, 0, 0, 0])
    left = without_each(table, contrast)
    jackknife = 29 / 30 * float(((left - contrast @ peak.place) ** 2).sum())
    spread = ClusterSpread(choices, peak)
    found = spread.jackknife(contrast)[0] * spread.variance(contrast)
    # One step instead of a whole fit; uneven clusters would make the plain sum a little large.
    assert 0.85 * jackknife < found < jackknife


def test_who_always_wins_has_no_upper_end_and_leaves_the_others_alone():
    rest = [duel("B", "C")] * 4 + [duel("C", "B")] * 3
    alone = rate(contests("BC", rest), rng())
    found = rate(contests("ABC", [*rest, *[duel("A", "B")] * 5, *[duel("A", "C")] * 2]), rng())
    assert found.open == ("above", "", "")
    assert found.high[0] == math.inf
    assert found.value[1:] == pytest.approx(alone.value, abs=1e-6)
    assert found.low[1:] == pytest.approx(alone.low, abs=1e-5)
    assert found.high[1:] == pytest.approx(alone.high, abs=1e-5)
    said = " ".join(found.notes)
    assert "A has no upper end" in said
    assert "weak prior" in said
    assert "mean rating of B, C" in said
    assert found.rank.tolist() == [1, 2, 3]


def test_one_pair_without_a_loss_has_the_lower_end_of_a_binomial():
    found = rate(contests("AB", [duel("A", "B")] * 6), rng(), fixed=np.array([np.nan, 0.0]))
    # Six wins of six have a chance of 5 % at the lower end: there is no upper one to fall short of.
    p = 0.05 ** (1 / 6)
    assert found.low[0] == pytest.approx(math.log(p / (1 - p)), abs=1e-5)
    assert found.high[0] == math.inf
    # The rating itself is where the prior's pull equals the games'.
    assert 6 / (1 + math.exp(found.value[0])) == pytest.approx(found.value[0] / PRIOR**2)


def test_a_chain_without_upsets_is_ordered_but_open():
    found = rate(contests("ABC", [duel("A", "B")] * 8 + [duel("B", "C")] * 8), rng())
    assert found.open == ("above", "both", "below")
    assert found.rank.tolist() == [1, 2, 3]
    assert found.rank_low.tolist() == [1, 2, 3]
    assert found.rank_high.tolist() == [1, 2, 3]
    few = rate(contests("ABC", [duel("A", "B"), duel("B", "C")]), rng())
    # If A and C were equal, both games would be even: the likelihood falls by 2 ln 2 at most.
    assert few.rank_high.tolist() == [3, 3, 3]


def test_a_side_that_always_wins_moves_no_player():
    names, games = two_against_four(60, side=0.0)
    # Two more players who never lose as "top", whoever plays it.
    tops = [duel(a, b, ("top", "low")) for a, b in itertools.permutations("ABCDEF", 2)]
    found = rate(contests(names, [*games, *tops], ("few", "many", "top", "low")), rng())
    alone = rate(contests(names, games, ("few", "many")), rng())
    assert found.value == pytest.approx(alone.value, abs=1e-6)


def test_deals_that_end_alike_whoever_sits_where_are_no_certainty():
    # On every deal each player once has the side that wins it: no deal differs from another.
    games = [duel("A", "B", ("x", "y")), duel("B", "A", ("x", "y"))] * 10
    games[4:6] = [duel("A", "B", ("y", "x")), duel("B", "A", ("y", "x"))]
    found = rate(contests("AB", games, ("x", "y"), cluster=np.arange(20) // 2), rng())
    assert found.value == pytest.approx([0, 0], abs=1e-9)
    assert found.high[0] > 0.3
    assert any("whoever sits where" in note for note in found.notes)
    apart = rate(contests("AB", games, ("x", "y")), rng())
    assert found.rank_high.tolist() == apart.rank_high.tolist() == [2, 2]


def test_games_that_always_tie_say_nothing():
    found = rate(contests("ABC", [draw("A", "B"), draw("B", "C")] * 5), rng())
    assert found.open == ("both",) * 3
    assert found.rank_high.tolist() == [3, 3, 3]
    assert any("always tied" in note for note in found.notes)


def test_a_newcomer_among_given_ratings():
    pool = np.array([np.nan, 0.4, 0.4])
    games = [duel("N", "X")] * 9 + [duel("Y", "N")] * 3
    found = rate(contests("NXY", games), rng(), fixed=pool)
    assert found.value[0] == pytest.approx(0.4 + math.log(3), abs=1e-8)
    assert found.value[1:].tolist() == [0.4, 0.4]
    assert np.isnan(found.low[1:]).all()
    assert found.rank_low[0] == 1
    assert found.rank_high[0] == 3  # the interval reaches below 0.4
    moved = rate(contests("NXY", games), rng(), fixed=pool + 5)
    assert moved.low - 5 == pytest.approx(found.low, abs=1e-5, nan_ok=True)


def test_bad_input_is_one_clear_line():
    apart = [duel("A", "B"), duel("B", "A"), duel("C", "D")]
    with pytest.raises(TomevalError, match=r"no chain of games connects \{A, B\} and \{C, D\}"):
        rate(contests("ABCD", apart), rng())
    with pytest.raises(TomevalError, match="no game to rate of 'Z'"):
        rate(contests("ABZ", apart[:2]), rng())
    with pytest.raises(TomevalError, match="no game to rate"):
        rate(contests("AB", []), rng())
    with pytest.raises(TomevalError, match="'A' is the only player"):
        rate(contests("A", [duel("A", "A")]), rng())
    given = np.array([np.nan, 0.0, np.nan, np.nan])
    with pytest.raises(TomevalError, match=r"connects \{C, D\} with a player of given rating"):
        rate(contests("ABCD", apart), rng(), fixed=given)
    given[2] = 1.0  # two pools that never met, with a newcomer in each
    assert rate(contests("ABCD", [*apart, duel("D", "C")]), rng(), fixed=given).value[3] == 1.0
    mates = [[("AB", None, 0), ("CD", None, 1)], [("CD", None, 0), ("AB", None, 1)]]
    with pytest.raises(TomevalError, match="same team-mates"):
        rate(contests("ABCD", mates), rng())
    seats = [duel("A", "B", ("left", "right")), duel("B", "A", ("right", "left"))]
    with pytest.raises(TomevalError, match="same seat or role"):
        rate(contests("AB", seats, ("left", "right")), rng())


@pytest.mark.slow
def test_intervals_hold_the_truth():
    """A small version of benchmarks/rating_calibration.py."""
    truth = np.array([0.5, 0.2, 0, -0.1, -0.2, -0.4])
    held, ranked = [], []
    for seed in range(60):
        names, games = two_against_four(200, seed, truth, 0.6)
        found = rate(contests(names, games, ("few", "many")), rng())
        held.append((found.low <= truth) & (truth <= found.high))
        ranked.append((found.rank_low <= np.arange(1, 7)) & (np.arange(1, 7) <= found.rank_high))
    assert 0.92 <= np.mean(held) <= 0.98
    assert np.mean(ranked) >= 0.95


def uneven(count, strength, draws, leaning):
    """Draw games of two against four in which some players more often sit with the two."""
    games = []
    for _ in range(count):
        seated = draws.choice(len(strength), 6, replace=False)
        weight = np.exp(leaning[seated])
        few = draws.choice(seated, 2, replace=False, p=weight / weight.sum())
        many = np.setdiff1d(seated, few)
        gap = strength[few].mean() - strength[many].mean() + rating_calibration.SIDE
        games.append(([few.tolist(), many.tolist()], rating_calibration.won(gap, draws)))
    return games


def strengths(table):
    fit = Fit(table, np.full(len(table.names) + len(table.sides), np.nan))
    return fit.players @ fit.choices.peak(1 / PRIOR**2).place


def test_a_side_term_recovers_the_order_where_sides_are_uneven():
    taus: dict[str, list[float]] = {"plain": [], "side": []}
    for seed in range(30):
        draws = np.random.default_rng([seed, 5])
        strength = draws.normal(size=12)
        games = uneven(200, strength, draws, draws.normal(size=12))
        for name, sides in (("plain", False), ("side", True)):
            table = rating_calibration.contests_of(games, 12, sides)
            taus[name].append(kendalltau(strengths(table), strength).statistic)
    assert np.mean(taus["side"]) > np.mean(taus["plain"]) + 0.01
