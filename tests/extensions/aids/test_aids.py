"""The ladder of aids of a run: known truth recovered, tables, notes and the staircase."""

import json

import numpy as np
import pytest
from aids_truth import expected_regret
from scipy import stats
from support import TWO_BY_THREE, episodes_of, scripts, setup_of

import tomeval
from tomeval.domains.matrix.batch import simulate
from tomeval.domains.matrix.games import get_game
from tomeval.domains.matrix.measures import episode_metrics
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.extensions.aids.climb import climb
from tomeval.extensions.aids.ladders import (
    AIDS,
    LINKS,
    has_ladders,
    ladders,
    unfinished,
    verdict,
)
from tomeval.plots import draw
from tomeval.strategies.ladder import RUNGS

REGRET, STEPWISE = "delta_functional_per_step", "stepwise_regret_per_step"
TRUTH = {"compute": 0.7, "use": 0.8, "know": 0.6, "choose": 0.8, "obey": 0.75}


def regrets(game, partners, horizon, episodes, seed=0, **links):
    """Return both regrets by episode and rung, each (E, 5), of a laddered subject."""
    columns = []
    for rung in RUNGS:
        setup = setup_of("laddered", {"rung": rung, **links}, game, partners, horizon, seed)
        steps = simulate(setup, 0, episodes)
        moves = (x.astype(int) for x in (steps.own_action, steps.partner_action))
        told = {"partners": partners.partners, "which": steps.partners}
        found = episode_metrics(episodes_of(game, *moves, **told))
        columns.append([found[REGRET], found[STEPWISE]])
    return np.moveaxis(np.array(columns), 0, -1)


@pytest.mark.parametrize(
    ("game", "partners"),
    [
        (get_game("RPS"), "single_action"),
        (get_game("IPD"), "noisy_tit_for_tat(0.2)"),
        (TWO_BY_THREE, "uniform_random + best_responder"),
    ],
    ids=["RPS", "noisy", "odd"],
)
def test_simulation_agrees_with_the_closed_form(game, partners):
    chosen = get_partner_set(partners, game)
    found = regrets(game, chosen, 6, 4000, **TRUTH)
    for values, expected in zip(found, expected_regret(game, chosen, 6, **TRUTH), strict=True):
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        assert (np.abs(values.mean(axis=0) - expected) < 4.5 * error + 1e-9).all()


def test_the_closed_form_by_hand():
    """Rock-paper-scissors, one action: a wrong belief costs 1 or 2, a random action 1."""
    game = get_game("RPS")
    regret, stepwise = expected_regret(game, get_partner_set("single_action", game), 9, **TRUTH)
    left = [0.7 * 0.8 * 0.8 * 0.75, 0.8 * 0.8 * 0.75, 0.8 * 0.75, 0.8 * 0.75, 0.75]
    wrong = [0.4, 0.4, 0.4, 0.0, 0.0]
    by_hand = [q * w * 1.5 + (1 - q) for q, w in zip(left, wrong, strict=True)]
    assert regret.tolist() == pytest.approx(by_hand)
    assert stepwise.tolist() == pytest.approx(by_hand)


def test_who_obeys_all_has_no_regret_but_in_the_step():
    """Against tit for tat the best reply cooperates to the end: 0 of regret, 2 in the step."""
    game = get_game("IPD")
    regret, stepwise = expected_regret(game, get_partner_set("tit_for_tat", game), 10)
    assert regret[-1] == pytest.approx(0.0, abs=1e-12)
    assert stepwise[-1] == pytest.approx(2 * 9 / 10)
    assert stepwise[:-1].tolist() == pytest.approx([0.0] * 4)  # always defects
    assert regret[:-1].tolist() == pytest.approx([(82 - 55) / 10] * 4)


def test_rungs_meet_the_same_chance():
    """A link that always holds makes no difference: every episode is the same without its aid."""
    game = get_game("RPS")
    partners = get_partner_set("uniform_random", game)
    found = regrets(game, partners, 8, 50, compute=1.0, use=0.5, know=0.7, choose=1.0, obey=0.8)[0]
    assert (found[:, 0] == found[:, 1]).all()
    assert (found[:, 3] == found[:, 4]).all()
    assert (found[:, 1] != found[:, 2]).any()


@pytest.mark.parametrize(
    ("name", "partners", "which"),
    [("RPS", "single_action", 0), ("IPD", "tit_for_tat", 0)],
)
def test_known_shares_are_recovered_at_nominal_coverage(name, partners, which):
    """benchmarks/aids_coverage.py does the same for more cells and numbers of episodes."""
    game = get_game(name)
    chosen = get_partner_set(partners, game)
    truth = expected_regret(game, chosen, 10, **TRUTH)[which]
    known = np.append(truth[:-1] - truth[1:], truth[-1]) / truth[0]
    repeats, episodes = 400, 20
    data = regrets(game, chosen, 10, repeats * episodes, seed=5, **TRUTH)[which]
    held = np.zeros(len(LINKS))
    for sample in data.reshape(repeats, episodes, -1):
        found = climb(sample)
        assert not found.unknown
        held += (found.share_low <= known) & (known <= found.share_high)
    low, high = stats.binom(repeats, 0.95).ppf([0.0005, 0.9995])
    # Knowing is worth nothing in any episode where one action is best against everything.
    certain = np.abs(known) < 1e-12
    assert certain.any() == (name == "IPD")
    assert (held[certain] == 0).all()
    assert ((held >= low) & (held <= high))[~certain].all(), held


def laddered(**more):
    subject = {"kind": "laddered", "name": "known", "rung": [*RUNGS], **TRUTH, **more}
    return {"games": "RPS", "partners": "single_action", "horizon": 6, "episodes": 12} | {
        "subjects": [subject]
    }


def test_a_table_of_a_run(tmp_path):
    with tomeval.run(
        laddered(compute=0.1, know=0.95, choose=0.95, obey=0.95), tmp_path / "run"
    ) as run:
        assert "aids" in run.tables
        rows = run.tables["aids"].rows(run, ())
        assert [row["aid"] for row in rows] == [*AIDS, "(remains)"]
        assert [row["link"] for row in rows] == ["", *LINKS]
        assert {row["subject"] for row in rows} == {"known"}
        assert sum(row["share_percent"] for row in rows[1:]) == pytest.approx(100.0)
        assert {row["failing_link"] for row in rows} == {"computing"}
        cells = run.rows("t")
        for row, cell in zip(rows, cells, strict=False):
            assert row[REGRET] == pytest.approx(cell[REGRET], abs=1e-12)
            assert row[f"{REGRET}_ci95"] == pytest.approx(cell[f"{REGRET}_ci95"])
            assert row[STEPWISE] == pytest.approx(cell[STEPWISE], abs=1e-12)
        # Against who never reacts, the regret is that of the steps.
        assert rows[2]["stepwise_share_percent"] == pytest.approx(rows[2]["share_percent"])
        notes = run.tables["aids"].notes(run)
        share = f"{rows[1]['share_percent']:.0f} % of the regret without aids"
        assert f"the failing link is computing, {share}" in notes[1]
        (drawing,) = draw(run, ["aids"])
        assert drawing.stem == "aids"
        assert f"computing {rows[1]['share_percent']:.0f} %" in drawing.description


def test_what_makes_no_ladder(tmp_path):
    plain = laddered() | {"subjects": ["random", {"kind": "laddered"}]}
    with tomeval.run(plain, tmp_path / "plain") as run:
        assert not has_ladders(run)
        assert ladders(run) == []
        assert "aids" not in run.tables
        assert "aids" not in run.added_figures
    some = laddered(rung=["none", "replies", "best_reply"])
    with tomeval.run(some, tmp_path / "some") as run:
        assert has_ladders(run)
        assert ladders(run) == []
        (note,) = unfinished(run)
        assert note.endswith("missing: own prediction, true action")
        assert note in run.tables["aids"].notes(run)


def obedient(request):
    """Play the best reply where it is told, else the first option; predict the first one."""
    text = request.prompt.messages[-1].content
    told = text.rpartition("You know for certain that ")[2].partition(" is best for you")
    label = told[0] if told[1] else "J"
    return f"Final answer: {label}"


def test_foreknowledge_is_told_apart(tmp_path):
    with tomeval.run(laddered() | {"partners": "uniform_random"}, tmp_path / "run") as run:
        rows = run.tables["aids"].rows(run, ())
        assert rows[4][REGRET] < 0 < rows[4][STEPWISE]  # nobody can foresee a coin
        assert any("draws its moves" in note for note in run.tables["aids"].notes(run))
    with tomeval.run(laddered(), tmp_path / "plain") as run:
        assert not any("draws" in note for note in run.tables["aids"].notes(run))


def test_strategies_of_one_model_make_a_ladder(tmp_path):
    data = {"games": ["RPS", "IPD"], "partners": "always(1)", "model": "scripted:mine"}
    data |= {"labels": "neutral", "horizon": 4, "episodes": 6}
    data |= {"subjects": [{"strategy": ["ladder", "ladder + CoT", "Oracle"]}]}
    with scripts(mine=obedient), tomeval.run(data, tmp_path / "run") as run:
        found = ladders(run)
        assert [(x.subject, x.ground.columns["game"]) for x in found] == [
            ("QA", "RPS"),
            ("CoT", "RPS"),
            ("QA", "IPD"),
            ("CoT", "IPD"),
        ]
        for ladder in found:
            regret = ladder.climbed()
            # The first option in every round, on every rung but the last, where it obeys.
            assert (regret.loss[:4] == regret.loss[0]).all()
            assert regret.loss[0] > 0
            assert regret.loss[4] == 0
            assert regret.share.tolist() == [0, 0, 0, 1, 0]
            assert verdict(regret)[0] == "choosing"
        (drawing,) = draw(run, ["aids"])
        assert len(drawing.figure.axes) == 2  # a panel per game
        legend = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
        assert legend == ["QA, scripted:mine", "CoT, scripted:mine"]
        table = run.tables["aids"].rows(run, ())
        assert json.dumps(table, allow_nan=True)
        assert len(table) == 6 * 4


def test_only_episodes_that_every_rung_has_count(tmp_path):
    def breaks(request):
        text = request.prompt.messages[-1].content
        if "earns you most" in text and "certain" not in text and " 1 of 3" in text:
            return "hm" if request.seed % 2 else obedient(request)
        return obedient(request)

    data = {"games": "RPS", "partners": "always(1)", "model": "scripted:mine", "horizon": 3}
    data |= {"labels": "neutral", "episodes": 16}
    data |= {"subjects": [{"strategy": "ladder", "max_attempts": 1}]}
    with scripts(mine=breaks), tomeval.run(data, tmp_path / "run") as run:
        (ladder,) = ladders(run)
        sets = [set(cell.episodes.tolist()) for cell in ladder.cells]
        common = set.intersection(*sets)
        assert len(common) < 16
        assert ladder.climbed().episodes == len(common)
        assert ladder.lost == 16 - len(common)
        assert any(
            f"{ladder.lost} episodes are left out, not" in x for x in run.tables["aids"].notes(run)
        )
