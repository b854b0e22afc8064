"""A run's tables as a dataset, on a Hub that a test plays."""

from __future__ import annotations

import base64
import csv
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hostile import NASTY, model_run

from tomeval.core.errors import TomevalError
from tomeval.report.exporting import export
from tomeval.runs.results import Run

REPO = "someone/a-run"
UPLOAD = {"repo": REPO, "upload": "yes"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with Run(model_run(tmp_path_factory.mktemp("hostile") / "run")) as opened:
        yield opened


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


TOKEN = "hf_" + "onlyfortests" * 3


@pytest.fixture
def hub(monkeypatch):
    fake = FakeHub()
    library = pytest.importorskip("huggingface_hub")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    made = library.HfApi
    monkeypatch.setattr(library, "HfApi", lambda: made(endpoint=fake.url))
    yield fake
    fake.server.shutdown()
    fake.server.server_close()


def test_what_is_written_is_what_is_uploaded(run, hub, tmp_path) -> None:
    written = export(run, "hub", out=tmp_path, settings={"repo": REPO})
    assert hub.requests == []  # nothing leaves this machine unless it is asked for
    assert export(run, "hub", out=tmp_path, settings=UPLOAD) == written
    assert (hub.made["type"], hub.made["name"]) == ("dataset", "a-run")
    assert hub.made.get("private", True) or hub.made.get("visibility") == "private"
    assert hub.files == {path.name: path.read_bytes() for path in written}
    assert hub.tokens == {f"Bearer {TOKEN}"}


def test_the_tables_are_those_of_the_run(run, tmp_path) -> None:
    yaml = pytest.importorskip("yaml")
    export(run, "hub", out=tmp_path, settings={"repo": REPO})
    with (tmp_path / "cells.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(run.cells)
    _, front, body = (tmp_path / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    assert yaml.safe_load(front)["pretty_name"] == f"tomeval run: a run of {NASTY}"
    assert NASTY not in body


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_hub_that_refuses_is_one_message(run, hub, status, tmp_path) -> None:
    hub.refuse = status
    with pytest.raises(TomevalError, match=f"the Hub refused.*{status}") as error:
        export(run, "hub", out=tmp_path, settings=UPLOAD)
    assert TOKEN not in str(error.value)
    assert "\n" not in str(error.value)
    assert hub.files == {}


def test_a_credential_in_the_run_is_never_uploaded(run, hub, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", NASTY[:20])
    with pytest.raises(TomevalError, match="the value of SOME_API_KEY") as error:
        export(run, "hub", out=tmp_path, settings=UPLOAD)
    assert NASTY[:20] not in str(error.value)
    assert hub.requests == []


@pytest.mark.parametrize(
    "name", ["", "run", "a/b/c", "a b/c", "-a/b", "a/../b", "a/b.git", "https://x/y", "a/", "ä/b"]
)
def test_names_of_no_repository_are_refused(run, name, tmp_path) -> None:
    with pytest.raises(TomevalError, match="needs --set repo=OWNER/NAME"):
        export(run, "hub", out=tmp_path, settings={"repo": name})
    assert list(tmp_path.iterdir()) == []
