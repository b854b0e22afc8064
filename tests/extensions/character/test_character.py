"""The character of players of known truth: λ, levels, reciprocity, policies, what is unsaid."""

from __future__ import annotations

import csv
import io
import math
import shutil
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support import edit, episodes_of, make_game, play_against, with_step

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.extensions.character import TABLES
from tomeval.extensions.character.gap import unsaid
from tomeval.extensions.character.quantal import fit, worth_said, worth_true
from tomeval.extensions.character.reciprocity import classify, cooperation, moves, named
from tomeval.extensions.character.types import level_mixture, named_policies, policies
from tomeval.games.matrix.games import get_game, mirrored
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.responses import stationary_reward
from tomeval.games.matrix.scores import chance_regret
from tomeval.runs.results import Run

RPS, IBS, IPD = get_game("RPS"), get_game("IBS"), get_game("IPD")
T = 20


def simulated(game, episodes, seed, spec, said=0.0, true=0.0, right=1 / 3):
    """Return episodes of a logit player whose predictions are right with a probability.

    It knows Q* by trying all ways to go on, and draws by inverting cumulative probabilities.
    """
    rng, partner = np.random.default_rng(seed), get_partner(spec, game)
    ahead = np.zeros((T + 1, len(partner.emissions)))
    q = np.zeros((T, len(partner.emissions), game.n))
    for t, s in product(range(T - 1, -1, -1), range(len(partner.emissions))):
        for a, b in product(range(game.n), range(game.m)):
            after = ahead[t + 1, partner.next_state[s, a, b]]
            q[t, s, a] += partner.emissions[s, b] * (game.own[a, b] + after)
        ahead[t, s] = q[t, s].max()
    out = np.zeros((3, episodes, T), dtype=int)
    scale = np.ptp(game.own)
    for e in range(episodes):
        s = partner.start
        for t in range(T):
            b = int(rng.choice(game.m, p=partner.emissions[s]))
            wrong = [c for c in range(game.m) if c != b]
            c = b if rng.random() < right else int(rng.choice(wrong))
            worth = (said * game.own[:, c] + true * q[t, s]) / scale
            chance = np.exp(worth - worth.max())
            a = int((rng.random() > np.cumsum(chance / chance.sum())[:-1]).sum())
            out[:, e, t] = a, b, c
            s = partner.next_state[s, a, b]
    return episodes_of(game, *out, partners=[partner])


def actions(played):
    return np.eye(played.game.n)[played.own]


def steps(played):
    return np.repeat(np.arange(played.episodes), played.lengths)


# Quantal response


def test_two_actions_have_wilsons_interval_in_log_odds():
    """With two actions of worth 0 and 1 λ is the log odds of a share, by its score interval."""
    hits, n, t = 15, 20, 2.7764451051977987  # Student's quantile of 4 degrees
    middle, half = (
        (hits / n + t**2 / 2 / n) / (1 + t**2 / n),
        t / (1 + t**2 / n) * math.sqrt(hits / n * (1 - hits / n) / n + t**2 / 4 / n**2),
    )
    worth, choice = np.tile([1.0, 0.0], (n, 1)), np.tile(np.eye(2)[[0, 0, 0, 1]], (5, 1))
    expected = [math.log(p / (1 - p)) for p in (0.75, middle - half, middle + half)]
    assert fit(worth, choice, np.repeat(np.arange(5), 4)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("game", [RPS, IBS, IPD], ids=lambda game: game.name)
def test_lambda_is_what_maximises_the_likelihood(game):
    from scipy.optimize import minimize_scalar

    played = simulated(game, 6, 3, "tit_for_tat", true=1.0)
    worth = worth_true(played)

    def loss(at):
        return -sum(
            at * w[a] - np.log(np.exp(at * (w - w.max())).sum()) - at * w.max()
            for w, a in zip(worth, played.own, strict=True)
        )

    best = minimize_scalar(loss, bounds=(-20, 60), method="bounded", options={"xatol": 1e-6}).x
    assert fit(worth, actions(played), steps(played))[0] == pytest.approx(best, abs=1e-3)


def test_probabilities_are_matched_exactly():
    """A player that states the probabilities of λ = 2.5 has it, whatever it drew."""
    played = simulated(RPS, 6, 1, "cycler")
    worth = worth_said(played)
    shares = np.exp(2.5 * worth) / np.exp(2.5 * worth).sum(axis=1, keepdims=True)
    assert fit(worth, shares, steps(played))[0] == pytest.approx(2.5)


def test_lambda_stays_under_other_payoffs_and_turns_with_their_sign():
    played = simulated(IPD, 6, 2, "tit_for_tat", said=2.0, true=1.0)
    other = make_game(3 * IPD.own - 70, IPD.partner)
    changed = replace(played, game=other)
    for worth in (worth_said, worth_true):
        found = fit(worth(played), actions(played), steps(played))
        again = fit(worth(changed), actions(played), steps(played))
        assert again == pytest.approx(found, abs=1e-4)
        value, low, high = fit(-worth(played), actions(played), steps(played))
        assert (-value, -high, -low) == pytest.approx(found, abs=1e-4)


def test_always_best_has_only_a_lower_end_and_always_worst_only_an_upper_one():
    partner = get_partner("cycler", RPS)
    theirs = np.tile(play_against(partner, [0] * T), (6, 1))
    best = episodes_of(RPS, (theirs + 1) % 3, theirs, theirs, partners=[partner])
    value, low, high = fit(worth_said(best), actions(best), steps(best))
    assert (value, high) == (math.inf, math.inf)
    assert 4 < low < 12
    worst = episodes_of(RPS, (theirs + 2) % 3, theirs, theirs, partners=[partner])
    assert fit(worth_true(worst), actions(worst), steps(worst)) == pytest.approx(
        (-math.inf, -math.inf, -low), abs=1e-4
    )


def test_few_episodes_and_equal_actions():
    played = simulated(RPS, 4, 1, "cycler", said=1.0)
    value, low, _ = fit(worth_said(played), actions(played), steps(played))
    assert math.isfinite(value)
    assert math.isnan(low)
    flat = replace(played, game=make_game(np.ones((3, 3))))
    assert math.isnan(fit(worth_said(flat), actions(flat), steps(flat))[0])


def test_episodes_of_two_kinds_widen_the_interval():
    """Half of the episodes always best, half always worst: 12 units, not 240 steps."""
    right = np.repeat([0, 1] * 6, T)
    worth, choice = np.tile([1.0, 0.0], (240, 1)), np.eye(2)[right]
    value, low, high = fit(worth, choice, np.repeat(np.arange(12), T))
    assert value == pytest.approx(0.0, abs=1e-6)
    alone = fit(worth[:12], choice[::T], np.arange(12))
    assert high - low > 0.9 * (alone[2] - alone[1])


@pytest.mark.parametrize(("kind", "spec"), [("said", "uniform_random"), ("true", "tit_for_tat")])
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_intervals_hold_lambda(kind, spec, value):
    held = 0
    for seed in range(20):
        played = simulated(IBS, 6, seed, spec, **{kind: value})
        worth = worth_said(played) if kind == "said" else worth_true(played)
        _, low, high = fit(worth, actions(played), steps(played))
        held += low <= value <= high
    assert held >= 18


def test_a_game_that_goes_on_has_no_last_step_to_know_of():
    """Tit for tat, 0.9: cooperating from now on is worth 80, and 72 after a defection, by hand.

    So cooperating gains 80 - (10 + 0.9 * 72) = 5.2, after a defection 72 - (5 + 0.9 * 72) = 2.2.
    """
    partner = get_partner("tit_for_tat", IPD)
    own = [[0, 0, 1, 0]] * 6
    played = episodes_of(IPD, own, [[0, 0, 0, 1]] * 6, [[0, 1, 0, 0]] * 6, partners=[partner])
    going = replace(played, continuation=0.9)
    gains = -np.diff(worth_true(going)).reshape(6, 4)
    assert gains == pytest.approx(np.tile([0.52, 0.52, 0.52, 0.22], (6, 1)))
    assert gains[0, -1] > 0 > -np.diff(worth_true(played))[3, 0]
    # Random play loses 5.2 / 2 at first, then the mean of 5.2 / 2 and 2.2 / 2.
    ratio = chance_regret(IPD, partner, 4) / (2.6 + 3 * 1.85)
    turns = [[0, 1, 0, 1]] * 6, [[0, 0, 1, 0]] * 6, [[0] * 4] * 6
    fixed = episodes_of(IPD, *turns, partners=[partner])
    points = unsaid(fixed, np.arange(6))[0]
    assert (points != 0).all()
    assert unsaid(replace(fixed, continuation=0.9), np.arange(6))[0] == pytest.approx(
        points * ratio
    )


# Levels


def level_players(game, plays, errors=0.0):
    """Return episodes that each play one action (-1: uniform), the partner a coin."""
    rng = np.random.default_rng(5)
    own = np.array([rng.integers(0, game.n, T) if k < 0 else np.full(T, k) for k in plays])
    own = np.where(rng.random(own.shape) < errors, 1 - own, own)
    return episodes_of(game, own, rng.integers(0, 2, own.shape), rng.integers(0, 2, own.shape))


def test_levels_of_players_that_have_them():
    """IBS: level 1 plays 0, level 2 plays 1, level 3 plays 0 again; by hand from its payoffs."""
    played = level_players(IBS, [0] * 12 + [1] * 6 + [-1] * 6, errors=0.03)
    found = level_mixture(played, np.arange(24))
    assert list(found) == ["0", "1/3", "2", "said"]
    assert [found[name][0] for name in found] == pytest.approx([0.25, 0.5, 0.25, 0.0], abs=0.02)
    assert all(low <= weight <= high for weight, low, high in found.values())
    assert found["1/3"][1:] == pytest.approx([0.29, 0.71], abs=0.05)


def test_who_replies_to_its_prediction_is_no_level():
    said = np.random.default_rng(1).integers(0, 2, (8, T))
    found = level_mixture(episodes_of(IBS, said, 1 - said, said), np.arange(8))  # both coordinate
    weight, low, high = found["said"]
    assert weight == pytest.approx(1.0)
    assert 0.5 < low < 0.65  # Wilson's with Student's quantile: 8 / (8 + 2.36 ** 2)
    assert high == 1.0


@pytest.mark.parametrize("predicted", [None, np.full(6 * T, -1)])
def test_who_predicts_nothing_is_level_0_and_not_said(predicted):
    played = replace(level_players(IBS, [-1] * 6), predicted=predicted)
    found = level_mixture(played, np.arange(6))
    assert list(found) == ["0", "1/3", "2"]
    assert found["0"][0] == pytest.approx(1.0, abs=1e-6)


def test_levels_that_coincide_are_not_told_apart():
    played = level_players(IPD, [1] * 6)
    assert level_mixture(played, np.arange(6)) == "all levels from 1 on play alike"
    rps = simulated(RPS, 6, 1, "cycler")
    assert "equally good" in level_mixture(rps, np.arange(6))
    lone = level_mixture(level_players(IBS, [0] * 5 + [1]), np.arange(6))
    assert lone["2"] == pytest.approx(
        (1 / 6, 0, 0.5), abs=0.01
    )  # not drawn by a third of resamples
    few = level_mixture(level_players(IBS, [0] * 4), np.arange(4))
    assert math.isnan(few["1/3"][1])


# Reciprocity

NAMES = ("none", "partner", "rival", "partner, rival", "defector")
PD = np.array([[8.0, 0.0], [10.0, 5.0]])


def by_conditions(p, first, payoffs):
    """Return the class by the conditions of Akin 2016, and Hilbe et al. 2015 for rivals."""
    (R, S), (T_, P) = payoffs
    partner = p[0] == 1 and first == 1 and p[1] < 1
    partner &= p[2] * (T_ - R) / (R - S) <= 1 - p[1] + 1e-9
    partner &= p[3] * (T_ - R) / (R - P) <= 1 - p[1] + 1e-9
    rival = p[3] == 0 and p[1] < 1 and p[1] + p[2] <= 1 + 1e-9
    if first == p[2] == p[3] == 0:
        return "defector"
    return NAMES[partner + 2 * rival]


def test_classes_are_those_of_published_conditions():
    grid = [0.0, 0.25, 0.5, 0.75, 1.0]
    rows = np.array(list(product([0.6, 1.0], grid, grid, grid)))
    found = named(rows, np.ones(len(rows)), PD)
    assert found.tolist() == [by_conditions(row, 1, PD) for row in rows]
    assert set(found) == set(NAMES) - {"defector"}


def test_classes_are_those_of_the_general_solver():
    """The most that can be had against a strategy, by policy iteration from each outcome."""
    rng = np.random.default_rng(4)
    moved = np.arange(4).reshape(2, 2).T  # the next outcome, by the other's move and the own one
    found = set()
    for row in rng.choice([0.0, 0.1, 0.3, 0.6, 1.0], (60, 4), p=[0.3, 0.1, 0.1, 0.2, 0.3]):
        table = np.stack([row, 1 - row], axis=1)
        chain = np.zeros((4, 2, 4))
        for s, theirs, own in product(range(4), range(2), range(2)):
            chain[s, theirs, moved[theirs, own]] += table[s, own]
        best = max(stationary_reward(rewards_of(table, PD), chain, s) for s in range(4))
        lead = max(stationary_reward(rewards_of(table, PD - PD.T), chain, s) for s in range(4))
        partner = best <= 8 + 1e-9 and row[0] == 1
        name = NAMES[partner + 2 * (lead <= 1e-9)]
        assert str(named(row[None], np.ones(1), PD)[0]) == name
        found.add(name)
    assert len(found) >= 3


def rewards_of(table, payoffs):
    """Return what the other earns by outcome and move: its move first in `payoffs`."""
    return table @ payoffs.T


@pytest.mark.parametrize(
    ("vector", "first", "name"),
    [
        # generous: below the smaller one of 1 - (T - R) / (R - S) and (R - P) / (T - P), 0.6
        ([1, 0.59, 1, 0.59], 1, "partner"),
        ([1, 0.61, 1, 0.61], 1, "none"),
        ([1, 0, 0, 1], 1, "partner"),  # win-stay, lose-shift: R > (T + P) / 2
        ([1, 0, 1, 0], 1, "partner, rival"),
        ([1, 0, 1, 0], 0, "rival"),  # suspicious: with itself it defects
        ([0.9, 0.2, 0.6, 0], 1, "rival"),
        ([0, 0, 0, 0], 0, "defector"),
        ([1, 1, 1, 1], 1, "none"),
    ],
)
def test_classes_of_known_strategies(vector, first, name):
    assert named(np.array([vector], float), np.array([first], float), PD).tolist() == [name]


def test_win_stay_lose_shift_is_no_partner_where_temptation_is_large():
    row = np.array([[1.0, 0, 0, 1]])
    assert named(row, np.ones(1), np.array([[3.0, 0], [6, 1]])).tolist() == ["none"]


def test_an_extortioner_is_a_rival():
    """Press and Dyson 2012, extortion factor 3 with payoffs 5, 3, 1, 0."""
    row = np.array([[11 / 13, 1 / 2, 7 / 26, 0]])
    assert named(row, np.ones(1), np.array([[3.0, 0], [5, 1]])).tolist() == ["rival"]


def memory_one(vector, first, episodes=12, steps=60, seed=0):
    """Return episodes of a memory-one player in IPD against a coin."""
    rng = np.random.default_rng(seed)
    theirs = rng.integers(0, 2, (episodes, steps))
    own = np.zeros_like(theirs)
    for e, t in product(range(episodes), range(steps)):
        p = first if t == 0 else vector[2 * own[e, t - 1] + theirs[e, t - 1]]
        own[e, t] = rng.random() >= p
    return episodes_of(IPD, own, theirs, partners=[get_partner("uniform_random", IPD)])


def class_of(played):
    own, before = moves(played, (0, 0))
    return classify(PD, own, before, steps(played))


@pytest.mark.parametrize(
    ("vector", "first", "name"),
    [
        ([1, 0.3, 1, 0.3], 1, "partner"),
        ([1, 0, 1, 0], 1, "partner, rival"),
        ([1, 0, 0, 1], 1, "partner"),
        ([0.6, 0.1, 0.4, 0], 1, "rival"),
        ([0, 0, 0, 0], 0, "defector"),
        ([0.5, 0.5, 0.5, 0.5], 0.5, "none"),
    ],
)
def test_classes_are_recovered_from_moves(vector, first, name):
    played = memory_one(vector, first)
    assert class_of(played) == (name, "")
    own, before = moves(played, (0, 0))
    for kind, share in enumerate(vector):
        seen = own[before == kind]
        assert not len(seen) or seen.mean() == pytest.approx(share, abs=0.12)


def test_a_class_that_moves_do_not_show_is_not_told():
    mutual = episodes_of(IPD, np.zeros((6, T), int), np.zeros((6, T), int))
    assert class_of(mutual) == ("", "it depends on moves after outcomes that never came")
    assert class_of(memory_one([1, 0.6, 1, 0.6], 1, 6)) == (
        *("", "resamples of the episodes do not agree"),
    )
    assert "fewer than 5" in class_of(memory_one([1, 0, 1, 0], 1, 4))[1]


def test_cooperation_is_found_whatever_actions_are_called_and_scaled():
    games = {"IPD": (0, 0), "stag_hunt": (0, 0), "chicken": (0, 0), "harmony": (0, 0)}
    games |= {"deadlock": (1, 1), "matching_pennies": None, "IBS": None, "RPS": None}
    assert {name: cooperation(get_game(name)) for name in games} == games
    turned = make_game(IPD.own[::-1] * 3 - 5, IPD.partner[::-1] / 7 + 2)
    assert cooperation(turned) == (1, 0)
    assert cooperation(make_game([[8, 0], [10, 5]], [[8, 10], [0, 6]])) is None


# Policies


@pytest.mark.parametrize("game", [IPD, RPS], ids=lambda game: game.name)
def test_every_named_policy_is_found_in_its_own_moves(game):
    rng = np.random.default_rng(7)
    for policy in named_policies(game):
        theirs = rng.integers(0, game.m, (8, 60))
        # The policy sits in the partner's seat of the mirrored game: what it sees is `theirs`.
        own = np.array([play_against(policy, row, rng) for row in theirs])
        found = policies(episodes_of(game, own, theirs))
        best = [name for name, likely, _ in found if likely == found[0][1]]
        assert policy.name in best, (policy.name, best)
        if policy.is_deterministic:
            assert found[0][2].mean() == 1.0
    assert {"always(1)", "tit_for_tat"} <= {one.name for one in named_policies(game)}
    assert named_policies(game)[0].m == mirrored(game).m


def test_a_known_policy_comes_before_its_twin_that_was_searched():
    played = memory_one([1, 0, 0, 1], 1)
    (first, likely, _), (second, same, _) = policies(played)[:2]
    assert (first, second, likely) == ("win_stay_lose_shift", "ipd_pair_1", same)


# What is unsaid


def test_the_extra_payoff_by_hand():
    """Paper, Rock, Paper against Rock, Paper, Rock; Rock was always predicted. In payoff units.

    Step 1: Paper beats Rock and Rock beats nothing of the two: later actions earn (0 + 1) / 2,
    so 1/2 beyond them; against the uniform move nothing. Step 2: Rock loses to Paper and Paper
    would draw, so -1; in the mean of Rock (step 1) and a uniform move it is (-1 + 0) / 2: -1/2.
    """
    partner = get_partner("alternator", RPS)
    played = episodes_of(RPS, [[1, 0, 1]], [[0, 1, 0]], [[0, 0, 0]], partners=[partner])
    points, p = unsaid(played, np.array([0]))
    assert points == pytest.approx([100 * (0.5 - 0.5) / 3])
    assert math.isnan(p)
    other = episodes_of(RPS, [[1, 1, 0]], [[0, 1, 0]], [[0, 0, 0]], partners=[partner])
    # Step 1: 1 - (1 + 0) / 2; step 2: Paper draws, Rock would lose: 1, over (1 + 0) / 2.
    assert unsaid(other, np.array([0]))[0] == pytest.approx([100 * (0.5 + 0.5) / 3])


def test_replies_to_the_truth_are_found_behind_random_predictions():
    played = simulated(RPS, 8, 4, "cycler", true=3.0)
    points, p = unsaid(played, np.arange(8))
    assert p < 0.01
    assert points.mean() > 20
    stake = replace(played, game=make_game(5 * RPS.own + 3))
    assert unsaid(stake, np.arange(8))[0] == pytest.approx(points)
    assert unsaid(stake, np.arange(8))[1] == p


def test_who_acts_on_its_statement_is_seldom_found():
    """Also against a partner that answers the last action, where shuffled moves find 11 %."""
    found = [
        unsaid(simulated(RPS, 14, seed, "noisy_tit_for_tat", said=3.0), np.arange(14))
        for seed in range(60)
    ]
    assert sum(p <= 0.05 for _, p in found) <= 7  # 0.3 % of the time there are more of 5 %
    effects = np.array([points.mean() for points, _ in found])
    assert abs(effects.mean()) < 3 * effects.std() / math.sqrt(60)


def test_nothing_unsaid_can_be_seen_without_other_moves():
    sure = simulated(RPS, 6, 1, "cycler", said=3.0, right=1.0)
    assert "the partner's moves are too" in unsaid(sure, np.arange(6))
    assert unsaid(replace(sure, predicted=None), np.arange(6)) == "nothing was predicted"
    assert "not known" in unsaid(replace(sure, partners=()), np.arange(6))
    coin = simulated(RPS, 6, 1, "uniform_random", said=3.0)
    assert unsaid(coin, np.arange(6)) == "nothing is at stake"


# The table


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    experiment = {
        "games": ["RPS", "IPD"],
        "partners": ["tit_for_tat"],
        "subjects": ["rmax", {"kind": "simulated", "p": 0.9, "q": 1.0}],
        "horizon": 12,
        "episodes": 8,
        "seed": 2,
    }
    folder = tmp_path_factory.mktemp("character") / "run"
    with tomeval.run(experiment, folder) as made:
        yield made


def test_the_table_has_a_row_per_cell_and_a_reason_for_every_gap(run):
    rows = TABLES["character"].rows(run, [])
    assert [(row["subject"], row["game"]) for row in rows] == [
        (cell.player, cell.columns["game"]) for cell in run.cells
    ]
    assert rows[1]["lambda_said"] == math.inf
    assert rows[3]["class"] == "defector"
    assert math.isnan(rows[0]["cooperates_percent"])
    assert (rows[0]["class"], rows[2]["level"]) == ("", "")
    notes = TABLES["character"].notes(run)
    assert "no level in 2 of 4 rows (IPD): all levels from 1 on play alike" in notes
    uniform = [row for row in rows if "uniform_random" in (row["policy"], row["runner_up"])]
    assert uniform
    for row in uniform:  # it gives all moves the same chance: nothing varies between episodes
        column = "policy" if row["policy"] == "uniform_random" else "runner_up"
        assert row[f"{column}_percent"] == pytest.approx(100 / (3 if row["game"] == "RPS" else 2))
        assert math.isnan(row[f"{column}_percent_ci95_low"])
    assert "no class in 2 of 4 rows (RPS): no action of the game is cooperation" in notes


def test_readers_see_few_columns_unless_they_ask_for_all(run, capsys, monkeypatch):
    from tomeval import cli

    def shown(*options):
        monkeypatch.setattr(
            "sys.argv", ["tomeval", "table", str(run.folder), "--what", "character", *options]
        )
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert not stop.value.code
        return capsys.readouterr()

    brief, whole = shown(), shown("--all")
    assert "more columns: --all" in brief.err
    assert "lambda said" in brief.out
    assert "> " in brief.out
    assert "runner up" not in brief.out
    assert "runner up" in whole.out
    rows = list(csv.DictReader(io.StringIO(shown("--format", "csv").out)))
    assert rows[1]["lambda_said"] == ""  # infinite
    assert float(rows[1]["lambda_said_ci95_low"]) > 0


@pytest.mark.parametrize("probs", [[0.9, 0.9], [1 / 3] * 6])
def test_damaged_probabilities_are_told(run, tmp_path, probs):
    folder = tmp_path / "run"
    shutil.copytree(run.folder, folder)

    def damaged_line(line):
        for step in range(1, line["steps"] + 1):  # all alike, so that only the shape is wrong
            line = with_step(line, step, own_probs=probs)
        return line

    edit(folder, damaged_line)
    with (
        Run(folder) as damaged,
        pytest.raises(TomevalError, match="own_probs"),
    ):
        TABLES["character"].rows(damaged, [])
