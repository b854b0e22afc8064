from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from attacks import commands
from typer.testing import CliRunner

import tomeval
from tomeval.cli.app import app
from tomeval.comparing.comparison import compare
from tomeval.core.errors import TomevalError
from tomeval.core.resources import shipped
from tomeval.report.comparisons import TABLES
from tomeval.report.tables import FORMATS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "run"
    tomeval.run(
        {
            "games": ["RPS", "IPD"],
            "partners": ["single_action", "tit_for_tat"],
            "subjects": ["rmax", "random", {"kind": "simulated", "p": 0.9, "q": 0.5}],
            "horizon": 12,
            "episodes": 10,
        },
        folder,
    ).close()
    return folder


def call(*arguments):
    done = commands.call(*arguments)
    assert (done.code, done.crash) == (0, ""), done.errors
    return done.out + done.errors


SWEPT = ("sensitivity",)


@pytest.mark.parametrize("kind", SWEPT)
def test_tables_of_wordings_need_a_sweep_of_them(folder, kind) -> None:
    done = CliRunner().invoke(app, ["compare", str(folder), "--what", kind])
    assert "no language model's player was asked in two wordings" in str(done.exception)


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_in_every_format(folder, kind) -> None:
    options = ["--resamples", 99]
    options += ["--metric", "tom_percent"] if kind == "power" else []
    options += ["--difference", 5] if kind == "power" else []
    shown = {
        form: call("compare", folder, "--what", kind, "--format", form, *options)
        for form in FORMATS
    }
    assert all("nan" not in text.lower() for text in shown.values())
    rows = json.loads(shown["json"])
    assert len(rows) == len(list(csv.DictReader(io.StringIO(shown["csv"])))) > 0
    assert shown["latex"].startswith("% needs:")
    assert len([x for x in shown["markdown"].splitlines() if x.startswith("|")]) > 2
    assert len(shown["text"].splitlines()) > 1


@pytest.mark.parametrize("kind", ["differences", "shares"])
def test_tasks_are_listed_one_by_one(folder, kind) -> None:
    short, long = (
        call("compare", folder, "--what", kind, "--resamples", 99, *options)
        for options in ([], ["--by-task"])
    )
    assert len(long.splitlines()) > len(short.splitlines())


def test_csv_holds_the_librarys_numbers(folder) -> None:
    shown = call("compare", folder, "--baseline", "random", "--format", "csv", "--by-task")
    rows = list(csv.DictReader(io.StringIO(shown)))
    expected = compare(folder, "strategy", "random").rows()
    assert len(rows) == len(expected)
    for mine, row in zip(rows, expected, strict=True):
        assert mine["strategy"] == row["strategy"]
        for name in ("difference", "p_holm"):  # empty where nothing is compared
            assert float(mine[name] or "nan") == pytest.approx(row[name], abs=0, nan_ok=True)
    assert sum(row["p_holm"] == row["p_holm"] for row in expected) > 50


def test_what_hardly_varies_has_no_p_for_reading(tmp_path) -> None:
    """Right in every step against wrong in every step, and against right in half of them."""
    shares = {"right": 1.0, "wrong": 0.0, "half": 0.5}
    subjects = [{"kind": "simulated", "name": n, "p": p, "q": 1.0} for n, p in shares.items()]
    keys = {"games": "RPS", "partners": "single_action", "horizon": 12, "episodes": 20}
    tomeval.run({**keys, "subjects": subjects}, tmp_path / "run").close()
    asked = ("compare", tmp_path / "run", "--by", "subject", "--baseline", "right")
    shown = call(*asked, "--metric", "tom_percent", "--metric", "regret").splitlines()
    rows = {tuple(line.split()[:3]): line for line in shown}
    wrong = next(line for key, line in rows.items() if key[:3] == ("ToM", "%", "wrong"))
    half = next(line for key, line in rows.items() if key[:3] == ("ToM", "%", "half"))
    assert re.search(r" –  +– +– ", wrong)
    assert wrong.endswith("lower")
    assert re.search(r" 0\.0001 .* -\d\.\d\d ", half)
    (note,) = [line for line in shown if "no p" in line]
    assert "SD below a tenth of the mean" in note
    data = list(csv.DictReader(io.StringIO(call(*asked, "--format", "csv"))))
    assert float(next(row["p_permutation"] for row in data if row["subject"] == "wrong")) == 1e-4


def test_text_says_what_was_done(folder) -> None:
    shown = call("compare", folder, "--baseline", "random", "--margin", "tom_percent=2")
    assert "strategy against 'random'" in shown
    assert "Holm's correction covers the comparisons of one metric in one scope" in shown
    assert "9999 resamples, seed 0" in shown
    assert "note: payoff ranges differ between games" in shown
    assert "p (equivalent)" in shown
    line = next(line for line in shown.splitlines() if "rmax" in line and "ToM %" in line)
    assert re.search(r"\d+\.\d\d ± \d+\.\d\d", line)


def test_power(folder) -> None:
    shown = call(
        "compare", folder, "--what", "power", "--metric", "tom_percent", "--difference", 5,
        "--baseline", "random", "--format", "json",
    )  # fmt: skip
    rows = json.loads(shown)
    assert [row["scope"] for row in rows[:2]] == ["all tasks"] * 2
    assert len(rows) == 2 + 8
    assert all(row["episodes"] >= 2 for row in rows)


def test_table_against_published_results(folder) -> None:
    shown = call("table", folder, "--against", shipped("experiments") / "reported_results.csv")
    assert "Tabular RMax" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--margin", "tom_percent"], "write METRIC=VALUE"),
        (["--margin", "tom_percent=x"], "write METRIC=VALUE"),
        (["--baseline", "rnd"], "unknown strategy as the baseline 'rnd'"),
        (["--what", "shares", "--scale", "range"], "--scale has no effect with --what shares"),
        (["--what", "shares", "--metric", "tom"], "it applies to: differences"),
    ],
)
def test_bad_options_are_one_message(folder, options, message) -> None:
    done = CliRunner().invoke(app, ["compare", str(folder), *options])
    assert isinstance(done.exception, TomevalError)
    assert message in str(done.exception)


def test_bca_with_a_partner_of_one_episode_says_so(tmp_path) -> None:
    """Weights 0.9 and 0.1 in 14 episodes: the mean keeps the weights, computed here by hand."""
    partners = {"name": "rare", "partners": ["always(0)", "always(1)"], "weights": [0.9, 0.1]}
    seen = set()
    for episodes in range(2, 60, 3):
        folder = tmp_path / str(episodes)
        experiment = {"games": "IPD", "partners": partners, "subjects": "random", "horizon": 5}
        with tomeval.run({**experiment, "episodes": episodes}, folder) as run:
            cell = run.cells[0]
            rare = int((cell.which == 1).sum())
            seen.add(rare)
            if rare > 1:
                break
            values = cell.metrics()["reward_per_step"]
            [row] = run.rows("bca")
            done = commands.call("table", folder, "--interval", "bca")
            assert (done.code, done.crash) == (0, "")
            if rare == 1:
                by_hand = (
                    0.9 * values[cell.which == 0].mean() + 0.1 * values[cell.which == 1].mean()
                )
                assert row["reward_per_step"] == pytest.approx(by_hand)
                assert "has only one episode" in done.errors
            else:
                assert row["reward_per_step"] == pytest.approx(values.mean())  # of the only one
                assert "has no episode" in done.errors
            assert np.isnan(row["reward_per_step_ci95"])
            assert "has no" not in commands.call("table", folder).errors
    assert {0, 1} <= seen


def test_importing_the_commands_is_light() -> None:
    script = (
        "import tomeval.cli.compare, sys\n"
        "print([m for m in ('numpy', 'scipy', 'statsmodels', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
