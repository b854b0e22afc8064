"""Planted beliefs in matrix games: known subjects, exact thresholds, what is told and kept."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from asking import query
from support import ALL_GAMES, episodes_of, make_game, scripts, setup_of

import tomeval
from tomeval.extensions.planted import (
    Statements,
    accuracy_rows,
    compliance,
    contrast,
    rational_regret,
    regrets,
    slope_ceiling,
    trust_threshold,
    use_slopes,
)
from tomeval.games.matrix.games import MatrixGame, get_game
from tomeval.games.matrix.play import Setup, play_episode
from tomeval.games.matrix.responses import best_responses, rational_responses
from tomeval.games.matrix.subject_specs import nothing_drawn
from tomeval.statistics import estimate
from tomeval.strategies.beliefs import propensity

RPS = get_game("RPS")
T = 6


def setup(game=RPS, kind="believer", partners="uniform_random", **options) -> Setup:
    return setup_of(kind, options, game, partners, T)


def slope_by_definition(game: MatrixGame, policy: np.ndarray) -> float:
    """P(best response to s | s stated) less its mean over what else is stated; policy [s, a]."""
    best = best_responses(game)
    hit = np.array([[policy[said] @ best[:, s] for said in range(game.m)] for s in range(game.m)])
    other = (hit.sum(axis=1) - np.diag(hit)) / (game.m - 1)
    return float((np.diag(hit) - other).mean())


# The use slope


@pytest.mark.parametrize("game", ALL_GAMES, ids=lambda game: game.name)
def test_each_step_estimates_the_use_slope_whatever_the_subject_knows(game) -> None:
    """Enumerates statements and actions of any policy, also one that knows the partner's action."""
    if slope_ceiling(game) == 0:
        told = Statements(0.4, np.zeros(1, dtype=np.int64))
        assert np.isnan(use_slopes(episodes_of(game, [0], [0]), told)).all()
        return
    rng = np.random.default_rng(3)
    for accuracy, truth in itertools.product((0.1, 1 / game.m, 0.8), range(game.m)):
        policy = rng.dirichlet(np.ones(game.n), size=game.m)  # given this truth
        found = 0.0
        for said, own in itertools.product(range(game.m), range(game.n)):
            chance = accuracy if said == truth else (1 - accuracy) / (game.m - 1)
            told = Statements(accuracy, np.array([said]))
            [weight] = use_slopes(episodes_of(game, [own], [truth]), told)
            found += chance * policy[said, own] * weight
        assert found == pytest.approx(slope_by_definition(game, policy), abs=1e-12)


@pytest.mark.parametrize("game", ALL_GAMES, ids=lambda game: game.name)
def test_the_ceiling_is_the_largest_slope_of_any_policy(game) -> None:
    every = itertools.product(range(game.n), repeat=game.m)
    slopes = [slope_by_definition(game, np.eye(game.n)[list(actions)]) for actions in every]
    assert slope_ceiling(game) == pytest.approx(max(slopes), abs=1e-12)


def test_hand_values() -> None:
    assert slope_ceiling(RPS) == slope_ceiling(get_game("IBS")) == 1
    assert slope_ceiling(get_game("IPD")) == 0
    assert trust_threshold(RPS) == pytest.approx(1 / 3)
    assert trust_threshold(get_game("IBS")) == pytest.approx(10 / 17)  # 10 p = 7 (1 - p), swapped
    assert trust_threshold(get_game("matching_pennies")) == pytest.approx(1 / 2)
    assert math.isnan(trust_threshold(get_game("IPD")))
    # Told Rock truly, then Rock wrongly (it was Paper): Paper both times. At 50 % of three actions
    # the weights are 1 / (3 * 0.5) and 1 / (3 * 0.25).
    told = Statements(0.5, np.array([0, 0]))
    slopes = use_slopes(episodes_of(RPS, [1, 1], [0, 1]), told)
    assert slopes.tolist() == pytest.approx([2 / 3, 4 / 3])
    for accuracy in (0.0, 1.0):  # some statements cannot occur
        told = Statements(accuracy, np.array([0, 0]))
        assert np.isnan(use_slopes(episodes_of(RPS, [1, 1], [0, 0]), told)).all()


# Rational believers and the threshold


@pytest.mark.parametrize("game", ALL_GAMES, ids=lambda game: game.name)
def test_a_rational_believer_maximises_under_bayes_rule(game) -> None:
    for accuracy in (0.0, 0.3, 0.77, 1.0):
        found = rational_responses(game, accuracy)
        for said in range(game.m):
            likelihood = propensity(said, np.arange(game.m), game.m, accuracy)
            posterior = likelihood / game.m / (likelihood / game.m).sum()
            worth = game.own @ posterior
            assert found[:, said].tolist() == (worth > worth.max() - 1e-9).tolist()
        regret = rational_regret(game, accuracy)
        for said, truth in itertools.product(range(game.m), repeat=2):
            losses = game.own[:, truth].max() - game.own[found[:, said], truth]
            assert regret[said, truth] == pytest.approx(losses.mean())


@pytest.mark.parametrize("game", ALL_GAMES, ids=lambda game: game.name)
def test_from_the_threshold_on_following_pays_and_below_it_does_not(game) -> None:
    """Earnings of every way to follow, by enumeration of statements and truths."""
    pays = trust_threshold(game)
    best = best_responses(game)
    ways = itertools.product(*(np.flatnonzero(best[:, said]).tolist() for said in range(game.m)))
    ignoring = max(game.own.mean(axis=1))
    found = [list(way) for way in ways]

    def following(accuracy: float) -> float:
        return max(
            sum(
                propensity(said, truth, game.m, accuracy) * game.own[way[said], truth] / game.m
                for said, truth in itertools.product(range(game.m), repeat=2)
            )
            for way in found
        )

    if math.isnan(pays):
        assert following(1.0) == pytest.approx(ignoring)
        return
    assert 1 / game.m - 1e-9 <= pays < 1
    assert following(pays) == pytest.approx(ignoring)
    assert following(min(1.0, pays + 0.05)) > ignoring
    assert following(pays - 0.05) < ignoring


# Compliance


def test_compliance_counts_only_steps_that_could_show_it() -> None:
    # Action 0 is best against 0 and 1, action 1 against 1 and 2.
    game = make_game([[2, 2, 0], [0, 2, 2]])
    stated, truth = [0, 1, 0, 2, 0, 1], [0, 1, 2, 0, 1, 2]
    own = [0, 1, 0, 0, 0, 0]
    told = Statements(0.5, np.array(stated))
    hits, among = compliance(episodes_of(game, own, truth), told, right=True)
    assert among.tolist() == [1, 1, 0, 0, 0, 0]
    assert hits.tolist() == [1, 1, 0, 0, 0, 0]
    # Told 0 while 1: its best response is best all the same. Told 1 while 2: action 0 misleads.
    hits, among = compliance(episodes_of(game, own, truth), told, right=False)
    assert among.tolist() == [0, 0, 1, 1, 0, 1]
    assert hits.tolist() == [0, 0, 1, 0, 0, 1]


def test_regret_beside_that_of_a_rational_believer_by_hand() -> None:
    # At 50 % it follows: told Rock it plays Paper. Truth Rock: 0 lost; Scissors: 2; Paper: 1.
    told = Statements(0.5, np.array([0, 0, 0]))
    own, rational = regrets(episodes_of(RPS, [0, 0, 0], [0, 2, 1]), told)
    assert rational.tolist() == [0, 2, 1]
    assert own.tolist() == [1, 0, 2]


# Subjects of known use


def slopes_of(cell: Setup, first: int, count: int) -> list[float]:
    found = []
    for episode in range(first, first + count):
        steps = play_episode(cell, episode)
        said = [one["belief"]["action"] for one in steps.column("act_details")]
        told = Statements(cell.options["accuracy"], np.array(said))
        one = episodes_of(cell.game, steps.column("own_action"), steps.column("partner_action"))
        found.append(float(use_slopes(one, told).mean()))
    return found


def expected_slope(game: MatrixGame, responses: np.ndarray, use: float) -> float:
    """Return the use slope of one who answers statements by `responses` with probability `use`.

    Tied ones equally likely; else it acts by what the statement does not change, which adds 0.
    """
    policy = responses / responses.sum(axis=0)
    return use * float((policy * contrast(game)).sum(axis=0).mean())


@pytest.mark.parametrize(
    ("game", "partners", "options"),
    [
        ("RPS", "uniform_random", {"accuracy": 0.4, "use": 0.3}),
        # It also knows the partner by itself: what it does without the statement must not count.
        ("stag_hunt", "tit_for_tat", {"accuracy": 0.7, "use": 0.6, "p": 0.9, "q": 1.0}),
    ],
)
def test_a_known_use_is_recovered_at_nominal_coverage(game, partners, options) -> None:
    cell = setup(get_game(game), partners=partners, **options)
    truth = expected_slope(cell.game, best_responses(cell.game), options["use"])
    slopes = np.array(slopes_of(cell, 0, 800)).reshape(80, 10)
    held = 0
    for sample in slopes:
        found = estimate(sample)
        held += bool(found.low[0] <= truth <= found.high[0])
    assert 70 <= held <= 80  # 76 expected; fewer than 70 of 80 at 95 % has probability 0.006
    error = float(slopes.std() / math.sqrt(slopes.size))
    assert abs(slopes.mean() - truth) < 4 * error


def test_statements_are_the_same_for_all_subjects_and_nested_in_the_accuracy() -> None:
    def said(**options):
        steps = play_episode(setup(**options), 5)
        return [one["belief"] for one in steps.column("act_details")], steps

    low, steps = said(accuracy=0.25, use=1.0)
    other, _ = said(accuracy=0.25, use=0.0, p=0.3)
    high, _ = said(accuracy=0.75, use=0.5)
    assert low == other
    for one, more in zip(low, high, strict=True):
        assert not one["right"] or more["right"]
        assert more["right"] or one["action"] == more["action"]
    truth = steps.column("partner_action")
    assert [one["action"] == b for one, b in zip(low, truth, strict=True)] == [
        one["right"] for one in low
    ]
    assert all(steps.column("told"))


# Language models


def test_what_a_model_reads_and_what_is_kept(tmp_path) -> None:
    seen = []

    def follow(request):
        text = request.prompt.messages[-1].content
        if "A stranger tells you" in text:
            seen.append(text)
        elif "does the other player" not in text and "will the other player" not in text:
            seen.append("literal with nothing told")
        return "Final answer: J"

    data = {
        "games": ["IBS"],
        "partners": ["uniform_random"],
        "labels": ["neutral"],
        "horizon": 4,
        "episodes": 3,
        "model": "scripted:follow",
        "subjects": [{"strategy": [f"Belief {p}% (stranger, rated)" for p in (0, 50, 100)]}],
    }
    with scripts(follow=follow), tomeval.run(data, tmp_path / "run") as run:
        rows = accuracy_rows(run)
        records = query(
            run,
            "SELECT cell, json_extract(act_details, '$.belief.action'), partner_action, told, "
            "json_extract(act_details, '$.belief.as') FROM steps",
        )
        strategies = [cell.columns["strategy"] for cell in run.cells]
    assert strategies == [f"Belief {share}% (stranger, rated)" for share in (0, 50, 100)]
    acts = [text for text in seen if "tells you" in text]
    assert len(acts) == 3 * 3 * 4
    assert sum("right in 50% of all rounds" in text for text in acts) == 12
    assert all(told == 1 and wording == "stranger" for *_, told, wording in records)
    assert all(said != truth for cell, said, truth, *_ in records if cell == 0)
    assert all(said == truth for cell, said, truth, *_ in records if cell == 2)
    assert [row["accuracy_percent"] for row in rows] == [0, 50, 100]
    assert {row["subject"] for row in rows} == {"Belief (stranger, rated)"}
    assert {row["rated"] for row in rows} == {"yes"}
    # Always the first label: the rate of compliance is that of statements of it.
    wrong = [said for cell, said, *_ in records if cell == 0]
    assert rows[0]["compliance_wrong_percent"] == pytest.approx(100 * wrong.count(0) / len(wrong))
    assert math.isnan(rows[0]["use_slope"])
    assert math.isnan(rows[2]["use_slope"])


def test_episodes_with_beliefs_are_no_copies() -> None:
    options = {"model": "pocket", "strategy": "LM", "decide": "argmax"}
    cell = setup(kind="llm", partners="single_action", **options)
    assert nothing_drawn(cell)
    belief = {**options, "strategy": "Belief 50% (own) + LM"}
    assert not nothing_drawn(replace(cell, options=belief))
