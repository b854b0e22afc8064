"""Comparisons of what only Decrypto has: long episodes, and teams."""

from __future__ import annotations

import pytest
import scipy.stats

import tomeval
from tomeval.comparing.comparison import compare


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
