"""Diagnostic partners, held against enumeration, second methods and simulation of known truth."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from support import THREE_BY_TWO, make_game, setup_of

from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.batch import simulate
from tomeval.domains.matrix.calibration import expected
from tomeval.domains.matrix.games import GAMES, MatrixGame
from tomeval.domains.matrix.machines import (
    Machines,
    as_machine,
    as_partner,
    every_machine,
    joined,
    one_of_a_kind,
    reduced,
)
from tomeval.domains.matrix.optima import best_response, relevance
from tomeval.domains.matrix.partner_specs import get_partner, get_partner_set
from tomeval.domains.matrix.partners import PartnerSet
from tomeval.extensions.design.files import design_lines, write_partners
from tomeval.extensions.design.pairs import partners_of, unavoidable
from tomeval.extensions.design.search import design
from tomeval.extensions.design.separation import moments, read_subject

IPD, RPS, CHICKEN = GAMES["IPD"], GAMES["RPS"], GAMES["chicken"]
PAIR = ("simulated(p=1.0, q=0.9)", "simulated(p=0.8, q=1.0)")


def behaviour(plays, follows, n: int, length: int) -> tuple[int, ...]:
    """Return what a table plays after every word of own actions of up to a length."""
    said = []
    for size in range(length + 1):
        for word in itertools.product(range(n), repeat=size):
            state = 0
            for a in word:
                state = follows[state][a]
            said.append(plays[state])
    return tuple(said)


def tables(n: int, m: int, size: int):
    """Yield every table, whatever is out of reach or alike in it."""
    rows = list(itertools.product(range(m), itertools.product(range(size), repeat=n)))
    for table in itertools.product(rows, repeat=size):
        yield [row[0] for row in table], [row[1] for row in table]


@pytest.mark.parametrize(("n", "m", "size"), [(2, 2, 1), (2, 2, 2), (3, 2, 2), (2, 3, 2)])
def test_every_behaviour_is_enumerated_once(n, m, size) -> None:
    length = 2 * size  # tells two machines of so many states apart
    wanted = {behaviour(*table, n, length) for table in tables(n, m, size)}
    found = [
        behaviour(*(part.tolist() for part in row), n, length)
        for k in range(1, size + 1)
        for row in zip(*every_machine(n, m, k), strict=True)
    ]
    assert len(found) == len(set(found))
    assert set(found) == wanted


def test_numbers_of_minimal_machines_are_the_published_ones() -> None:
    # Domaratzki, Kisman and Shallit 2002: languages over two letters by states of their automaton.
    assert [every_machine(2, 2, size).total for size in (1, 2, 3, 4)] == [2, 24, 1028, 56014]


def test_renaming_actions_leaves_a_third_of_the_machines_of_rps() -> None:
    # Every orbit of the three rotations has three members: no machine is its own rotation.
    for size in (1, 2):
        machines = every_machine(3, 3, size)
        assert 3 * one_of_a_kind(machines, RPS).total == machines.total


def test_reducing_and_reading_back_change_no_behaviour() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        plays, follows = rng.integers(2, size=4), rng.integers(4, size=(4, 2))
        small = reduced(plays, follows)
        same = as_machine(as_partner(small, IPD, "made"))
        assert same.plays.tolist() == small.plays.tolist()
        words = [behaviour(p, f, 2, 7) for p, f in ((plays, follows), (same[0][0], same[1][0]))]
        assert words[0] == words[1]


def naive_moments(game, plays, follows, p, q, horizon):
    """Return mean and variance of an episode's mean by walking all episodes with their chances."""
    episodes = {(0, 0.0): 1.0}
    for _ in range(horizon):
        after: dict = {}
        for (state, total), chance in episodes.items():
            b = plays[state]
            for c, a in itertools.product(range(game.m), range(game.n)):
                best = game.own[:, c] == game.own[:, c].max()
                said = p if c == b else (1 - p) / (game.m - 1)
                acted = q * best[a] / best.sum() + (1 - q) / game.n
                key = (follows[state][a], round(total - game.own[a, b], 9))
                after[key] = after.get(key, 0.0) + chance * said * acted
        episodes = after
    totals = np.array([total for _, total in episodes]) / horizon
    chances = np.array(list(episodes.values()))
    mean = chances @ totals
    return mean, chances @ (totals - mean) ** 2


def moments_of(spec, game, machines, horizon):
    return moments(game, read_subject(spec, game).policy, machines, horizon)


def test_moments_are_those_of_all_episodes() -> None:
    rng = np.random.default_rng(0)
    machines = Machines(rng.integers(2, size=(4, 3)), rng.integers(3, size=(4, 3, 3)))
    means, variances = moments_of("simulated(p=0.7, q=0.4)", THREE_BY_TWO, machines, 4)
    for number, (plays, follows) in enumerate(zip(*machines, strict=True)):
        mean, variance = naive_moments(THREE_BY_TWO, plays.tolist(), follows.tolist(), 0.7, 0.4, 4)
        assert means[number] - THREE_BY_TWO.own.min() == pytest.approx(mean, abs=1e-9)
        assert variances[number] == pytest.approx(variance, abs=1e-9)


def test_means_are_the_calibration_closed_forms() -> None:
    machines = every_machine(2, 2, 2).take([0, 7, 15, 23])
    means, _ = moments_of("simulated(p=0.8, q=0.6)", CHICKEN, machines, 20)
    for number, partner in enumerate(partners_of(machines, CHICKEN, "m")):
        truth = expected(CHICKEN, PartnerSet("m", (partner,)), p=0.8, q=0.6, horizon=20)
        best = best_response(CHICKEN, partner, 20).value / 20 - CHICKEN.own.min()
        assert means[number] + best == pytest.approx(truth["delta_functional_per_step"], abs=1e-9)


@pytest.mark.parametrize("kind", ["simulated", "random", "equilibrium"])
def test_played_episodes_come_out_at_the_exact_moments(kind) -> None:
    options = {"p": 0.8, "q": 0.5} if kind == "simulated" else {}
    spec = f"{kind}({', '.join(f'{k}={v}' for k, v in options.items())})"
    machines = every_machine(2, 2, 2).take([3, 11, 20])
    means, variances = moments_of(spec, CHICKEN, machines, 15)
    for number, partner in enumerate(partners_of(machines, CHICKEN, "m{}")):
        setup = setup_of(kind, options, CHICKEN, PartnerSet("m", (partner,)), 15, 3)
        steps = simulate(setup, 0, 1500)
        got = CHICKEN.own.min() - CHICKEN.own[steps.own_action, steps.partner_action]
        played = got.reshape(1500, 15).mean(axis=1)
        error = np.sqrt(variances[number] / 1500)
        assert abs(played.mean() - means[number]) < 4.5 * error + 1e-12
        assert played.var(ddof=1) == pytest.approx(variances[number], rel=0.2)


def naive_score(game, plays, follows, horizon, first, second, calls) -> float:
    """Return the separation in regret by a forward recursion of means and second moments."""
    sums = []
    for p, q in (first, second):
        mass, one, two = {0: 1.0}, {0: 0.0}, {0: 0.0}  # by state: E[1], E[S], E[S^2]
        for _ in range(horizon):
            parts: list[dict] = [{}, {}, {}]
            for s in mass:
                b = plays[s]
                for a in range(game.n):
                    acted = 0.0
                    for c in range(game.m):
                        best = game.own[:, c] == game.own[:, c].max()
                        said = p if c == b else (1 - p) / (game.m - 1)
                        acted += said * (q * best[a] / best.sum() + (1 - q) / game.n)
                    x, to = game.own[a, b], follows[s][a]
                    new = (
                        mass[s],
                        one[s] + x * mass[s],
                        two[s] + 2 * x * one[s] + x * x * mass[s],
                    )
                    for part, value in zip(parts, new, strict=True):
                        part[to] = part.get(to, 0.0) + acted * value
            mass, one, two = parts
        mean = sum(one.values())
        sums.append((mean / horizon, (sum(two.values()) - mean**2) / horizon**2))
    (x, v), (y, w) = sums
    return abs(x - y) / math.sqrt(max(v + w, 1e-300) * calls) if abs(x - y) > 1e-9 else 0.0


@pytest.mark.parametrize("name", ["IPD", "chicken", "IBS"])
def test_the_best_machine_is_the_best_of_all_tables(name) -> None:
    game, horizon = GAMES[name], 8
    found = design(game, 2, horizon, between=PAIR, top=26)
    scores = [
        naive_score(game, *table, horizon, (1.0, 0.9), (0.8, 1.0), 4 * horizon)
        for table in tables(2, 2, 2)
    ]
    assert found.best[0].score == pytest.approx(max(scores), rel=1e-9)
    assert sorted({round(one.score, 8) for one in found.best}) == sorted(
        {round(score, 8) for score in scores}
    )


def changed(game: MatrixGame, scale=1.0, shift=0.0, own=(0, 1), partner=(0, 1)) -> MatrixGame:
    payoffs = game.payoffs[np.ix_(own, partner)]
    return make_game(scale * payoffs[..., 0] + shift, scale * payoffs[..., 1] + shift, "changed")


@pytest.mark.parametrize("other", [{"scale": 3.0}, {"shift": -1e4}, {"own": (1, 0)},
                                   {"partner": (1, 0)}])  # fmt: skip
def test_units_and_names_of_actions_leave_the_ranking(other) -> None:
    game = changed(IPD, **other)
    scale = other.get("scale", 1.0)
    for between in (PAIR, ()):
        here, there = (design(g, 2, 6, top=3, beside=[], between=between) for g in (IPD, game))
        for a, b in zip(here.best, there.best, strict=True):
            if between:
                assert b.score == pytest.approx(a.score, rel=1e-6)
            else:
                assert b.relevance == pytest.approx(scale * a.relevance, abs=1e-6)
                assert b.unavoidable == pytest.approx(scale * a.unavoidable, abs=1e-6)


@pytest.mark.parametrize("game", [IPD, CHICKEN], ids=lambda game: game.name)
def test_the_most_relevant_pair_is_that_of_all_pairs(game) -> None:
    horizon = 5
    machines = joined([every_machine(2, 2, size) for size in (1, 2)])
    partners = partners_of(machines, game, "m{}")
    values = [
        relevance(game, PartnerSet("p", pair), horizon)
        for pair in itertools.combinations(partners, 2)
    ]
    found = design(game, 2, horizon, top=100)
    relevances = [one.relevance for one in found.best]
    assert relevances == pytest.approx(sorted(values, reverse=True)[:100], abs=1e-9)
    ties = [one for one in found.best if one.relevance > max(values) - 1e-9]
    assert [one.unavoidable for one in ties] == sorted(one.unavoidable for one in ties)


def best_unknowing(game, partners, horizon: int, history=()) -> float:
    """Return the most that a policy of the moves so far can earn, by trying every policy.

    Weights are those of the partners that would have moved so.
    """
    alive = []
    for partner, weight in zip(partners.partners, partners.weights, strict=True):
        state, fits = partner.start, True
        for a, b in history:
            fits &= int(partner.emissions[state].argmax()) == b
            state = int(partner.next_state[state, a, b])
        if fits:
            alive.append((int(partner.emissions[state].argmax()), weight))
    if len(history) == horizon or not alive:
        return 0.0
    return max(
        sum(weight * game.own[a, b] for b, weight in alive)
        + sum(
            best_unknowing(game, partners, horizon, (*history, (a, b)))
            for b in {b for b, _ in alive}
        )
        for a in range(game.n)
    )


def test_unavoidable_regret_is_that_of_the_best_of_all_policies() -> None:
    rng = np.random.default_rng(5)
    for game, horizon in ((IPD, 5), (RPS, 3), (THREE_BY_TWO, 4)):
        machines = every_machine(game.n, game.m, 2)
        for size in (2, 3):
            members = machines.take(rng.choice(machines.total, size, replace=False))
            partners = PartnerSet("p", tuple(partners_of(members, game, "m{}")))
            known = np.mean([best_response(game, p, horizon).value for p in partners.partners])
            regret = (known - best_unknowing(game, partners, horizon)) / horizon
            assert unavoidable(game, partners, horizon) == pytest.approx(regret, abs=1e-9)


def test_known_partners_and_sets_stand_beside() -> None:
    found = design(IPD, 2, 12, between=PAIR, beside=["tit_for_tat", "single_action"])
    tit_for_tat, single = found.beside
    assert tit_for_tat.score == pytest.approx(
        naive_score(IPD, [0, 1], [[0, 1]] * 2, 12, (1.0, 0.9), (0.8, 1.0), 48)
    )
    # A set's difference varies with the partner drawn, too.
    truth = {
        k: expected(IPD, get_partner_set(f"always({k})", IPD), p=1, q=0.9, horizon=12)[
            "delta_functional_per_step"
        ]
        - expected(IPD, get_partner_set(f"always({k})", IPD), p=0.8, q=1, horizon=12)[
            "delta_functional_per_step"
        ]
        for k in (0, 1)
    }
    assert single.difference == pytest.approx(np.mean(list(truth.values())))
    # q = 1 always defects, whatever it predicts; q = 0.9 cooperates one time in twenty: losing 2
    # or 5, with a standard deviation over 12 steps of sqrt(0.05 * 0.95 / 12) of that.
    variance = np.mean([0.05 * 0.95 / 12 * x**2 for x in (2, 5)]) + np.var([0.1, 0.25])
    assert single.score == pytest.approx(single.difference / np.sqrt(variance * 48))
    assert design(IPD, 1, 12, beside=["single_action"]).beside[0].relevance == 0
    assert found.best[0].score > max(tit_for_tat.score, single.score)


def test_studies_of_the_size_named_find_the_difference_as_often_as_asked() -> None:
    options = ({"p": 0.9, "q": 0.3}, {"p": 0.9, "q": 0.5})
    best = design(
        IPD, 2, 30, between=[f"simulated(p={o['p']}, q={o['q']})" for o in options], top=1
    ).best[0]
    studies, values = 300, []
    for one in options:
        setup = setup_of("simulated", one, IPD, best.partners, 30, 77)
        steps = simulate(setup, 0, studies * best.episodes)
        regret = -IPD.own[steps.own_action, steps.partner_action].mean(axis=1)
        values.append(regret.reshape(studies, best.episodes))
    found = stats.ttest_rel(*values, axis=1)
    # 80 % was asked for; over 300 studies three standard errors are 7 percentage points.
    assert 0.73 < (found.pvalue < 0.05).mean() < 0.88
    ends = found.confidence_interval(0.95)
    covered = (ends.low <= best.difference) & (best.difference <= ends.high)
    assert 0.91 < covered.mean() < 0.99


def test_files_read_back_as_the_same_machines(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = design(IPD, 3, 12, between=PAIR)
    write_partners(found, tmp_path / "mine.toml", 'tomeval design "IPD" \n\\')
    partner = get_partner("mine.toml", IPD)
    assert partner.fingerprint() == found.best[0].partners.partners[0].fingerprint()
    assert partner.source == 'tomeval design "IPD" \n\\'
    [same] = design(IPD, 1, 12, between=PAIR, beside=["mine.toml"]).beside
    assert (same.score, same.episodes) == (found.best[0].score, found.best[0].episodes)
    pair = design(IPD, 2, 12)
    paths = write_partners(pair, tmp_path / "pair.toml", "test")
    assert [one.name for one in paths] == ["pair_1.toml", "pair_2.toml"]
    back = get_partner_set("pair_1.toml + pair_2.toml", IPD)
    assert relevance(IPD, back, 12) == pytest.approx(pair.best[0].relevance)


def test_shipped_pair_is_what_its_command_finds() -> None:
    found = design(IPD, 2, 30, top=1).best[0]
    shipped = get_partner_set("ipd_pair_1 + ipd_pair_2", IPD)
    assert [p.fingerprint() for p in shipped.partners] == [
        p.fingerprint() for p in found.partners.partners
    ]


def test_nothing_to_tell_is_said() -> None:
    # In the prisoner's dilemma predictions never matter, so those who differ in them play alike.
    found = design(
        IPD, 2, 10, between=["simulated(p=0.2, q=0.9)", "simulated(p=0.9, q=0.9)"], top=1
    )
    assert found.best[0].score == 0
    assert found.best[0].calls is None
    assert any("none of them separates" in line for line in design_lines(found))


def test_certain_differences_are_infinite_scores() -> None:
    """In IPD p = q = 1 and the equilibrium always defect; in chicken they do not."""
    sure = ["simulated(p=1.0, q=1.0)", "simulated(p=0.0, q=1.0)"]
    assert design(IPD, 2, 10, between=sure).best[0].score == 0
    found = design(CHICKEN, 2, 10, between=sure)
    assert found.best[0].score == math.inf
    assert found.best[0].episodes == 2
    worst = max(abs(one.difference) for one in found.best)
    assert abs(found.best[0].difference) == worst > 0  # of certain ones the largest comes first


BAD = [
    ({"states": 0}, "states must be from 1"),
    ({"states": 13}, "states must be from 1"),
    ({"horizon": 0}, "horizon must be from 1"),
    ({"between": ["random"]}, "name two subjects after between, or none, not 1"),
    ({"between": ["random", "equilibrium", "random"]}, "or none, not 3"),
    ({"between": ["random", "random"]}, "named twice"),
    ({"between": ["random", "simulated(p=2)"]}, "p must be a number from 0 to 1"),
    ({"between": ["random", "simulated(0.9, 0.3)"]}, "write options as name=value"),
    ({"between": ["random", "simulated(p=0.9, p=0.3)"]}, "each once"),
    ({"between": ["random", "simulated(s=0.9)"]}, "has no option 's'"),
    ({"between": ["random", "simulated(p=[0.1, 0.9])"]}, "name one at a time"),
    ({"between": ["random", "rmax"]}, "only these have known expectations: unknown subject 'rmax'"),
    ({"states": 6}, "more than 3,651 ways to behave"),
    ({"states": 6, "between": PAIR}, "more than 250,000 ways to behave"),
    ({"beside": ["uniform_random"]}, "draws its moves"),
    ({"beside": ["0.3*always(0) + 0.7*always(1)"]}, "not equally likely"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda x: str(x)[:40])
def test_bad_input_is_one_error(arguments, message) -> None:
    with pytest.raises(TomevalError, match=message.replace("(", r"\(")):
        design(IPD, **{"states": 1, "horizon": 3, **arguments})
