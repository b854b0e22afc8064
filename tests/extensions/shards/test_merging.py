"""Merges: the union of what run folders hold, whatever their order, or a refusal with its place."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shard_support import (
    KINDS,
    files,
    listed,
    part_of,
    places,
    play,
    play_shards,
    raw,
    rows_of,
)
from support import dump

from tomeval.core.errors import TomevalError
from tomeval.extensions.shards import merging
from tomeval.extensions.shards.merging import merge
from tomeval.extensions.shards.sharding import Shard
from tomeval.models.base import BackendError
from tomeval.runs.database import NothingPlayed
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.runs.folder import locked, make_folder, planned
from tomeval.runs.results import Run
from tomeval.runs.runner import run_experiment
from tomeval.runs.store import Store
from tomeval.runs.verify import verified


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A run of scripted language models, with void episodes and records."""
    return play("matrix", tmp_path_factory.mktemp("whole") / "run")


def opened(folder: Path, domain: str = "matrix") -> closing[Store]:
    return closing(Store(folder, get_domain(domain)))


# --- the union ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "count"), [*zip(KINDS, (1, 3, 3, 2, 3), strict=True)])
def test_all_shards_are_the_whole_run(tmp_path, kind, count) -> None:
    whole = play(kind, tmp_path / "whole")
    shards = play_shards(kind, tmp_path, count)
    before = [files(folder) for folder in shards]
    merged = merge(shards, tmp_path / "merged")
    assert dump(tmp_path / "merged") == dump(whole)
    assert (merged.episodes, merged.lacks, merged.missing) == (len(places(whole)), 0, [])
    assert [files(folder) for folder in shards] == before
    found = verified(tmp_path / "merged")
    assert found.sound
    experiments = [json.loads((f / "experiment.json").read_text()) for f in (whole, merged.folder)]
    assert experiments[0] == experiments[1]
    started = [session["part"] for session in listed(merged.folder, "sessions.json")]
    assert sorted(started) == sorted(f"shard {n}/{count}" for n in range(1, count + 1))
    left = {path.name for path in merged.folder.iterdir()} - set(files(whole))
    assert left <= {"run.sqlite-wal", "run.sqlite-shm"}


def test_the_order_of_folders_makes_no_difference(tmp_path, whole) -> None:
    every = sorted(places(whole))
    parts = [
        part_of(whole, tmp_path / "a", every[:6], "host b"),
        part_of(whole, tmp_path / "b", every[4:], "host a"),
        part_of(whole, tmp_path / "c", every[2:5], "host a"),
    ]
    with opened(parts[0]) as store:  # and what is kept of an episode that is in none
        store.keep_reply(1, 40, "subject", "hash", "{}")
    found = []
    for number, order in enumerate(itertools.permutations(parts)):
        merge(order, tmp_path / str(number))
        found.append((raw(tmp_path / str(number)), listed(tmp_path / str(number), "sessions.json")))
    assert all(one == found[0] for one in found)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_parts_with_overlaps_are_a_union(tmp_path_factory, whole, data) -> None:
    folder, every = tmp_path_factory.mktemp("parts"), sorted(places(whole))
    chosen = data.draw(st.lists(st.sets(st.sampled_from(every)), min_size=1, max_size=4))
    parts = [part_of(whole, folder / f"{n}", some, f"host {n}") for n, some in enumerate(chosen)]
    into = data.draw(st.booleans()) and len(parts) > 1
    out = parts[0] if into else folder / "merged"
    merged = merge(parts, out)
    assert places(out) == set().union(*chosen)
    expected = dump(whole)
    assert {
        name: rows for name, rows in dump(out).items() if name in ("episodes", "steps", "calls")
    } == {
        name: [row for row in expected[name] if row[:2] in places(out)]
        for name in ("episodes", "steps", "calls")
    }
    with Run(out) as run:  # two cells of five episodes
        assert merged.lacks == 10 - len(places(out))
        hosts = {origin.host for origin in run.store.origins().values()}
    assert hosts == {"", *(f"host {n}" for n in range(len(chosen)))}
    assert verified(out).sound


def test_a_merged_run_resumes_extends_and_is_filled(tmp_path) -> None:
    shards = play_shards("matrix", tmp_path, 3)
    merged = merge([shards[0], shards[2]], tmp_path / "merged")
    assert merged.missing == [Shard(2, 3)]
    assert merged.lacks == len(places(shards[1]))
    play("matrix", merged.folder)
    assert dump(merged.folder) == dump(play("matrix", tmp_path / "whole"))
    play("matrix", merged.folder, episodes=9)
    longer = play("matrix", tmp_path / "longer", episodes=9)
    assert dump(merged.folder) == dump(longer)
    # shards that grew are merged into what was merged before
    grown = play_shards("matrix", tmp_path, 3, episodes=9)
    again = merge(grown, tmp_path / "again")
    assert dump(again.folder) == dump(longer)
    assert planned(again.folder) == 9


def test_shards_are_merged_one_after_the_other(tmp_path) -> None:
    shards = play_shards("simulated", tmp_path, 4)
    out = tmp_path / "merged"
    missing = [merge([shard], out).missing for shard in shards]
    assert missing[0] == [Shard(2, 4), Shard(3, 4), Shard(4, 4)]
    assert missing[3] == []
    assert merge(shards, out).episodes == 0
    assert dump(out) == dump(play("simulated", tmp_path / "whole"))


def test_shards_are_told_only_if_they_explain_what_is_missing(tmp_path, whole) -> None:
    shards = play_shards("matrix", tmp_path, 3)
    some = merge(shards[:2], tmp_path / "some").folder
    assert merge([some, shards[0]], tmp_path / "again").missing == [Shard(3, 3)]
    every = merge([some, shards[2]], tmp_path / "every").folder
    # A shard that is behind all others: what is missing is missing in all of them.
    grown = play("matrix", shards[0], Shard(1, 3), episodes=9)
    merged = merge([grown, every], tmp_path / "behind")
    assert merged.lacks
    assert merged.missing == []
    part = part_of(whole, tmp_path / "part", sorted(places(whole))[:3])
    assert merge([shards[1], part], tmp_path / "with part").missing == []


def test_a_shard_that_never_began_is_told(tmp_path) -> None:
    shards = play_shards("simulated", tmp_path, 2)
    begun = tmp_path / "begun"
    make_folder(begun)
    (begun / "run.lock").touch()
    merged = merge([*shards, begun], tmp_path / "merged")
    assert merged.empty == [begun]
    with pytest.raises(TomevalError, match="nothing was played yet"):
        merge([begun], tmp_path / "other")
    assert not (tmp_path / "other").exists()


# --- failed episodes, kept replies ----------------------------------------------------------------


def failing(request):
    raise BackendError("the server is away")


def test_complete_wins_over_failed_and_failed_twice_is_kept_once(tmp_path) -> None:
    good = play("toy", tmp_path / "good", Shard(1, 2))
    first = play("toy", tmp_path / "first", script=failing)
    second = play("toy", tmp_path / "second", script=failing)
    for order in itertools.permutations((good, first, second)):
        out = tmp_path / "-".join(folder.name for folder in order)
        merged = merge(order, out)
        with Run(out) as run:
            failed = run.store.failed()
        assert failed == {(0, 1), (0, 3)}
        assert merged.lacks == 2
        assert {row for row in dump(out)["episodes"] if row[:2] not in failed} <= set(
            dump(good)["episodes"] + dump(first)["episodes"]
        )
        assert verified(out).sound
    # into a folder in which they failed: their rows are replaced
    merge([good], first)
    with Run(first) as run:
        assert run.store.failed() == {(0, 1), (0, 3)}
    assert verified(first).sound
    play("toy", first)
    assert dump(first) == dump(play("toy", tmp_path / "whole"))


def test_kept_replies_are_merged_and_go_when_their_episode_is_over(tmp_path, whole) -> None:
    every = sorted(places(whole))
    a = part_of(whole, tmp_path / "a", every[1:])
    b = part_of(whole, tmp_path / "b", every[2:3])
    with opened(a) as store:
        store.keep_reply(0, 0, "subject", "one", '{"text": "1", "latency": 2.0}')
    with opened(b) as store:
        store.keep_reply(0, 0, "subject", "one", '{"text": "1", "latency": 3.0}')
        store.keep_reply(0, 0, "subject", "two", '{"text": "2"}')
        store.keep_reply(*every[1], "subject", "over", '{"text": "3"}')
    for out, order in ((tmp_path / "ab", (a, b)), (tmp_path / "ba", (b, a))):
        merge(order, out)
        with Run(out) as run:
            assert sorted(run.store.kept_replies(0, 0, "subject")) == ["one", "two"]
            assert not run.store.kept_replies(*every[1], "subject")
        assert verified(out).sound
    assert raw(tmp_path / "ab") == raw(tmp_path / "ba")
    merge([part_of(whole, tmp_path / "c", every[:1])], tmp_path / "ab")
    assert not dump(tmp_path / "ab")["answered"]
    assert verified(tmp_path / "ab").sound


def test_two_replies_to_one_request_are_refused(tmp_path, whole) -> None:
    parts = [part_of(whole, tmp_path / name, []) for name in "ab"]
    for part, text in zip(parts, "12", strict=True):
        with opened(part) as store:
            store.keep_reply(0, 3, "subject", "one", json.dumps({"text": text}))
    with pytest.raises(TomevalError) as caught:
        merge(parts, tmp_path / "merged")
    said = str(caught.value)
    assert f"{parts[1]}: episode 3 of cell 0 differs from that in {parts[0]}: in answered" in said
    assert 'text is "1" there, "2" here' in said


# --- differences ----------------------------------------------------------------------------------


def changed(whole: Path, folder: Path, place, change) -> Path:
    """Make a folder with one episode of a run, after a change of its rows."""
    part_of(whole, folder, [])
    with closing(Store(whole)) as store:
        rows = rows_of(store, place)
    change(rows)
    with opened(folder) as store:
        store.add(place[0], rows)
    return folder


def replaced(rows, number, column, value) -> None:
    row = list(rows[number])
    row[column] = value(row[column]) if callable(value) else value
    rows[number] = tuple(row)


def record(change):
    """Return what changes a packed record."""
    from tomeval.runs.schema import pack_json, unpack

    def apply(packed):
        data = json.loads(unpack(packed))
        change(data)
        return pack_json(data)

    return apply


DIFFERENCES = {
    "episodes: status": (
        lambda rows: replaced(rows.episodes, 0, 1, "void"),
        'in episodes: status is "complete" there, "void" here',
    ),
    "steps: a payoff": (
        lambda rows: replaced(rows.steps, 1, 6, 77.5),
        "in steps: step 2: own_reward is ",
    ),
    "steps: one less": (
        lambda rows: rows.steps.pop(),
        "in steps: 3 rows there, 2 here",
    ),
    "calls: a reply": (
        lambda rows: replaced(
            rows.calls, 2, 6, record(lambda data: data["reply"].update(text="other"))
        ),
        "in calls: call 2: record.reply.text is ",
    ),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_an_episode_that_differs_is_refused_with_its_place(tmp_path, whole, name) -> None:
    change, words = DIFFERENCES[name]
    one = part_of(whole, tmp_path / "one", [(0, 1)])
    other = changed(whole, tmp_path / "other", (0, 1), change)
    before = {folder: files(folder) for folder in (one, other)}
    for order in ((one, other), (other, one)):
        with pytest.raises(TomevalError) as caught:
            merge(order, tmp_path / "merged")
        said = str(caught.value)
        assert f"{other}: episode 1 of cell 0 differs from that in {one}: {words}" in said
        assert "nothing was merged" in said
        assert "\n" not in said
        assert len(said) < 600
        assert not (tmp_path / "merged").exists()
    into = part_of(whole, tmp_path / "into", [(0, 1), (0, 2)])
    rows = raw(into)
    with pytest.raises(TomevalError, match="episode 1 of cell 0"):
        merge([other], into)
    assert raw(into) == rows
    assert {folder: files(folder) for folder in (one, other)} == before


def test_how_long_replies_took_is_no_difference(tmp_path, whole) -> None:
    def slower(data):
        data["reply"]["latency"] = 9.0
        data["reply"]["usage"]["cached"] = 5

    def change(rows):
        for number in range(len(rows.calls)):
            replaced(rows.calls, number, 6, record(slower))

    other = changed(whole, tmp_path / "other", (0, 1), change)
    for name, order in (("one", (whole, other)), ("two", (other, whole))):
        assert merge(order, tmp_path / name).lacks == 0
        assert verified(tmp_path / name).sound
    assert raw(tmp_path / "one") == raw(tmp_path / "two")


def test_revisions_must_agree(tmp_path, whole) -> None:
    parts = [part_of(whole, tmp_path / name, []) for name in "abc"]
    for part, revision in zip(parts, ("1" * 8, "", "2" * 8), strict=True):
        with opened(part) as store:
            store.check_revision("model", revision)
    merge(parts[:2], tmp_path / "known")
    merge(parts[1::-1], tmp_path / "too")
    for name in ("known", "too"):
        with Run(tmp_path / name) as run:
            assert run.revisions["model"] == "1" * 8
    with pytest.raises(TomevalError) as caught:
        merge(parts, tmp_path / "merged")
    assert f"{parts[2]}: model was used at revision 22222222, elsewhere at 11111111" in str(
        caught.value
    )


def test_other_experiments_are_refused(tmp_path) -> None:
    one = play("simulated", tmp_path / "one", Shard(1, 2))
    two = play("simulated", tmp_path / "two", Shard(2, 2), horizon=7)
    with pytest.raises(TomevalError, match="holds a different experiment from") as caught:
        merge([one, two], tmp_path / "merged")
    assert "cells[0].horizon is 6 there, 7 here" in str(caught.value)
    decrypto = play("decrypto", tmp_path / "decrypto")
    with pytest.raises(TomevalError, match="holds a different experiment from"):
        merge([decrypto, one], tmp_path / "merged")
    with pytest.raises(TomevalError, match="holds a"):
        merge([one], decrypto)
    assert not (tmp_path / "merged").exists()


# --- folders that cannot be merged ----------------------------------------------------------------


def test_what_cannot_be_merged(tmp_path, whole) -> None:
    def message(folders, out=tmp_path / "merged"):
        with pytest.raises(TomevalError) as caught:
            merge(folders, out)
        assert not (tmp_path / "merged").exists()
        return str(caught.value)

    shard = play("simulated", tmp_path / "shard", Shard(1, 2))
    other = play("simulated", tmp_path / "other", Shard(2, 2))
    assert "not a run folder" in message([tmp_path / "nowhere"])
    assert "nothing to merge into it" in message([whole], whole)
    assert "holds shard 1/2 of its experiment; merge into a new folder" in message([other], shard)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    assert "is not empty and not a run folder" in message([whole], tmp_path / "full")
    with locked(shard):
        said = message([shard, other])
    assert f"{shard}: a process is running in this folder (process {os.getpid()} on " in said
    with locked(other):
        assert "another process is running in this folder" in message([whole], other)
    old = tmp_path / "old"
    shutil.copytree(other, old)
    with sqlite3.connect(old / "run.sqlite") as db:
        db.execute("PRAGMA user_version = 1")
    db.close()
    assert f"{old / 'run.sqlite'}: written by an earlier version" in message([shard, old])


def test_damage_is_found_before_anything_is_merged(tmp_path) -> None:
    shards = play_shards("simulated", tmp_path, 2)
    with sqlite3.connect(shards[1] / "run.sqlite") as db:
        db.execute("UPDATE steps SET own_reward = own_reward + 1 WHERE step = 3 AND episode = 2")
    db.close()
    with pytest.raises(TomevalError, match=r"damaged, episode 2 of cell \d is not"):
        merge(shards, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_a_store_whose_run_was_killed_is_merged_with_its_log(tmp_path, whole) -> None:
    code = (
        "import os, sys; sys.path[:0] = sys.argv[3:]\n"
        "from pathlib import Path; from shard_support import *\n"
        "part_of(Path(sys.argv[1]), Path(sys.argv[2]), [(0, 0)])\n"
        "from tomeval.runs.store import Store; from contextlib import closing\n"
        "source, part = Store(Path(sys.argv[1])), Store(Path(sys.argv[2]), get_domain('matrix'))\n"
        "part.add(0, rows_of(source, (0, 1)))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    paths = [str(Path(__file__).parents[2])]
    done = subprocess.run([sys.executable, "-c", code, whole, tmp_path / "a", *paths], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "a" / "run.sqlite-wal").stat().st_size
    merge([tmp_path / "a"], tmp_path / "merged")
    assert places(tmp_path / "merged") == {(0, 0), (0, 1)}


def merged_until(moment: int, folders, out: Path) -> bool:
    """Merge in a process of its own that is killed at a moment; tell whether it ended before."""
    child = os.fork()
    if child == 0:
        left = itertools.count(moment, -1)

        def dies(plain):
            def call(*arguments, **keys):
                if next(left) <= 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return plain(*arguments, **keys)

            return call

        for owner, names in (
            (merging, ("_join_lists", "write_experiment", "_told")),
            (os, ("replace", "fsync")),
            (Store, ("close", "note_stops", "origin", "begin", "add", "keep_replies")),
            (Path, ("mkdir", "unlink")),
        ):
            for name in names:
                setattr(owner, name, dies(getattr(owner, name)))
        try:
            merge(folders, out)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL)
    return status == 0


def begun(folder: Path) -> bool:
    """Tell whether a folder holds episodes."""
    try:
        return (folder / "run.sqlite").exists() and bool(places(folder))
    except NothingPlayed:
        return False


@pytest.mark.parametrize("into", ["new", "existing"])
def test_a_killed_merge_leaves_the_folder_as_it_was(tmp_path, into) -> None:
    shards = play_shards("simulated", tmp_path, 3)
    whole = dump(play("simulated", tmp_path / "whole"))
    start = tmp_path / "start"
    merge(shards[:1], start)
    before, states = dump(start), set()
    for moment in itertools.count(1, 4):
        out = tmp_path / f"out{moment}"
        if into == "existing":
            shutil.copytree(start, out)
        if merged_until(moment, shards, out):
            break
        there = begun(out)
        states.add(there and dump(out) == whole)
        if there:
            assert dump(out) in (before, whole) if into == "existing" else dump(out) == whole
            assert verified(out).sound
        merge(shards, out)  # the same again
        assert dump(out) == whole
        assert verified(out).sound
        assert len(listed(out, "sessions.json")) == 3
    assert states == {False, True}


# --- what lies beside -----------------------------------------------------------------------------


def test_sessions_are_a_union(tmp_path, whole) -> None:
    parts = [part_of(whole, tmp_path / name, []) for name in "ab"]
    merge(parts, tmp_path / "merged")
    sessions = [session for part in parts for session in listed(part, "sessions.json")]
    merged = listed(tmp_path / "merged", "sessions.json")
    assert sorted(map(repr, merged)) == sorted(set(map(repr, sessions)))
    merge(parts, tmp_path / "merged")
    assert listed(tmp_path / "merged", "sessions.json") == merged


def test_stops_stay_where_episodes_are_missing(tmp_path) -> None:
    def bad(request):
        return "what?"

    keys = {"episodes": 20, "stop_after_voids": 3}
    shards = [play("toy", tmp_path / f"{n}", Shard(n, 2), bad, **keys) for n in (1, 2)]
    merge(shards, tmp_path / "merged")
    with Run(tmp_path / "merged") as run:
        assert run.store.stops() == {0: "3 void episodes in a row"}
    whole = play("toy", tmp_path / "whole", None, bad, episodes=20, stop_after_voids=0)
    merge([*shards, whole], tmp_path / "full")
    with Run(tmp_path / "full") as run:
        assert run.store.stops() == {}


# --- runs that stop by a condition ----------------------------------------------------------------

STOPPING = {
    **{"games": ["RPS", "IPD"], "partners": "tit_for_tat", "horizon": 6, "episodes": 8},
    "subjects": ["rmax", "random", "fictitious_play"],
}


def stopping(folder: Path, until: str = "best known(regret, within 0.3)", stop: int = 0) -> Path:
    def progress(done: int, total: int) -> None:
        if stop and done >= stop:
            raise KeyboardInterrupt

    made = make_experiment(STOPPING | ({"until": until} if until else {}))
    with suppress(KeyboardInterrupt):
        run_experiment(made, folder, progress=progress)
    return folder


def test_why_cells_stopped_is_kept(tmp_path) -> None:
    whole = stopping(tmp_path / "whole")
    parts = [stopping(tmp_path / "part", stop=500), stopping(tmp_path / "copy")]
    for folders in (parts, parts[::-1], [parts[0], stopping(tmp_path / "plain", until="")]):
        merged = tmp_path / "-".join(folder.name for folder in folders)
        merge(folders, merged)
        with Run(merged) as run, Run(whole) as once:
            assert run.sequential  # its intervals are sequences
            assert run.until["condition"] == once.until["condition"]
            if parts[1] in folders:
                assert run.until == once.until
                assert dump(merged)["steps"] == dump(whole)["steps"]
        stopping(merged)  # goes on where it stopped
        with Run(merged) as run, Run(whole) as once:
            assert run.until == once.until


def test_runs_of_two_conditions_are_not_merged(tmp_path) -> None:
    folders = [stopping(tmp_path / "a"), stopping(tmp_path / "b", "width(regret) < 0.9")]
    with pytest.raises(
        TomevalError, match=r"b: stops by 'width.*, another run by 'best known.*same c"
    ):
        merge(folders, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
