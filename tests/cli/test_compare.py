from __future__ import annotations

import csv
import io

import pytest
from attacks import commands
from typer.testing import CliRunner

import tomeval
from tomeval.cli.app import app
from tomeval.comparing.comparison import compare
from tomeval.core.errors import TomevalError


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
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
