"""Commands on a small run: every format, what is chosen, bad input, and as processes."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from functools import partial

import pytest
from support import ROOT

from tomeval.games.matrix.measures import METRICS
from tomeval.report.tables import DATA, WORDS

ALIKE = "note: all episodes have the same value of a measure in "


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import tomeval as package

    experiment = {
        "games": ["RPS", "IPD"],
        "partners": ["single_action", "tit_for_tat"],
        "subjects": ["rmax", "random", "equilibrium"],
        "horizon": 8,
        "episodes": 5,
    }
    path = tmp_path_factory.mktemp("cli") / "run"
    package.run(experiment, path).close()
    return path


def parsed(form: str, text: str) -> list[dict]:
    return json.loads(text) if form == "json" else list(csv.DictReader(io.StringIO(text)))


# --- every command and format ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ["table", "RUN", "--all"],
        ["status", "RUN"],
        ["list", "games"],
        ["bounds", "IPD", "tit_for_tat"],
        ["plan", "known_players"],
    ],
    ids=" ".join,
)
def test_every_table_in_every_format(tomeval, folder, command) -> None:
    shown = {}
    for form in (*DATA, *WORDS):
        arguments = [folder if part == "RUN" else part for part in command]
        code, shown[form], errors = tomeval(*arguments, "--format", form)
        assert code == 0, errors
    as_csv, as_json = (parsed(form, shown[form]) for form in ("csv", "json"))
    assert len(as_csv) == len(as_json) > 0
    assert len({tuple(row) for row in as_csv + as_json}) == 1
    for row, same in zip(as_csv, as_json, strict=True):
        assert [name for name in row if row[name] == ""] == [
            name for name in same if same[name] in (None, "")
        ]
    assert r"\begin{longtable}" in shown["latex"]
    rows = [line for line in shown["markdown"].splitlines() if line.startswith("|")]
    assert len(rows) >= 2 + len(as_csv)  # heads, a rule, and the rows
    assert len(shown["text"].splitlines()) > len(as_csv)


def test_table_numbers_are_exact_in_csv_and_json(tomeval, folder) -> None:
    import tomeval as package

    with package.Run(folder) as run:
        truth = run.rows()
    as_json = parsed("json", tomeval("table", folder, "--format", "json")[1])
    as_csv = parsed("csv", tomeval("table", folder, "--format", "csv")[1])
    for row, left, right in zip(truth, as_json, as_csv, strict=True):
        assert left == {key: None if value != value else value for key, value in row.items()}
        for name in METRICS:
            assert float(right[name]) == row[name]


def test_metrics_and_columns_are_chosen_in_every_format(tomeval, folder) -> None:
    base = ("table", folder, "--where", "game=IPD", "--where", "subject!=random")
    out = tomeval(*base, "--metric", "tom", "--metric", "regret", "--format", "csv")[1]
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["game"] for row in rows} == {"IPD"}
    assert {row["subject"] for row in rows} == {"rmax", "equilibrium"}
    ends = ("", "_ci95", "_ci95_low", "_ci95_high")
    measures = ("tom_percent", "delta_functional_per_step")
    assert list(rows[0])[-8:] == [name + end for name in measures for end in ends]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cell", "12"), "no cell 12, there are 0 to 11"),
        (("--episode", "5"), "cell 0 has no episode 5"),
        (("--where", "subject=rmax", "--cell", "1"), "no cell 1, there are"),
    ],
)
def test_what_is_not_there_is_named(tomeval, folder, options, message) -> None:
    code, out, errors = tomeval("transcript", folder, *options)
    assert (code, out) == (2, "")
    assert message in errors


# --- as a process ---------------------------------------------------------------------------------


def process(*arguments: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "tomeval", *arguments]
    return subprocess.run(
        command, capture_output=True, timeout=60, cwd=ROOT, check=False, **options
    )


def test_output_that_cannot_show_greek_is_no_crash(folder) -> None:
    done = process("table", str(folder), "--all", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stderr.decode("ascii").startswith(ALIKE)


def test_a_reader_that_stops_early_is_no_error(folder) -> None:
    command = [sys.executable, "-m", "tomeval", "export", str(folder), "--what", "steps"]
    writer = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, text=True
    )
    with writer:
        assert writer.stdout.readline().startswith("subject,")
        writer.stdout.close()
        assert "Traceback" not in writer.stderr.read()


@pytest.mark.parametrize("ignored", [False, True])
def test_ctrl_c_ends_it_however_it_was_started(tmp_path, ignored) -> None:
    """A script starts what ends in "&" with Ctrl-C ignored; a game waits here for its player."""
    before = signal.SIG_IGN if ignored else signal.default_int_handler
    playing = subprocess.Popen(
        [sys.executable, "-m", "tomeval", "play", "IPD", "tit_for_tat", "--out", tmp_path / "run"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=partial(signal.signal, signal.SIGINT, before),
    )
    with playing:
        assert playing.stdout.readline()
        playing.send_signal(signal.SIGINT)
        assert playing.wait(20) in (0, 130)
        assert b"Traceback" not in playing.stderr.read()


HEAVY = ("torch", "transformers", "matplotlib", "pandas", "scipy.stats", "nashpy")


LIBRARIES = (*HEAVY, "numpy", "pydantic", "jinja2")


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import tomeval", LIBRARIES),
        (
            "import contextlib, io, sys\nfrom tomeval.cli import main\n"
            "sys.argv = ['tomeval', '--help']\n"
            "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
            "    main()",
            LIBRARIES,
        ),
        ("import tomeval; tomeval.run; tomeval.MatrixGame; tomeval.import_log", HEAVY),
    ],
)
def test_importing_is_light(code, heavy) -> None:
    script = f"{code}\nimport sys\nprint([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_every_command_has_help(tomeval) -> None:
    code, out, _ = tomeval("--help")
    assert code == 0
    names = set(re.findall(r"^│ (\w+) ", out, re.MULTILINE))
    assert names == {
        *("run", "plan", "prompt", "status", "table", "plot", "transcript", "list"),
        *("compare", "report", "export", "bounds"),
        *("import", "play", "init"),
    }
    for name in names:
        assert tomeval(name, "--help")[0] == 0
    assert len(out.strip().splitlines()) <= 40
    assert len(names) <= 17
