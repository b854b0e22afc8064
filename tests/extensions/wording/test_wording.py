"""Sensitivity to wording, from played runs: against exported episodes, and planted truth."""

from __future__ import annotations

import contextlib
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from support import scripts

import tomeval
from tomeval import cli
from tomeval.api.opened import Run
from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.domain import MATRIX
from tomeval.extensions.wording.grids import Factor, Grid, filled, grids_of
from tomeval.extensions.wording.tables import GAP
from tomeval.extensions.wording.variance import sensitivity
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
    found = {}
    with Run(folder) as run:
        frame = run.episodes()
    for (subject, labels), part in frame.groupby(["subject", "labels"]):
        if subject != "random":
            strategy, _, inside = subject.partition("(")
            said = dict(one.split("=") for one in inside.rstrip(")").split(", "))
            key = (strategy, labels, said["option_order"], said["goal"])
            found[key] = part["delta_functional_per_step"].to_numpy()
    return found


def test_every_option_of_wording_is_a_factor(folder):
    _, [laid], notes = grids_of(folder, ["regret"])
    assert (laid.metric, notes) == ("delta_functional_per_step", [])
    assert laid.model == "scripted:stubborn"
    assert laid.players == ("QA", "CoT")
    assert laid.factors == (
        Factor("labels", ("neutral", "canonical")),
        Factor("option_order", ("fixed", "reversed")),
        Factor("goal", ("none", "win")),
    )
    assert laid.values.shape == (2, 2, 2, 2, 9)
    assert laid.task["game"] == "RPS"
    assert "labels" not in laid.task


def test_values_are_those_of_the_exported_episodes(folder, table):
    _, [laid], _ = grids_of(folder, ["regret"])
    for place_, _ in np.ndenumerate(laid.values[..., 0]):
        levels = [f.levels[i] for f, i in zip(laid.factors, place_[1:], strict=True)]
        wanted = table[(laid.players[place_[0]], *levels)]
        np.testing.assert_allclose(laid.values[place_], wanted)


def test_what_changes_nothing_has_no_variance_and_what_does_has_its_range(folder, table):
    [found], _ = sensitivity(folder, ["regret"])
    for source in ("strategy", "goal", "strategy x labels", "strategy x goal"):
        assert found.of(source).component.variance == pytest.approx(0.0, abs=1e-12)
    assert found.of("goal").range.value == pytest.approx(0.0, abs=1e-12)
    by_labels = {
        name: np.mean([v.mean() for key, v in table.items() if key[1] == name])
        for name in ("neutral", "canonical")
    }
    wanted = abs(by_labels["neutral"] - by_labels["canonical"])
    assert wanted > 0.01
    assert found.of("labels").range.value == pytest.approx(wanted)
    within = np.mean([v.var(ddof=1) for v in table.values()])
    assert found.of("between episodes").component.variance == pytest.approx(within)


def test_the_gap_is_a_measure(folder):
    with Run(folder) as run:
        frame = run.episodes()
        gap = frame["delta_functional_per_step"] - frame["delta_tom_best_response_per_step"]
        np.testing.assert_allclose(frame[GAP], gap)
        assert "sensitivity" in run.tables


def test_runs_without_a_sweep_say_so(tmp_path):
    experiment = {"games": "RPS", "subjects": ["random", "rmax"], "horizon": 2, "episodes": 2}
    tomeval.run(experiment, tmp_path / "plain").close()
    with pytest.raises(TomevalError, match="in two wordings here: sweep labels"):
        sensitivity(tmp_path / "plain")


def test_the_commands_and_the_figure(folder, tmp_path, monkeypatch, capsys):
    def out(*words):
        monkeypatch.setattr(sys, "argv", ["tomeval", *map(str, words)])
        with contextlib.suppress(SystemExit):
            cli.main()
        return capsys.readouterr()

    rows = json.loads(out("table", folder, "--what", "sensitivity", "--format", "json").out)
    same = json.loads(
        out(
            "compare", folder, "--what", "sensitivity", "--metric", "regret", "--format", "json"
        ).out
    )
    assert [r for r in rows if r["measure"] == "ΔFunctional/T"] == same
    assert {"literal-functional gap", "ToM %"} <= {row["measure"] for row in rows}
    plots = tmp_path / "plots"
    out("plot", folder, "--only", "sensitivity", "--out", plots)
    assert (plots / "sensitivity.png").stat().st_size > 10_000
    assert "labels" in (plots / "captions.md").read_text(encoding="utf-8")
    out("report", folder, "-o", tmp_path / "report.html", "--only", "forest")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "strategy x option_order" in page


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

    found, _ = sensitivity(simulated, ["tom_percent", "regret"])
    for one, name in zip(found, ("tom_percent", "delta_functional_per_step"), strict=True):
        true = truth(name)
        part = one.of("prompts")
        gap = abs(np.subtract(*true.mean(axis=0)))
        assert part.range.low <= gap <= part.range.high
        assert part.range.high - part.range.low < 0.35 * max(gap, 1.0) * (10 if gap > 1 else 1)
    assert found[0].of("prompts").range.value == pytest.approx(30.0, abs=2.0)  # 100 (0.9 - 0.6)
    assert found[0].of("prompts").most == "neutral"


def side(values, which=None, once=False, seed=1):
    count = len(values)
    return SimpleNamespace(
        seed=seed,
        clusters=np.arange(count),
        which=np.zeros(count, dtype=int) if which is None else np.array(which),
        values=np.array(values, dtype=float)[:, None],
        cell=SimpleNamespace(each_once=once),
    )


def laid_out(cells, exact=False):
    levels = tuple(dict.fromkeys(key[1][0] for key in cells))
    players = tuple(dict.fromkeys(key[0] for key in cells))
    sides = {key: [value] for key, value in cells.items()}
    return filled(Grid("m", {}, "", exact, players, (Factor("prompts", levels),)), sides, "x", 0)


def test_what_was_played_once_holds_for_every_episode_of_its_draw():
    laid = laid_out(
        {
            ("LM", ("a",)): side([7.0, 9.0], which=[1, 0], once=True),
            ("LM", ("b",)): side([1.0, 2.0, 3.0, 4.0], which=[0, 1, 1, 0]),
        }
    )
    assert laid.values[0].tolist() == [[9.0, 7.0, 7.0, 9.0], [1.0, 2.0, 3.0, 4.0]]
    all_once = laid_out(
        {
            ("LM", ("a",)): side([7.0, 9.0], which=[1, 0], once=True),
            ("LM", ("b",)): side([1.0, 2.0], which=[0, 1], once=True),
        },
        exact=True,
    )
    assert all_once.values[0].tolist() == [[7.0, 9.0], [2.0, 1.0]]


def test_the_value_that_lacks_most_cells_is_left_out_and_said():
    laid = laid_out(
        {
            ("LM", ("a",)): side([1.0, 2.0]),
            ("LM", ("b",)): side([1.0, 3.0]),
            ("LM", ("c",)): side([1.0, 3.0]),
            ("QA", ("a",)): side([1.0, 2.0]),
            ("QA", ("b",)): side([1.0, 2.0]),
            ("QA", ("c",)): side([1.0]),
        }
    )
    assert laid.factors == (Factor("prompts", ("a", "b")),)
    assert laid.players == ("LM", "QA")
    [note] = laid.notes
    assert note == "prompts 'c' is left out: 1 of its 2 cells have too few complete episodes"
    with pytest.raises(TomevalError, match="no two wordings"):
        laid_out({("LM", ("a",)): side([1.0, 2.0]), ("LM", ("b",)): side([1.0])})


def test_other_domains_say_how_their_measured_player_is_asked():
    asked = {"strategy": "CoT", "prompts": "mine", "memory": "conversation", "temperature": 0}
    wanted = Worded(
        "CoT(temperature=0)", "m", {"prompts": "mine", "system": "none", "memory": "conversation"}
    )
    model = {"name": "a", "kind": "llm", "options": asked, "model": "m", "strategy": "CoT"}
    scripted = {"name": "b", "kind": "random", "options": {}, "model": "", "strategy": ""}
    arena, decrypto = get_domain("arena"), get_domain("decrypto")
    for players, found in (([model, scripted], wanted), ([scripted, model], None)):
        cell = SimpleNamespace(definition={"players": players})
        assert arena.compare.worded(cell) == found
        seats = {"encoder": players[0], "decoder": players[1], "interceptor": players[1]}
        assert decrypto.compare.worded(SimpleNamespace(definition={"players": seats})) == found
