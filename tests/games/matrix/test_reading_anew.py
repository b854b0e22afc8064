"""Predictions of scored labels, read as the most probable label or drawn, from one run."""

import json

import numpy as np
import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.games.matrix.results import _choose

LM = {"strategy": "LM", "decide": "sample"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("anew") / "run"
    subjects = [
        {"name": "compared", **LM},
        {"name": "drawn", **LM, "predict": "sample"},
        {"name": "written", "strategy": "QA"},
        {"name": "acted on", "strategy": "Social LM"},
        "random",
    ]
    experiment = {"games": "IPD", "subjects": subjects, "horizon": 20, "episodes": 6, "seed": 2}
    tomeval.run({**experiment, "model": "pocket"}, path).close()
    return path


def read(folder, predict):
    with tomeval.Run(folder, predict=predict) as run:
        return {cell.player: cell.played for cell in run.cells}, run.rows()


def test_what_was_recorded_in_the_same_way_is_as_recorded(folder) -> None:
    plain, compared, drawn = (read(folder, how)[0] for how in ("", "argmax", "drawn"))
    for player in plain:
        same = {
            how: played[player].predicted
            for how, played in (("argmax", compared), ("drawn", drawn))
        }
        kept = {how for how, said in same.items() if (said == plain[player].predicted).all()}
        wanted = {"compared": {"argmax"}, "drawn": {"drawn"}}.get(player, {"argmax", "drawn"})
        assert kept == wanted, player
    again = read(folder, "drawn")[0]
    assert (again["compared"].predicted == drawn["compared"].predicted).all()


def test_the_most_probable_label_is_read_from_what_is_stored(folder) -> None:
    """The second way: the probabilities of the exported steps, by hand."""
    with tomeval.Run(folder, "subject=drawn") as run:
        steps = run.steps()
    probs = np.array([json.loads(text) for text in steps["predicted_probs"]])
    by_hand = probs.argmax(axis=1)
    assert (np.sort(probs, axis=1)[:, -1] > np.sort(probs, axis=1)[:, -2]).all()  # no ties
    played = read(folder, "argmax")[0]["drawn"]
    assert (played.predicted == by_hand).all()
    hits = by_hand == steps["partner_action"].to_numpy(dtype=int)
    row = next(row for row in read(folder, "argmax")[1] if row["subject"] == "drawn")
    assert row["tom_percent"] == pytest.approx(100 * hits.mean())


def test_only_what_follows_from_predictions_moves(folder) -> None:
    plain, drawn = read(folder, "")[1], read(folder, "drawn")[1]
    for before, after in zip(plain, drawn, strict=True):
        for name in ("reward_per_step", "delta_functional_per_step", "stepwise_regret_per_step"):
            assert before[name] == after[name]
        moved = before["tom_percent"] != after["tom_percent"]
        assert moved == (before["subject"] == "compared")


def test_draws_have_the_stored_probabilities_and_ties_favour_none() -> None:
    u = (np.arange(1000) + 0.5) / 1000
    probs = np.array([0.2, 0.5, 0.3])
    drawn = np.bincount([_choose(probs, "drawn", 0, x) for x in u], minlength=3)
    assert drawn.tolist() == [200, 500, 300]
    tie = np.array([0.4, 0.2, 0.4])
    compared = np.bincount([_choose(tie, "argmax", 1, x) for x in u], minlength=3)
    assert compared.tolist() == [500, 0, 500]
    assert {_choose(tie, "argmax", 2, x) for x in u} == {2}  # as recorded, if that is one of them


def test_a_run_without_stored_probabilities_is_one_clear_error(folder) -> None:
    with (
        tomeval.Run(folder, "subject=written,random", predict="drawn") as run,
        pytest.raises(TomevalError, match=r"--predict drawn: no cell of .* has predictions"),
    ):
        run.rows()
    with pytest.raises(TomevalError, match=r"predict 'draw' .did you mean 'drawn'"):
        tomeval.Run(folder, predict="draw")
