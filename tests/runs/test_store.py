"""The store: transactions of several writes, rows made elsewhere, second results."""

from __future__ import annotations

import contextlib
import json
import pickle
import sqlite3

import pytest
from support import damage_of, dump, renew_checksums

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE
from tomeval.runs.domain import Block, get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.runs.folder import begin_or_resume
from tomeval.runs.rows import Rows
from tomeval.runs.schema import pack, unpack
from tomeval.runs.store import Store

EXPERIMENT = make_experiment(
    {
        "name": "two",
        "games": "IPD",
        "partners": "tit_for_tat",
        "subjects": ["rmax", "random"],
        "horizon": 2,
    }
)


@contextlib.contextmanager
def writing(folder):
    folder.mkdir(exist_ok=True)
    store = Store(folder, get_domain("matrix"))
    try:
        if not store.meta():
            begin_or_resume(store, folder, EXPERIMENT.identity(), EXPERIMENT.episodes)
        yield store
    finally:
        store.close()


def record(text="I choose J.", latency=0.5, cached=0):
    usage = {"prompt": 10, "completion": 3, "cached": cached}
    return {"purpose": "act", "reply": {"text": text, "usage": usage, "latency": latency}}


def block(episode=0, reward=8.0, status=COMPLETE, call=None, **more):
    said = ("valid", "valid", 1, 1, 0, None, None, None)
    probabilities = (None, None)
    steps = [(episode, number, 0, 0, 0, reward, 8.0, 0, *probabilities, *said) for number in (1, 2)]
    calls = [(episode, number, "subject", "act", call or record()) for number in (1, 2)]
    return Block([(episode, status, 2, 0)], steps, calls=calls, **more)


def test_rows_made_elsewhere_are_those_of_the_block(tmp_path) -> None:
    made = pickle.loads(pickle.dumps(Rows.of(1, block(4))))
    assert [row[:6] for row in made.calls] == [
        (1, 4, 0, 1, "subject", "act"),
        (1, 4, 1, 2, "subject", "act"),
    ]
    assert all(json.loads(unpack(row[-1])) == record() for row in made.calls)
    for name, played in (("a", made), ("b", block(4))):
        with writing(tmp_path / name) as store:
            store.add(1, played)
    assert dump(tmp_path / "a") == dump(tmp_path / "b")
    assert not damage_of(tmp_path / "a")
    with writing(tmp_path / "a") as store, pytest.raises(AssertionError):
        store.add(0, made)


def test_writes_together_are_one_transaction(tmp_path) -> None:
    with writing(tmp_path / "one") as store:
        for number in range(3):
            store.add(0, block(number))
        store.keep_reply(0, 9, "subject", "a", "{}")
    with writing(tmp_path / "all") as store, store.together():
        for number in range(3):
            store.add(0, block(number))
        store.keep_reply(0, 9, "subject", "a", "{}")
        assert store.kept_replies(0, 9, "subject") == {"a": "{}"}  # to be read at once
        assert dump(tmp_path / "all")["episodes"] == []  # as others see it
    assert dump(tmp_path / "one") == dump(tmp_path / "all")
    assert not damage_of(tmp_path / "all")


def test_an_error_undoes_all_that_is_written_together(tmp_path) -> None:
    with writing(tmp_path / "run") as store:
        store.add(0, block(0))
        store.keep_reply(0, 9, "subject", "a", "{}")
        before = dump(tmp_path / "run")
        with contextlib.suppress(RuntimeError), store.together():
            store.add(0, block(1))
            store.keep_reply(0, 9, "subject", "b", "{}")
            raise RuntimeError
        assert dump(tmp_path / "run") == before
        store.add(0, block(1))  # it goes on
    assert not damage_of(tmp_path / "run")


def test_an_error_that_is_caught_undoes_one_part(tmp_path) -> None:
    with writing(tmp_path / "run") as store:
        with store.together():
            store.check_revision("m", "one")
            store.keep_reply(0, 9, "subject", "a", "{}")
            with pytest.raises(TomevalError, match="was used at revision one"):
                store.check_revision("m", "two")
            with pytest.raises(TomevalError, match="FOREIGN KEY"):
                store.add(77, block(2))  # a cell that is not there
            store.add(0, block(1))
        assert store.finished() == {0: {1}}
        assert store.revisions() == {"m": "one"}
    assert not damage_of(tmp_path / "run")


def test_a_record_that_cannot_be_unpacked_is_damage(tmp_path) -> None:
    with writing(tmp_path / "run") as store:
        store.add(0, block())
    db = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    with db:
        db.execute("UPDATE calls SET record = ?", (pack("x" * 99)[:5],))
    db.close()
    renew_checksums(tmp_path / "run")  # as one who means it would
    cut = pytest.raises(TomevalError, match=r"run\.sqlite: damaged, .* cut off")
    with tomeval.Run(tmp_path / "run") as run, cut:
        list(run.store.calls(0, 0))
