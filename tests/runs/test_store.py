"""The store: transactions of several writes, origins, rows made elsewhere, second results."""

from __future__ import annotations

import contextlib
import json
import pickle
import sqlite3

import pytest
from support import dump, renew_checksums

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE
from tomeval.runs.domain import Block, get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.runs.folder import begin_or_resume
from tomeval.runs.origins import Origin, here
from tomeval.runs.results import Run
from tomeval.runs.rows import Rows
from tomeval.runs.runner import run_experiment
from tomeval.runs.schema import pack, unpack
from tomeval.runs.store import Store
from tomeval.runs.verify import drop_damaged, verified

HERE = ("replica 3", "node-b", "cuda (NVIDIA H200)", {"python": "3.12.1", "torch": "2.13.0"})
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


def test_the_block_of_these_tests_fits_the_domain() -> None:
    schema = get_domain("matrix").read.schema
    assert len(block().steps[0]) == 2 + len(schema.steps)


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
    assert verified(tmp_path / "a").sound
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
    assert verified(tmp_path / "all").sound


def test_an_error_undoes_all_that_is_written_together(tmp_path) -> None:
    with writing(tmp_path / "run") as store:
        store.add(0, block(0))
        store.keep_reply(0, 9, "subject", "a", "{}")
        before = dump(tmp_path / "run")
        with contextlib.suppress(RuntimeError), store.together():
            store.add(0, block(1))
            store.origin(*HERE)
            store.keep_reply(0, 9, "subject", "b", "{}")
            raise RuntimeError
        assert dump(tmp_path / "run") == before
        assert len(store.origins()) == 1
        store.add(0, block(1))  # it goes on
    assert verified(tmp_path / "run").sound


def test_an_error_that_is_caught_undoes_one_part(tmp_path) -> None:
    with writing(tmp_path / "run") as store:
        with store.together():
            store.check_revision("m", "one")
            store.keep_reply(0, 9, "subject", "a", "{}")
            with pytest.raises(TomevalError, match="was used at revision one"):
                store.check_revision("m", "two")
            with pytest.raises(TomevalError, match="FOREIGN KEY"):
                store.add(0, block(2), 77)  # an origin that nobody gave
            store.add(0, block(1))
        assert store.finished() == {0: {1}}
        assert store.revisions() == {"m": "one"}
    assert verified(tmp_path / "run").sound


def test_an_origin_has_one_number(tmp_path) -> None:
    with writing(tmp_path / "run") as store:
        first = store.origin(*HERE)
        other = store.origin("replica 4", *HERE[1:])
        again = store.origin(*HERE[:3], dict(reversed(HERE[3].items())))
        assert (first, again) == (1, 1)
        assert other == 2
        store.add(0, block(0), first)
        store.add(0, block(1), other)
        store.add(1, block(0))
        assert store.origins() == {
            0: Origin(), 1: Origin(*HERE), 2: Origin("replica 4", *HERE[1:])
        }  # fmt: skip
    with writing(tmp_path / "run") as store:  # resumed
        assert store.origin(*HERE) == first
    assert verified(tmp_path / "run").sound


def test_a_changed_origin_is_damage(tmp_path) -> None:
    with writing(tmp_path / "run") as store:
        store.add(0, block(0), store.origin(*HERE))
    db = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    with db:
        db.execute("UPDATE origins SET device = 'cpu'")
    db.close()
    with pytest.raises(TomevalError, match=r"one of the tables .* origins"):
        Run(tmp_path / "run")
    assert "origins" in " ".join(verified(tmp_path / "run").whole)


def test_what_is_sound_keeps_its_origin(tmp_path) -> None:
    folder = tmp_path / "run"
    with writing(folder) as store:
        numbers = [store.origin(f"replica {n}", *HERE[1:]) for n in range(3)]
        for episode in (0, 1):
            store.add(0, block(episode), numbers[2 - episode])
    db = sqlite3.connect(folder / "run.sqlite")
    with db:
        db.execute("UPDATE steps SET own_reward = 1 WHERE episode = 0")
    db.close()
    list(drop_damaged(folder, verified(folder)))
    with Run(folder) as run:
        [(episode, origin)] = run.store.query("SELECT episode, origin FROM episodes")
        assert (episode, run.store.origins()[origin].replica) == (1, "replica 1")


def test_a_run_of_one_process_has_one_origin(tmp_path) -> None:
    run_experiment(EXPERIMENT, tmp_path / "run")
    with Run(tmp_path / "run") as run:
        assert run.store.query("SELECT DISTINCT origin FROM episodes") == [(1,)]
        assert run.store.origins()[1] == here()
        assert here().device == "cpu"
        assert {"python", "numpy", "tomeval"} <= here().versions.keys()


def test_a_served_model_runs_on_a_server() -> None:
    served = '"openai:m@http://localhost:1/v1"'
    model = object()
    assert here({served: model}, "replica 1").device == "server"
    assert here({served: model, '"scripted:x"': model}).device == "server + cpu"


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
