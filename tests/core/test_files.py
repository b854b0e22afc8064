from __future__ import annotations

import os
import socket

import pytest
from matplotlib.figure import Figure

import tomeval as package
from tomeval.core.errors import TomevalError
from tomeval.core.files import replacing, write_text
from tomeval.plots import FILE_FORMATS, save
from tomeval.plots.drawing import Drawing

FOREIGN = {
    "mine.toml": 'games = ["IPD"]\n',
    "own.py": "print(1)\n",
    "log.csv": "match,step,own_action,partner_action\n0,0,0,1\n",
    "notes.md": "# Notes\n",
    "page.html": "<!doctype html><title>Mine, of tomeval</title>",
    "forest_regret.png": "\x89PNG\r\n",
    "blank.csv": "\n\n",
    "rows.jsonl": '{"match": 1}\n',
}
OUTPUTS = (
    "cell,episode,step\n",
    '{"cell": 0}\n',
    "| subject | game |\n",
    '<!doctype html><meta name="generator" content="tomeval 1">',
)


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
        ("report", folder, "--no-figures", "-o", tmp_path / "x.html"),
        ("table", folder, "--format", "json", "-o", tmp_path / "x.json"),
        ("table", folder, "--format", "markdown", "-o", tmp_path / "x.md"),
        ("table", folder, "--format", "latex", "-o", tmp_path / "x.tex"),
        ("table", folder, "-o", tmp_path / "x.txt"),
    ]
    for command in [*commands, *commands]:
        assert tomeval(*command)[0] == 0, command


@pytest.mark.parametrize("form", FILE_FORMATS)
def test_a_picture_is_replaced_if_tomeval_drew_it(tmp_path, form) -> None:
    drawing, path = Drawing("x", "x", Figure((1, 1)), "t", "c", "d"), tmp_path / f"x.{form}"
    first, again = save([drawing], tmp_path, [form]), save([drawing], tmp_path, [form])
    assert first == again == [path]
    Figure((1, 1)).savefig(path)
    before = path.read_bytes()
    with pytest.raises(TomevalError, match=f"x.{form}: exists, and is not"):
        save([drawing], tmp_path, [form])
    assert contents(tmp_path) == {path.name: before}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_others_is_not_replaced(tmp_path, name) -> None:
    path = tmp_path / name
    path.write_text(FOREIGN[name], encoding="latin-1")
    before, links = path.read_bytes(), (tmp_path / "link.csv", tmp_path / "hard.csv")
    links[0].symlink_to(path)
    links[1].hardlink_to(path)
    for text in OUTPUTS:
        for out in (path, *links, tmp_path / "none" / ".." / name):
            with pytest.raises(TomevalError, match="exists, and is not an earlier output of this"):
                write_text(out, text)
    assert contents(tmp_path) == dict.fromkeys((name, "link.csv", "hard.csv"), before)


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
        ("table", folder, "-o", folder / "run.lock", "--format", "csv"),
        ("export", folder, "--format", "hub", "--out", folder),
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
