"""Runs of store version 1, as text dumps of what that version wrote."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE
from tomeval.runs.convert import convert
from tomeval.runs.results import Run
from tomeval.runs.transcripts import transcript_lines
from tomeval.runs.verify import verified

OLD = Path(__file__).parent / "version_1"
STORES = {"matrix": "run.sqlite", "decrypto": "decrypto.sqlite"}
# Tables of version 1 whose rows go on as they are: old name to new name.
KEPT = {
    "matrix": {name: name for name in ("cells", "episodes", "steps", "calls")},
    "decrypto": {"cells": "cells", "games": "episodes", "turns": "steps", "probes": "answers"}
    | {"calls": "calls"},
}


@pytest.fixture(params=STORES)
def old(request, tmp_path):
    """A run folder of version 1."""
    folder = tmp_path / request.param
    folder.mkdir()
    with closing(sqlite3.connect(folder / STORES[request.param])) as db:
        db.executescript((OLD / f"{request.param}.sql").read_text(encoding="utf-8"))
        db.execute("PRAGMA user_version = 1")
    (folder / "experiment.json").write_text('{"name": "old", "cells": []}')
    (folder / "sessions.json").write_text('[{"started": "2026-01-01T00:00:00+00:00"}]')
    return folder


def counts(path: Path, names) -> list[int]:
    with closing(sqlite3.connect(path)) as db:
        return [db.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in names]


def test_a_converted_run_has_checksums(old, tmp_path) -> None:
    found = verified(convert(old, tmp_path / "new"))
    assert (found.sound, found.unchecked) == (True, False)
    assert found.episodes > 0


def test_every_row_is_kept(old, tmp_path) -> None:
    with pytest.raises(TomevalError, match=f"tomeval convert {old} NEW"):
        Run(old)
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    new = convert(old, tmp_path / "new")
    assert {path.name: path.read_bytes() for path in old.iterdir()} == before
    kept = KEPT[old.name]
    rows = counts(new / "run.sqlite", kept.values())
    assert rows == counts(old / STORES[old.name], kept)
    assert min(rows) > 0
    assert (new / "sessions.json").read_bytes() == before["sessions.json"]
    assert json.loads((new / "experiment.json").read_text())["domain"] == old.name


def test_measures_and_transcripts_are_those_of_before(old, tmp_path) -> None:
    with Run(convert(old, tmp_path / "new")) as run:
        rows = run.rows()
        assert [row[COMPLETE] for row in run.status()] == [row["episodes"] for row in rows]
        text = "\n".join(transcript_lines(run, len(run.cells) - 1, 0))
    if old.name == "matrix":  # as version 1 printed them
        names = ("subject", "tom_percent", "delta_functional_per_step", "reward_per_step")
        found = [[row[name] for name in names] for row in rows]
        assert found[0] == ["rmax", *map(pytest.approx, (200 / 3, 11 / 6, 41 / 6))]
        assert found[1] == ["QA", *map(pytest.approx, (200 / 3, 19 / 6, 5.5))]
        assert "chose J, predicted J; partner chose J; reward 8" in text
    else:
        [row] = rows
        assert (row["survived_percent"], row["tom_eve_percent"]) == (100, 0)
        assert (row["predicted_eve_percent"], row["turns_per_game"]) == (100, 2)
        assert "hints legutedodo, banozurazu, domikadodo" in text
        assert "probe of Eve, keywords: one-two-three-four" in text
    assert "Final answer:" in text


def test_what_cannot_be_converted(old, tmp_path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with pytest.raises(TomevalError, match="is not empty"):
        convert(old, tmp_path / "full")
    with pytest.raises(TomevalError, match="not a run folder"):
        convert(tmp_path, tmp_path / "new")
    new = convert(old, tmp_path / "new")
    with pytest.raises(TomevalError, match="of this version already"):
        convert(new, tmp_path / "newer")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "run.sqlite").touch()
    with pytest.raises(TomevalError, match="nothing was played"):
        convert(tmp_path / "empty", tmp_path / "newer")
    assert not (tmp_path / "newer").exists()
