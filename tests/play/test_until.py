"""Runs that stop by a condition: what conditions say, when cells stop, and where a run goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from support import dump

from tomeval.core.errors import TomevalError
from tomeval.play.runner import run_experiment
from tomeval.play.schedule import Shard
from tomeval.play.until import Goal, check, goals, paired
from tomeval.runs.experiment import make_experiment
from tomeval.runs.measures import Totals
from tomeval.runs.results import Run
from tomeval.statistics.sequences import mean_sequence

NAMES = ["rmax", "random", {"kind": "simulated", "name": "knows", "p": 0.9}]
PLAYERS = {
    "games": ["RPS", "IPD"],
    "partners": "tit_for_tat",
    "horizon": 10,
    "episodes": 10,
    "seed": 1,
    "subjects": NAMES,
}
WIDTH, DECIDED = "width(regret) < 0.35", "decided(rmax, random, regret)"


def made(until: str = WIDTH, **more):
    return make_experiment({**PLAYERS, "until": until, **more})


def play(folder, experiment, **how) -> dict:
    """Return what the folder says of the condition once the run ends."""
    run_experiment(experiment, folder, **how)
    with Run(folder) as run:
        return run.until


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("until") / "run"
    return folder, play(folder, made())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("widht(regret) < 0.1", "'widht(regret) < 0.1' (did you mean 'width'?); write width("),
        ("best known", "unknown condition 'best known'; write width(MEASURE) < NUMBER or decided"),
        ("width(regret) < 0.1 and decided(rmax, random)", "unknown condition"),
        ("width(regret) < 0", "compared with a finite number above 0, not '0'"),
        ("width(regret) < nan", "compared with a finite number above 0, not 'nan'"),
        ("width(regret) < __import__('os')", "above 0, not \"__import__('os')\""),
        ("width(regrets) < 0.1", "unknown metric 'regrets' (did you mean 'regret'?)"),
        ("width(tom) < 500", "always holds, as ToM % lies between 0 and 100"),
        ("decided(rmax)", "'decided(rmax)' must name two players: write decided(A, B)"),
        ("decided(rmax, randm)", "unknown player 'randm' (did you mean 'random'?)"),
        ("decided(rmax, rmax)", "compares rmax with itself; it can never hold"),
        ("decided(rmax, random, regrets)", "unknown metric 'regrets'"),
        ("decided(rmax, random, regret, tom)", "must name two players"),
    ],
)
def test_what_cannot_be_asked_is_one_line(text, said) -> None:
    with pytest.raises(TomevalError) as caught:
        check(made(text))
    assert str(caught.value).startswith("experiment: until: ")
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_what_a_condition_asks_of_which_cells() -> None:
    assert [goal.cells for goal in goals(made())] == [(n,) for n in range(6)]
    names = [cell.definition["subject"] for cell in made().cells]
    asked = goals(made(DECIDED))
    assert [goal.confidence for goal in asked] == pytest.approx([0.975, 0.975])
    for goal in asked:
        assert [names[n] for n in goal.cells] == ["rmax", "random"]
        assert len({str(made().cells[n].definition["game"]) for n in goal.cells}) == 1
    quoted = {"kind": "simulated", "name": "S2A, long", "p": 0.9}
    asked = goals(made('decided("S2A, long", rmax)', subjects=["rmax", quoted]))
    assert asked[0].names == ("S2A, long", "rmax")
    with pytest.raises(TomevalError, match="cannot be combined with --shard"):
        run_experiment(made(), "never", shard=Shard(1, 2))


def cell_of(values, *, which=None, each_once=False, bounds=(0.0, 1.0), clusters=None):
    """Return a cell of these values, as conditions read one; NaN: the episode is void."""
    values = np.asarray(values, dtype=float)
    there = np.flatnonzero(~np.isnan(values))
    return SimpleNamespace(
        totals=lambda name: Totals(values[there]),
        episodes=there,
        which=np.asarray(which if which is not None else np.zeros(len(values), int))[there],
        clusters=there if clusters is None else np.asarray(clusters)[there],
        each_once=each_once,
        limits=lambda name: bounds,
        part_limits=lambda name: bounds,
    )


MEASURE = SimpleNamespace(name="m", heading="m", better=-1)
PAIR = Goal("said", MEASURE, (0, 1), ("A", "B"))


def test_pairs_are_units_by_number_by_draw_and_by_cluster() -> None:
    one, other = cell_of([1, np.nan, 3, 5]), cell_of([0.5, 9, 1, np.nan])
    assert paired(one, other, "m").tolist() == [0.5, 2]
    drawn = cell_of([4, 5, 6], which=[1, 0, 1])
    once = cell_of([1, 2], which=[0, 1], each_once=True)
    assert paired(drawn, once, "m").tolist() == [2.5, 3.5, 4.5]
    assert paired(once, drawn, "m").tolist() == [-2.5, -3.5, -4.5]
    a, b = cell_of([1, 2, 6, 9], clusters=[7, 7, 3, 3]), cell_of([0, 0, 0, 0])
    assert paired(a, b, "m").tolist() == [1.5, 7.5]


def test_a_pair_is_decided_where_its_sequence_leaves_out_0() -> None:
    rng = np.random.default_rng(3)
    for shift in (-0.5, -0.15, 0.0, 0.15, 0.5):
        for count in (6, 12, 40, 200):
            values = rng.uniform(0.5, 1.5, count)
            others = np.clip(values + shift + rng.normal(0, 0.1, count), 0, 2)
            cells = {n: cell_of(v, bounds=(0.0, 2.0)) for n, v in enumerate((values, others))}
            said = PAIR.met(cells)
            low, high = mean_sequence(values - others, bounds=(-2, 2))
            assert bool(said) == (low > 0 or high < 0)
            if said:  # less is better
                ends = sorted(map(abs, (low, high)))
                who = "A" if shift > 0 else "B"
                assert said == f"said: {who} is better, by {ends[0]:.3g} to {ends[1]:.3g}"
            turned = PAIR.met({0: cells[1], 1: cells[0]})
            assert bool(turned) == bool(said)
        assert bool(said) == bool(shift)


def test_what_is_no_sample_is_decided_at_once_and_what_has_no_value_waits_for_nothing() -> None:
    sure = {n: cell_of([v], each_once=True) for n, v in enumerate((0.2, 0.7))}
    assert PAIR.met(sure) == "said: A is better, by 0.5 to 0.5"
    assert PAIR.met({0: sure[0], 1: sure[0]}) == "said: equal in every episode"
    assert PAIR.met({0: sure[0], 1: cell_of([np.nan])}) == "it has no value for m"


def test_a_condition_stops_a_run_seldom_where_players_are_alike() -> None:
    """The guarantee: with equal expectations any look decides in at most 5 % of runs."""
    rng, wrong = np.random.default_rng(5), 0
    for _ in range(300):
        values, others = rng.random((2, 200)) < 0.5
        looks = range(10, 201, 10)
        wrong += any(PAIR.met({0: cell_of(values[:n]), 1: cell_of(others[:n])}) for n in looks)
    assert wrong / 300 <= 0.05


def test_cells_stop_at_the_first_look_at_which_they_are_narrow(whole) -> None:
    folder, said = whole
    counts = {cell: told["episodes"] for cell, told in said["cells"].items()}
    assert min(counts.values()) < max(counts.values()) <= 100
    with Run(folder) as run:
        for cell in run.cells:
            told = said["cells"][str(cell.number)]
            if cell.each_once:
                continue
            assert len(cell.episodes) == told["episodes"]
            values, bounds = (
                cell.totals("delta_functional_per_step").parts,
                cell.limits("delta_functional_per_step"),
            )
            for n in range(10, told["episodes"] + 1, 10):
                narrow = np.ptp(mean_sequence(values[:n], bounds=bounds)) < 0.35
                assert narrow == (n == told["episodes"] and told["stopped"] == WIDTH)


@pytest.mark.parametrize("how", [{"workers": 2}, {"concurrency": 1}])
def test_what_is_played_does_not_depend_on_how_it_is_played(whole, tmp_path, how) -> None:
    assert play(tmp_path / "run", made(), **how) == whole[1]
    assert dump(tmp_path / "run") == dump(whole[0])


def test_a_run_that_is_killed_goes_on_from_its_last_look(whole, tmp_path) -> None:
    data = json.dumps({**PLAYERS, "until": WIDTH})
    code = (
        "import json, os, pathlib, signal, sys, tomeval.play.until as until\n"
        "from tomeval.runs.experiment import make_experiment\n"
        "from tomeval.play.runner import run_experiment\n"
        "look = until.Looks.look\n"
        "def die(self, complete):\n"
        "    more = look(self, complete)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "until.Looks.look = die\n"
        "run_experiment(make_experiment(json.loads(sys.argv[1])), pathlib.Path(sys.argv[2]))\n"
    )
    for _ in range(2):
        arguments = [sys.executable, "-c", code, data, str(tmp_path / "run")]
        assert subprocess.run(arguments, check=False).returncode == -signal.SIGKILL
    assert play(tmp_path / "run", made()) == whole[1]
    assert dump(tmp_path / "run") == dump(whole[0])


def test_players_are_decided_and_others_play_one_batch(tmp_path) -> None:
    said = play(tmp_path / "run", made(DECIDED))["cells"]
    names = [cell.definition["subject"] for cell in made().cells]
    for number, name in enumerate(names):
        told = said[str(number)]
        if name == "knows":
            involved = "the condition does not involve it"
            assert told == {"episodes": 10, "stopped": involved}
        else:
            assert "is better, by" in told["stopped"] or "not met" in told["stopped"]


def test_at_the_last_batch_a_run_stops_where_its_condition_is_not_met(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr("tomeval.play.until.AT_MOST", 1)
    short = play(tmp_path / "run", made())["cells"]
    whys = {told["stopped"] for told in short.values() if "not met" in told["stopped"]}
    assert whys == {f"at the maximum number of episodes, and not met: {WIDTH}"}


def test_plan_says_the_most_that_a_condition_can_take(tomeval, tmp_path) -> None:
    file = tmp_path / "e.toml"
    file.write_text('games = "RPS"\nsubjects = ["random"]\nepisodes = 20\n')
    _, out, errors = tomeval("plan", file, "--until", "width(regret) < 0.3", "--format", "json")
    assert [row["episodes"] for row in json.loads(out)] == [200]
    assert "cells stop earlier where the condition holds" in errors
    code, _, errors = tomeval("plan", file, "--until", " ")
    assert (code, "is empty" in errors) == (2, True)
