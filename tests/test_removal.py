"""The removal test: without any one extension or other game, everything else works.

Each runs in a process in which the package cannot be imported: a fork of one that has loaded the
libraries and nothing of this package.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tomeval.core.parts import shipped
from tomeval.games.arena.named_games import GAMES

SCRIPT = Path(__file__).with_name("without_extension.py")


@pytest.fixture(scope="module")
def failure():
    """Return a function of package, name and folder that tells what fails without the package."""
    with subprocess.Popen(
        [sys.executable, str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as warm:

        def call(package: str, name: str, folder: Path) -> str:
            print(json.dumps([package, name, str(folder)]), file=warm.stdin, flush=True)
            return json.loads(warm.stdout.readline())

        yield call


@pytest.mark.parametrize("name", shipped())
def test_the_rest_works_without(failure, name, tmp_path) -> None:
    assert failure(f"tomeval.extensions.{name}", name, tmp_path) == ""


@pytest.mark.parametrize("name", ["decrypto", "arena", *GAMES])
def test_the_rest_works_without_a_game(failure, name, tmp_path) -> None:
    assert failure(f"tomeval.games.{name}", name, tmp_path) == ""


def test_what_fails_is_told(failure, tmp_path) -> None:
    assert "No module named 'tomeval.runs'" in failure("tomeval.runs", "", tmp_path)
