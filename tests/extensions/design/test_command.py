"""`tomeval design`."""

from __future__ import annotations

import csv
import io
import json

import pytest

BETWEEN = ("--between", "simulated(p=1.0, q=0.9)", "--between", "simulated(p=0.8, q=1.0)")


def test_design_prints_a_table_and_writes_a_partner(tomeval, tmp_path) -> None:
    file = tmp_path / "mine.toml"
    more = ("--states", 2, "--horizon", 10, *BETWEEN, "-o", file)
    code, out, errors = tomeval("design", "IPD", *more)
    assert code == 0
    assert "all 26 ways to behave with up to 2 states; IPD, T = 10" in out
    assert "next: tomeval bounds IPD" in errors
    assert "simulated(p=1.0, q=0.9)" in file.read_text()
    _, table, _ = tomeval("design", "IPD", "--horizon", 10, *BETWEEN, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["rank"] for row in rows] == ["1", "2", "3", "4", "5", "–", "–"]
    _, beside, _ = tomeval(
        *("design", "IPD", "--states", 1, "--horizon", 10, *BETWEEN, "--beside", file),
        *("--format", "json"),
    )
    [same] = [row for row in json.loads(beside) if row["machine"] == "mine"]
    for name in ("score", "expected_difference", "calls"):
        assert same[name] == pytest.approx(float(rows[0][name]))


def test_design_of_a_pair_writes_one_file_per_partner(tomeval, tmp_path) -> None:
    code, out, _ = tomeval(
        *("design", "chicken", "--horizon", 6, "-o", tmp_path / "pair.toml", "--top", 2)
    )
    assert code == 0
    assert "unavoidable_regret: the least expected" in " ".join(out.split())
    assert {path.name for path in tmp_path.iterdir()} == {"pair_1.toml", "pair_2.toml"}
    _, out, _ = tomeval(
        *("bounds", "chicken", f"{tmp_path / 'pair_1.toml'} + {tmp_path / 'pair_2.toml'}"),
        *("--horizon", 6),
    )
    assert "relevance (regret per step of the best response to the wrong partner): 1.33333\n" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("IPDD",), "did you mean 'IPD'"),
        (("IPD", "-o", "x.txt"), "ends in .toml"),
        (("IPD", "--between", "random"), "name two subjects"),
    ],
)
def test_bad_input_is_one_message(tomeval, tmp_path, monkeypatch, arguments, message) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, errors = tomeval("design", *arguments)
    assert (code, out) == (2, "")
    assert errors.startswith("tomeval: ")
    assert message in errors
    assert not list(tmp_path.iterdir())
