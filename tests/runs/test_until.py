"""Runs that stop by a condition: what conditions say, when cells stop, and where a run goes on."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from every_domain import episode_of
from support import dump, scripts
from voice_server import VoiceServer

from tomeval.core.errors import TomevalError
from tomeval.core.extensions import portion
from tomeval.models.base import BackendError
from tomeval.models.served.limits import Budget, BudgetExceeded
from tomeval.report.episodes import Episodes
from tomeval.report.notices import notices
from tomeval.runs import tallies
from tomeval.runs.allocation import Allocation
from tomeval.runs.closing import closing
from tomeval.runs.conditions import parse
from tomeval.runs.experiment import make_experiment
from tomeval.runs.measures import Totals
from tomeval.runs.notes import stop_notes, stopped_when
from tomeval.runs.results import Run
from tomeval.runs.runner import run_experiment
from tomeval.runs.until import Goal, goals, paired
from tomeval.statistics.sequences import mean_sequence

NAMES = ["rmax", "fictitious_play", "random", {"kind": "simulated", "name": "knows", "p": 0.9}]
PLAYERS = {
    "games": ["RPS", "IPD"],
    "partners": "tit_for_tat",
    "horizon": 10,
    "episodes": 10,
    "seed": 1,
    "subjects": NAMES,
}
TWO = [("one", 0.5), ("other", 0.52)]
CONDITION = "width(regret) < 0.35 and best known(regret)"


def made(until: str = CONDITION, **more):
    return make_experiment({**PLAYERS, "until": until, **more})


def play(folder, experiment, **how) -> dict:
    """Return what the folder says of the condition once the run ends."""
    run_experiment(experiment, folder, **how)
    with Run(folder) as run:
        return run.until


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
    )


def goal(kind, *cells, number=0.0, confidence=0.95, better=-1) -> Goal:
    measure = SimpleNamespace(name="m", words="m", better=better)
    return Goal(kind, "said", measure, cells, number, confidence)


# --- what a condition says ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "widht(regret) < 0.1",
            "'widht(regret) < 0.1' (did you mean 'width'?); write width(",
        ),
        ("", "unknown condition ''"),
        ("width(regret) < 0.1 and", "unknown condition"),
        (
            "width(regret) < 0.1 or best known",
            "unknown condition 'width(regret) < 0.1 or best known'; write width(",
        ),
        ("width(regret) < 0.1, best known", "unknown condition"),
        (
            "width(regret) > 0.1",
            "unknown condition 'width(regret) > 0.1'; write width(MEASURE) < NUMBER",
        ),
        ("width(regret) < 0", "a width must be compared with a finite number above 0, not 0"),
        ("width(regret) < -1", "a width must be compared with a finite number above 0, not -1"),
        (
            "width(regret) < 1e999",
            "a width must be compared with a finite number above 0, not 1e999",
        ),
        ("width(regret) < nan", "compared with a number, not 'nan'"),
        ("width(regret) < __import__('os')", "compared with a number"),
        ("width(regrets) < 0.1", "unknown metric 'regrets' (did you mean 'regret'?)"),
        ("width() < 0.1", "unknown condition 'width() < 0.1'"),
        ("width(regret, percent) < 0.1", "unknown unit of ΔFunctional/T 'percent'; known: payoff"),
        ("width(tom) < 500", "always holds, as ToM % lies between 0 and 100"),
        (
            "width(regret) < 9",
            "always holds, as ΔFunctional/T lies between 0 and",
        ),
        ("decided(rmax)", "'decided(rmax)' must name two players: write decided(A vs B)"),
        ("decided(S2A, long vs rmax)", "double quotes around names that contain commas"),
        ("decided(rmax vs randm)", "unknown player 'randm' (did you mean 'random'?)"),
        ("decided(rmax vs rmax)", "compares rmax with itself; it can never hold"),
        ("decided(rmax vs random, regrets)", "unknown metric 'regrets'"),
        ("best known(nothing)", "unknown metric 'nothing'"),
        ("best known(regret, within)", "unknown condition 'best known(regret, within)'"),
        (
            "best known(regret, within 0)",
            "a margin must be compared with a finite number above 0, not 0",
        ),
        ("best known(within a lot)", "a margin must be compared with a number, not 'a lot'"),
        ("best known(within 1, regret)", "unknown condition 'best known(within 1, regret)'"),
        ("best known(tom, within 101)", "always holds, as ToM % lies between"),
        ("best known(regret, tom)", "unknown condition 'best known(regret, tom)'"),
    ],
)
def test_what_a_condition_may_not_say(text, said) -> None:
    if text:
        with pytest.raises(TomevalError) as raised:
            made(text)
        line = str(raised.value)
        assert line.startswith("experiment: until: ")
        assert said in line
        assert "\n" not in line
    else:
        with pytest.raises(TomevalError, match="unknown condition ''"):
            parse(text)


def test_capital_letters_of_and_do_not_matter() -> None:
    assert parse("Width(tom) < 5 AND Best Known") == [
        *parse("Width(tom) < 5"),
        *parse("Best Known"),
    ]


def test_names_with_commas_and_brackets_stand_in_quotes() -> None:
    (one,) = parse('decided("S2A, long" vs "A and (B)", tom)')
    assert one.names == ("S2A, long", "A and (B)")
    assert one.measure == "tom"
    (one,) = parse("decided(Oracle + Max vs LM)")
    assert one.names == ("Oracle + Max", "LM")
    assert [s.kind for s in parse("WIDTH( regret )<.5  and Best  Known")] == ["width", "best"]


def test_what_an_experiment_may_not_say_beside_it() -> None:
    for more, said in (
        ({"max_episodes": 5}, "max_episodes: 5 is less than the first batch, episodes = 10"),
        ({"until": "", "max_episodes": 50}, "max_episodes: needs until"),
        ({"subjects": ["rmax"], "until": "best known"}, "two players have no task in common"),
        ({"max_episodes": 0}, "max_episodes"),
    ):
        with pytest.raises(TomevalError, match=said):
            make_experiment({**PLAYERS, "until": CONDITION, **more})


@pytest.mark.parametrize("option", ["limit", "part"])
def test_it_does_not_go_with_a_part_or_a_limit(tmp_path, option) -> None:
    given = {"limit": 3, "part": portion("shard")("1/2")}[option]
    with pytest.raises(TomevalError, match="until cannot be combined with --"):
        run_experiment(made(), tmp_path / "run", **{option: given})
    assert not (tmp_path / "run").exists()


def test_comparisons_are_one_family() -> None:
    found = goals(made("decided(rmax vs random) and best known and width(regret) < 0.3"))
    compared = [g for g in found if len(g.cells) > 1]
    assert [len(g.cells) for g in compared] == [2, 2, 4, 4]  # two games
    assert {g.confidence for g in compared} == {1 - 0.05 / (1 + 1 + 3 + 3)}
    assert len([g for g in found if g.kind == "width"]) == 8


# --- when a goal is met ---------------------------------------------------------------------------


def test_pairs_are_episodes_of_one_number_and_units_are_clusters() -> None:
    a = cell_of([1.0, 5.0, math.nan, 2.0, 4.0], clusters=[7, 7, 8, 9, 9])
    b = cell_of([0.0, 1.0, 3.0, math.nan, 1.0], clusters=[7, 7, 8, 9, 9])
    assert paired(a, b, "m").tolist() == [2.5, 3.0]  # (1 + 4) / 2 of the first, 3 of the last


def test_a_cell_without_chance_pairs_by_what_was_drawn() -> None:
    once = cell_of([0.5, 0.25], which=[0, 1], each_once=True)
    drawn = cell_of([1.0, 2.0, 3.0], which=[1, 0, 5])
    assert paired(once, drawn, "m").tolist() == [-0.75, -1.5]
    assert paired(drawn, once, "m").tolist() == [0.75, 1.5]


@pytest.mark.parametrize("better", [1, -1])
def test_who_is_worse_plays_no_more_and_the_best_is_known(better) -> None:
    rng = np.random.default_rng(0)
    low, middle, high = (cell_of(rng.uniform(a, a + 0.2, 60)) for a in (0.0, 0.4, 0.8))
    cells = {0: low, 1: middle, 2: high}
    best = 2 if better == 1 else 0
    found = goal("best", 0, 1, 2, better=better).met(cells, {})
    assert found[best] == "said"
    assert {n for n, why in found.items() if why == "said: not the best"} == {0, 1, 2} - {best}
    both = goal("decided", 0, 2, better=better).met(cells, {})
    assert both == {0: "said", 2: "said"}


def test_equal_players_stay_undecided_unless_nothing_is_left_to_chance() -> None:
    same = cell_of(np.tile([0.0, 1.0], 200))
    assert goal("decided", 0, 1).met({0: same, 1: same}, {}) == {}
    once = cell_of([0.5, 0.25], which=[0, 1], each_once=True)
    found = goal("best", 0, 1).met({0: once, 1: once}, {})
    assert found == dict.fromkeys((0, 1), "said: equal in every episode")


@pytest.mark.parametrize("better", [1, -1])
def test_within_a_margin_equal_players_stop_and_who_is_far_off_is_out(better) -> None:
    rng = np.random.default_rng(1)
    far = cell_of(rng.uniform(0.9, 1.0, 400) if better < 0 else rng.uniform(0.0, 0.1, 400))
    one, other = (cell_of(rng.uniform(0.4, 0.6, 400)) for _ in range(2))
    cells = {0: one, 1: far, 2: other}
    assert set(goal("best", 0, 1, 2, better=better).met(cells, {})) == {1}
    said = goal("best", 0, 1, 2, number=0.1, better=better).met(cells, {})
    means = [cell.totals("m").values.mean() * better for cell in (one, other)]
    first, second = (0, 2) if means[0] > means[1] else (2, 0)
    assert said == {
        first: "said",
        second: "said: within the margin",
        1: "said: not the best",
    }
    assert goal("best", 0, 1, 2, number=0.001, better=better).met(cells, {}) == {
        1: "said: not the best"
    }


@pytest.mark.parametrize("better", [1, -1])
@pytest.mark.parametrize("count", [5, 40, 300])
def test_near_is_what_the_sequence_of_the_difference_says(better, count) -> None:
    rng = np.random.default_rng(count)
    a, b = (cell_of(rng.uniform(0, 0.5, count)) for _ in range(2))
    low, high = mean_sequence(paired(a, b, "m"), 0.95, bounds=(-1, 1))
    worst = max(0.0, -low if better > 0 else high)
    for margin in (worst + 1e-6, worst - 1e-6):
        asked = goal("best", 0, 1, number=margin, better=better)
        assert asked.near(a, b) == (margin > worst)
    far = cell_of(np.full(count, 0.0 if better > 0 else 1.0))
    assert not goal("best", 0, 1, number=0.01, better=better).near(far, cell_of([0.5] * count))


def test_within_a_margin_a_wrong_best_is_rare_at_every_look() -> None:
    """The worst case: one player is worse by the margin itself, and all looks are taken."""
    rng, wrong = np.random.default_rng(6), 0
    asked = goal("best", 0, 1, number=0.2, better=1)
    for _ in range(100):
        x, y = rng.random((2, 120)) < np.array([[0.4], [0.6]])
        for count in range(10, 121, 10):
            cells = {0: cell_of(x[:count]), 1: cell_of(y[:count])}
            if said := asked.met(cells, {}):
                wrong += said.get(0) == "said"
                break
    assert wrong <= 11  # 5 expected at most; P(more than 11) < 1 %


@pytest.mark.parametrize("gap", [0.02, 0.1, 0.4])
def test_a_look_is_taken_where_something_is_decided(gap) -> None:
    """Of differences that are all alike, so that more of them are known: by trying every number."""
    asked = goal("decided", 0, 1)

    def cells(count):
        return {0: cell_of([0.5] * count), 1: cell_of([0.5 - gap] * count)}

    needed = next(n for n in range(5, 3000) if asked.met(cells(n), {}))
    for count in (needed // 2, needed * 3 // 4):
        assert 0.75 * needed < count * asked.soonest(cells(count), {}) < 1.02 * needed


def test_players_without_chance_hasten_no_look() -> None:
    rng = np.random.default_rng(2)
    once = cell_of([0.5, 0.25], which=[0, 1], each_once=True)
    drawn = cell_of(rng.uniform(0.3, 0.5, 20), which=np.arange(20) % 2)
    asked, cells = goal("best", 0, 1, 2), {0: once, 1: drawn, 2: once}
    assert asked.soonest(cells, {}) == goal("decided", 0, 1).soonest(cells, {}) > 1


@pytest.mark.parametrize(("values", "number"), [([0.0, 1.0], 0.2), ([0.49, 0.51], 0.2)])
def test_a_look_is_taken_where_a_width_is_expected(values, number) -> None:
    """Of values that repeat, wide and narrow ones, by trying every number; once half are there."""
    asked = goal("width", 0, number=number)

    def cells(count):
        one = cell_of(np.resize(values, count))
        ends = mean_sequence(one.totals("m").values, bounds=(0, 1))
        one.estimate = lambda names, kind: SimpleNamespace(half=np.array([np.ptp(ends) / 2]))
        return {0: one}

    needed = next(n for n in range(5, 3000) if asked.met(cells(n), {}))
    for count in (needed // 2, needed * 3 // 4):
        assert 0.75 * needed < count * asked.soonest(cells(count), {}) < 1.5 * needed


def test_a_cell_without_a_value_is_asked_nothing() -> None:
    none, some = cell_of([math.nan] * 9), cell_of([0.0, 1.0] * 20)
    assert goal("width", 0, number=0.1).met({0: none}, {}) == {0: "it has no value for m"}
    assert set(goal("decided", 0, 1).met({0: none, 1: some}, {})) == {0, 1}


# --- runs -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("until") / "run"
    return folder, play(folder, made())


def test_a_run_stops_when_its_condition_holds(whole) -> None:
    folder, said = whole
    with Run(folder) as run:
        cells = {cell.number: cell for cell in run.cells}
        for row in run.rows():
            assert row["stopped"]
        for number, cell in cells.items():
            told = said["cells"][str(number)]
            assert len(cell.episodes) == told["episodes"] == run.wanted(cell)
            assert cell.episodes.tolist() == list(range(told["episodes"]))
            if "not met" not in told["stopped"]:
                name = "delta_functional_per_step"
                low, high = mean_sequence(cell.totals(name).values, bounds=cell.limits(name))
                assert high - low < 0.35
    assert said["family"] == 6
    assert len({told["episodes"] for told in said["cells"].values()}) > 1


def test_all_that_still_play_in_a_task_have_the_same_episodes(tmp_path, monkeypatch) -> None:
    seen = []
    look = Allocation.look

    def noted(self, complete):
        more = look(self, complete)
        for group in self._groups:
            seen.append({self.episodes[n] for n in group if self._open(n)})
        return more

    monkeypatch.setattr(Allocation, "look", noted)
    said = play(tmp_path / "run", made("best known", max_episodes=60))
    assert all(len(counts) <= 1 for counts in seen)
    worse = [one for one in said["cells"].values() if one["stopped"].endswith("not the best")]
    assert worse
    for game in (range(4), range(4, 8)):
        counts = [said["cells"][str(n)]["episodes"] for n in game]
        assert sorted(counts)[-2:] == [max(counts)] * 2  # the best had someone to be paired with


def test_an_interrupted_run_stops_at_the_same_place(tmp_path, whole) -> None:
    whole_steps = 10 * sum(told["episodes"] for told in whole[1]["cells"].values())
    for share in (0.1, 0.5, 0.5, 0.99):

        def stop(done: int, total: int, share: float = share) -> None:
            if done >= share * whole_steps:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_experiment(made(), tmp_path / "run", progress=stop)
    again = play(tmp_path / "run", made())
    folder, said = whole
    assert again == said
    assert dump(tmp_path / "run")["steps"] == dump(folder)["steps"]
    assert run_experiment(made(), tmp_path / "run") == 0


KILLED = """
import json, os, signal, sys
from pathlib import Path
from tomeval.runs.allocation import Allocation
from tomeval.runs.experiment import make_experiment
from tomeval.runs.runner import run_experiment
folder, when, left = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
keep = Allocation._keep
def dying(self, cap):
    global left
    left -= 1
    if left == 0 and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    keep(self, cap)
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
Allocation._keep = dying
run_experiment(make_experiment(json.loads(sys.argv[4])), folder)
"""


def test_a_run_killed_at_its_looks_stops_at_the_same_place(tmp_path, whole) -> None:
    data = json.dumps({**PLAYERS, "until": CONDITION})
    for look, when in ((2, "before"), (3, "after")):
        words = [sys.executable, "-c", KILLED, str(tmp_path / "run"), when, str(look), data]
        assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    assert play(tmp_path / "run", made()) == whole[1]
    assert dump(tmp_path / "run")["steps"] == dump(whole[0])["steps"]


ASKING = {
    **{**PLAYERS, "games": "RPS", "horizon": 3, "labels": "neutral", "model": "scripted:rule"},
    "subjects": ["random", {"strategy": "QA"}],
    "until": "width(regret) < 0.5",
    "max_episodes": 100,
}


def test_a_model_interrupted_amid_a_batch_stops_at_the_same_place(tmp_path) -> None:
    asking = make_experiment(ASKING)
    with scripts(rule=lambda request: "<answer> J"):
        said = play(tmp_path / "whole", asking)
        for steps in (62, 80, 111):  # the first batch ends at 60, the second at 90

            def stop(done: int, total: int, steps: int = steps) -> None:
                if done >= steps:
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                run_experiment(asking, tmp_path / "run", progress=stop, concurrency=1)
        assert play(tmp_path / "run", asking) == said
    assert dump(tmp_path / "run")["steps"] == dump(tmp_path / "whole")["steps"]


def test_a_failed_episode_is_waited_for(tmp_path) -> None:
    def failing(request):
        if episode_of(request) == 7:
            raise BackendError("gone")
        return "<answer> J"

    asking = make_experiment({**ASKING, "until": "decided(random vs QA)"})
    with scripts(rule=failing):
        said = play(tmp_path / "run", asking)
    assert {told["episodes"] for told in said["cells"].values()} == {10}
    assert {told["stopped"] for told in said["cells"].values()} == {""}
    with scripts(rule=lambda request: "<answer> J"):
        assert play(tmp_path / "run", asking) == play(tmp_path / "whole", asking)
    assert dump(tmp_path / "run")["steps"] == dump(tmp_path / "whole")["steps"]


def test_rows_do_not_depend_on_how_it_is_played(tmp_path) -> None:
    def script(request):
        return "<answer> J" if "3" in request.group[-1:] else "<answer> F"

    data = {
        **PLAYERS,
        "labels": "neutral",
        "model": "scripted:rule",
        "subjects": ["random", {"strategy": ["QA", "CoT"]}],
        "until": "best known",
        "max_episodes": 25,
        "stop_after_voids": 0,
        "on_invalid": "random",
    }
    with scripts(rule=script):
        said = [
            play(tmp_path / f"{number}", make_experiment(data), **how)
            for number, how in enumerate(({}, {"concurrency": 1}, {"concurrency": 7, "workers": 2}))
        ]
    assert said[1:] == [said[0]] * 2
    first, *others = (dump(tmp_path / f"{number}")["steps"] for number in range(3))
    assert others == [first] * 2


def test_a_cap_ends_a_run_and_is_its_reason(tmp_path) -> None:
    prices = tmp_path / "prices.toml"
    with VoiceServer("terse") as server:
        model = server.model.partition(":")[2].partition("@")[0]
        prices.write_text(f'["{model}"]\nprompt = 1.0\ncompletion = 5.0\n')
        data = {
            **{**PLAYERS, "games": "IPD", "labels": "neutral", "horizon": 3, "episodes": 5},
            "subjects": ["random", {"strategy": "QA"}],
            "model": {"name": server.model, "prices": str(prices)},
            "until": "width(regret) < 0.001",
        }
        experiment, folder = make_experiment(data), tmp_path / "run"
        with pytest.raises(BudgetExceeded, match="the cap is 60 calls"):
            run_experiment(experiment, folder, budget=Budget(60))
        with Run(folder) as run:
            whys = [told["stopped"] for told in run.until["cells"].values()]
        assert whys[1].startswith("stopped before call 61: the cap is 60 calls, and not met: width")
        budget = Budget(max_cost=0.02)
        with pytest.raises(BudgetExceeded, match=r"spent and .* the cap is 0.02"):
            run_experiment(experiment, folder, budget=budget)
        assert 0.01 < budget.cost <= 0.02
        with Run(folder) as run:
            paid = sum(spent["cost"] for spent in tallies.paid(run.store).values())
            assert paid >= budget.cost > 0
        data["model"] = server.model
        with pytest.raises(TomevalError, match=r"--max-cost: no price for openai:.*prices"):
            run_experiment(make_experiment(data), folder, budget=Budget(max_cost=1.0))


def test_a_stricter_condition_goes_on_and_rows_stay(tmp_path) -> None:
    first = play(tmp_path / "run", made("width(regret) < 0.6"))
    before = dump(tmp_path / "run")["steps"]
    then = play(tmp_path / "run", made("width(regret) < 0.4"))
    assert set(before) <= set(dump(tmp_path / "run")["steps"])
    for number, told in then["cells"].items():
        assert told["episodes"] >= first["cells"][number]["episodes"]
    assert then == play(tmp_path / "run", made("width(regret) < 0.4"))


def test_more_episodes_may_be_allowed_later(tmp_path) -> None:
    short = play(tmp_path / "run", made("width(regret) < 0.2", max_episodes=15))
    whys = [told["stopped"] for told in short["cells"].values()]
    assert "at the maximum number of episodes, and not met: width(regret) < 0.2" in whys
    unmet = sum("not met" in why for why in whys)
    with Run(tmp_path / "run") as run:
        said = stopped_when(run)
    assert said == f"stopped when width(regret) < 0.2; not met in {unmet} of {len(whys)} cells"
    then = play(tmp_path / "run", made("width(regret) < 0.2", max_episodes=40))
    fresh = play(tmp_path / "fresh", made("width(regret) < 0.2", max_episodes=40))
    for number, told in then["cells"].items():
        assert told["stopped"] == fresh["cells"][number]["stopped"]


def test_without_a_condition_the_folder_is_filled_up(tmp_path) -> None:
    play(tmp_path / "run", made("width(regret) < 0.6"))
    data = {key: value for key, value in PLAYERS.items() if key != "episodes"}
    said = play(tmp_path / "run", make_experiment({**data, "episodes": 100}))
    assert said == {}
    with Run(tmp_path / "run") as run:
        assert {len(cell.episodes) for cell in run.cells} == {100}


def test_only_the_two_that_are_compared_are_asked_for_more(tmp_path) -> None:
    said = play(tmp_path / "run", made("decided(rmax vs knows)", max_episodes=40))["cells"]
    assert {said[str(n)]["stopped"] for n in (1, 2, 5, 6)} == {"the condition does not involve it"}
    assert {said[str(n)]["episodes"] for n in (1, 2, 5, 6)} == {10}
    assert said["0"]["episodes"] == said["3"]["episodes"]


def test_why_cells_stopped_is_said_wherever_numbers_are(whole, tomeval) -> None:
    folder, said = whole
    with Run(folder) as run:
        lines = " ".join(" ".join(closing(run).lines).split())
        (note,) = stop_notes(run)
        assert [row["stopped"] for row in run.status()] == [row["stopped"] for row in run.rows()]
        notices_said = [one.text for one in notices(run, Episodes(run, None), "t")]
    assert note.startswith(f"stopped when {CONDITION}: it holds in ")
    assert "the sequences of its 6 comparisons hold jointly" in note
    assert note[:60] in lines
    assert any(text.startswith(f"Stopped when {CONDITION}") for text in notices_said)
    for form in ("text", "markdown", "latex"):
        _, out, errors = tomeval("table", folder, "--metric", "regret", "--format", form)
        assert "stopped when width(regret)" in out
        assert "stopped when width(regret)" in errors
    _, out, _ = tomeval("table", folder, "--format", "json")
    whys = [row["stopped"] for row in json.loads(out)]
    assert whys == [told["stopped"] for told in said["cells"].values()]


def test_plan_says_how_far_a_condition_may_go(tomeval, tmp_path) -> None:
    file = tmp_path / "e.toml"
    file.write_text('games = "RPS"\nsubjects = ["rmax", "random"]\nepisodes = 20\n')
    _, out, errors = tomeval("plan", file, "--until", "width(regret) < 0.3", "--format", "json")
    assert {row["episodes"] for row in json.loads(out)} == {20}
    assert "every cell has 20 episodes first, as planned here, and at most 200" in errors
    code, _, errors = tomeval("plan", file, "--until", " ")
    assert (code, "is empty" in errors) == (2, True)


def test_other_tables_name_the_condition_and_power_says_what_it_plans(whole, tomeval) -> None:
    folder, _ = whole
    for form in ("markdown", "latex"):
        _, out, _ = tomeval("compare", folder, "--metric", "regret", "--format", form)
        assert "stopped when width(regret)" in out
    _, out, _ = tomeval("compare", folder, "--metric", "regret")
    text = " ".join(out.split())
    assert "their counterpart was void, failed or not played" in text
    assert f"note: stopped when {CONDITION}" in text
    words = ("--what", "power", "--metric", "regret", "--difference", "0.1")
    _, out, _ = tomeval("compare", folder, *words)
    text = " ".join(out.split())
    assert "this plans a fixed number of episodes" in text


def test_a_margin_ends_what_equal_players_would_play(tmp_path) -> None:
    alike = [{"kind": "simulated", "name": name, "p": p, "q": 0.5} for name, p in TWO]
    both = {"games": "IPD", "subjects": alike, "max_episodes": 200}
    said = play(tmp_path / "margin", made("best known(regret, within 0.5)", **both))
    whys = sorted(told["stopped"] for told in said["cells"].values())
    text = "best known(regret, within 0.5)"
    assert whys == [text, f"{text}: within the margin"]
    (count,) = {told["episodes"] for told in said["cells"].values()}
    assert count < 200
    without = play(tmp_path / "without", made("best known(regret)", **both))
    assert {told["episodes"] for told in without["cells"].values()} == {200}


# --- comparisons ----------------------------------------------------------------------------------


def test_a_difference_lies_between_what_both_bounds_allow() -> None:
    one, other = cell_of([0.5], bounds=(0.0, 1.0)), cell_of([3.0], bounds=(2.0, 5.0))
    assert goal("decided", 0, 1).difference_bounds(one, other) == (0.0 - 5.0, 1.0 - 2.0)
    assert goal("decided", 0, 1).difference_bounds(other, one) == (2.0 - 1.0, 5.0 - 0.0)


@pytest.mark.parametrize("shift", [-0.5, -0.15, 0.0, 0.15, 0.5])
def test_who_is_better_does_not_depend_on_who_is_named_first(shift) -> None:
    rng = np.random.default_rng(3)
    for count in (6, 12, 40, 200):
        values = rng.uniform(0.5, 1.5, count)
        one = cell_of(values, bounds=(0.0, 2.0))
        other = cell_of(
            np.clip(values + shift + rng.normal(0, 0.1, count), 0, 2), bounds=(0.0, 2.0)
        )
        sign = goal("decided", 0, 1).compare(one, other)
        assert goal("decided", 0, 1).compare(other, one) == (None if sign is None else -sign)
        assert sign in ((None,) if not shift else (None, 1 if shift > 0 else -1))
    assert sign is not None or not shift  # of 200 pairs
