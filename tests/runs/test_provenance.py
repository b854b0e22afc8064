"""Where episodes were played, as people are told of it, and as others are not."""

from __future__ import annotations

import csv
import io

import pyarrow.parquet
import pytest

from tomeval.report import ReportOptions, write_report
from tomeval.report.exporting import export_run
from tomeval.runs.closing import closing
from tomeval.runs.experiment import make_experiment
from tomeval.runs.origins import Origin, report_rows
from tomeval.runs.results import Run
from tomeval.runs.runner import run_experiment

GPU = "cuda (NVIDIA H200)"
FIRST = Origin("replica 1", "node-anna", GPU, {"python": "3.12.1", "torch": "2.12.0"})
SECOND = Origin("replica 2", "node-bert", GPU, {"python": "3.12.1", "torch": "2.13.0"})
KEYS = {"games": "IPD", "partners": "tit_for_tat", "labels": "neutral", "horizon": 3}


def play(folder, origin, episodes, monkeypatch, **more) -> None:
    """Play as if it were elsewhere."""
    monkeypatch.setattr("tomeval.runs.filling.here", lambda *_: origin)
    data = {**KEYS, "subjects": ["rmax", "random"], **more, "episodes": episodes}
    run_experiment(make_experiment(data), folder)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    play(tmp_path / "run", FIRST, 2, monkeypatch)
    play(tmp_path / "run", SECOND, 5, monkeypatch)
    return tmp_path / "run"


def rows_of(run, what, tmp_path):
    path = tmp_path / f"{what}.csv"
    export_run(run, what, "csv", path)
    return list(csv.DictReader(io.StringIO(path.read_text())))


def test_exported_rows_say_where_they_are_from(folder, tmp_path) -> None:
    place = ("origin", "replica", "host", "device")
    with Run(folder) as run:
        for what in ("steps", "episodes"):
            rows = rows_of(run, what, tmp_path)
            assert list(rows[0])[-4:] == list(place)
            for row in rows:
                origin = FIRST if int(row["episode"]) < 2 else SECOND
                assert (row["replica"], row["host"], row["device"]) == origin[:3]
        origins = rows_of(run, "origins", tmp_path)
        assert [tuple(row.values()) for row in origins] == [
            ("1", "replica 1", "node-anna", GPU, "4", "3.12.1", "2.12.0"),
            ("2", "replica 2", "node-bert", GPU, "6", "3.12.1", "2.13.0"),
        ]
        assert list(origins[0]) == [*place, "episodes", "python", "torch"]
        export_run(run, "episodes", "parquet", tmp_path / "x.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "x.parquet")
    assert [str(table.schema.field(name).type) for name in place] == ["int64", *["string"] * 3]
    assert table["host"].to_pylist() == ["node-anna"] * 2 + ["node-bert"] * 3 + (
        ["node-anna"] * 2 + ["node-bert"] * 3
    )
    with Run(folder, ["subject=rmax"]) as run:
        assert [row["episodes"] for row in rows_of(run, "origins", tmp_path)] == ["2", "3"]


def test_closing_lines_tell_of_several(folder, tmp_path, monkeypatch) -> None:
    with Run(folder) as run:
        text = " ".join(" ".join(closing(run).lines).split())
    assert f"origins: 2 (2 replicas, 2 hosts; {GPU}), see" in text
    assert f"see tomeval export {folder} --what origins" in text
    assert "warning: versions of torch differ: 2.12.0, 2.13.0" in text
    play(tmp_path / "one", FIRST, 3, monkeypatch)
    with Run(tmp_path / "one") as run:
        assert "origin" not in "".join(closing(run).lines)


def test_a_report_numbers_the_hosts(folder, tmp_path) -> None:
    with Run(folder) as run:
        assert [(row["replica"], row["host"], row["episodes"]) for row in report_rows(run)] == [
            ("replica 1", "1", "4"),
            ("replica 2", "2", "6"),
        ]
        write_report(run, tmp_path / "report.html", ReportOptions())
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Where the episodes were played" in page
    assert GPU in page
    assert "node-anna" not in page
