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


def test_a_pipe_gets_the_same_selection_whole_and_plain(tomeval, folder) -> None:
    code, out, errors = tomeval("table", folder)
    assert (code, "more metrics" in errors) == (0, False)
    assert "\x1b" not in out
    lines = out.splitlines()
    assert len(lines) == 2 + 18
    assert lines[1].split()[-1] == "answer"
    assert {line.split("  ")[0] for line in lines[2:]} == {"rmax", "equilibrium", "random"}
    across = tomeval("table", folder, "--metric", "regret")[1].splitlines()
    assert len(across) == 1 + 2 + 3
    whole = tomeval("table", folder, "--all")[1].splitlines()
    assert len(whole) == 2 + 18
    assert "self-consistent %" in whole[1]


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


def test_a_table_goes_to_a_file_in_the_format_of_its_name(tomeval, folder, tmp_path) -> None:
    for name, start in (("t.tex", "% needs"), ("t.md", "ΔFunctional/T"), ("t.csv", "subject,")):
        code, out, _ = tomeval("table", folder, "-o", tmp_path / name)
        assert (code, out) == (0, f"{tmp_path / name}\n")
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text.startswith(start)
        assert text.endswith("\n")


# --- status ---------------------------------------------------------------------------------------


def test_status_says_n_of_n_for_every_cell(tomeval, folder) -> None:
    lines = tomeval("status", folder)[1].splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith("cell "))
    body = lines[head + 1 : head + 19]
    assert [line.split()[0] for line in body] == [str(n) for n in range(18)]
    assert all(line.endswith("5 of 5") for line in body)


# --- transcript -----------------------------------------------------------------------------------


def test_a_transcript_is_of_one_episode(tomeval, folder) -> None:
    whole = tomeval("transcript", folder)[1]
    assert re.findall(r"^== step (\d+):", whole, re.M) == [str(n) for n in range(1, 9)]
    chosen = tomeval("transcript", folder, "--where", "subject=random")[1]
    assert chosen != whole
    assert len(re.findall(r"^== step (\d+):", chosen, re.M)) == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cell", "18"), "no cell 18, there are 0 to 17"),
        (("--episode", "5"), "cell 0 has no episode 5"),
        (("--where", "subject=rmax", "--cell", "1"), "no cell 1, there are"),
    ],
)
def test_what_is_not_there_is_named(tomeval, folder, options, message) -> None:
    code, out, errors = tomeval("transcript", folder, *options)
    assert (code, out) == (2, "")
    assert message in errors
