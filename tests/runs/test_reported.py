"""Facts that a source reports beside a run's numbers: what is read, compared, and left over."""

import math

import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.runs.reported import COLUMNS, beside_facts, holds_facts, read_facts

HEADER = ",".join(COLUMNS) + "\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = tomeval.run(
        {"games": "RPS", "partners": "single_action", "subjects": ["random", "rmax"],
         "seed": [1, 2], "horizon": 4, "episodes": 6},
        tmp_path_factory.mktemp("facts") / "run",
    )  # fmt: skip
    yield run
    run.close()


def facts(tmp_path, *lines, header=HEADER):
    path = tmp_path / "facts.csv"
    path.write_text(header + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_a_fact_that_is_a_measure_stands_beside_that_measure_of_every_cell(tmp_path, run):
    path = facts(
        tmp_path,
        "matrix,tom_percent,accuracy of anybody,50,%,number,stated,me",
        "matrix,planted_use,use,1,,number,stated,me",
        "matrix,tom_persent,a slip,1,,number,stated,me",
        "matrix,better,anybody is better,,,claim,stated,me",
        "matrix,worse,somebody is worse,,,claim,stated,me",
    )
    rows, notes = beside_facts(run, path)
    table = run.rows("auto")
    assert [row["of"] for row in rows] == [
        f"{cell.name}, seed {row['seed']}" for cell, row in zip(run.cells, table, strict=True)
    ]
    for row, ours in zip(rows, table, strict=True):
        assert row["ours"] == ours["tom_percent"]
        assert row["ours_ci95_low"] == ours["tom_percent_ci95_low"]
        assert row["reported"] == 50
        assert row["difference"] == ours["tom_percent"] - 50
    assert notes == [
        "not comparable, the domain 'matrix' has no measure 'planted_use' (did you mean "
        "'plans_percent'?): use (1)",
        "not comparable, the domain 'matrix' has no measure 'tom_persent' (did you mean "
        "'tom_percent'?): a slip (1)",
        "not comparable, a claim is no measure: anybody is better; somebody is worse",
    ]


def test_no_fact_is_dropped(tmp_path, run):
    """Every item has a row or stands in a note, whatever it is."""
    items = [*run.domain.measures, "other", "another"]
    lines = [f"matrix,{item},about {item}!,3,%,number,stated,me" for item in items]
    rows, notes = beside_facts(run, facts(tmp_path, *lines))
    told = {row["item"] for row in rows}
    assert all(math.isfinite(row["ours"]) for row in rows)
    for item in items:
        assert (item in told) != any(f"about {item}! (3 %)" in note for note in notes), item


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("arena,a,x,1,,number,stated,me", "line 2: is about the domain 'arena', but the run is of"),
        ("matrix,a,x,one,,number,stated,me", "line 2: value 'one' must be a number"),
        ("matrix,a,x,inf,,setting,stated,me", "line 2: value 'inf' must be a number"),
        ("matrix,a,x,,,number,stated,me", "line 2: value '' must be a number"),
        ("matrix,a,x,1,,claim,stated,me", "line 2: value '1' must be empty, as it is of a claim"),
        ("matrix,a,x,1,,numbers,stated,me", "unknown kind 'numbers' (did you mean 'number'?)"),
        ("matrix,a,x,1,,number,said,me", "unknown standing 'said'"),
        ("matrix,,x,1,,number,stated,me", "line 2: item '' or its fact is empty"),
        ("matrix,a,x,1,,number,stated", "line 2: the number of fields differs from the header's"),
    ],
)
def test_refusals(tmp_path, run, line, message):
    with pytest.raises(TomevalError) as caught:
        beside_facts(run, facts(tmp_path, line))
    assert message in str(caught.value)
    assert str(tmp_path / "facts.csv") in str(caught.value)


def test_other_files_are_refused_in_one_line(tmp_path, run):
    line = "matrix,a,x,1,,number,stated,me"
    with pytest.raises(TomevalError, match="line 3: item 'a' is in an earlier line too"):
        read_facts(facts(tmp_path, line, line), "matrix")
    other = facts(tmp_path, header=HEADER.replace("fact", "facts"))
    assert not holds_facts(other)
    with pytest.raises(TomevalError, match="missing column 'fact'"):
        read_facts(other, "matrix")
    with pytest.raises(TomevalError, match=r"--as-model: .* names no models"):
        beside_facts(run, facts(tmp_path, line), "Falcon 40B")
