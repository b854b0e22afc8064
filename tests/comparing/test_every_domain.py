"""Comparisons of a domain from outside the package, held against its exported episodes."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from toy_domain import TOY

import tomeval
from tomeval.comparing.comparison import compare
from tomeval.comparing.decomposition import decompose
from tomeval.comparing.power import episodes_needed
from tomeval.core.errors import TomevalError
from tomeval.runs.capabilities import Parts
from tomeval.runs.measures import Totals

EXPERIMENT = {
    "domain": "toy",
    "guessers": ["one", "next"],
    "size": [3, 4, 5],
    "steps": 3,
    "episodes": 25,
    "seed": [1, 2],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy") / "run"
    tomeval.run(EXPERIMENT, folder).close()
    return folder


def losses(run):
    """Return the loss by (guesser, size), seeds joined."""
    found: dict[tuple[str, int], list[float]] = {}
    for cell in run.cells:
        place = (cell.definition["guesser"], cell.definition["size"])
        found.setdefault(place, []).extend(cell.totals("loss_per_step").values)
    return {place: np.array(values) for place, values in found.items()}


def test_pairs_share_the_hiders_numbers(folder) -> None:
    with tomeval.Run(folder) as run:
        data = losses(run)
        found = compare(run, resamples=199)
    assert (found.by, found.baseline, found.levels) == ("guesser", "one", ("next",))
    assert found.scopes[1:] == ("size 3", "size 4", "size 5")
    for scope, size in enumerate((3, 4, 5), 1):
        theirs = scipy.stats.ttest_rel(data["next", size], data["one", size])
        assert found.pairs[scope, 0] == 50
        assert found.p_t[scope, 0, 0] == pytest.approx(theirs.pvalue)
    # No column decides the draws: episodes of one seed and number are one unit over all tasks.
    assert found.pairs[0, 0] == 50
    unit = np.mean([data["next", size] - data["one", size] for size in (3, 4, 5)], axis=0)
    assert found.p_t[0, 0, 0] == pytest.approx(scipy.stats.ttest_1samp(unit, 0).pvalue)


def test_a_note_tells_of_shares_that_weigh_episodes_otherwise_than_tables(tmp_path) -> None:
    players = {name: {"embedding": name} for name in ("minilm", "wordnet")}
    seats = {"encoder": "all", "decoder": "minilm", "interceptor": "wordnet"}
    data = {"domain": "decrypto", "players": players, "pairings": [seats], "episodes": 40}
    with tomeval.run(data, tmp_path / "run") as run:
        found = compare(run, resamples=99)
        names = ["survived_percent", "turns_per_game"]
        whole = compare(run, metrics=names, resamples=99)
    (note,) = [note for note in found.notes if "weight all episodes equally" in note]
    assert "miscomm./turn %" in note
    assert not [note for note in whole.notes if "long episodes" in note]  # one item per game


def test_teams_are_compared_though_no_column_holds_them(tmp_path) -> None:
    players = {name: {"embedding": name} for name in ("minilm", "wordnet")}
    seats = {"encoder": "all", "decoder": "minilm", "interceptor": "minilm"}
    data = {"domain": "decrypto", "players": players, "pairings": [seats], "episodes": 20}
    name = "miscommunication_percent"
    with tomeval.run(data, tmp_path / "run") as run:
        found = compare(run, "team", metrics=[name], resamples=99)
        by = {cell.columns["encoder"]: cell.totals(name).values for cell in run.cells}
    assert (found.baseline, found.levels) == ("minilm + minilm", ("wordnet + minilm",))
    theirs = scipy.stats.ttest_rel(by["wordnet"], by["minilm"])
    assert found.p_t[0, 0, 0] == pytest.approx(theirs.pvalue)


def test_a_column_of_the_task_can_be_compared(folder) -> None:
    found = compare(folder, "size", metrics=["loss_per_step"], resamples=99)
    assert (found.baseline, found.levels) == ("3", ("4", "5"))
    assert [task["player"] for task in found.tasks[1:]] == ["one", "next"]
    assert all("size" not in task for task in found.tasks)


def test_copies_of_a_run_are_paired_player_by_player(folder, tmp_path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    found = compare([folder, copy], "run", resamples=99)
    assert (found.difference == 0).all()
    assert len(found.scopes) == 1 + 2 * 3


def test_power(folder) -> None:
    rows = episodes_needed(folder, "hit_percent", 10.0)
    assert [row["scope"] for row in rows] == ["all tasks", "size 3", "size 4", "size 5"]


def test_parts_are_the_domains(folder, monkeypatch) -> None:
    with pytest.raises(TomevalError, match="'toy': its functional measure cannot be split"):
        decompose(folder)
    monkeypatch.setattr(TOY.compare, "parts", Parts("loss_per_step", {"all": "loss_per_step"}))
    split = decompose(folder, "guesser")
    assert (split.parts, split.whole.heading) == (("all",), "loss/step")
    assert split.share[:, 0] == pytest.approx([1, 1])


def test_names_are_checked_against_the_domain(folder) -> None:
    with pytest.raises(TomevalError, match="did you mean 'guesser'"):
        compare(folder, "guessr")
    with pytest.raises(TomevalError, match="guesser, size, run"):
        compare(folder, "strategy")


def test_without_payoffs_ranges_change_nothing(folder) -> None:
    plain, scaled = (compare(folder, scale=scale, resamples=99) for scale in ("payoff", "range"))
    assert (plain.difference == scaled.difference).all()


def test_runs_of_two_domains_are_refused(folder, tmp_path) -> None:
    other = tmp_path / "matrix"
    matrix = {"games": "RPS", "subjects": ["random", "rmax"], "horizon": 3, "episodes": 2}
    tomeval.run(matrix, other).close()
    for verb in (compare, decompose):
        with pytest.raises(TomevalError, match=r"different domains.*'toy'.*'matrix'"):
            verb([folder, other])


def test_metrics_without_any_value_are_left_out(folder, monkeypatch) -> None:
    nothing = replace(
        TOY.measures["loss_per_step"],
        name="nothing",
        of=lambda played, reference: Totals(np.full(len(played["guess"]), np.nan)),
    )
    monkeypatch.setattr(TOY, "measures", {**TOY.measures, "nothing": nothing})
    found = compare(folder, margins={"nothing": 1.0, "hit_percent": 5.0}, resamples=99)
    assert found.metrics == ("loss_per_step", "hit_percent")
    assert found.margin.tolist() == pytest.approx([np.nan, 5.0], nan_ok=True)
    asked = compare(folder, metrics=["nothing"], resamples=99)
    assert np.isnan(asked.difference).all()
