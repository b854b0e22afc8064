"""Run folders of store version 1: refused with the way out, and converted without losing a row."""

import json
import shutil

import pytest
from support import ROOT, dump

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.runs.convert import convert
from tomeval.runs.experiment import make_experiment
from tomeval.runs.runner import run_experiment

OLD = ROOT / "tests" / "data" / "version_1"  # written by store version 1
KINDS = ("matrix", "decrypto")


def played_anew(kind, folder):
    """Play the experiment of an old folder with the code of today."""
    data = json.loads((OLD / f"{kind}.json").read_text())
    experiment = make_experiment(data, base=OLD)
    run_experiment(experiment, folder)
    return experiment


def rows_of(folder):
    """Return what was played: without latencies, and without calls, whose prompts may change."""
    tables = dump(folder)
    return {name: tables[name] for name in ("episodes", "steps", "answers", "answered")}


@pytest.mark.parametrize("kind", KINDS)
def test_an_old_folder_is_refused_with_the_way_out(kind, tmp_path):
    folder = shutil.copytree(OLD / kind, tmp_path / "old")
    experiment = make_experiment(json.loads((OLD / f"{kind}.json").read_text()), base=OLD)
    for attempt in (lambda: tomeval.Run(folder), lambda: run_experiment(experiment, folder)):
        with pytest.raises(TomevalError, match=f"tomeval convert {folder} NEW"):
            attempt()


@pytest.mark.parametrize("kind", KINDS)
def test_no_row_is_lost_and_no_number_moves(kind, tmp_path):
    before = {path.name: path.read_bytes() for path in (OLD / kind).iterdir()}
    converted = convert(OLD / kind, tmp_path / "new")
    played_anew(kind, tmp_path / "anew")
    assert rows_of(converted) == rows_of(tmp_path / "anew")
    with tomeval.Run(converted) as old, tomeval.Run(tmp_path / "anew") as new:
        assert repr(old.rows("t")) == repr(new.rows("t"))
        assert len(old.store.query("SELECT * FROM calls")) == len(
            new.store.query("SELECT * FROM calls")
        )
        assert old.store.revisions() == new.store.revisions()
    assert {path.name: path.read_bytes() for path in (OLD / kind).iterdir()} == before


def test_a_converted_run_goes_on(tmp_path):
    converted = convert(OLD / "matrix", tmp_path / "new")
    data = json.loads((OLD / "matrix.json").read_text())
    assert run_experiment(make_experiment(data, base=OLD), converted) == 0
    data["episodes"] = 3
    assert run_experiment(make_experiment(data, base=OLD), converted) == 2  # one per cell


def test_what_is_no_old_run_is_refused(tmp_path):
    with pytest.raises(TomevalError, match="not a run folder"):
        convert(tmp_path, tmp_path / "new")
    converted = convert(OLD / "matrix", tmp_path / "new")
    with pytest.raises(TomevalError, match="is not empty"):
        convert(OLD / "matrix", converted)
    with pytest.raises(TomevalError, match="is of this version already"):
        convert(converted, tmp_path / "newer")
    assert not (tmp_path / "newer").exists()
