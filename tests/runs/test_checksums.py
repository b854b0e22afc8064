"""Checksums of a store: what they are taken over, and what they find."""

from __future__ import annotations

import shutil
import sqlite3
import struct
import zlib
from pathlib import Path

import pytest
from support import SMALL, damage_of, dump

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.runs import checksums
from tomeval.runs.checksums import is_sealed, read_seal
from tomeval.runs.experiment import make_experiment
from tomeval.runs.runner import run_experiment


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    run_experiment(make_experiment(SMALL), folder)
    return folder


@pytest.fixture
def copy(finished, tmp_path) -> Path:
    return shutil.copytree(finished, tmp_path / "run")


def edit(folder: Path, statement: str) -> None:
    """Change rows as damage would: below tomeval, and without a seal that fits."""
    db = sqlite3.connect(folder / "run.sqlite")
    with db:
        db.execute(statement)
    db.close()


def test_the_form_of_rows_is_held_to_the_byte() -> None:
    # By hand: a list of one tuple of an integer, a float, a text and nothing.
    text = "é".encode()
    form = (
        b"[" + struct.pack("<i", 1) + b"(" + struct.pack("<i", 4)
        + b"i" + struct.pack("<i", -7) + b"g" + struct.pack("<d", 0.1)
        + b"u" + struct.pack("<i", len(text)) + text + b"N"
    )  # fmt: skip
    assert checksums.of_rows([(-7, 0.1, "é", None)]) == zlib.crc32(form)


OF_IT = (
    "episode 7 of cell 1",
    *(f"a row of no episode in the table {t}" for t in ("steps", "spent")),
)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE steps SET own_action = 1 - own_action WHERE cell = 1 AND episode = 7 AND step = 4",
        "UPDATE episodes SET steps = 9 WHERE cell = 1 AND episode = 7",
        "DELETE FROM steps WHERE cell = 1 AND episode = 7",
        "DELETE FROM episodes WHERE cell = 1 AND episode = 7",
        "DELETE FROM sums WHERE cell = 1 AND episode = 7",
        "UPDATE steps SET own_reward = own_reward + 1e-12 WHERE cell = 1 AND episode = 7",
    ],
)
def test_a_damaged_episode_is_one_error_that_names_it(copy, statement) -> None:
    edit(copy, statement)
    with pytest.raises(TomevalError, match=r"run\.sqlite: damaged, episode 7 of cell 1"):
        tomeval.Run(copy)
    assert all(what in OF_IT for what in damage_of(copy))


def test_a_damaged_cell_or_setting_is_told(copy) -> None:
    edit(copy, "UPDATE cells SET game = 'RPS' WHERE cell = 0")
    with pytest.raises(TomevalError, match=r"damaged, one of .* cells"):
        tomeval.Run(copy)
    assert damage_of(copy)


def test_a_damaged_store_is_not_extended(copy) -> None:
    edit(copy, "UPDATE steps SET own_action = 0 WHERE cell = 0 AND episode = 3")
    before = (copy / "run.sqlite").read_bytes()
    with pytest.raises(TomevalError, match=r"episode 3 of cell 0"):
        run_experiment(make_experiment(SMALL | {"episodes": 50}), copy)
    assert (copy / "run.sqlite").read_bytes() == before


def test_a_cut_log_loses_its_last_episodes_and_no_more(tmp_path) -> None:
    folder, killed = tmp_path / "run", tmp_path / "killed"

    def on_counts(counts) -> None:
        if counts.complete >= 41 and not killed.exists():
            shutil.copytree(folder, killed)

    run_experiment(make_experiment(SMALL), folder, on_counts=on_counts)
    with tomeval.Run(killed) as run:
        assert sum(row["complete"] for row in run.status()) >= 40
    log = killed / "run.sqlite-wal"
    data = log.read_bytes()
    assert len(data) > 0
    log.write_bytes(data[: len(data) // 2])
    assert not damage_of(killed)
    run_experiment(make_experiment(SMALL), killed)
    assert dump(killed) == dump(folder)


def test_a_seal_is_of_the_whole_file(finished, copy) -> None:
    sealed = read_seal(finished)
    assert is_sealed(finished / "run.sqlite", sealed)
    for place in range(len(sealed) - 1):
        changed = f"{sealed[:place]}{chr(ord(sealed[place]) ^ 1)}{sealed[place + 1 :]}"
        assert not is_sealed(finished / "run.sqlite", changed)
    (copy / "run.seal").write_text("x")
    with tomeval.Run(copy) as run, tomeval.Run(finished) as right:
        assert repr(run.rows()) == repr(right.rows())


@pytest.mark.parametrize("name", ["experiment.json", "sessions.json"])
def test_files_beside_the_store_are_checked(copy, caplog, name) -> None:
    path = copy / name
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("40", "41", 1) if name == "experiment.json" else text.replace(
        '"python": "3', '"python": "4', 1
    ), encoding="utf-8")  # fmt: skip
    assert path.read_text(encoding="utf-8") != text
    from tomeval.runs.folder import read_json

    with tomeval.Run(copy) as run:
        assert read_json(run.folder / name) is None
    assert f"{path}: damaged" in caplog.text


def test_what_a_run_shows_is_of_one_moment(copy) -> None:
    with tomeval.Run(copy) as run:
        assert len(run.cells[0].episodes) == 40
        run_experiment(make_experiment(SMALL | {"episodes": 60}), copy)
        assert sum(row["complete"] for row in run.status()) == 80
    with tomeval.Run(copy) as run:
        assert sum(row["complete"] for row in run.status()) == 120


OTHERS = {
    "another game": SMALL | {"games": ["RPS"]},
    "another name": SMALL | {"name": "another"},
    "another seed": SMALL | {"seed": 4},
    "another domain": {
        "domain": "decrypto",
        "name": "words",
        "players": {"mini": {"embedding": "minilm"}},
        "pairings": [{"encoder": "mini", "decoder": "mini", "interceptor": "mini"}],
        "episodes": 2,
    },
}


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """A run of each of `OTHERS`, when it is needed."""
    folder = tmp_path_factory.mktemp("others")

    def of(what: str) -> Path:
        if not (folder / what).exists():
            run_experiment(make_experiment(OTHERS[what]), folder / what)
        return folder / what

    return of


@pytest.mark.parametrize("with_seal", [True, False])
@pytest.mark.parametrize("what", OTHERS)
def test_a_store_of_another_experiment_is_told(copy, others, what, with_seal) -> None:
    other = others(what)
    shutil.copy(other / "run.sqlite", copy)
    if with_seal:
        shutil.copy(other / "run.seal", copy)
    else:
        (copy / "run.seal").unlink()
    before = (copy / "run.sqlite").read_bytes()
    with pytest.raises(TomevalError, match=r"put back the right file") as error:
        tomeval.Run(copy)
    assert "\n" not in str(error.value)
    for data in (SMALL, OTHERS[what]):
        with pytest.raises(TomevalError, match="put back the right file"):
            run_experiment(make_experiment(data), copy)
    assert (copy / "run.sqlite").read_bytes() == before
    # As it says: without the other file the store is what its experiment goes on with.
    (copy / "experiment.json").unlink()
    assert run_experiment(make_experiment(OTHERS[what]), copy) == 0
    assert not damage_of(copy)


def test_rows_of_other_types_are_damage_and_no_crash(copy) -> None:
    # What pages that were exchanged look like: rows of one table among those of another.
    db = sqlite3.connect(copy / "run.sqlite")
    for table in ("sums", "episodes", "steps", "answered"):
        width = len(db.execute(f"PRAGMA table_info({table})").fetchall())
        for key in [("IPD", 3), (b"x", "y"), (1.5, 2)]:
            row = (*key, *["complete"] * (width - 2))
            db.execute(f"INSERT INTO {table} VALUES ({','.join('?' * width)})", row)
    db.execute("UPDATE episodes SET steps = 9 WHERE cell = 1 AND episode = 7")
    db.commit()
    db.close()
    assert "episode 7 of cell 1" in damage_of(copy)
    with pytest.raises(TomevalError, match="damaged"):
        tomeval.Run(copy)


def test_another_version_is_one_line(copy) -> None:
    edit(copy, "PRAGMA user_version = 4")
    with pytest.raises(TomevalError) as error:
        tomeval.Run(copy)
    start = f"{copy / 'run.sqlite'}: written by an earlier version of tomeval (store version 4, "
    assert str(error.value).startswith(start)


@pytest.mark.parametrize(
    ("statements", "what"),
    [
        (
            "DROP TABLE steps; CREATE VIEW steps AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL "
            "SELECT x FROM n) SELECT x AS cell, x AS episode FROM n",
            "the view steps",
        ),
        (
            "DROP TABLE meta; CREATE VIEW meta AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL "
            "SELECT x FROM n) SELECT x AS key, x AS value FROM n",
            "the table meta",
        ),
        ("CREATE TRIGGER t AFTER INSERT ON steps BEGIN DELETE FROM sums; END", "the trigger t"),
        ("CREATE TABLE more (x INTEGER)", "the table more"),
        ("DROP TABLE answers", "the table answers"),
    ],
)
def test_a_store_of_other_tables_is_one_line_at_once(copy, statements, what) -> None:
    db = sqlite3.connect(copy / "run.sqlite")
    db.executescript(statements)
    db.close()
    with pytest.raises(TomevalError, match=f"damaged, .*{what} was not made by this version"):
        tomeval.Run(copy)
