"""Pipes, names that are too long and text that cannot be encoded: one line each, and no waiting."""

from __future__ import annotations

import json
import os

import pytest

EXPERIMENT = 'games = ["IPD"]\npartners = ["tit_for_tat"]\nsubjects = ["random"]\nepisodes = 2\n'
LONG = "n" * 300


@pytest.fixture
def line(tomeval, tmp_path, monkeypatch):
    """Return a function that calls a command, which is refused in one line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.toml").write_text(EXPERIMENT)

    def call(*arguments: object) -> str:
        code, _, errors = tomeval(*arguments)
        assert (code, errors.count("tomeval: ")) == (2, 1), (arguments, errors)
        return " ".join(errors.split())

    return call


def test_pipes_and_devices_are_refused(line, tomeval, tmp_path) -> None:
    assert tomeval("run", "e.toml", "--set", "horizon=3", "--out", "run")[0] == 0
    (tmp_path / "broken").mkdir()
    for name in ("pipe.toml", "pipe.csv", "pipe.jsonl", "broken/episodes.jsonl"):
        os.mkfifo(tmp_path / name)
    for command in (
        *(("run", "./pipe.toml"), ("plan", "/dev/zero"), ("bounds", "IPD", "./pipe.toml")),
        ("bounds", "./pipe.toml", "tit_for_tat"),
        ("import", "./pipe.csv", "--game", "IPD", "--partner", "unknown"),
        ("import", "./pipe.jsonl"),
        ("table", "run", "--against", "./pipe.csv"),
    ):
        assert "is not a regular file" in line(*command)
    assert "not a run folder" in line("table", "broken")
    for command in (("export", "run", "--out"), ("table", "run", "-o"), ("report", "run", "-o")):
        for out in ("pipe.csv", "/dev/null"):
            line(*command, out)
    assert line("export", "run", "--out", "/dev/null").endswith("(is not a regular file)")
    assert os.stat("/dev/null").st_rdev  # it is there


@pytest.mark.parametrize(
    "command",
    [
        ("run", LONG),
        ("run", "e.toml", "--out", LONG),
        ("table", LONG),
        ("import", f"{LONG}.csv", "--game", "IPD", "--partner", "unknown"),
        ("prompt", "QA", "--prompts", LONG),
        ("init", "experiment", LONG),
    ],
)
def test_names_that_are_too_long(line, command) -> None:
    assert len(line(*command)) < 1000


@pytest.mark.parametrize("name", ["a/b", "/tmp/x", "..", ".", "../x", "a\nb", " ", "", LONG])
def test_a_run_is_called_as_a_folder_can_be(line, tmp_path, name) -> None:
    (tmp_path / "e.toml").write_text(f"name = {json.dumps(name)}\n{EXPERIMENT}")
    assert "e.toml: name: must be the name of a folder" in line("run", "e.toml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.toml"]


def test_text_that_cannot_be_encoded(line, tomeval, tmp_path) -> None:
    name = os.fsdecode(b"b\xffd")
    assert "lone surrogate U+DCFF" in line("run", "e.toml", "--set", f'name="{name}"')
    assert "\\udcff" in line("run", f"{name}.toml")
    assert "\\udcff" in line("bounds", "IPD", name)
    (tmp_path / "log.csv").write_bytes(b"own_action,partner_action\n\xed\xa0\x80,0\n")
    how = ("--game", "IPD", "--partner", "unknown")
    assert "not UTF-8 text" in line("import", "log.csv", *how)
    (tmp_path / f"{name}.toml").write_text(EXPERIMENT)
    assert tomeval("run", f"{name}.toml", "--set", "horizon=3", "--out", f"{name}.run")[0] == 0
    assert tomeval("export", f"{name}.run", "--out", f"{name}.csv")[0] == 0
