"""Placing players on the ladder of recursion: known truths come back, and nothing else does."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from decrypto_support import KEYS
from scipy.special import log_softmax

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.domains.decrypto.game import CODES, Rules, Turn
from tomeval.domains.decrypto.replays import RecordedGame, write_games
from tomeval.extensions.levels.choices import choices_of, heard
from tomeval.extensions.levels.figure import levels
from tomeval.extensions.levels.fit import (
    LEAST_DEALS,
    NONE_FITS,
    NOT_JUDGED,
    fine_alphas,
    finer,
    frequency,
    place,
    weight_grid,
)
from tomeval.extensions.levels.ladder import softmax
from tomeval.extensions.levels.likelihoods import ALPHAS, Choices, log_likelihoods
from tomeval.extensions.levels.tables import level_notes, level_rows
from tomeval.lexicon.embeddings import shipped_embedding
from tomeval.runs.experiment import make_experiment

OPTIONS = 12
LONG = {"turns": 5, "miscommunications": 5, "interceptions": 5}


def simulated(weights, alpha, *, deals, turns=6, hints=1, seed=0) -> Choices:
    """Return choices among options with made-up worths, by a player of known levels."""
    rng = np.random.default_rng(seed)
    found, number = Choices(), 0
    for deal in range(deals):
        for _ in range(turns):
            number += 1
            level = rng.choice(3, p=weights)
            for _ in range(hints):
                values = rng.normal(size=(3, OPTIONS))
                chosen = rng.choice(OPTIONS, p=softmax(alpha * values[level]))
                found.deals.append(str(deal))
                found.turns.append(number)
                found.sizes.append(OPTIONS)
                found.said.append(str(chosen))
                found.logs.append(log_likelihoods(values, chosen))
    return found


def placed(*args, **options):
    return place(simulated(*args, **options), np.random.default_rng(1))


def test_log_likelihoods_are_those_of_scipy() -> None:
    values = np.random.default_rng(2).normal(size=(3, 9)) * 5
    found = log_likelihoods(values, 4)
    for level in range(3):
        for index, alpha in enumerate(ALPHAS):
            truth = log_softmax(alpha * values[level])[4]
            assert found[level, index] == pytest.approx(truth, rel=1e-9, abs=1e-9)


def test_between_the_grid_of_alpha_the_spline_is_exact_enough() -> None:
    values = np.random.default_rng(2).normal(size=(3, 9))
    found = finer(log_likelihoods(values, 4))
    truth = [log_softmax(a * values[1])[4] for a in fine_alphas()]
    np.testing.assert_allclose(found[1], truth, rtol=5e-4)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_pure_level_and_its_rationality_come_back(level) -> None:
    found = placed(np.eye(3)[level], 3.0, deals=40)
    assert found.likely == (level,)
    assert found.level.low[0] <= level <= found.level.high[0]
    assert abs(found.level.mean[0] - level) < 0.15
    assert found.alphas[level] == pytest.approx(3.0, rel=0.2)
    assert found.alpha == pytest.approx(3.0, rel=0.2)
    assert found.gain.low[0] > 0


def test_held_out_likelihood_is_that_of_a_loop_over_deals() -> None:
    choices = simulated((0.0, 1.0, 0.0), 1.0, deals=6)
    logs, deals = finer(np.stack(choices.logs)), np.array(choices.deals)
    total = 0.0
    for deal in set(deals):
        best = logs[deals != deal, 1].sum(axis=0).argmax()
        total += logs[deals == deal, 1, best].sum()
    found = place(choices, np.random.default_rng(1))
    assert found.held_out.mean[1] == pytest.approx(total / len(deals))


@pytest.mark.parametrize(
    ("trials", "least"),
    # of intervals of 95 %, fewer hold the truth in 1 of 1000 and 1 of 100 trials
    [(10, 7), pytest.param(40, 34, marks=pytest.mark.slow)],
)
def test_mixtures_of_levels_are_covered(trials, least) -> None:
    """A small version of benchmarks/level_coverage.py, with turns of three choices."""
    truth = np.array([0.5, 0.2, 0.3])
    hits = []
    for seed in range(trials):
        found = placed(truth, 2.0, deals=20, turns=5, hints=3, seed=seed)
        inside = (found.weights.low <= truth) & (truth <= found.weights.high)
        hits.append([*inside, found.level.low[0] <= truth @ range(3) <= found.level.high[0]])
    assert (np.sum(hits, axis=0) >= least).all()


def test_mixture_of_0_and_2_is_not_level_1() -> None:
    found = placed((0.5, 0.0, 0.5), 3.0, deals=60)
    assert found.level.mean[0] == pytest.approx(1.0, abs=0.2)
    assert found.weights.high[1] < 0.15
    assert found.likely != (1,)


def test_chance_fits_no_level() -> None:
    found = placed((1.0, 0.0, 0.0), 0.0, deals=40)
    assert not found.fits
    assert found.likely == ()
    assert np.isnan(found.weights.mean).all()
    assert np.isnan(found.level.mean).all()


def test_a_player_with_a_habit_fits_no_level() -> None:
    """What is always said is predicted by its frequency, which no level beats."""
    choices = simulated((1.0, 0.0, 0.0), 1.0, deals=40)
    choices.said = ["7"] * len(choices.said)
    found = place(choices, np.random.default_rng(1))
    assert found.baselines["frequency"].mean[0] > found.held_out.mean.max()
    assert not found.fits


def test_levels_that_say_the_same_have_no_shares() -> None:
    choices = simulated((1.0, 0.0, 0.0), 3.0, deals=20)
    choices.logs = [np.repeat(logs[:1], 3, axis=0) for logs in choices.logs]
    found = place(choices, np.random.default_rng(1))
    assert found.fits
    assert found.likely == (0, 1, 2)
    assert np.isnan(found.level.mean).all()


def test_what_is_not_known_is_said_and_not_drawn(opened, monkeypatch) -> None:
    """Where all levels say the same, and where alpha is at an end of its range."""
    alike = simulated((1.0, 0.0, 0.0), 3.0, deals=20)
    alike.logs = [np.repeat(logs[:1], 3, axis=0) for logs in alike.logs]
    certain = placed((1.0, 0.0, 0.0), 200.0, deals=20)
    assert certain.alpha == ALPHAS[-1]
    found = {
        ("encoder", "same"): ("minilm", place(alike, np.random.default_rng(1))),
        ("encoder", "sure"): ("minilm", certain),
    }
    for module in ("tables", "figure"):
        monkeypatch.setattr(f"tomeval.extensions.levels.{module}.placements", lambda run: found)
    [drawing] = levels(opened)
    assert "nan" not in drawing.description
    assert "same: 0 or 1 or 2" in drawing.description
    notes = " ".join(level_notes(opened))
    assert "the levels give every turn the same probability" in notes
    assert "alpha is looked for from 0.125 to 64: at an end it may lie beyond" in notes


def test_few_deals() -> None:
    one = placed((1.0, 0.0, 0.0), 3.0, deals=1, turns=40)
    assert np.isnan([*one.held_out.mean, *one.alphas, one.alpha, one.level.mean[0]]).all()
    few = placed((1.0, 0.0, 0.0), 3.0, deals=LEAST_DEALS - 1, turns=20)
    assert math.isfinite(few.level.mean[0])
    assert np.isnan([few.level.low[0], few.level.high[0]]).all()
    assert not place(Choices(), np.random.default_rng(1)).fits


def test_frequency_by_hand() -> None:
    choices = Choices(["a", "a", "b"], [1, 2, 3], [], [4, 4, 4], ["x", "x", "x"])
    found = np.exp(frequency(choices, np.array([0, 0, 1])))
    # without deal a, x was said 1 time of 1; without deal b, 2 times of 2
    np.testing.assert_allclose(found, [2 / 5, 2 / 5, 3 / 6])


@pytest.mark.parametrize(("step", "levels", "size"), [(0.1, 3, 66), (0.5, 4, 10)])
def test_weight_grid_covers_the_triangle(step, levels, size) -> None:
    grid = weight_grid(step, levels)
    assert len(grid) == size
    np.testing.assert_allclose(grid.sum(axis=1), 1.0)


EXPERIMENT = {
    "domain": "decrypto",
    "episodes": 9,
    "levels": "minilm",
    "rules": LONG,
    "players": {
        "zero": {"kind": "rsa", "level": 0, "alpha": 1.5},
        "two": {"kind": "rsa", "level": 2, "alpha": 1.5},
        "chance": {"kind": "random"},
        "script": {"model": "scripted:decrypto"},
    },
    "pairings": [
        {"encoder": "zero", "decoder": "two", "interceptor": "zero"},
        {"encoder": "two", "decoder": "zero", "interceptor": "two"},
        {"encoder": "chance", "decoder": "chance", "interceptor": "chance"},
        {"encoder": "script", "decoder": "script", "interceptor": "script"},
    ],
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    with tomeval.run(EXPERIMENT, tmp_path_factory.mktemp("levels") / "run") as run:
        yield run


def test_table_places_every_player_in_every_seat(opened) -> None:
    rows = {(row["seat"], row["player"]): row for row in level_rows(opened)}
    for seat in ("Alice", "Bob", "Eve"):
        for player, level in (("zero", 0), ("two", 2)):
            row = rows[seat, player]
            assert row["embedding"] == "minilm"
            assert str(level) in row["best_level"]
            assert row["level_ci95_low"] <= level <= row["level_ci95_high"]
        assert rows[seat, "chance"]["best_level"] == NONE_FITS
    assert rows["Alice", "two"]["best_level"] == "2"
    script = rows["Alice", "script"]  # its hints are made-up words
    assert (script["choices"], script["not_judged_percent"]) == (0, 100.0)
    assert script["best_level"] == NOT_JUDGED
    assert math.isnan(script["level"])
    assert rows["Bob", "script"]["choices"] == 9 * 5
    assert {row["seat"] for row in level_rows(opened, ["encoder"])} == {"Alice"}
    with pytest.raises(TomevalError, match="role"):
        level_rows(opened, ["alice"])
    notes = " ".join(level_notes(opened))
    assert "two words" in notes
    assert NONE_FITS in notes


def test_figures_say_what_the_table_says(opened) -> None:
    drawn = {drawing.stem: drawing for drawing in levels(opened)}
    assert set(drawn) == {"levels_alice", "levels_bob", "levels_eve"}
    row = next(r for r in level_rows(opened) if (r["seat"], r["player"]) == ("Eve", "two"))
    assert f"two (minilm): mean level {row['level']:.2f}" in drawn["levels_eve"].description
    assert f"chance: {NONE_FITS}" in drawn["levels_eve"].description


def test_levels_are_judged_with_what_was_known_then(opened) -> None:
    """Cutting a game short changes nothing of what came before."""
    [_, cell, *_] = opened.cells
    turns = [turn for turn in heard(cell) if turn.deal == f"{cell.seed} 0"]
    assert [len(turn.past) for turn in turns] == list(range(5))
    moves = cell.moves(0)
    assert [", ".join(turn.hints) for turn in turns] == moves["hints"]
    assert [100 * b[0] + 10 * b[1] + b[2] for b in (t.bob for t in turns)] == moves["bob"]
    assert turns[3].past[2].hints == turns[2].hints


def test_the_same_hints_in_another_pairing_are_copies(tmp_path) -> None:
    """Whatever the others guess: Alice draws alike, and tells nothing new."""
    others = [{"decoder": name, "interceptor": name} for name in ("zero", "chance")]
    made = {**EXPERIMENT, "episodes": 1, "pairings": [{"encoder": "zero"} | o for o in others]}
    with tomeval.run(made, tmp_path / "run") as run:
        assert run.cells[0].moves(0)["eve"] != run.cells[1].moves(0)["eve"]
        assert len(choices_of(run, shipped_embedding("minilm"))["encoder", "zero"].said) == 3 * 5


def test_without_the_key_there_are_neither_tables_nor_figures(tmp_path) -> None:
    made = {**EXPERIMENT, "episodes": 1, "pairings": EXPERIMENT["pairings"][3:]}
    made = {key: value for key, value in made.items() if key not in ("levels", "rules")}
    assert "levels" not in make_experiment(made).cells[0].definition
    with tomeval.run(made, tmp_path / "run") as run:
        assert "levels" not in {*run.tables, *run.added_figures}
        rows = run.table_of("levels").rows(run, [])
        assert {row["best_level"] for row in rows} == {NOT_JUDGED}  # of one game


def test_replays_place_the_record_with_its_own_past(tmp_path) -> None:
    turns = (
        Turn((1, 2, 3), ("stream", "guitar", "toast"), (1, 2, 3), (1, 2, 4)),
        Turn((4, 1, 2), ("cold season", "creek", "Cello"), (4, 1, 2), (4, 1, 2)),
    )
    write_games(tmp_path / "games.json", [RecordedGame(KEYS, turns, Rules(turns=2))])
    made = {
        "domain": "decrypto",
        "records": str(tmp_path / "games.json"),
        "players": {"zero": {"kind": "rsa", "level": 0}},
        "pairings": [{"encoder": "zero", "decoder": "record", "interceptor": "zero"}],
    }
    with tomeval.run(made, tmp_path / "run") as run:
        [_, second] = heard(run.cells[0])
        assert second.past[0].hints == turns[0].hints
        assert second.hints == turns[1].hints
        assert second.own != second.hints  # her own are not heard
        assert second.bob == (4, 1, 2)
        found = choices_of(run, shipped_embedding("minilm"))
    assert found["decoder", "record"].said == ["(1, 2, 3)", "(4, 1, 2)"]
    assert len(found["encoder", "zero"].said) == 6
    made["pairings"] = [{"encoder": "record", "decoder": "zero", "interceptor": "zero"}]
    with tomeval.run(made, tmp_path / "other") as run:
        alice = choices_of(run, shipped_embedding("minilm"))["encoder", "record"]
    assert alice.said == ["stream", "guitar", "toast", "creek", "cello"]
    assert alice.left_out == 1


def test_rsa_players_are_resumed_with_the_same_rows(tmp_path) -> None:
    made = {**EXPERIMENT, "pairings": EXPERIMENT["pairings"][:1], "episodes": 1}
    with tomeval.run(made, tmp_path / "a") as run:
        first = json.dumps(run.cells[0].moves(0))
    with tomeval.run({**made, "episodes": 2}, tmp_path / "a") as run:
        assert json.dumps(run.cells[0].moves(0)) == first
        more = json.dumps(run.cells[0].moves(1))
    with tomeval.run({**made, "episodes": 2}, tmp_path / "b") as run:
        assert json.dumps(run.cells[0].moves(1)) == more


def test_an_embedding_that_does_not_ship() -> None:
    with pytest.raises(TomevalError, match=r"levels: unknown embedding 'minilmm'.*minilm"):
        make_experiment({**EXPERIMENT, "levels": "minilmm"}).cells  # noqa: B018
    assert len(CODES) == 24
