"""Runs of games that go on with a probability: prompts, plans, figures, folders, environments."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support import ROOT, questions

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.extensions.environments import environment
from tomeval.games.matrix.curves import LEAST_LEFT, curve_figure
from tomeval.games.matrix.optima import best_response
from tomeval.games.matrix.results import matrix_cell
from tomeval.games.matrix.scene import _indefinite
from tomeval.games.matrix.shown import asked
from tomeval.play.plan import guessed, plan_rows
from tomeval.play.runner import run_experiment
from tomeval.play.schedule import Shard
from tomeval.plots import Options, draw
from tomeval.runs.experiment import make_experiment
from tomeval.strategies.asking import flatten

C = 0.9
RUN = {
    "games": "IPD",
    "partners": "tit_for_tat",
    "subjects": ["random", "best_response", {"kind": "simulated", "p": 0.8}],
    "continuation": C,
    "episodes": 40,
    "seed": 5,
}
MODEL = {"kind": "llm", "model": "pocket", "strategy": "QA"}
PROMPTS = ROOT / "prompts"


def experiment(**more):
    return make_experiment(RUN | more, where="made.toml")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with tomeval.run(RUN, tmp_path_factory.mktemp("on") / "run") as played:
        yield played


SETS = [PROMPTS, *(PROMPTS / "sets").iterdir()]


@pytest.mark.parametrize("folder", SETS, ids=lambda one: one.name)
def test_every_template_with_the_horizon_has_a_twin_without(folder):
    # Programs are written for a horizon alone.
    own = [folder / "matrix", *(folder / "parts").glob("[!p]*/matrix")]
    stating = [p for one in own for p in one.rglob("*.j2") if "horizon" in p.read_text()]
    home = folder / "parts" / "indefinite" if folder == PROMPTS else folder / "indefinite"
    assert len(stating) == len(list(home.rglob("*.j2"))) >= 12
    for path in stating:
        place = Path("matrix", *path.parts[-2:])
        twin = (home / place).read_text().partition("\n+++\n")[2]
        assert "horizon" not in twin
        if path.parent.name == "context":  # rules, and what stands for them
            assert twin.count("{{ goes_on }} %") == twin.count("{{ ends }} %") == 1
        else:  # the question without the number of rounds
            text = path.read_text().partition("\n+++\n")[2]
            text = text.replace(" of {{ horizon }}", "")
            assert twin == text.replace("all {{ horizon }} rounds", "all rounds")


@pytest.mark.parametrize("name", ["default", "akata"])
@pytest.mark.parametrize("strategy", ["QA", "CoT", "LM", "Social LM", "S2A + CoT", "Reflexion 1"])
def test_players_are_told_the_chance_alone(name, strategy):
    subject = MODEL | {"strategy": strategy, "prompts": name, "conditional": True}
    asked = experiment(subjects=[subject]).cells[0].questions("subject", "Note: {step}")
    texts = [flatten(one.prompt) for episode in asked for one in episode]
    assert len(asked) == 2
    assert len(texts) > 40
    for text in texts:
        assert "90 %" in text
        assert "10 %" in text
        assert not re.search(r"ound \d+ of|\d rounds", text)


def test_the_chance_is_said_as_it_was_written():
    [asked] = {
        flatten(questions("matrix", cell)[0].prompt)
        for cell in experiment(subjects=[MODEL], continuation=0.999).cells
    }
    assert "with a chance of 99.9 %, and ends with a chance of 0.1 %" in asked


def test_own_templates_that_state_the_horizon_are_refused(tmp_path):
    own = tmp_path / "own" / "matrix" / "answer" / "qa_act.j2"
    own.parent.mkdir(parents=True)
    head = '+++\ntitle = "t"\nsource = "s"\nversion = "1"\n+++\n'
    own.write_text(head + "Round {{ round }} of {{ horizon }}: {{ marker }} ...\n")
    subject = MODEL | {"prompts": str(tmp_path / "own")}
    with pytest.raises(TomevalError, match=r"horizon.*indefinite/matrix/answer/qa_act") as caught:
        experiment(subjects=[subject])
    assert str(own) in str(caught.value)
    twin = tmp_path / "own" / "indefinite" / "matrix" / "answer" / "qa_act.j2"
    twin.parent.mkdir(parents=True)
    twin.write_text(head + "Round {{ round }} in my words: {{ marker }} ...\n")
    _indefinite.cache_clear()
    asked = questions("matrix", experiment(subjects=[subject]).cells[0])
    assert "Round 1 in my words" in flatten(asked[0].prompt)


def test_a_plan_counts_what_is_expected():
    """A move and a prediction in each of 10 steps; tokens as of drawn lengths, within a tenth."""
    planned = experiment(subjects=[MODEL], episodes=30)
    [row] = plan_rows(planned)
    assert (row["steps"], row["calls"]) == (300, 600)
    assert "drawn" in planned.cannot_tell()[0]
    cell = planned.cells[0]

    def tokens(length):
        return sum(guessed(one.prompt) for one in asked(cell.setup, length=length))

    chances = {n: (1 - C) * C ** (n - 1) for n in range(1, 120)}
    at = {n: tokens(n) for n in (1, 40, 119)}  # quadratic in the length
    fit = np.polyfit(list(at), list(at.values()), 2)
    expected = sum(chance * np.polyval(fit, n) for n, chance in chances.items())
    assert row["prompt_tokens"] / 30 == pytest.approx(expected, rel=0.1)


def test_measures_are_ratios_of_sums(run):
    """By the exported steps alone: every step counts the same."""
    for cell in run.cells:
        steps = run.select(f"subject={cell.columns['subject']}").steps()
        earned, games = steps["own_reward"].to_numpy(float), steps["episode"].to_numpy()
        assert cell.estimate(["reward_per_step"]).mean[0] == pytest.approx(earned.mean())
        regret = cell.estimate(["delta_functional_per_step"])
        # The optimum cooperates, 8 points in every step, however many there are.
        assert regret.mean[0] == pytest.approx(8 - earned.mean())
        sums = np.array([(8 - earned[games == one]).sum() for one in np.unique(games)])
        sizes = np.array([(games == one).sum() for one in np.unique(games)])
        spread = (sums - regret.mean[0] * sizes).std(ddof=1) / np.sqrt(40) / sizes.mean()
        if spread > 1e-9:
            assert cell.totals("delta_functional_per_step").parts.std(ddof=1) / np.sqrt(
                40
            ) == pytest.approx(spread)
        drawn = cell.setup.lengths(0, 40)
        assert (sizes == drawn).all()
        assert [cell.store.record(cell.number, e).own["length"] for e in range(40)] == list(drawn)


def test_curves_end_while_enough_episodes_last(run):
    lengths = run.cells[0].setup.lengths(0, 40)
    last = int(np.sort(lengths)[-LEAST_LEFT])
    named = [(cell.title, cell) for cell in run.cells]
    (axes,) = curve_figure(named, "delta_functional_per_step", "t", Options(window=1)).axes
    line = next(one for one in axes.lines if one.get_label() == "random")
    assert line.get_xdata().tolist() == list(range(1, last + 1))
    cell = matrix_cell(run.cells[0])
    by_step = cell.curves()["delta_functional_per_step"]
    for t in (1, 2, last):
        assert line.get_ydata()[t - 1] == pytest.approx(by_step[lengths >= t, t - 1].mean())
    [drawing, *_] = draw(run, ["regret"])
    assert (
        f"of 40 complete episodes each that last to it; a line ends before fewer than {LEAST_LEFT}"
        in (drawing.caption)
    )


def test_shards_and_later_episodes_add_up(tmp_path, run):
    for number in (1, 2):
        run_experiment(experiment(episodes=13), tmp_path / "parts", shard=Shard(number, 2))
    run_experiment(experiment(), tmp_path / "parts")
    with tomeval.Run(tmp_path / "parts") as again:
        for one, other in zip(run.cells, again.cells, strict=True):
            assert (one.played.own == other.played.own).all()
            assert (one.played.lengths == other.played.lengths).all()


def test_players_of_a_cell_meet_the_same_lengths(run):
    one, *others = (cell.played.lengths.tolist() for cell in run.cells)
    assert all(other == one for other in others)


@pytest.mark.parametrize("until", ["width(regret) < 2", "decided(random, best_response, regret)"])
def test_runs_stop_when_they_know(tmp_path, until):
    subjects = ["random", "best_response"]
    with tomeval.run(
        RUN | {"until": until, "subjects": subjects, "episodes": 20}, tmp_path / "r"
    ) as run:
        for cell in run.cells:
            found = cell.estimate(["delta_functional_per_step", "plays_percent"])
            assert np.isfinite(found.low).all()
            assert len(cell.episodes) < 200


def test_an_environment_pays_the_regret_of_the_whole_game():
    env = environment(
        "IPD", "tit_for_tat", continuation=C, reward={"regret": 1, "advantage": 0}, seed=5
    )
    sums, lengths = [], []
    for episode in range(5):
        env.reset(episode)
        total, count, over = {"regret": 0.0, "advantage": 0.0}, 0, False
        while not over:
            _, _, over, _, info = env.step("Final answer: Defect")
            total = {name: total[name] + info["rewards"][name] for name in total}
            count += 1
        sums.append(total)
        lengths.append(count)
    assert lengths == experiment().cells[0].setup.lengths(0, 5).tolist()
    plan = best_response(
        tomeval.get_game("IPD"), tomeval.get_partner("tit_for_tat", tomeval.get_game("IPD")), 1, C
    )
    assert plan.value == pytest.approx(80)
    for total, n in zip(sums, lengths, strict=True):
        assert total["regret"] == pytest.approx(2 - 3 * (n - 1))
        # Where tit for tat cooperates 80 - (10 + 0.9 * 72), where it defects 72 - (5 + 64.8).
        assert total["advantage"] == pytest.approx(-5.2 - 2.2 * (n - 1))


def test_adaptation_needs_a_horizon(tmp_path, tomeval):
    data = RUN | {"games": "RPS", "partners": "switcher", "subjects": ["random"], "episodes": 5}
    run_experiment(make_experiment(data), tmp_path / "r")
    code, _, said = tomeval("table", str(tmp_path / "r"), "--what", "adaptation")
    assert code == 2
    assert "needs games with a horizon" in said
