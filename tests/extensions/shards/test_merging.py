"""One run of several folders: the union of what they hold, or a refusal with its place."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shard_support import KINDS, listed, part_of, places, play, play_shards
from support import damage_of, dump

from tomeval.core.errors import TomevalError
from tomeval.extensions.shards.merging import merge
from tomeval.extensions.shards.sharding import Shard
from tomeval.models.base import BackendError
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.runs.folder import locked, planned
from tomeval.runs.results import Run
from tomeval.runs.runner import run_experiment
from tomeval.runs.schema import pack_json, unpack
from tomeval.runs.store import Store


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A run of scripted language models, with void episodes and records."""
    return play("matrix", tmp_path_factory.mktemp("whole") / "run")


def opened(folder: Path) -> closing[Store]:
    return closing(Store(folder, get_domain("matrix")))


@pytest.mark.parametrize(("kind", "count"), [*zip(KINDS, (1, 3, 3, 2, 3), strict=True)])
def test_all_shards_are_the_whole_run(tmp_path, kind, count) -> None:
    whole = play(kind, tmp_path / "whole")
    shards = play_shards(kind, tmp_path, count)
    before = [dump(folder) for folder in shards]
    merged = tmp_path / "merged"
    assert merge(shards, merged) == len(places(whole))
    assert dump(merged) == dump(whole)
    assert [dump(folder) for folder in shards] == before
    assert not damage_of(merged)
    experiments = [json.loads((f / "experiment.json").read_text()) for f in (whole, merged)]
    assert experiments[0] == experiments[1]
    started = [session["part"] for session in listed(merged, "sessions.json")]
    assert sorted(started) == sorted(f"shard {n}/{count}" for n in range(1, count + 1))


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_parts_with_overlaps_are_a_union_in_any_order(tmp_path_factory, whole, data) -> None:
    folder, every = tmp_path_factory.mktemp("parts"), sorted(places(whole))
    chosen = data.draw(st.lists(st.sets(st.sampled_from(every)), min_size=1, max_size=4))
    parts = [part_of(whole, folder / f"{n}", some) for n, some in enumerate(chosen)]
    merge(data.draw(st.permutations(parts)), folder / "merged")
    union = set().union(*chosen)
    held = dump(folder / "merged")
    for name in ("episodes", "steps", "answers", "calls", "spent"):
        assert held[name] == [row for row in dump(whole)[name] if row[:2] in union]
    assert not damage_of(folder / "merged")


def test_a_merged_run_is_gone_on_with(tmp_path) -> None:
    shards = play_shards("matrix", tmp_path, 3)
    merged = tmp_path / "merged"
    assert merge([shards[0], shards[2]], merged) == sum(len(places(shards[n])) for n in (0, 2))
    play("matrix", merged)
    assert dump(merged) == dump(play("matrix", tmp_path / "whole"))
    grown = play_shards("matrix", tmp_path, 3, episodes=9)
    merge([merged, *grown], tmp_path / "again")
    assert dump(tmp_path / "again") == dump(play("matrix", tmp_path / "longer", episodes=9))
    assert planned(tmp_path / "again") == 9


def test_what_is_over_wins_over_what_failed(tmp_path) -> None:
    def failing(request):
        raise BackendError("the server is away")

    good = play("toy", tmp_path / "good", Shard(1, 2))
    bad = [play("toy", tmp_path / name, script=failing) for name in ("first", "second")]
    for number, order in enumerate(([good, *bad], [*bad, good])):
        out = tmp_path / str(number)
        merge(order, out)
        with Run(out) as run:
            assert run.store.failed() == {(0, 1), (0, 3)}
        assert set(dump(good)["episodes"]) <= set(dump(out)["episodes"])
        assert not damage_of(out)


def test_replies_are_kept_until_their_episode_is_over(tmp_path, whole) -> None:
    every = sorted(places(whole))
    a = part_of(whole, tmp_path / "a", every[1:])
    b = part_of(whole, tmp_path / "b", every[2:3])
    with opened(b) as store:
        store.keep_reply(0, 0, "subject", "one", '{"text": "1"}')
        store.keep_reply(*every[1], "subject", "over", '{"text": "3"}')
    merge([a, b], tmp_path / "both")
    with Run(tmp_path / "both") as run:
        assert sorted(run.store.kept_replies(0, 0, "subject")) == ["one"]
        assert not run.store.kept_replies(*every[1], "subject")
    assert not damage_of(tmp_path / "both")


def replaced(rows: list, number: int, column: int, value) -> None:
    row = list(rows[number])
    row[column] = value(row[column]) if callable(value) else value
    rows[number] = tuple(row)


def reply(**more):
    """Return what changes the reply of a packed record."""

    def change(packed):
        data = json.loads(unpack(packed))
        return pack_json({**data, "reply": {**data["reply"], **more}})

    return change


DIFFERENCES = {
    "episodes": lambda rows: replaced(rows.episodes, 0, 1, "void"),
    "steps": lambda rows: replaced(rows.steps, 1, 6, 77.5),
    "calls": lambda rows: replaced(rows.calls, 2, 6, reply(text="other")),
    "": lambda rows: replaced(rows.calls, 2, 6, reply(latency=9.0)),  # of the machine
}


@pytest.mark.parametrize("table", DIFFERENCES)
def test_an_episode_that_differs_is_refused_with_its_place(tmp_path, whole, table) -> None:
    one = part_of(whole, tmp_path / "one", [(0, 1)])
    other = part_of(whole, tmp_path / "other", [])
    with closing(Store(whole)) as store:
        rows = store.played(0, 1)
    DIFFERENCES[table](rows)
    with opened(other) as store:
        store.add(0, rows)
    if not table:
        assert merge([one, other], tmp_path / "merged") == 1
        return
    with pytest.raises(TomevalError, match=f"other: episode 1 of cell 0 differs in its {table}"):
        merge([other, one], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_revisions_must_agree(tmp_path, whole) -> None:
    parts = [part_of(whole, tmp_path / name, []) for name in "ab"]
    for part, revision in zip(parts, ("1" * 8, "2" * 8), strict=True):
        with opened(part) as store:
            store.check_revision("model", revision)
    with pytest.raises(TomevalError, match="model was used at revision 11111111, but is now 2222"):
        merge(parts, tmp_path / "merged")


def test_what_is_refused(tmp_path, whole) -> None:
    def message(*folders, out=tmp_path / "merged"):
        with pytest.raises(TomevalError) as caught:
            merge(folders, out)
        assert not (tmp_path / "merged").exists()
        return str(caught.value)

    shard = play("simulated", tmp_path / "shard", Shard(1, 2))
    other = play("simulated", tmp_path / "other", Shard(2, 2))
    longer = play("simulated", tmp_path / "two", Shard(2, 2), horizon=7)
    assert "not a run folder" in message(tmp_path / "nowhere")
    assert f"{whole}: already exists" in message(shard, other, out=whole)
    said = message(shard, longer)
    assert "holds a different experiment from" in said
    assert "cells[0].horizon is 6 there, 7 here" in said
    assert "holds a different experiment from" in message(shard, whole)
    with locked(shard):
        assert f"{shard}: a process is running in this folder" in message(shard, other)
    until = {"games": ["RPS"], "partners": "tit_for_tat", "horizon": 6, "episodes": 8}
    until |= {"subjects": ["rmax", "random"], "until": "width(regret) < 0.9"}
    run_experiment(make_experiment(until), tmp_path / "until")
    assert "until: stops by a condition" in message(tmp_path / "until")
    old = shutil.copytree(other, tmp_path / "old")
    for path, change in (
        (old, "PRAGMA user_version = 1"),
        (other, "UPDATE steps SET own_reward = own_reward + 1 WHERE step = 3 AND episode = 2"),
    ):
        with closing(sqlite3.connect(path / "run.sqlite")) as db, db:
            db.execute(change)
    assert f"{old / 'run.sqlite'}: written by an earlier version" in message(shard, old)
    assert f"{other / 'run.sqlite'}: damaged, episode 2 of cell" in message(shard, other)
