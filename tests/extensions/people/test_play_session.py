"""A person at the terminal: what is asked, what is kept, how a game is left."""

from __future__ import annotations

import io
import itertools
import json

import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.printing import Console
from tomeval.extensions.people import play_session
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run, iterate_export

C, D = "Cooperate", "Defect"


def session(**more):
    data = {"games": "IPD", "partners": "tit_for_tat", "episodes": 1, "horizon": 3, **more}
    return make_experiment(data | {"subjects": {"kind": "person", "name": "ann"}})


def play(folder, lines, **more):
    """Play with these lines of input; return whether it ended, and what was shown."""
    console = Console(io.StringIO("".join(f"{line}\n" for line in lines)), io.StringIO())
    return play_session(session(**more), console, folder), console.sink.getvalue()


def exported(folder):
    with Run(folder) as run:
        names, rows = iterate_export(run, "steps")
        return [dict(zip(names, row, strict=True)) for row in rows]


def test_a_small_match_has_the_measures_worked_out_by_hand(tmp_path):
    # tit for tat plays C, C, D: it copies what ann did the round before.
    over, _ = play(tmp_path / "run", [C, C, D, D, D, D])
    assert over
    with tomeval.Run(tmp_path / "run") as run:
        [row] = run.rows()
    # Rewards 8, 10, 5; the best response, C C D, gets 8 + 8 + 10.
    assert row["reward_per_step"] == pytest.approx(23 / 3)
    assert row["delta_functional_per_step"] == pytest.approx((26 - 23) / 3)
    # Predicted C, D, D where it played C, C, D.
    assert row["tom_percent"] == pytest.approx(100 * 2 / 3)
    # Stepwise: against C a defection gets 10, so round 1 loses 2; in the others D is best.
    assert row["stepwise_regret_per_step"] == pytest.approx(2 / 3)
    assert (row["episodes"], row["invalid_rate"]) == (1, 0)


def test_nothing_of_a_round_is_shown_before_both_answers(tmp_path):
    _, shown = play(tmp_path / "run", [D, C, D, D], horizon=2)
    acts, predicts = (
        [f"{what} in round {t} of 2" for t in (1, 2)]
        for what in ("Which action do you choose", "Which action will the other player choose")
    )
    places = [shown.index(text) for text in (acts[0], predicts[0], "Round 1:", acts[1])]
    assert places == sorted(places)
    assert shown.index(predicts[1]) < shown.index("Round 2:")


def test_a_line_that_cannot_be_read_is_asked_again_and_never_a_move(tmp_path):
    over, shown = play(tmp_path / "run", ["", "x", "3", "2", "rules", "?", "cooperate", D, D, D, D])
    assert over
    assert "'3' is not one of: Cooperate, Defect" in shown
    first = exported(tmp_path / "run")[0]
    assert (first["own_label"], first["predicted_label"]) == (D, C)
    assert {first["act_outcome"], first["predict_outcome"]} == {"valid"}


@pytest.mark.parametrize("left_by", [[], ["quit"], [D, "q"]])
def test_a_game_that_is_left_is_not_kept(tmp_path, left_by):
    over, shown = play(tmp_path / "run", [C, C, *left_by])
    assert not over
    assert "not finished" in shown
    with tomeval.Run(tmp_path / "run") as run:
        assert run.cells[0].episodes.size == 0
    assert play(tmp_path / "run", [C, C, D, D, D, D])[0]
    play(tmp_path / "whole", [C, C, D, D, D, D])
    assert exported(tmp_path / "run") == exported(tmp_path / "whole")
    play(tmp_path / "run", [C] * 6)  # another episode
    assert [step["episode"] for step in exported(tmp_path / "run")] == [0, 0, 0, 1, 1, 1]


def test_ctrl_c_leaves_the_game_at_any_moment(tmp_path):
    class Interrupted(io.StringIO):
        def readline(self, *_):
            if next(count) == 3:  # between the two answers of the second round
                raise KeyboardInterrupt
            return "1\n"

    count = itertools.count()
    console = Console(Interrupted(), io.StringIO())
    over = play_session(session(), console, tmp_path / "run")
    assert not over
    assert exported(tmp_path / "run") == []


def test_people_meet_what_other_subjects_meet(tmp_path):
    """The same seed, number, game and partners: the same chance, so that they are pairs."""
    task = {"games": "RPS", "partners": "mixture(0.2, 0.3, 0.5)", "horizon": 10, "seed": 5}
    play(tmp_path / "run", ["1"] * 20, **task)
    other = {**task, "subjects": {"kind": "simulated", "p": 0, "q": 0}, "episodes": 1}
    tomeval.run(other, tmp_path / "other").close()
    mine, theirs = exported(tmp_path / "run"), exported(tmp_path / "other")
    assert [s["partner_action"] for s in mine] == [s["partner_action"] for s in theirs]
    assert [s["own_action"] for s in mine] != [s["own_action"] for s in theirs]


def test_a_run_asks_nobody(tmp_path):
    experiment = {"games": "IPD", "partners": "tit_for_tat", "horizon": 3, "episodes": 2}
    with pytest.raises(TomevalError, match="plays with tomeval play, not here"):
        tomeval.run(experiment | {"subjects": ["random", "person"]}, tmp_path / "run")


def test_a_game_becomes_a_table(tomeval, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    game = ("play", "IPD", "tit_for_tat", "--horizon", "2", "--name", "ann")
    code, shown, told = tomeval(*game, stdin="1\n1\n2\n1\n")
    assert code == 0
    assert "The game is over" in shown
    assert "next: tomeval table runs/play" in told
    _, table, _ = tomeval("table", "runs/play", "--format", "json")
    [row] = json.loads(table)
    # Cooperate and then defect is the best response over two rounds: 8 + 10.
    assert (row["subject"], row["delta_functional_per_step"], row["tom_percent"]) == ("ann", 0, 100)
