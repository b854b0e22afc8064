"""Sensitivity to wording: hand-made grids against known truth, and runs against their episodes."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from attacks import commands
from scipy.stats import ttest_rel
from support import scripts

import tomeval
from tomeval.api.opened import Run
from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.domain import MATRIX
from tomeval.extensions.wording.grids import grid_of, range_of
from tomeval.extensions.wording.tables import sensitivity
from tomeval.runs.capabilities import Worded
from tomeval.runs.domain import get_domain

EXPERIMENT = {
    "name": "worded",
    "games": "RPS",
    "labels": ["neutral", "canonical"],
    "subjects": [
        {"strategy": ["QA", "CoT"], "goal": ["none", "win"], "option_order": ["fixed", "reversed"]},
        "random",
    ],
    "model": "scripted:stubborn",
    "horizon": 3,
    "episodes": 9,
    "seed": 3,
}


def stubborn(request):
    """Say the first label that the prompt lists of its own; say Paper where labels are words."""
    text = "\n".join(message.content for message in request.prompt.messages)
    if "Rock" in text:
        return "Final answer: Paper"
    return f"Final answer: {min('JFB', key=lambda label: text.index(f' {label}'))}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("worded") / "run"
    with scripts(stubborn=stubborn):
        tomeval.run(EXPERIMENT, folder).close()
    return folder


@pytest.fixture(scope="module")
def table(folder):
    """Return mean regret by labels, order, goal and strategy, from the exported episodes."""
    regret = {}
    with Run(folder) as run:
        frame = run.episodes()
    for (subject, labels), part in frame.groupby(["subject", "labels"]):
        if subject != "random":
            strategy, _, inside = subject.partition("(")
            said = dict(one.split("=") for one in inside.rstrip(")").split(", "))
            key = (strategy, labels, said["option_order"], said["goal"])
            regret[key] = part["delta_functional_per_step"].to_numpy()
    return regret


def named(rows, source, measure="ΔFunctional/T"):
    [row] = [row for row in rows if (row["source"], row["measure"]) == (source, measure)]
    return row


def test_every_option_of_wording_is_a_source(folder):
    rows, notes = sensitivity(folder, ["regret"])
    assert notes == []
    assert [(row["source"], row["levels"]) for row in rows] == [
        *(("strategy", 2), ("labels", 2), ("option_order", 2), ("goal", 2)),
        ("any wording", 8),
    ]
    assert {(row["model"], row["game"]) for row in rows} == {("scripted:stubborn", "RPS")}
    assert "labels" not in {*rows[0]} - {"source"}


def test_ranges_are_those_of_the_exported_episodes(folder, table):
    rows, _ = sensitivity(folder, ["regret"])
    for place, source in enumerate(("strategy", "labels", "option_order", "goal")):
        means = {}
        for key, values in table.items():
            means.setdefault(key[place], []).append(values.mean())
        wanted = np.ptp([np.mean(several) for several in means.values()])
        assert named(rows, source)["range"] == pytest.approx(wanted, abs=1e-12)
    assert named(rows, "labels")["range"] > 0.01
    assert named(rows, "goal")["least"] == ""  # nothing moved


def test_runs_without_a_sweep_say_so(tmp_path):
    experiment = {"games": "RPS", "subjects": ["random", "rmax"], "horizon": 2, "episodes": 2}
    tomeval.run(experiment, tmp_path / "plain").close()
    with pytest.raises(TomevalError, match="in two wordings here: sweep labels"):
        sensitivity(tmp_path / "plain")


def test_the_commands(folder):
    rows = json.loads(
        commands.call("table", folder, "--what", "sensitivity", "--format", "json").out
    )
    how = ("--what", "sensitivity", "--metric", "regret", "--format", "json")
    same = json.loads(commands.call("compare", folder, *how).out)
    assert [row for row in rows if row["measure"] == "ΔFunctional/T"] == same
    assert "ToM %" in {row["measure"] for row in rows}


def test_the_range_of_two_values_is_the_paired_t_test():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(2, 9)) + np.array([0.0, 2.0])[:, None]
    said = range_of(values, np.array([0, 1]))
    wanted = ttest_rel(values[1], values[0]).confidence_interval()
    assert (said.low, said.high) == pytest.approx((wanted.low, wanted.high))
    assert (said.smallest, said.largest) == (0, 1)


def test_the_range_is_held_where_all_are_alike_and_where_not():
    groups = np.array([0, 1, 2, 3] * 2)
    for truth in (np.zeros(4), np.array([0.0, 0.0, 0.5, 1.0])):
        hits = 0
        for number in range(300):
            rng = np.random.default_rng(number)
            values = truth[groups][:, None] + rng.normal(size=(8, 7))
            values += np.repeat(rng.normal(size=(2, 7)), 4, axis=0)
            said = range_of(values, groups)
            hits += said.low <= np.ptp(truth) <= said.high
        assert hits >= 0.94 * 300


DIALS = {"neutral": 0.9, "canonical": 0.6}  # p, by labels
USES = {"A": 0.9, "B": 0.3}  # q, by strategy


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Play simulated subjects whose dials depend on who they are and on a wording."""
    folder = tmp_path_factory.mktemp("simulated") / "run"
    subjects = [
        {"kind": "simulated", "name": f"{who}|{labels}", "p": p, "q": q}
        for who, q in USES.items()
        for labels, p in DIALS.items()
    ]
    experiment = {"games": "RPS", "subjects": subjects, "horizon": 40, "episodes": 60, "seed": 1}
    tomeval.run(experiment, folder).close()
    return folder


def worded(cell):
    player, _, wording = cell.definition["subject"].partition("|")
    return Worded(player, "model", {"prompts": wording})


def test_subjects_of_known_dials(simulated, monkeypatch):
    monkeypatch.setattr(MATRIX.compare, "worded", worded)
    game = tomeval.get_game("RPS")
    partners = tomeval.get_partner_set("single_action", game)

    def truth(name):
        return np.array(
            [
                [tomeval.expected(game, partners, p=p, q=q)[name] for p in DIALS.values()]
                for q in USES.values()
            ]
        )

    rows, _ = sensitivity(simulated, ["tom_percent", "regret"])
    for name in ("tom_percent", "delta_functional_per_step"):
        row = named(rows, "prompts", MATRIX.measures[name].heading)
        gap = abs(np.subtract(*truth(name).mean(axis=0)))
        low, high = (row[f"range_ci95_{end}"] for end in ("low", "high"))
        assert low <= gap <= high
        assert high - low < 0.35 * max(gap, 1.0) * (10 if gap > 1 else 1)
    row = named(rows, "prompts", "ToM %")
    assert row["range"] == pytest.approx(30.0, abs=2.0)  # 100 (0.9 - 0.6)
    assert row["most"] == "neutral"


def side(values, which=None, once=False, seed=1):
    count = len(values)
    return SimpleNamespace(
        seed=seed,
        clusters=np.arange(count),
        which=np.zeros(count, dtype=int) if which is None else np.array(which),
        values=np.array(values, dtype=float)[:, None],
        cell=SimpleNamespace(each_once=once),
    )


def laid_out(cells):
    levels = tuple(dict.fromkeys(key[1][0] for key in cells))
    return grid_of({key: [value] for key, value in cells.items()}, {"prompts": levels}, 0)


def test_episodes_that_are_all_there_are_leave_no_noise():
    grid = laid_out(
        {
            ("LM", ("a",)): side([7.0, 9.0], which=[1, 0], once=True),
            ("LM", ("b",)): side([1.0, 2.0], which=[0, 1], once=True),
        }
    )
    assert grid.exact
    assert grid.values[0].tolist() == [[7.0, 9.0], [2.0, 1.0]]  # by what was drawn
    levels, groups = grid.sources["prompts"]
    said = range_of(grid.values[0], groups, grid.exact)
    assert (levels, said.value) == (["a", "b"], 6.5)
    assert np.isnan(said.low)


def test_players_that_lack_a_wording_are_left_out():
    cells = {
        ("LM", ("a",)): side([1.0, 2.0]),
        ("LM", ("b",)): side([1.0, 3.0]),
        ("QA", ("a",)): side([1.0, 2.0]),
        ("QA", ("b",)): side([1.0]),
    }
    assert laid_out(cells).players == ("LM",)
    with pytest.raises(TomevalError, match="no player has enough complete episodes"):
        laid_out({("LM", ("a",)): side([1.0, 2.0]), ("LM", ("b",)): side([1.0])})


def test_other_domains_say_how_their_measured_player_is_asked():
    asked = {"strategy": "CoT", "prompts": "mine", "memory": "conversation", "temperature": 0}
    wanted = Worded(
        "CoT(temperature=0)", "m", {"prompts": "mine", "system": "none", "memory": "conversation"}
    )
    model = {"name": "a", "kind": "llm", "options": asked, "model": "m", "strategy": "CoT"}
    scripted = {"name": "b", "kind": "random", "options": {}, "model": "", "strategy": ""}
    arena, decrypto = get_domain("arena"), get_domain("decrypto")
    for players, said in (([model, scripted], wanted), ([scripted, model], None)):
        cell = SimpleNamespace(definition={"players": players})
        assert arena.compare.worded(cell) == said
        seats = {"encoder": players[0], "decoder": players[1], "interceptor": players[1]}
        assert decrypto.compare.worded(SimpleNamespace(definition={"players": seats})) == said
