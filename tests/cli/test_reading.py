"""What a reader sees at a terminal, and what is selected: table, status, transcript."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest
from support import ROOT

BOLD = re.compile(r"\x1b\[1m(.*?)\x1b\[0m")
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


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


def at_terminal(columns: int, *arguments: object) -> tuple[int, list[str]]:
    """Return the exit code and the lines of a command at a pseudo-terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
    child = subprocess.Popen(
        [sys.executable, "-m", "tomeval", *map(str, arguments)],
        stdout=theirs,
        stderr=theirs,
        cwd=ROOT,
        env=environment | {"TERM": "xterm-256color"},
    )
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 65536):
            said += part
    except OSError:  # how Linux says that the other side is closed
        pass
    os.close(ours)
    return child.wait(), said.decode().replace("\r\n", "\n").splitlines()


# --- table ----------------------------------------------------------------------------------------


def told_apart(folder) -> int:
    """Return in how many tasks the interval of the least regret meets no other."""
    import tomeval as package

    name = "delta_functional_per_step"
    with package.Run(folder) as run:
        tasks: dict[tuple[str, str], list[dict]] = {}
        for row in run.rows():
            tasks.setdefault((row["game"], row["partners"]), []).append(row)
    count = 0
    for rows in tasks.values():
        best, *others = sorted(rows, key=lambda row: row[name])
        count += all(best[f"{name}_ci95_high"] < one[f"{name}_ci95_low"] for one in others)
    return count


def test_who_can_be_told_from_all_others_is_bold_at_a_terminal(tmp_path) -> None:
    import tomeval as package

    experiment = {
        "games": ["RPS", "IBS"],
        "partners": ["single_action", "tit_for_tat"],
        "subjects": ["best_response", "random", "equilibrium"],
        "horizon": 20,
        "episodes": 40,
    }
    package.run(experiment, tmp_path / "run").close()
    _, lines = at_terminal(100, "table", tmp_path / "run", "--metric", "regret")
    found = [match for line in lines for match in BOLD.findall(line)]
    assert len(found) == told_apart(tmp_path / "run") >= 2
    assert all(text.startswith("0.000") for text in found)


@pytest.mark.parametrize(
    "columns", [60, *(pytest.param(n, marks=pytest.mark.slow) for n in (80, 120))]
)
def test_a_table_fits_the_terminal_and_has_the_best_in_bold(folder, columns) -> None:
    code, lines = at_terminal(columns, "table", folder, "--metric", "regret")
    assert code == 0
    assert max(len(ESCAPES.sub("", line)) for line in lines) <= columns
    found = [match for line in lines for match in BOLD.findall(line)]
    assert len(found) == told_apart(folder)
    assert bool(found) == any("bold" in line for line in lines)
    bare = "\n".join(ESCAPES.sub("", line) for line in lines)
    assert bare.count("[") >= 18
    assert "note: more metrics: --all" in re.sub(r"\s+", " ", bare)
    assert "-0.00" not in bare


def test_the_first_screen_answers_in_a_hundred_columns(folder) -> None:
    code, lines = at_terminal(100, "table", folder)
    bare = [ESCAPES.sub("", line) for line in lines]
    assert (code, max(map(len, bare)) <= 100) == (0, True)
    head = next(line for line in bare if "knows" in line)
    assert head.split()[-1] == "answer"
    assert sum("undecided: " in line for line in bare) >= 3
    assert "note: 0 is chance and 100 the best attainable." in "\n".join(bare)


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
    out = tomeval(*base, "--metric", "tom", "--pivot", "none", "--sort", "subject")[1]
    assert [line.split()[0] for line in out.splitlines()[-4:]] == ["equilibrium"] * 2 + ["rmax"] * 2
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--metric", "regrett"), "unknown metric 'regrett' (did you mean 'regret'?)"),
        (("--where", "game=IPX"), "no cell has the game 'IPX' (did you mean"),
        (("--sort", "subjct"), "unknown column 'subjct' (did you mean 'subject'?)"),
        (("--pivot", "gme"), "unknown column 'gme' (did you mean 'game'?)"),
        (("--all", "--metric", "tom"), "--all shows everything"),
        (("--published", "--all"), "--published has columns of its own"),
        (("--as-model", "x"), "--as-model needs --against"),
        (("-o", "."), ".: cannot be written (is a folder)"),
        (
            ("-o", "x.csv", "--format", "latex"),
            "-o x.csv: the ending means csv, but --format is latex",
        ),
        (("-o", "x.jsn"), "-o x.jsn: unknown ending 'jsn' (did you mean 'json'?)"),
    ],
)
def test_what_cannot_be_shown_is_one_message(tomeval, folder, options, message) -> None:
    code, out, errors = tomeval("table", folder, *options)
    assert (code, out) == (2, "")
    assert message in errors
    assert len(errors.splitlines()) == 1


def test_what_compare_says_fits_the_terminal_and_is_whole_when_piped(tomeval, folder) -> None:
    asked = ("compare", folder, "--metric", "regret")
    code, lines = at_terminal(80, *asked)
    assert code == 0
    piped = tomeval(*asked)[1].splitlines()
    said = [line for line in piped if line.startswith(("p and verdict:", "note:"))]
    assert len(said) > 1
    assert all(" ".join(line.split()) in " ".join(" ".join(lines).split()) for line in said)
    notes = lines[next(n for n, line in enumerate(lines) if line.startswith("note:")) :]
    assert len(notes) > len([line for line in said if line.startswith("note:")])
    assert max(map(len, notes)) <= 80


# --- status ---------------------------------------------------------------------------------------


def test_status_says_n_of_n_for_every_cell_also_those_not_begun(tomeval, folder, tmp_path) -> None:
    from tomeval.domains.matrix.domain import MATRIX
    from tomeval.runs.experiment import make_experiment
    from tomeval.runs.folder import begin_or_resume, make_folder
    from tomeval.runs.store import Store

    lines = tomeval("status", folder)[1].splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith("cell "))
    body = lines[head + 1 : head + 19]
    assert [line.split()[0] for line in body] == [str(n) for n in range(18)]
    assert all(line.endswith("5 of 5") for line in body)

    experiment = make_experiment(
        {"games": "RPS", "subjects": ["rmax", "random"], "episodes": 7, "horizon": 3}
    )
    made = tmp_path / "begun"
    make_folder(made)
    store = Store(made, MATRIX)
    begin_or_resume(store, made, experiment.identity(), experiment.episodes)
    store.close()
    rows = json.loads(tomeval("status", made, "--format", "json")[1])
    assert [(row["cell"], row["complete"], row["wanted"]) for row in rows] == [(0, 0, 7), (1, 0, 7)]
    assert "0 of 7" in tomeval("status", made)[1]


def test_status_of_some_cells(tomeval, folder) -> None:
    out = tomeval("status", folder, "--where", "game=IPD", "--where", "subject=rmax")[1]
    assert len([line for line in out.splitlines() if line.endswith("5 of 5")]) == 2
    assert "cells:" not in out  # of the whole run


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


def test_transcripts_of_a_player_and_a_game(tomeval, folder) -> None:
    where = ("--where", "subject=random", "--where", "game=IPD")
    out = tomeval("transcript", folder, *where, "--step", "1")[1]
    rows = json.loads(tomeval("status", folder, *where, "--format", "json")[1])
    assert headings(out) == [(row["cell"], 0) for row in rows]
    assert len(rows) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cell", "18"), "no cell 18, there are 0-17"),
        (("--cell", "5-3"), "--cell '5-3': write numbers or ranges such as 0-3,7"),
        (("--cell", "one"), "--cell 'one': write numbers"),
        (("--episode", "5"), "no episode 5, there are 0-4"),
        (("--step", "9-12"), "no step 9 to 12, there are 1-8"),
        (("--where", "subject=randm"), "did you mean 'random'?"),
        (("--where", "subject=rmax", "--cell", "1"), "no cell 1, there are"),
    ],
)
def test_what_is_not_there_is_named(tomeval, folder, options, message) -> None:
    code, out, errors = tomeval("transcript", folder, *options)
    assert (code, out) == (2, "")
    assert message in errors
