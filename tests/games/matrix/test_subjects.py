from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ALL_GAMES, FOUR, TWO_BY_THREE, column, make_game, random_partner, setup_of

from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.optima import best_response
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.play import play_episode
from tomeval.games.matrix.subjects import SUBJECTS
from tomeval.games.matrix.subjects.base import pick
from tomeval.games.matrix.subjects.simulated import equilibrium

RPS, IBS, IPD = GAMES["RPS"], GAMES["IBS"], GAMES["IPD"]


def play(kind, options, game, partners, horizon=40, seed=2, episode=0):
    return play_episode(setup_of(kind, options, game, partners, horizon, seed), episode)


# --- RMax: a plain reimplementation from the reference text ---------------------------------------


class PlainRMax:
    """RMax as the reference's reconstruction words it, replanned at every step from raw history.

    State = last (own, partner) action plus one special initial state; a state-action pair is known
    after one visit, with the model of that visit; an unknown pair is worth R_max / (1 - gamma);
    value iteration to convergence; greedy. Predictor: argmax of counts of partner actions in the
    current state; ties and unseen states give action 0.
    """

    def __init__(self, game, gamma):
        self.game, self.gamma = game, gamma
        self.history: list[tuple] = []  # (state, own, partner, reward, next state)
        self.state = "start"

    def action_values(self) -> list[float]:
        game, gamma = self.game, self.gamma
        top = max(game.own[a, b] for a in range(game.n) for b in range(game.m)) / (1 - gamma)
        visits: dict[tuple, tuple] = {}
        for state, a, _, reward, after in self.history:
            visits.setdefault((state, a), (reward, after))
        states = ["start", *((a, b) for a in range(game.n) for b in range(game.m))]
        value = dict.fromkeys(states, top)

        def q(state, a) -> float:
            if (state, a) not in visits:
                return top
            reward, after = visits[state, a]
            return reward + gamma * value[after]

        for _ in range(2_000):
            new = {s: max(q(s, a) for a in range(game.n)) for s in states}
            done = max(abs(new[s] - value[s]) for s in states) < 1e-12
            value = new
            if done:
                break
        return [q(self.state, a) for a in range(game.n)]

    def prediction(self) -> int:
        counts = [0] * self.game.m
        for state, _, b, _, _ in self.history:
            if state == self.state:
                counts[b] += 1
        return counts.index(max(counts))

    def observe(self, a: int, b: int) -> None:
        self.history.append((self.state, a, b, self.game.own[a, b], (a, b)))
        self.state = (a, b)


@pytest.mark.parametrize("game", [RPS, IBS, IPD, TWO_BY_THREE, FOUR], ids=lambda game: game.name)
@pytest.mark.parametrize("gamma", [0.9, 0.7])
def test_rmax_is_the_reference_reconstruction(game, gamma) -> None:
    rng = np.random.default_rng(8)
    for kind in ("deterministic", "mixed"):
        partner = random_partner(game, rng, 3, kind)
        played = play("rmax", {"gamma": gamma}, game, PartnerSet("x", (partner,)), 30)
        names = ("own_action", "predicted_action", "partner_action", "own_probs")
        steps = list(zip(*map(played.column, names), strict=True))
        plain = PlainRMax(game, gamma)
        for t in range(30):
            values = plain.action_values()
            best = [a for a, v in enumerate(values) if v > max(values) - 1e-7]
            own, said, theirs, probs = steps[t]
            assert own in best
            if len(best) == 1:
                assert probs is None
            else:  # ties uniformly at random
                expected = [1 / len(best) if a in best else 0.0 for a in range(game.n)]
                assert probs == pytest.approx(expected)
            assert said == plain.prediction()
            plain.observe(own, theirs)


def test_rmax_errors_of_the_reference() -> None:
    # "With single-action RPS it makes 0, 4 and 4 errors per 100 steps against a0, a1, a2":
    # unseen states predict action 0, and the joint states met are start and (own, k) for 3 own.
    for k, errors in enumerate((0, 4, 4)):
        counts = set()
        for seed in range(8):
            steps = play("rmax", {}, RPS, f"always({k})", 100, seed)
            counts.add(
                int((column(steps, "predicted_action") != column(steps, "partner_action")).sum())
            )
        assert counts == {errors}


# --- fictitious play, by hand ---------------------------------------------------------------------


def test_fictitious_play_by_hand() -> None:
    # Prior 1 each. Matching pennies against tails: counts (1,1), (1,2), (1,3): first a tie, then
    # tails for both answers.
    steps = play("fictitious_play", {}, GAMES["matching_pennies"], "always(1)", 4)
    assert steps.column("own_action")[1:] == [1, 1, 1]
    assert steps.column("predicted_action")[1:] == [1, 1, 1]
    assert steps.column("predicted_probs") == [
        (1 / 2, 1 / 2),
        (1 / 3, 2 / 3),
        (1 / 4, 3 / 4),
        (1 / 5, 4 / 5),
    ]
    first = {
        play("fictitious_play", {}, IBS, "always(1)", 1, s).column("own_action")[0]
        for s in range(9)
    }
    assert first == {0}  # IBS: 10 x 1/2 > 7 x 1/2, no tie


def test_fictitious_play_weighs_payoffs_not_only_the_likeliest() -> None:
    # IBS against Ballet: Fight pays 10 x P(Fight), Ballet 7 x P(Ballet). After k Ballets the counts
    # are (1, 1 + k): Ballet from 7 (1 + k) > 10, k = 1 on; the prediction too.
    steps = play("fictitious_play", {}, IBS, "always(1)", 4)
    assert steps.column("own_action") == [0, 1, 1, 1]


# --- equilibrium ----------------------------------------------------------------------------------


@pytest.mark.parametrize("game", ALL_GAMES, ids=lambda game: game.name)
def test_equilibria_have_no_profitable_deviation(game) -> None:
    own, partner = equilibrium(game)
    assert own.sum() == pytest.approx(1)
    assert partner.sum() == pytest.approx(1)
    assert own.min() >= 0
    assert partner.min() >= 0
    for a in range(game.n):
        assert game.own[a] @ partner <= own @ game.own @ partner + 1e-8
    for b in range(game.m):
        assert own @ game.partner[:, b] <= own @ game.partner @ partner + 1e-8


def test_known_equilibria() -> None:
    assert [x.tolist() for x in equilibrium(IPD)] == [[0, 1], [0, 1]]
    for name in ("RPS", "matching_pennies"):
        own, partner = equilibrium(GAMES[name])
        assert own == pytest.approx(1 / len(own))
        assert partner == pytest.approx(1 / len(own))
    # both pure equilibria of IBS have welfare 17; the subject's own 10 decides
    assert [x.tolist() for x in equilibrium(IBS)] == [[1, 0], [1, 0]]
    assert [x.tolist() for x in equilibrium(GAMES["stag_hunt"])] == [[1, 0], [1, 0]]


# --- oracle and simulated -------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(ALL_GAMES), st.integers(0, 10**6), st.integers(1, 5))
def test_oracle_earns_the_optimum_of_a_deterministic_partner(game, seed, size) -> None:
    partner = random_partner(game, np.random.default_rng(seed), size, "deterministic")
    steps = play("best_response", {}, game, PartnerSet("x", (partner,)), 12)
    earned = sum(steps.column("own_reward"))
    assert earned == pytest.approx(best_response(game, partner, 12).value)
    assert steps.column("predicted_action") == steps.column("partner_action")


def test_only_those_who_open_the_door_are_told() -> None:
    for kind in set(SUBJECTS) - {"llm", "person"}:
        told = column(play(kind, {}, IPD, "tit_for_tat", 3), "told")
        opens = kind in ("best_response", "simulated", "believer")
        assert told.all() == told.any() == opens, kind


# --- answers --------------------------------------------------------------------------------------


def test_pick_covers_the_actions() -> None:
    u = np.array([0, 0.49, 0.5, np.nextafter(1, 0)])
    chosen, chances = pick(np.array([[True, False, True]] * 4), u)
    assert chosen.tolist() == [0, 0, 2, 2]
    assert chances.tolist() == [[0.5, 0.0, 0.5]] * 4


def test_zero_payoffs_are_played() -> None:
    game = make_game([[0, 0], [0, 0]])
    for kind in set(SUBJECTS) - {"llm", "person"}:
        steps = play(kind, {}, game, "single_action", 5)
        assert steps.status == "complete", kind
        assert set(steps.column("own_action")) <= {0, 1}, kind
        assert not any(steps.column("own_reward")), kind
