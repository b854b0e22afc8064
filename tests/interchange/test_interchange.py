"""Runs in other tools' formats and on a Hub that a test plays."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import math
import os
import re
import sqlite3
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from hostile import NASTY, model_run

from tomeval.core.errors import TomevalError
from tomeval.interchange.card import dataset_card
from tomeval.interchange.hub_results import check_repo
from tomeval.interchange.push import _parts, stage, upload
from tomeval.report import exchange
from tomeval.report.exporting import export
from tomeval.runs.results import Run

REPO = "someone/a-run"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return model_run(tmp_path_factory.mktemp("hostile") / "run")


@pytest.fixture(scope="module")
def run(folder):
    with Run(folder) as opened:
        yield opened


# --- names ----------------------------------------------------------------------------------------


def test_names_are_safe_and_different(run) -> None:
    names = exchange.task_names(run.cells)
    for name in names.values():
        assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
    keys = {(cell.definition["subject"], names[cell.number]) for cell in run.cells}
    assert len(keys) == len(run.cells)
    found = exchange.folder_names(["a b", "A-B", "a/b", "..", ""])
    assert len({name.casefold() for name in found.values()}) == 5
    assert not {".", "..", ""} & set(found.values())


@pytest.mark.parametrize(
    "options",
    [
        {"form": "inspect"},
        {"form": "lm-eval", "what": "steps"},
        {"form": "hub"},
        {"form": "csv", "settings": {"repo": REPO}},
        {"form": "hub", "settings": {"repo": "no name"}},
        {"form": "hub", "settings": {"rep": REPO}},
        {"form": "hubb"},
    ],
)
def test_options_that_do_not_fit_are_refused(run, options, tmp_path) -> None:
    out = None if options["form"] == "inspect" else tmp_path / "out"
    with pytest.raises(
        TomevalError, match=r"--out|--what|--set|names no repository|--format: unknown"
    ):
        export(run, out=out, **options)
    assert not (tmp_path / "out").exists()


# --- inspect --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def logs(run, tmp_path_factory):
    return export(run, "inspect", out=tmp_path_factory.mktemp("inspect"))


def members(path):
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        return {name: json.loads(file.read(name)) for name in file.namelist()}


def test_a_log_per_cell_holds_every_episode_and_the_table(run, logs) -> None:
    assert len(logs) == len(run.cells)
    ids = set()
    for cell, row, path in zip(run.cells, run.rows("normal"), logs, strict=True):
        parts = members(path)
        header = parts["header.json"]
        ids.add(header["eval"]["task_id"])
        assert header["version"] == 2
        assert header["eval"] == parts["_journal/start.json"]["eval"]
        samples = [parts[name] for name in parts if name.startswith("samples/")]
        assert len(samples) == len(parts["summaries.json"]) == header["results"]["total_samples"]
        done = [sample for sample in samples if "error" not in sample]
        assert len(done) == header["results"]["completed_samples"] == row["episodes"]
        for score in header["results"]["scores"]:
            assert score["metrics"]["mean"]["value"] == pytest.approx(row[score["name"]])
            half = row[f"{score['name']}_ci95"]
            if not math.isnan(half):
                assert 1.96 * score["metrics"]["stderr"]["value"] == pytest.approx(half)
            values = [sample["scores"][score["name"]]["value"] for sample in done]
            assert np.mean(values) == pytest.approx(row[score["name"]])
        steps = run.store.query(
            "SELECT episode, own_action FROM steps WHERE cell = ? ORDER BY episode, step",
            (cell.number,),
        )
        stored = [
            (sample["id"], label)
            for sample in sorted(samples, key=lambda sample: sample["id"])
            for label in sample["store"]["own"]
        ]
        labels = [None if a is None else cell.labels.own[a] for _, a in steps]
        assert stored == [(e, label) for (e, _), label in zip(steps, labels, strict=True)]
    assert len(ids) == len(logs)


def test_every_reply_is_in_the_log(run, logs) -> None:
    parts = members(logs[2])
    for number, record in run.store.query(
        "SELECT episode, unpacked(record) FROM calls WHERE cell = 2 ORDER BY episode, call"
    ):
        messages = parts[f"samples/{number}_epoch_1.json"]["messages"]
        said = [
            part["text"]
            for message in messages
            if message["role"] == "assistant"
            for part in message["content"]
            if part["type"] == "text"
        ]
        assert json.loads(record)["reply"]["text"] in said


def test_the_same_run_gives_the_same_log(run, logs, tmp_path) -> None:
    again = export(run, "inspect", out=tmp_path)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in logs]


def test_inspect_reads_the_logs(run, logs) -> None:
    inspect_log = pytest.importorskip("inspect_ai.log", reason="needs inspect-ai")
    assert len(inspect_log.list_eval_logs(str(logs[0].parent))) == len(run.cells)
    for row, path in zip(run.rows(), logs, strict=True):
        log = inspect_log.read_eval_log(str(path))
        assert log.status == "success"
        assert log.results.completed_samples == row["episodes"]
        scores = {score.name: score.metrics["mean"].value for score in log.results.scores}
        assert scores["tom_percent"] == pytest.approx(row["tom_percent"])
        assert len(inspect_log.read_eval_log_sample_summaries(str(path))) == 4


# --- lm-eval --------------------------------------------------------------------------------------


def test_lm_eval_keys_hold_the_table(run, tmp_path) -> None:
    written = export(run, "lm-eval", out=tmp_path)
    names = exchange.task_names(run.cells)
    results = {}
    for path in written:
        if path.name.startswith("results_"):
            data = json.loads(path.read_text(encoding="utf-8"))
            for task in data["results"]:
                results[path.parent.name, task] = data
    subjects = {cell.definition["subject"]: cell.columns for cell in run.cells}
    titles = {
        name: "_".join(filter(None, (row["model"], row["subject"])))
        for name, row in subjects.items()
    }
    folders = exchange.folder_names(list(titles.values()))
    for cell, row in zip(run.cells, run.rows("normal"), strict=True):
        task = names[cell.number]
        data = results[folders[titles[row["subject"]]], task]
        entry = data["results"][task]
        for metric in run.metric_names:
            if math.isnan(row[metric]):
                assert f"{metric},none" not in entry
                continue
            assert entry[f"{metric},none"] == pytest.approx(row[metric])
            if not math.isnan(row[f"{metric}_ci95"]):
                stderr = entry[f"{metric}_stderr,none"]
                assert 1.96 * stderr == pytest.approx(row[f"{metric}_ci95"])
            better = {1: True, -1: False, 0: None}[run.measures[metric].better]
            assert data["higher_is_better"][task][metric] is better
        assert data["n-samples"][task] == {"original": 4, "effective": row["episodes"]}
        for key in ("configs", "versions", "n-shot", "task_hashes", "group_subtasks"):
            assert task in data[key]
        for key in (
            "config",
            "git_hash",
            "date",
            "model_name",
            "model_source",
            "chat_template_sha",
        ):
            assert key in data
        assert data["higher_is_better"][task]["delta_functional_per_step"] is False


def test_lm_eval_samples_are_the_complete_episodes(run, tmp_path) -> None:
    written = export(run, "lm-eval", out=tmp_path)
    cell = run.cells[0]
    [path] = [
        path
        for path in written
        if path.name.startswith(f"samples_{exchange.task_names(run.cells)[0]}")
        and path.parent.name.endswith(exchange.safe(cell.definition["subject"]))
    ]
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    values = [line["delta_functional_per_step"] for line in lines]
    assert values == cell.metrics()["delta_functional_per_step"].tolist()
    for line in lines:
        assert len(line["resps"][0]) == 6
        assert set(line["resps"][0]) <= set(cell.labels.own)


# --- model pages ----------------------------------------------------------------------------------


def test_model_pages_get_entries_that_the_hub_library_reads(run, tmp_path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    yaml = pytest.importorskip("yaml")
    from huggingface_hub.repocard_data import model_index_to_eval_results

    written = export(run, "hub", out=tmp_path, settings={"repo": REPO})
    rows = [row for row in run.rows() if row["model"]]
    found = {}
    for path in written:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        if path.parent.name == ".eval_results":
            for entry in hub.parse_eval_result_entries(data):
                assert entry.dataset_id == REPO
                assert entry.source_url == f"https://huggingface.co/datasets/{REPO}"
                found[entry.notes.split(";")[0], entry.task_id] = entry.value
        else:
            name, results = model_index_to_eval_results(data["model-index"])
            assert name == "rule"
            assert len(results) == 2 * len(rows)
    names = exchange.task_names(run.cells)
    for cell, row in zip(run.cells, run.rows(), strict=True):
        for metric in ("tom_percent", "delta_functional_per_step"):
            key = (row["subject"], f"{names[cell.number]}_{metric}")
            if row["model"]:
                assert found.pop(key) == pytest.approx(row[metric], abs=5e-5)
    assert found == {}


def test_a_run_without_models_has_no_model_page(tmp_path) -> None:
    import tomeval

    with (
        tomeval.run({"games": "RPS", "subjects": "random", "episodes": 2}, tmp_path / "r") as one,
        pytest.raises(TomevalError, match="no cell of one language model"),
    ):
        export(one, "hub", out=tmp_path / "o", settings={"repo": REPO})


# --- the Hub --------------------------------------------------------------------------------------


class FakeHub:
    """Speaks as the Hub does when a dataset is made and a folder is uploaded in one commit."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.tokens: set[str | None] = set()
        self.files: dict[str, bytes] = {}
        self.made: dict[str, object] = {}
        self.refuse = 0
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                hub.tokens.add(self.headers.get("Authorization"))
                hub.requests.append((self.command, self.path))
                code, answer = hub.answer(self.path, body)
                data = json.dumps(answer).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str, body: bytes) -> tuple[int, object]:
        if self.refuse:
            return self.refuse, {"error": "You have no right to do this"}
        if path == "/api/repos/create":
            self.made = json.loads(body)
            return 200, {"url": f"{self.url}/datasets/{REPO}", "id": REPO, "name": REPO}
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        if "/preupload/" in path:
            names = [file["path"] for file in json.loads(body)["files"]]
            files = [
                {"path": n, "uploadMode": "regular", "shouldIgnore": False, "oid": None}
                for n in names
            ]
            return 200, {"files": files}
        if "/commit/" in path:
            for line in body.splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    value = entry["value"]
                    assert value["encoding"] == "base64"
                    self.files[value["path"]] = base64.b64decode(value["content"])
            url = f"{self.url}/datasets/{REPO}/commit/{'0' * 40}"
            return 200, {"success": True, "commitOid": "0" * 40, "commitUrl": url}
        return 404, {"error": f"not played: {path}"}


@pytest.fixture
def hub():
    fake = FakeHub()
    yield fake
    fake.server.shutdown()
    fake.server.server_close()


TOKEN = "hf_" + "onlyfortests" * 3


def test_what_is_staged_is_what_is_uploaded(run, folder, hub, tmp_path, monkeypatch) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    staged = stage(run, REPO, tmp_path)
    url = upload(staged, REPO, endpoint=hub.url)
    assert url == f"{hub.url}/datasets/{REPO}"
    assert (hub.made["type"], hub.made["name"]) == ("dataset", "a-run")
    assert hub.made.get("private", True) or hub.made.get("visibility") == "private"
    on_disk = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert hub.files == on_disk
    assert {name for name, _ in staged.files} == set(on_disk)
    assert hub.tokens == {f"Bearer {TOKEN}"}
    assert not any(TOKEN.encode() in data for data in on_disk.values())
    with Run(tmp_path) as again:
        assert repr(again.rows()) == repr(run.rows())
    assert not (tmp_path / "run.sqlite-wal").exists()


def test_staged_files_can_be_read(tmp_path) -> None:
    import tomeval

    folder = tmp_path / "staged"
    folder.mkdir()
    experiment = {"games": "RPS", "subjects": "random", "horizon": 5, "episodes": 40}
    with tomeval.run(experiment, tmp_path / "run") as small:
        staged = stage(small, REPO, folder, report=True)
        with pytest.raises(TomevalError, match="is not empty"):
            stage(small, REPO, folder)
    with (folder / "episodes.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 40
    assert (folder / "report.html").stat().st_size > 10_000
    assert "report.html" in staged.card
    db = sqlite3.connect(folder / "run.sqlite")
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_hub_that_refuses_is_one_message(run, hub, status, tmp_path, monkeypatch) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    staged = stage(run, REPO, tmp_path)
    hub.refuse = status
    with pytest.raises(TomevalError, match=f"status {status}") as error:
        upload(staged, REPO, endpoint=hub.url)
    assert TOKEN not in str(error.value)
    assert hub.files == {}


def test_a_hub_that_is_not_there_is_one_message(run, tmp_path, monkeypatch) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with pytest.raises(TomevalError, match="cannot be reached"):
        upload(stage(run, REPO, tmp_path), REPO, endpoint="http://127.0.0.1:9")


def test_a_credential_in_the_run_is_never_uploaded(run, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", NASTY[:20])
    with pytest.raises(TomevalError, match="the value of SOME_API_KEY") as error:
        stage(run, REPO, tmp_path)
    assert NASTY[:20] not in str(error.value)


def test_a_credential_across_parts_is_found(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tomeval.interchange.push._CHUNK", 50)
    path = tmp_path / "file"
    path.write_bytes(b"x" * 30 + TOKEN.encode() + b" " + b"y" * 100)
    assert any(TOKEN.encode() in part for part in _parts(path))


@pytest.mark.parametrize(
    "name", ["run", "a/b/c", "a b/c", "-a/b", "a/../b", "a/b.git", "https://x/y", "a/", "ä/b"]
)
def test_names_of_no_repository_are_refused(name) -> None:
    with pytest.raises(TomevalError, match="names no repository"):
        check_repo(name)


def test_the_card_quotes_and_escapes_names(run) -> None:
    yaml = pytest.importorskip("yaml")
    card = dataset_card(run, REPO)
    _, front, body = card.split("---\n", 2)
    data = yaml.safe_load(front)
    assert data["pretty_name"] == f"tomeval run: a run of {NASTY}"
    assert [config["data_files"] for config in data["configs"]] == ["cells.csv", "episodes.csv"]
    assert NASTY not in body
    assert "<script" not in body


def command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "tomeval.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | environment,
        timeout=120,
        check=False,
    )


def test_push_only_shows_unless_it_is_told_to_upload(folder, hub) -> None:
    pytest.importorskip("huggingface_hub")
    before = hashlib.sha256((folder / "run.sqlite").read_bytes()).hexdigest()
    settings = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN}
    shown = command("push", folder, REPO, **settings)
    assert shown.returncode == 0, shown.stderr
    for name in ("README.md", "run.sqlite", "cells.csv", "in all", "pretty_name"):
        assert name in shown.stdout
    assert "Nothing was uploaded" in shown.stderr
    assert hub.requests == []
    done = command("push", folder, REPO, "--upload", **settings)
    assert done.returncode == 0, done.stderr
    assert f"/datasets/{REPO}" in done.stdout
    assert "run.sqlite" in hub.files
    assert TOKEN not in shown.stdout + shown.stderr + done.stdout + done.stderr
    assert hashlib.sha256((folder / "run.sqlite").read_bytes()).hexdigest() == before


def test_export_names_its_files(folder, tmp_path) -> None:
    done = command("export", folder, "--format", "lm-eval", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 5 + 10
    bad = command("export", folder, "--format", "inspect")
    assert bad.returncode == 2
    assert "needs a folder" in bad.stderr
