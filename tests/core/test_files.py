from __future__ import annotations

import os
import socket

import pytest

import tomeval as package
from tomeval.core.errors import TomevalError
from tomeval.core.files import replacing, write_text


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    experiment = {"games": ["IPD"], "partners": ["tit_for_tat"], "subjects": ["rmax", "random"]}
    path = tmp_path_factory.mktemp("files") / "run"
    package.run({**experiment, "horizon": 5, "episodes": 2}, path).close()
    return path


def contents(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_command_replaces_what_it_wrote(tomeval, folder, tmp_path) -> None:
    commands = [
        ("export", folder, "--out", tmp_path / "x.csv"),
        ("export", folder, "--format", "jsonl", "--out", tmp_path / "x.jsonl"),
        ("export", folder, "--format", "parquet", "--out", tmp_path / "x.parquet"),
        ("report", folder, "--no-figures", "-o", tmp_path / "x.html"),
        ("table", folder, "--format", "json", "-o", tmp_path / "x.json"),
        ("table", folder, "--format", "markdown", "-o", tmp_path / "x.md"),
        ("table", folder, "--format", "latex", "-o", tmp_path / "x.tex"),
        ("table", folder, "-o", tmp_path / "x.txt"),
    ]
    for command in [*commands, *commands]:
        assert tomeval(*command)[0] == 0, command


@pytest.mark.parametrize("name", ["mine.toml", "own.py", "qa_act.j2", "study.ipynb"])
def test_a_file_that_people_write_is_not_replaced(tmp_path, name) -> None:
    path, link = tmp_path / name, tmp_path / "link.csv"
    path.write_text("mine")
    link.symlink_to(path)
    for out in (path, link, tmp_path / "none" / ".." / name):
        with pytest.raises(TomevalError, match="already exists; delete it"):
            write_text(out, "cell,episode,step\n")
    assert path.read_text() == "mine"


def test_nothing_is_written_inside_a_run_folder(tomeval, folder, tmp_path, monkeypatch) -> None:
    link, before = tmp_path / "link", contents(folder)
    link.symlink_to(folder)
    (tmp_path / "store.csv").symlink_to(folder / "episodes.jsonl")
    monkeypatch.chdir(folder.parent)
    for out in (
        *(folder / name for name in ("run.lock", "new.csv", "a/b.csv")),
        *("run/run.pid", "run/../run/run.lock", link / "x.csv", tmp_path / "store.csv"),
    ):
        code, _, errors = tomeval("export", folder, "--out", out)
        assert (code, "inside the run folder" in " ".join(errors.split())) == (2, True), out
    for command in (
        *(("plot", folder, "--out", path) for path in (folder, folder / "plots")),
        ("report", folder, "-o", folder / "report.html", "--no-figures"),
        ("table", folder, "-o", folder / "run.lock"),
        ("export", folder, "--format", "hub", "--set", "repo=a/b", "--out", folder),
        ("run", "known_players", "--out", folder / "again"),
        ("import", tmp_path / "x.csv", "--out", folder / "log"),
    ):
        code, _, errors = tomeval(*command)
        assert (code, "inside the run folder" in " ".join(errors.split())) == (2, True), command
    monkeypatch.chdir(folder)
    assert tomeval("init", "experiment")[0] == 2
    assert contents(folder) == before


def test_what_is_no_file_is_not_written(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "null.csv").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s.csv"))
        for name in ("pipe.csv", "folder.csv", "null.csv", "s.csv"):
            with pytest.raises(TomevalError, match=r"cannot be written \(is "):
                write_text(tmp_path / name, "a,b\n")
    with pytest.raises(TomevalError, match=r"^/dev/full: cannot be written"):
        write_text(tmp_path.__class__("/dev/full"), "a\n")


def test_a_draft_follows_no_link(tmp_path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / ".out.csv.new").symlink_to(tmp_path / "mine.txt")
    write_text(tmp_path / "out.csv", "a\n")
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.txt", "out.csv"]


def test_parts_of_a_run_may_write_a_file_at_once(tmp_path) -> None:
    path = tmp_path / "experiment.json"
    with replacing(path, own=True, by=".1-of-2") as first:
        first.write_text("first")
        with replacing(path, own=True, by=".2-of-2") as second:
            second.write_text("second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert [*tmp_path.iterdir()] == [path]


def test_an_empty_file_is_replaced_and_a_link_leads_to_the_output(tmp_path) -> None:
    (tmp_path / "out.csv").touch()
    (tmp_path / "link.csv").symlink_to(tmp_path / "out.csv")
    write_text(tmp_path / "link.csv", "a,b\n1,2\n")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "out.csv").read_text() == "a,b\n1,2\n"
    with replacing(tmp_path / "sessions.json", own=True) as draft:
        draft.write_text("x")
