"""Games that go on after every step with a probability: values, lengths, measures, prompts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support import make_game, shipped

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.batch import simulate
from tomeval.games.matrix.bounds import bounds
from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.measures import MEASURES, episode_metrics
from tomeval.games.matrix.optima import best_response, reference_rewards, relevance, worst_response
from tomeval.games.matrix.partner_specs import get_partner, get_partner_set
from tomeval.games.matrix.planned import planned_regret
from tomeval.games.matrix.play import Setup, play_episode
from tomeval.games.matrix.played import Played
from tomeval.games.matrix.scores import chance_regret, scores
from tomeval.games.matrix.subjects.simulated import expected
from tomeval.runs.experiment import make_experiment

IPD, RPS = get_game("IPD"), get_game("RPS")
CHANCES = (0.05, 0.6, 0.95)


def steps_for(c, scale=10.0):
    """How many steps leave less than 1e-11 of payoffs of this size."""
    return math.ceil(math.log(1e-11 * (1 - c) / scale) / math.log(c))


def brute_value(game, partner, c, choose):
    """Sum rewards step by step, each weighted by the chance that it is played.

    `choose` makes one value of the values of all own actions: `max`, `min` or their mean.
    """
    ahead = [0.0] * len(partner.emissions)
    for _ in range(steps_for(c)):
        ahead = [
            choose(
                [
                    sum(
                        chance * (game.own[a, b] + c * ahead[partner.next_state[s, a, b]])
                        for b, chance in enumerate(row)
                        if chance
                    )
                    for a in range(game.n)
                ]
            )
            for s, row in enumerate(partner.emissions.tolist())
        ]
    return ahead[partner.start]


def mean(values):
    return sum(values) / len(values)


SMALL = [one for one in shipped(IPD) if len(one.emissions) <= 12]


@pytest.mark.parametrize("c", CHANCES)
@pytest.mark.parametrize("partner", SMALL, ids=lambda one: one.name)
def test_values_equal_sums_over_steps(partner, c):
    best = best_response(IPD, partner, 3, c)
    assert best.value == pytest.approx(brute_value(IPD, partner, c, max), abs=1e-9)
    worst = brute_value(IPD, partner, c, min)
    assert worst_response(IPD, partner, 3, c).value == pytest.approx(worst, abs=1e-9)
    # What random play loses, over all lengths that can be drawn: V* - V of random play.
    lengths = np.arange(1, min(steps_for(c), 700))
    chances = (1 - c) * c ** (lengths - 1.0)
    loses = [chance_regret(IPD, partner, int(length), c) for length in lengths]
    random = brute_value(IPD, partner, c, mean)
    assert chances @ loses == pytest.approx(best.value - random, abs=1e-9)


def of_lengths(game, partner, act, c):
    """Return one episode of every length against a deterministic partner, and their chances.

    `act` gives the own action, given the partner's last one (None at first).
    """
    lengths = np.arange(1, min(steps_for(c), 400))
    own, theirs, state, last = [], [], partner.start, None
    for _ in range(lengths[-1]):
        b = int(partner.emissions[state].argmax())
        a = act(last)
        own, theirs, last = [*own, a], [*theirs, b], b
        state = int(partner.next_state[state, a, b])
    cut = [np.concatenate([np.array(x[:n]) for n in lengths]) for x in (own, theirs)]
    chances = (1 - c) * c ** (lengths - 1.0)
    which = np.zeros(len(lengths), dtype=int)
    rewards = game.own[cut[0], cut[1]]
    played = Played(game, [partner], which, lengths, *cut, cut[1], rewards, continuation=c)
    return played, chances


POLICIES = {
    "tit_for_tat": lambda last: 0 if last is None else last,
    "always defect": lambda last: 1,
    "always cooperate": lambda last: 0,
}


@pytest.mark.parametrize("name", ["tit_for_tat", "grim_trigger", "win_stay_lose_shift"])
@pytest.mark.parametrize("policy", POLICIES)
def test_expected_regret_is_that_of_the_whole_game(name, policy):
    """Enumerates every length that can be drawn: sums of regret are unbiased."""
    c, partner = 0.9, get_partner(name, IPD)
    played, chances = of_lengths(IPD, partner, POLICIES[policy], c)
    regret = MEASURES["delta_functional_per_step"].of(played, "horizon")
    longest = slice(-int(played.lengths[-1]), None)
    earned = played.own_reward[longest] @ c ** np.arange(played.lengths[-1])
    truth = best_response(IPD, partner, 1, c).value - earned
    assert chances @ regret.top == pytest.approx(truth, abs=1e-9)
    assert chances @ regret.bottom == pytest.approx(1 / (1 - c), abs=1e-9)
    plays = scores(played).plays
    assert chances @ (plays.bottom - plays.top) == pytest.approx(truth, abs=1e-9)
    # The same by what every step loses against the best action from where it is.
    plan, lost = best_response(IPD, partner, 1, c), 0.0
    states, own = played.states[longest], played.own[longest]
    for t, (s, a) in enumerate(zip(states, own, strict=True)):
        ahead = plan.relative[0][partner.next_state[s]] @ partner.emissions[s]
        q = IPD.own @ partner.emissions[s] + ahead
        lost += c**t * (q.max() - q[a])
    assert lost == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("name", ["tit_for_tat", "grim_trigger"])
def test_cooperating_is_best_from_a_threshold_on(name):
    """T = 10, R = 8, P = 5, S = 0: to defect for good pays below (T - R) / (T - P) = 2/5.

    To defect once against tit for tat pays below (T - R) / (R - S) = 1/4.
    """
    partner = get_partner(name, IPD)

    def first(c):
        return best_response(IPD, partner, 1, c).optimal[0, partner.start].tolist()

    assert first(0.3999) == [False, True]
    assert first(0.4) == [True, True]
    assert first(0.4001) == [True, False]
    assert best_response(IPD, partner, 1, 0.3).value == pytest.approx(10 + 0.3 * 5 / 0.7)
    assert best_response(IPD, partner, 1, 0.9).value == pytest.approx(8 / 0.1)
    once = make_game([[8, 0], [10, 1]])  # now (T - R) / (R - S) = 1/4 > (T - R) / (T - P) = 2/9
    tft = get_partner("tit_for_tat", once)
    assert best_response(once, tft, 1, 0.24).optimal[0, tft.start].tolist() == [False, True]
    assert best_response(once, tft, 1, 0.26).optimal[0, tft.start].tolist() == [True, False]


@pytest.mark.parametrize("spec", ["tit_for_tat", "mixture(0.3, 0.7)", "generous_tit_for_tat"])
def test_shifted_and_scaled_payoffs(spec):
    partner, c = get_partner(spec, IPD), 0.9
    value = best_response(IPD, partner, 4, c)
    for k, scale in ((1000.0, 1.0), (0.0, 1e-6), (-3.0, 50.0)):
        payoffs = IPD.payoffs.copy()
        payoffs[..., 0] = payoffs[..., 0] * scale + k
        game = replace(IPD, payoffs=payoffs)
        moved = best_response(game, partner, 4, c)
        assert moved.value == pytest.approx(value.value * scale + k / (1 - c), rel=1e-12)
        assert (moved.optimal == value.optimal).all()
        assert chance_regret(game, partner, 7, c) == pytest.approx(
            scale * chance_regret(IPD, partner, 7, c), rel=1e-9
        )
        mine, own = (read(setup_of("random", one, spec, c), 0, 30) for one in (game, IPD))
        regret = MEASURES["delta_functional_per_step"].of
        assert regret(mine, "horizon").parts == pytest.approx(
            scale * regret(own, "horizon").parts, rel=1e-6, abs=1e-9
        )


def setup_of(kind, game, partners, c, seed=1, **options):
    found = get_partner_set(partners, game)
    return Setup(
        *(kind, options),
        game=game,
        labels=game.label_set(),
        partners=found,
        horizon=None,
        continuation=c,
        seed=seed,
    )


def read(setup, first, count):
    records = simulate(setup, first, count)

    def column(name):
        return np.concatenate([np.array(one.column(name)) for one in records])

    return Played(
        setup.game,
        setup.tables.partners,
        np.array([one.own["partner"] for one in records]),
        np.array([one.steps for one in records]),
        *(column("own_action"), column("partner_action"), column("predicted_action")),
        column("own_reward"),
        continuation=setup.continuation,
    )


def test_lengths_are_drawn_apart_from_players():
    c = 0.8
    setup = setup_of("random", IPD, "tit_for_tat", c)
    lengths = setup.lengths(0, 40_000)
    for n in (0, 1, 5, 15):  # P(longer than n) = c^n
        share, truth = (lengths > n).mean(), c**n
        assert abs(share - truth) <= 4 * math.sqrt(truth * (1 - truth) / len(lengths)) + 1e-12
    others = (
        setup_of("best_response", IPD, "tit_for_tat", c),
        setup_of("simulated", IPD, "tit_for_tat", c, p=0.3),
        replace(setup, labels=IPD.label_set("neutral")),
    )
    for other in others:
        assert (other.lengths(0, 50) == lengths[:50]).all()
    assert (setup.lengths(17, 9) == lengths[17:26]).all()
    assert (setup_of("random", IPD, "tit_for_tat", c, seed=2).lengths(0, 50) != lengths[:50]).any()
    assert (setup_of("random", RPS, "tit_for_tat", c).lengths(0, 50) != lengths[:50]).any()


@pytest.mark.parametrize("kind", ["random", "best_response", "rmax", "simulated"])
@pytest.mark.parametrize("partners", ["single_action", "mixture(0.3, 0.7)", "tit_for_tat"])
def test_batches_equal_single_episodes(kind, partners):
    setup = setup_of(kind, IPD, partners, 0.9)
    together = simulate(setup, 2, 12)
    apart = simulate(setup, 2, 5) + simulate(setup, 7, 7)
    for one, other, episode in zip(together, apart, range(2, 14), strict=True):
        alone = play_episode(setup, episode)
        assert one.line(0) == other.line(0)
        assert (one.steps, one.own) == (alone.steps, alone.own)
        assert one.own["length"] == one.steps
        for name in ("partner_state", "own_action", "partner_action", "predicted_action"):
            assert one.column(name) == alone.column(name)


@pytest.mark.parametrize(("game", "partners"), [(IPD, "tit_for_tat"), (RPS, "single_action")])
def test_played_regret_agrees_with_its_expectation(game, partners):
    c, q = 0.9, 0.4
    played = read(setup_of("simulated", game, partners, c, p=0.8, q=q), 0, 4000)
    truth = expected(game, get_partner_set(partners, game), p=0.8, q=q, continuation=c)
    for name, value in truth.items():
        totals = MEASURES[name].of(played, "horizon")
        error = totals.parts.std() / math.sqrt(played.episodes)
        assert abs(totals.parts.mean() - value) <= 4 * error + 1e-9, name
    # The mean of episodes' own means is something else: short episodes count too much.
    plain = episode_metrics(played)["delta_functional_per_step"].mean()
    if game is IPD:
        assert abs(plain - truth["delta_functional_per_step"]) > 0.05


def test_scores_of_known_players():
    for game, partners in ((IPD, "tit_for_tat"), (RPS, "single_action"), (RPS, "tit_for_tat")):
        best = scores(read(setup_of("best_response", game, partners, 0.9), 0, 40))
        assert [best.knows.score, best.plans.score, best.plays.score] == pytest.approx([1, 1, 1])
        random = scores(read(setup_of("random", game, partners, 0.9), 0, 2000))
        for terms in (random.knows, random.plans, random.plays):
            assert terms.score == pytest.approx(0, abs=0.06)


def test_planned_regret_is_that_of_the_whole_game():
    """Who thinks that tit for tat forgives would defect: 8 - (0.1 * 10 + 0.9 * 5) a step."""
    stated = np.array([[0, 0]] * 6)

    def played(lengths, reactions):
        zeros, n = np.zeros(sum(lengths), dtype=int), len(lengths)
        rewards = np.full(len(zeros), 8.0)
        of = (np.zeros(n, dtype=int), np.array(lengths), zeros, zeros, zeros, rewards)
        return Played(IPD, [get_partner("tit_for_tat", IPD)], *of, reactions, continuation=0.9)

    assert planned_regret(played([1, 5], stated)) == pytest.approx([2.5, 2.5], abs=1e-9)
    right = np.array([[0, 1]] * 6)
    assert planned_regret(played([1, 5], right)) == pytest.approx([0, 0], abs=1e-9)
    assert np.isnan(planned_regret(played([1, 5], None))).all()


def test_bounds_and_relevance_are_per_expected_step():
    [row] = bounds("IPD", "tit_for_tat", continuation=0.9)
    # Best: always cooperate. Worst: 0 for cooperating after defecting, 10 for the reverse.
    assert row["best"] == pytest.approx(8)
    worst = 0.1 * brute_value(IPD, get_partner("tit_for_tat", IPD), 0.9, min)
    assert row["worst"] == pytest.approx(worst, abs=1e-9)
    assert row["regret_max"] == pytest.approx(row["best"] - row["worst"])
    assert relevance(RPS, get_partner_set("single_action", RPS), 1, 0.9) == pytest.approx(1)
    with pytest.raises(TomevalError, match="must be above 0 and at most"):
        bounds("IPD", "tit_for_tat", continuation=1)


def test_rewards_of_longer_plans_begin_with_those_of_shorter_ones():
    partner = get_partner("generous_tit_for_tat", IPD)
    long = reference_rewards(IPD, partner, 100, "horizon", 0.9)
    assert (reference_rewards(IPD, partner, 7, "horizon", 0.9) == long[:7]).all()


def experiment(**more):
    data = {"games": ["IPD"], "partners": ["tit_for_tat"], "subjects": ["random"], **more}
    return make_experiment(data, where="made.toml")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"continuation": 0.9, "horizon": 10}, "horizon and continuation are both given"),
        ({"continuation": 1}, "above 0 and at most 0.999"),
        ({"continuation": 0.9995}, "1,000 steps are expected"),
        ({"continuation": 0}, "above 0"),
        ({"continuation": [0.9, -1]}, "is -1"),
        ({"continuation": "often"}, "continuation"),
    ],
)
def test_bad_continuations(given, said):
    with pytest.raises(TomevalError, match=said) as caught:
        experiment(**given)
    assert "made.toml" in str(caught.value)


def test_several_are_a_grid_of_cells():
    cells = experiment(continuation=[0.5, 0.9]).cells
    assert [cell.definition["continuation"] for cell in cells] == [0.5, 0.9]
    assert all("horizon" not in cell.definition for cell in cells)
    assert [cell.length for cell in cells] == [2, 10]
    assert len({cell.key for cell in cells}) == 2


def test_partner_values_beyond_what_is_solved_are_refused():
    with pytest.raises(TomevalError, match="continuation must be above 0 and at most"):
        best_response(IPD, get_partner("tit_for_tat", IPD), 1, 1.0)
