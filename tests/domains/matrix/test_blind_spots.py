"""What a task cannot tell, held against bounds, relevance and enumeration."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from support import ALL_GAMES, make_game, play_against, random_partner

from tomeval.domains.matrix.blind_spots import BLIND_SPOTS, blind_sentences, blind_spots
from tomeval.domains.matrix.games import GAMES
from tomeval.domains.matrix.optima import bounds, relevance
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.domains.matrix.partners import Partner, PartnerSet
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import make_experiment

IPD, RPS = GAMES["IPD"], GAMES["RPS"]
INDIFFERENT = make_game([[1, 4], [1, 4]], name="indifferent")  # the own action never matters now


def spots(game, partners: str, horizon: int = 100) -> set[str]:
    return set(blind_spots(game, get_partner_set(partners, game).partners, horizon))


@pytest.mark.parametrize(
    ("game", "partners", "found"),
    [
        ("IPD", "single_action", {"relevance", "belief"}),
        ("IPD", "tit_for_tat", {"belief"}),
        ("RPS", "single_action", set()),
        ("RPS", "tit_for_tat", set()),
        ("RPS", "uniform_random", {"functional", "chance"}),
        ("RPS", "uniform_random + mixture(0.5, 0.3, 0.2)", {"literal"}),
        ("IBS", "uniform_random", {"chance"}),
        ("RPS", "always(1)", {"literal"}),
        ("chicken", "mixture(0.7, 0.3)", {"literal"}),
        ("IPD", "tit_for_tat + grim_trigger", {"relevance", "belief"}),
        ("chicken", "tit_for_tat + grim_trigger", set()),
    ],
)
def test_known_tasks(game, partners, found) -> None:
    assert spots(GAMES[game], partners) == found


def test_only_what_the_horizon_reaches_counts() -> None:
    assert spots(RPS, "switcher(0, 1, k=30)", 29) == {"literal", "change"}
    assert spots(RPS, "switcher(0, 1, k=30)", 30) == set()


@pytest.mark.parametrize(("horizon", "late"), [(9, True), (10, False), (100, False)])
def test_a_change_after_the_last_step_is_none(horizon, late) -> None:
    early, other = (
        get_partner_set({"switch": ["always(0)", "always(1)"], "at": at}, RPS).partners
        for at in ([10], [30, 10])
    )
    plain = get_partner_set("always(2)", RPS).partners
    for partners in (early, other, early + plain):  # one that can be seen is enough
        assert ("change" in blind_spots(RPS, partners, horizon)) == late
    assert "change" not in blind_spots(RPS, plain, horizon)
    # What is said is so: within the horizon it plays as the policy that it never gives up.
    moves = [play_against(partner, [0] * horizon) for partner in (early[0], other[0])]
    assert (moves[0] == [0] * horizon) == late


def every_total(game, partner, horizon: int) -> tuple[float, float]:
    """Return the least and the largest expected total over all policies of own moves by state."""
    low = high = np.zeros(len(partner.emissions))
    for _ in range(horizon):
        ends = []
        for best, value in ((min, low), (max, high)):
            ends.append(
                np.array([
                    best(
                        sum(
                            partner.emissions[s, b]
                            * (game.own[a, b] + value[partner.next_state[s, a, b]])
                            for b in range(game.m)
                        )
                        for a in range(game.n)
                    )
                    for s in range(len(low))
                ])
            )  # fmt: skip
        low, high = ends
    return float(low[partner.start]), float(high[partner.start])


def test_functional_and_relevance_are_those_of_the_numbers() -> None:
    rng = np.random.default_rng(2)
    seen = {"functional": 0, "relevance": 0, "": 0}
    games = [*ALL_GAMES[:5], INDIFFERENT]
    for number in range(120):
        game = games[number % len(games)]
        size, horizon = int(rng.integers(1, 4)), int(rng.integers(1, 10))
        tables = [random_partner(game, rng, size, "mixed") for _ in range(2)]
        if number % 3 == 0:  # the same table twice, or one that does not react
            tables[1] = tables[0]
        partners = tuple(
            Partner(f"p{i}", t.emissions, t.next_state, t.start) for i, t in enumerate(tables)
        )
        found = blind_spots(game, partners, horizon)
        ends = [every_total(game, partner, horizon) for partner in partners]
        indifferent = all(abs(high - low) < 1e-9 for low, high in ends)
        assert ("functional" in found) == indifferent
        zero = relevance(game, PartnerSet("s", partners), horizon) < 1e-12
        assert ({"functional", "relevance"} & set(found) != set()) == zero
        seen["functional" if indifferent else "relevance" if zero else ""] += 1
    assert min(seen.values()) > 5  # each case did occur


def test_few_steps_decide_for_all_horizons() -> None:
    # The partner's rewards differ by state, and states react to own moves, from a distance.
    rng = np.random.default_rng(4)
    for _ in range(60):
        partner = random_partner(INDIFFERENT, rng, 4, "deterministic")
        found = "functional" in blind_spots(INDIFFERENT, (partner,), 60)
        [row] = bounds(INDIFFERENT, PartnerSet("s", (partner,)), 60)
        assert found == (row.regret_max - row.regret_min < 1e-9)


def test_literal_is_where_one_prediction_attains_the_most() -> None:
    rng = np.random.default_rng(6)
    kinds = {True: 0, False: 0}
    for number in range(60):
        partner = random_partner(RPS, rng, 2, "mixed")
        if number % 2:
            partner = Partner("p", partner.emissions[:1], np.zeros((1, 3, 3), np.int64))
        fixed = any(all(row[b] >= row.max() - 1e-12 for row in partner.emissions) for b in range(3))
        found = {"literal", "chance"} & set(blind_spots(RPS, (partner,), 20))
        assert bool(found) == fixed
        kinds[fixed] += 1
    assert min(kinds.values()) > 5


def test_units_and_names_of_actions_change_nothing() -> None:
    for spec in ("single_action", "tit_for_tat", "uniform_random"):
        for scale, shift in ((3.0, 0.0), (1.0, -7.0), (0.5, 1e4)):
            game = make_game(scale * IPD.own + shift, scale * IPD.partner + shift)
            assert spots(game, spec, 20) == spots(IPD, spec, 20)
    renamed = make_game(IPD.own[::-1], IPD.partner[::-1])
    assert spots(renamed, "single_action") == spots(IPD, "single_action")


def test_sentences_name_the_first_tasks_of_each_kind() -> None:
    tasks = [
        (GAMES[name], get_partner_set(spec, GAMES[name]), 20)
        for name, spec in itertools.product(
            ("IPD", "harmony", "deadlock", "RPS"), ("single_action", "tit_for_tat")
        )
    ]
    said = blind_sentences(tasks)
    assert len(said) == 2
    assert said[0].startswith("telling the partners of the set apart is not rewarded in IPD, ")
    assert "IPD, single_action; IPD, tit_for_tat; harmony, single_action and 3 more" in said[1]
    assert "RPS" not in " ".join(said)
    assert all("{" not in text.format(tasks="x") for text in BLIND_SPOTS.values())


def test_thousands_of_cells_ask_each_task_once() -> None:
    subjects = [{"kind": "simulated", "name": f"s{i}", "p": i / 600} for i in range(600)]
    experiment = make_experiment(
        {"games": ["IPD", "RPS", "IBS", "chicken"], "subjects": subjects,
         "partners": ["single_action", "tit_for_tat"]}
    )  # fmt: skip
    blind_spots.cache_clear()
    begun = time.process_time()
    said = get_domain("matrix").describe.cannot_tell(experiment.cells)
    assert len(experiment.cells) == 4800
    assert blind_spots.cache_info().misses == 8
    assert time.process_time() - begun < 3
    assert len(said) == 2


def test_plan_bounds_and_report_say_it(tomeval, tmp_path) -> None:
    text = (
        'name = "x"\ngames = ["IPD", "RPS"]\nsubjects = ["random"]\nepisodes = 2\nhorizon = 4\n'
        'partners = ["single_action"]\n'
    )
    (tmp_path / "x.toml").write_text(text)
    _, out, _ = tomeval("plan", tmp_path / "x.toml")
    joined = " ".join(out.split())
    assert "note: telling the partners of the set apart is not rewarded in IPD, single_action" in (
        joined
    )
    assert "RPS, single_action" not in joined
    _, out, _ = tomeval("bounds", "IPD", "tit_for_tat")
    assert "0 (only one partner, nothing to tell apart)" in out
    assert "is not rewarded" not in out
    _, out, _ = tomeval("bounds", "RPS", "uniform_random")
    assert "no prediction beats chance" in out
    tomeval("run", tmp_path / "x.toml", "--out", tmp_path / "run")
    tomeval("report", tmp_path / "run", "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert page.count("Telling the partners of the set apart is not rewarded in IPD") == 1
