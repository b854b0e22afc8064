"""The removal test: without any one extension or other domain, everything else works.

Each runs in a process in which the package cannot be imported.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tomeval.core.shipped import SHIPPED

SCRIPT = Path(__file__).with_name("without_extension.py")


@pytest.mark.parametrize("name", SHIPPED)
def test_the_rest_works_without(name, tmp_path) -> None:
    command = [sys.executable, str(SCRIPT), f"tomeval.extensions.{name}", name, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["decrypto", "arena"])
def test_the_rest_works_without_a_domain(name, tmp_path) -> None:
    command = [sys.executable, str(SCRIPT), f"tomeval.domains.{name}", name, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_help_and_tables_load_no_extension(tmp_path) -> None:
    command = [sys.executable, str(SCRIPT), "tomeval.extensions", "", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
