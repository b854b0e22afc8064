"""The store: what is written is read, by anybody; damage is named; shards share a folder."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import shutil

import pandas as pd
import pytest
from support import SMALL, dump, edit, outcome

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE, FAILED
from tomeval.play.runner import run_experiment
from tomeval.play.schedule import parse_shard
from tomeval.runs import writing as store_writing
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.runs.lines import encode
from tomeval.runs.record import Record
from tomeval.runs.store import Store
from tomeval.runs.writing import WritableStore

EXPERIMENT = make_experiment(
    {
        "name": "two",
        "games": "IPD",
        "partners": "tit_for_tat",
        "subjects": ["rmax", "random"],
        "horizon": 2,
    }
)


def test_a_second_writer_that_no_lock_keeps_out_is_noticed(folder) -> None:
    with writing(folder) as store:
        with (folder / "episodes.jsonl").open("ab") as other:
            other.write(b"a line\n")
        with pytest.raises(TomevalError, match=r"episodes\.jsonl: another process writes it too"):
            store.add(1, [record(1)])


@contextlib.contextmanager
def writing(folder, part=""):
    folder.mkdir(exist_ok=True)
    store = WritableStore(folder, get_domain("matrix"), part)
    try:
        store.begin(EXPERIMENT.identity(), EXPERIMENT.episodes)
        yield store
    finally:
        store.close()


def call(text="I choose J.", **more):
    usage = {"prompt": 10, "completion": 3, "cached": 0}
    return {"purpose": "act", "reply": {"text": text, "usage": usage, "latency": 0.5}, **more}


def record(episode=0, reward=8.0, status=COMPLETE, **more) -> Record:
    columns = {
        "partner_state": 0,
        "own_action": [0, 0],
        "partner_action": [0, 1],
        "own_reward": [reward, 8],
        "own_probs": [[0.5, 0.5], None],
        "act_outcome": ["valid", "valid"],
        "predict_outcome": "not_asked",
        "act_attempts": [1, 2],
        "predict_attempts": 0,
    }
    calls = [(number, "subject", "act", call()) for number in (1, 2)]
    answers = [
        (2, "subject", "react 1", "valid", 1, 0, ""),
        (1, "subject", "react 1", "unparsable", 3, None, "Well,\nmaybe"),
    ]
    return Record(episode, status, 2, {"partner": 0}, columns, answers, calls, **more)


@pytest.fixture
def folder(tmp_path):
    with writing(tmp_path / "run") as store:
        store.add(0, [record(0), record(1, 6.5)])
        store.add(1, [record(0)])
    return tmp_path / "run"


def test_what_is_written_is_read(folder) -> None:
    with contextlib.closing(Store(folder)) as store:
        first = store.record(0, 0)
        assert (first.episode, first.status, first.steps, first.own) == (
            0,
            "complete",
            2,
            {"partner": 0},
        )
        assert first.column("own_reward") == [8.0, 8]
        assert list(map(type, first.column("own_reward"))) == [float, int]
        assert first.column("own_probs") == [[0.5, 0.5], None]
        assert first.column("predicted_action") == [None, None]
        assert first.column("act_outcome") == ["valid"] * 2
        assert [answer[:3] for answer in first.answers] == [
            (1, "subject", "react 1"),
            (2, "subject", "react 1"),
        ]
        assert list(store.calls(0, 0)) == record().calls
        said = store.read("asked", ("episode", "step", "question"), 0, 1)
        questions = ("act", "predict", "react 1")
        assert list(said) == [(1, step, asked) for step in (1, 2) for asked in questions]
        assert store.summary(0).spent["subject", False][:5] == (4, 4, 40, 12, 0)
        assert store.summary(0).asked["complete"]["subject", "act", "valid", 2] == 2


def test_a_line_is_read_by_pandas_and_the_calls_by_gzip(folder) -> None:
    lines = (folder / "episodes.jsonl").read_text().splitlines()[1:]
    frame = pd.read_json(io.StringIO("\n".join(line[9:] for line in lines)), lines=True)
    assert frame[["cell", "episode", "status"]].values.tolist() == [
        [0, 0, "complete"],
        [0, 1, "complete"],
        [1, 0, "complete"],
    ]
    assert frame.own_reward[1] == [6.5, 8]
    with gzip.open(folder / "calls.jsonl.gz", "rt") as file:
        calls = list(map(json.loads, file))
    assert [(c["cell"], c["episode"], c["step"]) for c in calls][:3] == [
        (0, 0, 1),
        (0, 0, 2),
        (0, 1, 1),
    ]


def test_a_failed_episode_is_replaced_and_its_replies_serve(folder) -> None:
    with writing(folder) as store:
        store.keep_reply(0, 2, "subject", "a", "{}")
        store.add(0, [record(2, status=FAILED)])
        assert store.kept_replies(0, 2, "subject") == {"a": "{}"}
    with writing(folder) as store:
        assert store.kept_replies(0, 2, "subject") == {"a": "{}"}
        store.add(0, [record(2)])
        assert store.kept_replies(0, 2, "subject") == {}
    assert not (folder / "replies").exists()
    with contextlib.closing(Store(folder)) as store:
        assert store.statuses(0) == dict.fromkeys(range(3), "complete")


def test_a_kept_reply_after_one_that_was_cut_off_is_not_lost(tmp_path) -> None:
    with writing(tmp_path / "run") as store:
        store.keep_reply(0, 0, "subject", "a", "one")
    with (tmp_path / "run" / "replies" / "0-0.jsonl").open("ab") as file:
        file.write(encode({"cell": 0}, 1)[:-5])  # killed while it wrote
    with writing(tmp_path / "run") as store:
        store.keep_reply(0, 0, "subject", "b", "two")
    with writing(tmp_path / "run") as store:
        assert store.kept_replies(0, 0, "subject") == {"a": "one", "b": "two"}


@pytest.mark.parametrize("cut", [1, 20, -1])
def test_a_torn_last_line_is_told_and_played_again(folder, cut, caplog) -> None:
    path = folder / "episodes.jsonl"
    whole = path.read_bytes()
    start = whole[:-1].rfind(b"\n") + 1
    path.write_bytes(whole[: start + cut] if cut > 0 else whole[:cut])
    with contextlib.closing(Store(folder)) as store:
        assert store.statuses(1) == {}
    with writing(folder) as store:
        assert "ends within a line" in caplog.text
        store.add(1, [record(0)])
    assert dump(folder)["episodes"][-1][:3] == (1, 0, "complete")


def test_a_damaged_line_is_named_put_aside_and_played_again(folder, caplog) -> None:
    path = folder / "episodes.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"6.5", b"7.5")
    path.write_bytes(b"".join(lines))
    with contextlib.closing(Store(folder)) as store:
        assert store.statuses(0) == {0: "complete"}
    assert f"{path}: is not what was written: line 3" in caplog.text
    with writing(folder) as store:
        store.add(0, [record(1, 6.5)])
    assert (folder / "episodes.jsonl.damaged").read_bytes() == lines[2]
    caplog.clear()
    with contextlib.closing(Store(folder)) as store:
        assert store.statuses(0) == {0: "complete", 1: "complete"}
        assert list(store.calls(0, 0)) == record().calls
    assert not caplog.messages


def test_a_line_of_another_experiment_is_no_episode(folder, tmp_path, caplog) -> None:
    run_experiment(make_experiment(SMALL), tmp_path / "other")
    line = (tmp_path / "other" / "episodes.jsonl").read_bytes().splitlines(keepends=True)[5]
    with (folder / "episodes.jsonl").open("ab") as file:
        file.write(line)
    with contextlib.closing(Store(folder)) as store:
        assert store.statuses(0) == {0: "complete", 1: "complete"}
    assert "is not what was written: line 5" in caplog.text


@pytest.mark.parametrize("name", ["episodes.jsonl", "experiment.json"])
def test_a_file_of_another_experiment_is_refused_by_name(folder, tmp_path, name) -> None:
    run_experiment(make_experiment(SMALL), tmp_path / "other")
    shutil.copy(tmp_path / "other" / name, folder)
    with pytest.raises(TomevalError, match=r"experiment '(two|small)', and experiment\.json of"):
        Store(folder)


def test_equal_episodes_in_two_files_are_one_and_others_are_refused(folder) -> None:
    shutil.copy(folder / "episodes.jsonl", folder / "episodes.again.jsonl")
    with contextlib.closing(Store(folder)) as store:
        assert store.statuses(0) == {0: "complete", 1: "complete"}
    edit(folder, lambda line: line | {"own_reward": [1.0, 1.0]})
    with pytest.raises(TomevalError, match="episode 0 of cell 0 stands there twice, and differs"):
        Store(folder)


def test_calls_that_are_not_what_was_written_are_damage(folder) -> None:
    path = folder / "calls.jsonl.gz"
    data = bytearray(path.read_bytes())
    data[30] ^= 1
    path.write_bytes(data)
    with contextlib.closing(Store(folder)) as store:
        with pytest.raises(
            TomevalError, match=r"calls\.jsonl\.gz: damaged, the calls of episode 0"
        ):
            store.calls(0, 0)
        assert list(store.calls(1, 0)) == record().calls


def test_calls_that_are_nested_deeply_are_damage(tmp_path, monkeypatch) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    monkeypatch.setattr(store_writing, "pack_calls", lambda *_: gzip.compress(deep.encode()))
    with writing(tmp_path / "run") as store:
        store.add(0, [record(0)])
    with (
        contextlib.closing(Store(tmp_path / "run")) as store,
        pytest.raises(TomevalError, match=r"calls\.jsonl\.gz: damaged"),
    ):
        store.calls(0, 0)


def test_another_version_is_one_line(folder) -> None:
    path = folder / "episodes.jsonl"
    head, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(encode(json.loads(head[9:]) | {"tomeval": 10}) + rest)
    with pytest.raises(TomevalError) as error:
        tomeval.Run(folder)
    start = f"{path}: written by another version of tomeval (format 10, this one has 9)"
    assert str(error.value).startswith(start)


def test_notes_are_kept_and_the_last_ones_hold(folder) -> None:
    with writing(folder) as store:
        store.check_revision("m", "")
        store.check_revision("m", "one")
        store.note_stops({1: "too long"})
        store.note_stops({1: "", 0: "void"})
        store.note_until({"condition": "x"})
        with pytest.raises(TomevalError, match="was used at revision one, but is now two"):
            store.check_revision("m", "two")
    with contextlib.closing(Store(folder)) as store:
        assert (store.revisions(), store.stops()) == ({"m": "one"}, {0: "void"})
        assert store.until() == {"condition": "x"}


# --- shards ---------------------------------------------------------------------------------------


def test_shards_fill_one_folder_or_several_that_are_copied_together(tmp_path) -> None:
    made = make_experiment(SMALL)
    run_experiment(made, tmp_path / "whole")
    counts = []
    for number in (1, 2, 3):
        shard = parse_shard(f"{number}/3")
        counts.append(run_experiment(made, tmp_path / "together", shard=shard))
        assert run_experiment(made, tmp_path / f"apart{number}", shard=shard) == counts[-1]
        assert run_experiment(made, tmp_path / "together", shard=shard) == 0
    assert sum(counts) == 80
    assert max(counts) < 80
    for number in (2, 3):
        for path in (tmp_path / f"apart{number}").glob("*of-3*"):
            shutil.copy(path, tmp_path / "apart1")
    assert dump(tmp_path / "whole") == dump(tmp_path / "together") == dump(tmp_path / "apart1")
    assert run_experiment(made, tmp_path / "together") == 0  # the whole lacks nothing
    assert run_experiment(made, tmp_path / "together", shard=parse_shard("1/4")) == 0


def test_a_shard_of_a_longer_experiment_extends_it(tmp_path) -> None:
    longer = make_experiment(SMALL | {"episodes": 60})
    for data in (make_experiment(SMALL), longer):
        for number in (1, 2):
            run_experiment(data, tmp_path / "parts", shard=parse_shard(f"{number}/2"))
    run_experiment(longer, tmp_path / "whole")
    assert dump(tmp_path / "parts") == dump(tmp_path / "whole")


def test_replies_of_a_shard_go_when_its_episodes_are_over(tmp_path) -> None:
    experiment = make_experiment(SMALL)
    (tmp_path / "run").mkdir()

    def opened(part: str) -> WritableStore:
        store = WritableStore(tmp_path / "run", get_domain("matrix"), part)
        store.begin(experiment.identity(), 40)
        return store

    for part, episode in ((".1-of-2", 0), (".2-of-2", 1)):
        store = opened(part)
        store.keep_reply(0, episode, "subject", "a", "one")
        store.close()
    store = opened(".1-of-2")
    store.add(0, [Record(0, "complete", 1, {"partner": 0}, {"own_action": 1})])
    store.close()
    assert [path.name for path in (tmp_path / "run").glob("replies/*")] == ["0-1.jsonl"]


def test_a_part_that_starts_leaves_the_replies_of_one_that_plays(tmp_path) -> None:
    experiment = make_experiment(SMALL)
    (tmp_path / "run").mkdir()
    one, two = (
        WritableStore(tmp_path / "run", get_domain("matrix"), f".{number}-of-2")
        for number in (1, 2)
    )
    one.begin(experiment.identity(), 40)
    assert two.replies == {}  # as it stood when the second one looked
    one.keep_reply(0, 0, "subject", "a", "one")
    two.begin(experiment.identity(), 40)
    assert (tmp_path / "run" / "replies" / "0-0.jsonl").is_file()
    one.add(0, [Record(0, "complete", 1, {"partner": 0}, {"own_action": 1})])
    for store in (one, two):
        store.close()
    assert not (tmp_path / "run" / "replies").exists()


@pytest.mark.parametrize("text", ["3", "0/4", "5/4", "a/b", "1/2/3", ""])
def test_what_is_no_shard_is_one_line(text) -> None:
    assert outcome(lambda: parse_shard(text))[1].startswith(f"shard {text!r}: ")
