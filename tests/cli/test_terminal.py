"""Every table that a command prints fits the terminal, and divides no number."""

from __future__ import annotations

import re
import sys

import pytest
from rich.cells import cell_len

import tomeval

EXPERIMENT = """
games = ["RPS", "IPD"]
partners = ["single_action", "tit_for_tat", "alternator"]
horizon = 6
episodes = 6
[[subjects]]
kind = "simulated"
name = "a player of a long name (labels=neutral,option_order=shuffled)"
p = 1.0
q = 0.5
[[subjects]]
kind = "simulated"
name = "名前の長い選手"
p = 0.5
[[subjects]]
kind = "rmax"
"""
TABLES = (
    *("table RUN", "table RUN --all", "table RUN --metric regret --metric tom"),
    *(
        "compare RUN --resamples 99",
        "compare RUN --by-task --resamples 99",
    ),
    *("status RUN", "plan FILE", "bounds FILE"),
    *(f"list {name}" for name in ("partners", "measures", "strategies", "models", "tables")),
)
_NUMBER = re.compile(r"\d+(?:\.\d+)*")


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    home = tmp_path_factory.mktemp("terminal")
    file, folder = home / "experiment.toml", home / "run"
    file.write_text(EXPERIMENT, encoding="utf-8")
    tomeval.run(file, folder).close()
    return {"RUN": folder, "FILE": file}


@pytest.mark.parametrize("command", TABLES)
def test_a_table_fits_the_terminal(places, tomeval, monkeypatch, command) -> None:
    words = [places.get(word, word) for word in command.split()]
    piped = tomeval(*words)[1]
    for width in (60, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        with monkeypatch.context() as there:
            there.setattr(sys.stdout, "isatty", lambda: True)
            code, shown, errors = tomeval(*words)
        assert code == 0, errors
        assert max(map(cell_len, shown.splitlines())) <= width
        assert set(_NUMBER.findall(shown)) <= set(_NUMBER.findall(piped))
