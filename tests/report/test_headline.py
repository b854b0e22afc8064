"""The first sentences of a report, its chosen measures and cells, and its comparisons by group."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hostile import model_run, says
from support import scripts

import tomeval
from tomeval.report import ReportOptions, write_report
from tomeval.report.compared import comparisons
from tomeval.report.facts import headline, standing
from tomeval.runs.results import Run

# Best less worst action against one that is played for ever: 1 - -1 in RPS; in IPD 10 - 8 against
# cooperation and 5 - 0 against defection, which are equally likely.
ATTAINABLE = {"RPS": 2.0, "IPD": 3.5}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two games of different range, RPS with 2 and IPD with 10; one player is in RPS alone."""
    simulated = [
        {"kind": "simulated", "name": name, "p": p, "q": 1.0}
        for name, p in (("sharp", 1.0), ("blunt", 0.4))
    ]
    grid = {"partners": "single_action", "horizon": 10, "episodes": 8}
    grid |= {"games": ["RPS", "IPD"], "subjects": [*simulated, "random"]}
    with tomeval.run(grid, tmp_path_factory.mktemp("headline") / "run") as opened:
        yield opened.part([c for c in opened.cells if c.name[:11] != "random, IPD"])


def mean(run, player, game, name):
    """Return the mean over episodes from the rows of single steps, without the measures' code."""
    [cell] = [c for c in run.cells if c.columns["subject"] == player and c.columns["game"] == game]
    if name == "tom_percent":
        sql = "SELECT AVG(predicted_action = partner_action) FROM steps WHERE cell = ?"
        return 100 * run.store.query(sql, (cell.number,))[0][0]
    rewards = run.store.query("SELECT own_reward FROM steps WHERE cell = ?", (cell.number,))
    # Against one action for ever the best reward is 1 in RPS and 10 or 5, by that action, in IPD.
    theirs = run.store.query("SELECT partner_action FROM steps WHERE cell = ?", (cell.number,))
    best = [1.0 if game == "RPS" else (10.0, 5.0)[their] for (their,) in theirs]
    return float(np.mean(best) - np.mean([r for (r,) in rewards]))


def test_the_first_sentence_counts_episodes_by_hand(run) -> None:
    first = headline(run, run.rows(), run.headline)[0]
    assert first == "3 players in 2 tasks: 40 of 40 episodes are complete, 0 void, 0 failed."


def test_best_and_worst_are_means_over_common_tasks_in_one_unit(run) -> None:
    _, *answers, functional, literal = headline(run, run.rows(), run.headline)
    assert [line.split(":")[0] for line in answers] == ["sharp", "blunt", "random"]
    for text, name, ranges in (
        (functional, "delta_functional_per_step", ATTAINABLE),
        (literal, "tom_percent", {"RPS": 1, "IPD": 1}),
    ):
        digits = 3 if ranges["IPD"] > 1 else 2
        for player, word in (("sharp", "best"), ("blunt", "worst")):
            wanted = np.mean([mean(run, player, game, name) / r for game, r in ranges.items()])
            assert f"({word}) for {player} ({wanted:.{digits}f})" in text
        # random played one of the two tasks: it is in no mean over both.
        assert "random" not in text
        assert "Left out: 1 player" in text
    assert "ΔFunctional/T / attainable range (mean" in functional
    assert "range" not in literal


def test_a_run_of_one_game_is_in_payoff_units(run) -> None:
    with Run(run.folder, ["game=RPS"]) as part:
        found = standing(part, part.rows(), part.measures["delta_functional_per_step"])
        assert found.words == ""
        assert found.means["random"] == pytest.approx(
            mean(run, "random", "RPS", "delta_functional_per_step")
        )
        assert headline(part, part.rows(), part.headline)[0].startswith("3 players in 1 task: 24")


def test_void_episodes_are_counted(tmp_path) -> None:
    folder = model_run(
        tmp_path / "run",
        script=lambda request: "never readable",
        subjects=[{"strategy": "QA", "max_attempts": 1}],
        partners="tit_for_tat",
    )
    with Run(folder) as opened:
        assert headline(opened, opened.rows(), opened.headline) == [
            "1 player in 1 task: 0 of 4 episodes are complete, 4 void, 0 failed."
        ]


def heads(text, table):
    part = text[text.index(f'data-table="{table}"') :]
    found = re.findall(r'class="sort">([^<]*)<', part[: part.index("</thead>")])
    return [head for head in found if head.startswith(("ΔF", "ΔT", "ToM", "reward"))]


def test_chosen_measures_are_shown_and_all_others_open_on_demand(run, tmp_path) -> None:
    options = ReportOptions(figures=False, metrics=("ToM %", "regret"))
    text = write_report(run, tmp_path / "r.html", options).read_text(encoding="utf-8")
    assert heads(text, "results") == ["ToM %", "ΔFunctional/T"]
    assert "ToM %" not in heads(text, "others")
    assert "ΔToM/T (best response)" in heads(text, "others")
    assert text.index('<details id="more">') < text.index('data-table="others"')
    default = write_report(run, tmp_path / "d.html", ReportOptions(figures=False))
    assert sorted(heads(default.read_text(encoding="utf-8"), "results")) == [
        "ToM %",
        "ΔFunctional/T",
        "ΔToM/T (best response)",
    ]


def test_a_report_of_some_cells_tells_of_no_other(run, tmp_path) -> None:
    with Run(run.folder, ["game=RPS", "subject!=random"]) as part:
        options = ReportOptions(figures=False)
        text = write_report(part, tmp_path / "r.html", options).read_text(encoding="utf-8")
    page = text[: text.index('<script type="text/plain"')]
    assert "2 players in 1 task: 16 of 16 episodes" in page
    assert "IPD" not in page
    assert "<b>160</b> steps" in page


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return a run of two strategies and a tabular subject with two models."""
    subjects = [{"strategy": ["QA", "LM"]}, "random"]
    spec = {"model": ["scripted:first", "scripted:second"], "subjects": subjects}
    place = tmp_path_factory.mktemp("models")
    with scripts(first=says, second=says):
        folder = model_run(place / "run", **spec)
    with Run(folder) as opened:
        yield opened


def test_strategies_are_compared_within_each_model(models) -> None:
    found = comparisons(models, models.headline)
    assert [group["title"] for group in found["groups"]] == [
        "model scripted:first",
        "model scripted:second",
    ]
    for group in found["groups"]:
        levels = {row[0].text for row in group["table"].rows}
        assert levels == {"LM", "random"}  # against QA, the first
        # 2 levels, one metric each, over all tasks and in each of the 2.
        assert len(group["table"].rows) == 2 * 3 * len(models.headline)


def test_pooled_games_are_in_what_is_attainable(run) -> None:
    [group] = comparisons(run, ["delta_functional_per_step"])["groups"]
    by_scope = {row[1].text: row for row in group["table"].rows if row[0].text == "blunt"}
    assert {row[2].text for row in by_scope.values()} == {"ΔFunctional/T / attainable range"}
    difference = float(by_scope["all tasks"][6].sort)
    wanted = [
        (mean(run, "blunt", game, "") - mean(run, "sharp", game, "")) / width
        for game, width in ATTAINABLE.items()
    ]
    assert difference == pytest.approx(np.mean(wanted))
    assert not [note for note in group["notes"] if "dominated" in note]
