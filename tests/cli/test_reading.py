"""What a reader sees at a terminal, and what is selected: table, status, transcript."""

from __future__ import annotations

import csv
import io
import re

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import tomeval as package

    experiment = {
        "games": ["RPS", "IBS", "IPD"],
        "partners": ["single_action", "tit_for_tat"],
        "subjects": ["rmax", "random", "equilibrium"],
        "horizon": 8,
        "episodes": 5,
    }
    path = tmp_path_factory.mktemp("reading") / "run"
    package.run(experiment, path).close()
    return path


# --- table ----------------------------------------------------------------------------------------


def test_metrics_and_columns_are_chosen_in_every_format(tomeval, folder) -> None:
    base = ("table", folder, "--where", "game=IPD", "--where", "subject!=random")
    out = tomeval(*base, "--metric", "tom", "--metric", "regret", "--format", "csv")[1]
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["game"] for row in rows} == {"IPD"}
    assert {row["subject"] for row in rows} == {"rmax", "equilibrium"}
    ends = ("", "_ci95", "_ci95_low", "_ci95_high")
    measures = ("tom_percent", "delta_functional_per_step")
    assert list(rows[0])[-8:] == [name + end for name in measures for end in ends]
    latex = tomeval(*base, "--metric", "tom", "--format", "latex")[1]
    assert r"\shortstack" not in latex  # one game: its partners are all that differs
    assert "single" in latex


# --- status ---------------------------------------------------------------------------------------


# --- transcript -----------------------------------------------------------------------------------


def headings(out: str) -> list[tuple[int, int]]:
    found = re.findall(r"^#### cell (\d+): .*; episode (\d+)$", out, re.M)
    return [(int(cell), int(episode)) for cell, episode in found]


def test_transcripts_of_lists_of_cells_episodes_and_steps(tomeval, folder) -> None:
    command = ("transcript", folder)
    whole = tomeval(*command)[1]
    assert headings(whole) == []
    assert re.findall(r"^== step (\d+):", whole, re.M) == [str(n) for n in range(1, 9)]
    out = tomeval(*command, "--cell", "0,16-99", "--episode", "1,3-4", "--step", "2,7-8")[1]
    assert headings(out) == [(cell, e) for cell in (0, 16, 17) for e in (1, 3, 4)]
    assert re.findall(r"^== step (\d+):", out, re.M) == ["2", "7", "8"] * 9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cell", "18"), "no cell 18, there are 0 to 17"),
        (("--cell", "5-3"), "--cell '5-3': write numbers or ranges such as 0-3,7"),
        (("--episode", "5"), "no episode 5, there are 0 to 4"),
        (("--step", "9-12"), "no step 9 to 12, there are 1 to 8"),
        (("--where", "subject=rmax", "--cell", "1"), "no cell 1, there are"),
    ],
)
def test_what_is_not_there_is_named(tomeval, folder, options, message) -> None:
    code, out, errors = tomeval("transcript", folder, *options)
    assert (code, out) == (2, "")
    assert message in errors
