"""Runs as records of Every Eval Ever: its own schema accepts them, and they hold the table."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest
from hostile import model_run

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.extensions.inspect.every_eval import _model
from tomeval.report import exchange
from tomeval.report.exporting import export
from tomeval.runs.results import Run

SCHEMA = json.loads(
    (Path(__file__).with_name("every_eval_ever") / "eval.schema.json").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with Run(model_run(tmp_path_factory.mktemp("hostile") / "run")) as opened:
        yield opened


def records(run, folder, **settings):
    paths = export(run, "every-eval-ever", out=folder, settings=settings)
    return paths, [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def test_records_fit_the_schema_and_hold_the_table(run, tmp_path) -> None:
    paths, written = records(run, tmp_path, organization="We", repo="someone/a-run")
    names = exchange.task_names(run.cells)
    rows = {
        (exchange.safe(cell.player), names[cell.number]): row
        for cell, row in zip(run.cells, run.rows(), strict=True)
        if cell.models
    }
    assert len(written) == len({player for player, _ in rows})
    seen = set()
    for path, record in zip(paths, written, strict=True):
        jsonschema.validate(record, SCHEMA, jsonschema.Draft7Validator)
        assert path.parent == tmp_path / "data" / "tomeval" / record["model_info"]["id"]
        player = record["evaluation_id"].partition("/")[0].removeprefix("tomeval_")
        for entry in record["evaluation_results"]:
            task, name = entry["evaluation_result_id"].rsplit(".", 1)
            row, scored = rows[player, task], entry["score_details"]
            seen.add((player, task))
            assert scored["score"] == pytest.approx(row[name], abs=1e-9)
            assert entry["metric_config"]["lower_is_better"] == (run.measures[name].better < 0)
            assert entry["source_data"]["hf_repo"] == "someone/a-run"
            ends = scored["uncertainty"].get("confidence_interval")
            if ends is None:
                assert math.isnan(row[f"{name}_ci95"])
            else:
                assert ends["lower"] == pytest.approx(row[f"{name}_ci95_low"], abs=1e-9)
                assert ends["upper"] == pytest.approx(row[f"{name}_ci95_high"], abs=1e-9)
        shown = {entry["metric_config"]["metric_id"] for entry in record["evaluation_results"]}
        assert {"tomeval.delta_functional_per_step", "tomeval.tom_percent"} <= shown
        assert "tomeval.foresight_per_step" not in shown  # neither more nor less is better
    assert seen == {key for key, row in rows.items() if row["episodes"]}


def test_the_same_run_gives_the_same_files(run, tmp_path) -> None:
    one, first = records(run, tmp_path / "one")
    other, second = records(run, tmp_path / "other")
    assert first == second
    assert [path.name for path in one] == [path.name for path in other]


@pytest.mark.parametrize(
    ("name", "given", "model"),
    [
        ("hf:Org/Model@main", "", "Org/Model"),
        ("inspect:anthropic/claude", "", "anthropic/claude"),
        ("openai:gpt-5", "", "openai/gpt-5"),
        ("openai:our-model", "us", "us/our-model"),
        ("hf:/home/me/secret/model", "", "hf/model"),
        ("pocket", "", "tomeval/pocket"),
        ("hf:../..", "", "hf/unnamed"),
        ("hf:../model", "", "hf/model"),
        ("pocket", "../../..", "unnamed/pocket"),
        ("openai:gpt-5", "Open AI/x", "Open-AI-x/gpt-5"),
    ],
)
def test_models_are_named_as_on_the_hub(name, given, model) -> None:
    assert _model(name, given, "")["id"] == model


def test_only_the_measured_player_has_a_record(tmp_path) -> None:
    others = {"minilm": {"embedding": "minilm"}}
    data = {
        "domain": "decrypto",
        "players": {"lm": {"model": "scripted:decrypto", "strategy": "QA"}, **others},
        "pairings": [
            {"encoder": "lm", "decoder": "minilm", "interceptor": "minilm"},
            {"encoder": "minilm", "decoder": "minilm", "interceptor": "lm"},
            {"encoder": "minilm", "decoder": "lm", "interceptor": "minilm"},
        ],
        "episodes": 2,
        "on_invalid": "random",
    }
    with tomeval.run(data, tmp_path / "run") as played:
        assert len(played.cells) == 3
        _, [record] = records(played, tmp_path / "out")
        entries = record["evaluation_results"]
        assert {entry["evaluation_name"] for entry in entries} == {"minilm_minilm"}
        with pytest.raises(TomevalError, match="no cell with one language model"):
            records(played.part(played.cells[1:]), tmp_path)


def test_players_alike_in_a_file_name_have_records_of_their_own(tmp_path) -> None:
    players = [{"name": name, "strategy": "QA"} for name in ("a b", "a-b")]
    with Run(model_run(tmp_path / "run", subjects=players)) as opened:
        paths, written = records(opened, tmp_path / "out", developer="..")
    assert len({record["evaluation_id"] for record in written}) == len(set(paths)) == 2
    assert all(path.resolve().is_relative_to(tmp_path.resolve() / "out/data") for path in paths)


def test_bad_settings_are_refused(run, tmp_path) -> None:
    with pytest.raises(TomevalError, match=r"relationship 'frist_party' .*'first_party'"):
        records(run, tmp_path, relationship="frist_party")
    with pytest.raises(TomevalError, match="no cell with one language model"):
        records(run.part([cell for cell in run.cells if not cell.models]), tmp_path)


def test_its_own_validator_accepts_them(run, tmp_path) -> None:
    if (validator := shutil.which("every_eval_ever")) is None:
        pytest.skip("every-eval-ever is not installed: pip install every-eval-ever (Python 3.12)")
    records(run, tmp_path, developer="somebody")
    command = [validator, "validate", "data/**/*.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
