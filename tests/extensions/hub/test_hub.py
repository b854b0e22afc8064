"""A run's tables as a dataset for the Hub."""

from __future__ import annotations

import csv

import pytest
from hostile import NASTY, model_run

from tomeval.core.errors import TomevalError
from tomeval.report.exporting import export
from tomeval.runs.results import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with Run(model_run(tmp_path_factory.mktemp("hostile") / "run")) as opened:
        yield opened


def test_the_tables_are_those_of_the_run(run, tmp_path) -> None:
    yaml = pytest.importorskip("yaml")
    export(run, "hub", out=tmp_path)
    with (tmp_path / "cells.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(run.cells)
    _, front, body = (tmp_path / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    assert yaml.safe_load(front)["pretty_name"] == f"tomeval run: a run of {NASTY}"
    assert NASTY not in body


def test_a_credential_in_the_run_is_told(run, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", NASTY[:20])
    with pytest.raises(TomevalError, match="the value of SOME_API_KEY") as error:
        export(run, "hub", out=tmp_path)
    assert NASTY[:20] not in str(error.value)
