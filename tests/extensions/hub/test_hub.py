"""Entries of model pages, and runs on a Hub that a test plays."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hostile import NASTY, model_run

from tomeval.core.errors import TomevalError
from tomeval.extensions.hub.entries import check_repo
from tomeval.extensions.hub.push import _parts, dataset_card, stage, upload
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
    monkeypatch.setattr("tomeval.extensions.hub.push._CHUNK", 50)
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
        [sys.executable, "-m", "tomeval", *map(str, arguments)],
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
