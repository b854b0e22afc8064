"""Runs of store version 2: read as they are, not played into, converted and then resumed.

``version_2`` is what that version wrote: a run with a failed episode whose replies are kept.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest
from support import dump, scripts

from tomeval.core.errors import TomevalError
from tomeval.interchange.exporting import export
from tomeval.interchange.push import stage
from tomeval.models.base import BackendError
from tomeval.runs.convert import convert
from tomeval.runs.experiment import make_experiment
from tomeval.runs.packing import unpacked
from tomeval.runs.results import Run, iterate_export
from tomeval.runs.runner import run_experiment
from tomeval.runs.transcripts import transcript_lines
from tomeval.runs.verify import verified

OLD = Path(__file__).parent / "version_2"
FILES = ("experiment.json", "sessions.json", "run.seal")

# As version 2 printed them.
MEASURED = [("rmax", 3, 200 / 3, 1.25, 7.25), ("CoT", 2, 12.5, 3.125, 5.375)]
NAMES = ("subject", "episodes", "tom_percent", "delta_functional_per_step", "reward_per_step")


def filled(folder: Path) -> Path:
    """Make the run folder that version 2 left."""
    folder.mkdir()
    with closing(sqlite3.connect(folder / "run.sqlite")) as db:
        db.executescript((OLD / "run.sql").read_text(encoding="utf-8"))
        db.execute("PRAGMA user_version = 2")
    for name in FILES:
        shutil.copy(OLD / name, folder / name)
    return folder


@pytest.fixture
def old(tmp_path) -> Path:
    return filled(tmp_path / "old")


def as_version_2(folder: Path, new: Path) -> Path:
    """Write a run of this version as version 2 did, without its checksums."""
    new.mkdir()
    shutil.copy(folder / "experiment.json", new / "experiment.json")
    schema = (OLD / "run.sql").read_text(encoding="utf-8").split(";\n")
    with closing(sqlite3.connect(new / "run.sqlite")) as db:
        db.create_function("unpacked", 1, unpacked)
        tables = [s for s in schema if s.startswith("CREATE") and "sums" not in s]
        db.executescript(";\n".join(s for s in tables if "TABLE marks" not in s))
        db.execute("ATTACH ? AS new", (str(folder / "run.sqlite"),))
        for name in ("meta", "cells", "revisions", "episodes", "steps", "answers", "calls"):
            names = [f'"{row[1]}"' for row in db.execute(f"PRAGMA main.table_info({name})")]
            columns = ", ".join(names).replace('"record"', "unpacked(record)")
            db.execute(f"INSERT INTO main.{name} SELECT {columns} FROM new.{name}")
        db.execute(
            "INSERT INTO answered SELECT cell, episode, seat, request, unpacked(reply), NULL "
            "FROM new.answered"
        )
        db.commit()
        db.execute("PRAGMA user_version = 2")
    return new


def told(run: Run):
    """Return what people are told of a run, apart from where it was played."""
    exported = {what: iterate_export(run, what) for what in ("steps", "episodes", "answers")}
    return [
        repr(run.rows()), run.status(), list(transcript_lines(run, 1, 2)),
        repr({what: (names, list(rows)) for what, (names, rows) in exported.items()}),
    ]  # fmt: skip


def test_it_is_read_and_stays_as_it_was(old, tmp_path) -> None:
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    with Run(old) as run:
        rows = [tuple(row[name] for name in NAMES) for row in run.rows()]
        assert rows == [(name, n, *map(pytest.approx, more)) for name, n, *more in MEASURED]
        [_, played] = run.status()
        assert (played["complete"], played["failed"], played["calls"]) == (2, 1, 27)
        assert "Final answer: F" in "\n".join(transcript_lines(run, 1, 0))
        assert len(run.store.kept_replies(1, 1, "subject")) == 8
        columns, found = iterate_export(run, "origins")
        assert list(found) == [(0, None, None, None, 6)]
        assert columns == ["origin", "replica", "host", "device", "episodes"]
        for form in ("csv", "parquet", "inspect", "lm-eval"):
            export(run, form, out=tmp_path / form)
        (tmp_path / "staged").mkdir()
        stage(run, "me/run", tmp_path / "staged", report=True)
    assert verified(old).episodes == 6
    assert verified(old).sound
    assert {path.name: path.read_bytes() for path in old.iterdir()} == before
    with Run(tmp_path / "staged") as copy:
        assert [row["episodes"] for row in copy.rows()] == [3, 2]


def test_its_damage_is_seen(old, tmp_path) -> None:
    with closing(sqlite3.connect(old / "run.sqlite")) as db:
        db.execute("UPDATE calls SET record = replace(record, 'Thought', 'thought') WHERE call = 3")
        db.commit()
    with pytest.raises(TomevalError, match=r"damaged, episode 0 of cell 1 \(calls\)"):
        convert(old, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old"]


def test_a_run_into_it_says_in_one_line_what_to_do(old) -> None:
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    with pytest.raises(TomevalError) as error:
        run_experiment(make_experiment({"games": "IPD", "subjects": "rmax"}), old)
    assert str(error.value) == (
        f"{old}: written by an earlier version of tomeval, this one reads it and does not play "
        f"into it; make a folder to go on in: tomeval convert {old} NEW"
    )
    after = {path.name: path.read_bytes() for path in old.iterdir()}
    assert {name: after[name] for name in before} == before


def test_every_row_is_converted(old, tmp_path) -> None:
    new = convert(old, tmp_path / "new")
    with closing(sqlite3.connect(old / "run.sqlite")) as db:
        expected = {
            name: sorted(db.execute(f"SELECT * FROM {name}"), key=repr)
            for name in ("meta", "cells", "revisions", "episodes", "steps", "answers", "calls")
        }
        replies = sorted(db.execute("SELECT cell, episode, seat, request, reply FROM answered"))
    found = dump(new)
    assert sorted(row[:-1] for row in found.pop("answered")) == replies
    assert [row[:2] for row in found.pop("spent")] == [(1, 0), (1, 1), (1, 2)]
    assert found == expected
    assert verified(new).sound
    assert not verified(new).unchecked
    with Run(old) as one, Run(new) as two:
        assert told(one) == told(two)
    assert (new / "sessions.json").read_bytes() == (OLD / "sessions.json").read_bytes()
    with pytest.raises(TomevalError, match="of this version already"):
        convert(new, tmp_path / "newer")


def test_a_converted_run_is_resumed(tmp_path) -> None:
    asked: list[int] = []
    fails = {20, 27}

    def says(request):
        asked.append(request.seed)
        if len(asked) in fails:
            raise BackendError("away") if len(asked) == 20 else RuntimeError("killed")
        return f"Thought {request.seed % 97}.\nFinal answer: {'JF'[request.seed % 2]}"

    experiment = make_experiment(
        {
            **{"name": "old", "games": "IPD", "partners": "tit_for_tat", "labels": "neutral"},
            **{"episodes": 4, "horizon": 4, "seed": 5, "model": "scripted:says"},
            "subjects": ["rmax", {"strategy": "CoT"}],
        }
    )
    with scripts(says=says):
        with pytest.raises(RuntimeError, match="killed"):
            run_experiment(experiment, tmp_path / "cut", concurrency=2)
        first = list(asked)
        fails.clear()
        old = as_version_2(tmp_path / "cut", tmp_path / "old")
        with pytest.raises(TomevalError, match=f"tomeval convert {old} NEW"):
            run_experiment(experiment, old)
        new = convert(old, tmp_path / "new")
        asked.clear()
        run_experiment(experiment, new)
        answered = set(first[:19] + first[20:26])
        assert not answered & set(asked)  # nothing that was answered is asked for again
        assert answered | set(asked) == set(first) | set(asked)
        run_experiment(experiment, tmp_path / "whole")
    timeless = [_timeless(dump(folder)) for folder in (new, tmp_path / "whole")]
    assert timeless[0] == timeless[1]
    assert verified(new).sound


def _timeless(tables):
    calls = []
    for *place, record in tables["calls"]:
        data = json.loads(record)
        data.get("reply", {}).pop("latency", None)
        calls.append((*place, json.dumps(data, sort_keys=True)))
    return {**tables, "calls": calls}


def test_memory_does_not_grow_with_the_run(old, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tomeval.runs.database.ROWS_AT_A_TIME", 50)
    monkeypatch.setattr("tomeval.runs.checksums._CHUNK", 1 << 14)
    convert(old, tmp_path / "first")  # what is imported then does not count
    peaks = []
    for times in (30, 130):
        folder = tmp_path / f"times {times}"
        shutil.copytree(old, folder)
        (folder / "run.seal").unlink()
        with closing(sqlite3.connect(folder / "run.sqlite")) as db:
            db.executescript("DROP TABLE sums; DROP TABLE marks")
            db.executescript("DELETE FROM answered; DELETE FROM calls WHERE call > 0")
            for name in ("episodes", "steps", "calls"):
                names = [row[1] for row in db.execute(f"PRAGMA table_info({name})")]
                rest = ", ".join(names[2:])
                db.execute(
                    f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                    f"{times}) INSERT INTO {name} SELECT cell, 3 * i + episode, {rest} FROM "
                    f"{name}, n WHERE cell = 1"
                )
            db.commit()
        tracemalloc.start()
        convert(folder, tmp_path / f"new {times}")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        with Run(tmp_path / f"new {times}") as run:
            counted = run.store.query("SELECT COUNT(*) FROM episodes")
        assert counted == [(6 + 3 * times,)]
    more = 3 * 100  # episodes, whose rows alone have over 2,000 bytes each
    assert peaks[1] - peaks[0] < 250 * more
