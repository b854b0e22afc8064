"""Without the extras: what needs none works, and what needs one says which in one line."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

from support import ROOT

LIBRARIES = "torch transformers tokenizers safetensors huggingface_hub accelerate "
LIBRARIES += "inspect_ai ray sklearn wandb"
# Runs commands in one process that has none of the libraries; prints what became of each.
SCRIPT = """
import contextlib, io, json, sys

sys.modules.update(dict.fromkeys(sys.argv[1].split()))  # None there stands for a missing module
from tomeval.cli import main

found = []
for command in json.loads(sys.stdin.read()):
    sys.argv[1:], code = command, 0
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as e:
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    found.append([code or 0, e.getvalue()])
print(json.dumps(found))
"""


def outcomes(commands: list[list[str]], folder: Path) -> list[tuple[int, str]]:
    """Return exit code and standard error of each command, run where the libraries are missing."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, LIBRARIES],
        input=json.dumps(commands),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [(code, said) for code, said in json.loads(done.stdout)]


def test_commands_without_models_need_no_extra(tmp_path) -> None:
    few = ["--set", "episodes=2"]
    commands = [
        ["run", "known_players", *few, "--set", "horizon=5"],
        ["run", "decrypto_quickstart", *few],
        ["run", "arena_errors", "--set", "episodes=4"],
        ["list", "games"],
        ["plan", "quickstart"],
        ["prompt", "S2A + CoT", "--game", "IPD"],
        ["bounds", "IPD", "tit_for_tat"],
    ]
    for run in ("known_players", "decrypto_quickstart", "arena_errors"):
        folder = f"runs/{run}"
        commands += [["table", folder], ["status", folder], ["transcript", folder]]
        commands.append(["export", folder, "--what", "steps"])
    commands += [["compare", "runs/known_players"], ["compare", "runs/decrypto_quickstart"]]
    commands.append(["report", "runs/known_players", "--no-figures"])
    for command, (code, said) in zip(commands, outcomes(commands, tmp_path), strict=True):
        assert code == 0, (command, said)
        assert "Traceback" not in said


MISSING = {
    "local": (
        ["run", "my.toml"],
        ["run", "my.toml", "--model", "hf:org/model"],
    ),
    "inspect": (["run", "my.toml", "--model", "inspect:openai/gpt-5"],),
    "wandb": (["run", "my.toml", "--model", "scripted:replies.json", "--log", "wandb"],),
    "ray": (["run", "my.toml", "--model", "scripted:replies.json", "--engine", "ray"],),
}


def test_a_missing_extra_is_one_line_that_names_it(tmp_path) -> None:
    (tmp_path / "my.toml").write_text(
        'name = "my"\nmodel = "pocket"\ngames = "RPS"\npartners = "cycler"\n'
        'subjects = {strategy = "QA"}\n'
        "episodes = 1\nhorizon = 2\n"
    )
    (tmp_path / "replies.json").write_text('["Rock", "Rock", "Rock", "Rock"]')
    play = [
        ["run", "my.toml", "--out", "runs/mine", "--model", "scripted:replies.json"],
        ["run", "arena_errors", "--out", "runs/arena", "--set", "episodes=40"],
    ]
    commands = [command for group in MISSING.values() for command in group]
    found = outcomes([*play, *commands], tmp_path)[2:]
    names = [extra for extra, group in MISSING.items() for _ in group]
    for extra, command, (code, said) in zip(names, commands, found, strict=True):
        assert code == 2, (command, said)
        assert f"pip install 'tomeval[{extra}]'" in said, (command, said)
        assert len(said.strip().splitlines()) == 1, (command, said)
    assert "models on this machine (pocket)" in found[0][1]
    assert not (tmp_path / "runs/my").exists()  # nothing is made that cannot be played


def test_every_extra_that_a_message_can_name_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(MISSING) < set(project["optional-dependencies"])
    base = {name.partition(">")[0].replace("-", "_") for name in project["dependencies"]}
    assert not base & set(LIBRARIES.split())
