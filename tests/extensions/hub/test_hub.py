"""A run's tables as a dataset, on a Hub that a test plays."""

from __future__ import annotations

import csv

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
    """Keeps what the library's client is asked to do, or refuses it."""

    def __init__(self) -> None:
        self.made: dict[str, object] = {}
        self.files: dict[str, bytes] = {}
        self.refusal: Exception | None = None

    def create_repo(self, repo: str, **how: object) -> None:
        if self.refusal:
            raise self.refusal
        self.made = {"repo": repo, **how}

    def upload_folder(self, *, repo_id, repo_type, folder_path, allow_patterns) -> None:
        assert (repo_id, repo_type) == (REPO, "dataset")
        self.files = {name: (folder_path / name).read_bytes() for name in allow_patterns}


TOKEN = "hf_" + "onlyfortests" * 3


@pytest.fixture
def hub(monkeypatch):
    fake = FakeHub()
    library = pytest.importorskip("huggingface_hub")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(library, "HfApi", lambda: fake)
    return fake


def test_what_is_written_is_what_is_uploaded(run, hub, tmp_path) -> None:
    written = export(run, "hub", out=tmp_path, settings={"repo": REPO})
    assert not hub.made  # nothing leaves this machine unless it is asked for
    assert export(run, "hub", out=tmp_path, settings=UPLOAD) == written
    assert hub.made == {"repo": REPO, "repo_type": "dataset", "private": True, "exist_ok": True}
    assert hub.files == {path.name: path.read_bytes() for path in written}


def test_the_tables_are_those_of_the_run(run, tmp_path) -> None:
    yaml = pytest.importorskip("yaml")
    export(run, "hub", out=tmp_path, settings={"repo": REPO})
    with (tmp_path / "cells.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(run.cells)
    _, front, body = (tmp_path / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    assert yaml.safe_load(front)["pretty_name"] == f"tomeval run: a run of {NASTY}"
    assert NASTY not in body


def test_a_hub_that_refuses_is_one_message(run, hub, tmp_path) -> None:
    hub.refusal = OSError(f"403: {TOKEN} has no right to do this\nand more")
    with pytest.raises(TomevalError, match=r"the Hub refused.*403") as error:
        export(run, "hub", out=tmp_path, settings=UPLOAD)
    assert TOKEN not in str(error.value)
    assert "\n" not in str(error.value)
    assert not hub.files


def test_a_credential_in_the_run_is_never_uploaded(run, hub, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", NASTY[:20])
    with pytest.raises(TomevalError, match="the value of SOME_API_KEY") as error:
        export(run, "hub", out=tmp_path, settings=UPLOAD)
    assert NASTY[:20] not in str(error.value)
    assert not hub.made


@pytest.mark.parametrize(
    "name", ["", "run", "a/b/c", "a b/c", "a/../b", "a/b.git", "https://x/y", "ä/b"]
)
def test_names_of_no_repository_are_refused(run, name, tmp_path) -> None:
    with pytest.raises(TomevalError, match="needs --set repo=OWNER/NAME"):
        export(run, "hub", out=tmp_path, settings={"repo": name})
    assert list(tmp_path.iterdir()) == []
