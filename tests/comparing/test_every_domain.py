"""Comparisons of a domain from outside the package, held against its exported episodes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import toy_domain  # noqa: F401 (registers the domain)

import tomeval
from tomeval.comparing.comparison import compare

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
