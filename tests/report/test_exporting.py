from __future__ import annotations

import csv
import io
import json

import pandas
import pytest
from asking import query

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Decision, Invalid
from tomeval.games.matrix.subjects import SUBJECTS, Subject
from tomeval.report.exporting import export, framed
from tomeval.runs.results import iterate_export


class Silent(Subject):
    """Says nothing in half of the episodes."""

    def act(self, observation):
        if observation.round == 2 and self.seat.rng.random() < 0.5:
            return Invalid("refusal", "no")
        return Decision(0)

    def predict(self, observation, own_action):
        return Decision(1)


class Refusing(Silent):
    """Says nothing at all."""

    def act(self, observation):
        return Invalid("refusal", "no")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    SUBJECTS["silent"] = Silent
    experiment = {
        "games": ["RPS", "IBS"],
        "partners": ["single_action", "uniform_random"],
        "subjects": ["fictitious_play", "silent"],
        "horizon": 5,
        "episodes": 6,
    }
    path = tmp_path_factory.mktemp("export") / "run"
    try:
        tomeval.run(experiment, path).close()
        yield path
    finally:
        del SUBJECTS["silent"]


@pytest.fixture
def opened(folder):
    with tomeval.Run(folder) as run:
        yield run


def exported(run, what, form, tmp_path) -> str:
    path = tmp_path / f"{what}.{form}"
    export(run, form, what, path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]  # no draft is left behind
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("what", ["steps", "episodes", "answers", "cells"])
def test_formats_agree(opened, tmp_path, what) -> None:
    for name in ("csv", "jsonl"):
        (tmp_path / name).mkdir()
    rows = list(csv.DictReader(io.StringIO(exported(opened, what, "csv", tmp_path / "csv"))))
    lines = exported(opened, what, "jsonl", tmp_path / "jsonl").splitlines()
    objects = [json.loads(line) for line in lines]
    frame = framed(*iterate_export(opened, what))
    assert len(rows) == len(objects) == len(frame) > 0
    assert list(rows[0]) == list(objects[0]) == list(frame.columns)
    for index, (row, data) in enumerate(zip(rows, objects, strict=True)):
        for name, value in data.items():
            if value is None:
                assert row[name] == ""
                assert pandas.isna(frame[name][index])
            elif isinstance(value, float):
                assert float(row[name]) == value == frame[name][index]
            else:
                assert row[name] == str(value)
                assert frame[name][index] == value


def test_steps_are_all_rows_and_refused_ones_are_empty(opened, tmp_path) -> None:
    rows = list(csv.DictReader(io.StringIO(exported(opened, "steps", "csv", tmp_path))))
    stored = query(opened, "SELECT COUNT(*) FROM steps")[0][0]
    assert len(rows) == stored
    first = rows[0]
    assert (first["own_label"], first["game"]) == (
        ["Rock", "Paper", "Scissors"][int(first["own_action"])],
        "RPS",
    )
    assert first["partner"].startswith("always(")
    refused = [row for row in rows if row["act_outcome"] == "refusal"]
    assert refused
    assert all(r["own_action"] == r["own_label"] == r["own_reward"] == "" for r in refused)
    assert all(r["status"] == "void" for r in refused)


def test_an_export_replaces_the_old_file_only_when_it_is_complete(opened, tmp_path, monkeypatch):
    def fail(run, what):
        def rows():
            yield (1,)
            raise OSError(28, "No space left on device")

        return ["a"], rows()

    monkeypatch.setattr("tomeval.report.exporting.iterate_export", fail)
    path = tmp_path / "steps.csv"
    path.write_text("old")
    with pytest.raises(TomevalError, match="cannot be written"):
        export(opened, "csv", "steps", path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "options",
    [
        {"form": "hub"},
        {"form": "hub", "what": "steps"},
        {"form": "hubb"},
    ],
)
def test_options_that_do_not_fit_are_refused(opened, options, tmp_path) -> None:
    out = None if options == {"form": "hub"} else tmp_path / "out"
    with pytest.raises(TomevalError, match=r"--out|--what|--format: unknown"):
        export(opened, out=out, **options)
    assert not (tmp_path / "out").exists()
