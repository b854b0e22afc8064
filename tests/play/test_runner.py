from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import ROOT, dump, edit, outcome, setup_of

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Decision, Invalid
from tomeval.games.matrix.play import Setup, play_episode, play_episode_async
from tomeval.games.matrix.subjects import SUBJECTS, Subject
from tomeval.play.runner import run_experiment
from tomeval.runs import lines
from tomeval.runs.experiment import make_experiment
from tomeval.runs.folder import locked
from tomeval.runs.store import Store

SMALL = {
    "name": "small",
    "games": ["RPS", "IPD"],
    "partners": ["single_action", "noisy_tit_for_tat(0.2)"],
    "subjects": ["rmax", {"kind": "simulated", "p": 0.8, "q": [0.2, 0.9]}],
    "horizon": 12,
    "episodes": 8,
    "seed": 3,
}


def run(folder: Path, workers: int = 1, **changes) -> int:
    return run_experiment(make_experiment(SMALL | changes), folder, workers=workers)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    run(folder)
    return folder


@pytest.fixture
def damaged(finished, tmp_path) -> Path:
    """Return a copy of a finished run to be damaged."""
    folder = tmp_path / "run"
    folder.mkdir()
    for path in finished.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


# --- the same rows, however the run went ----------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_rows_do_not_depend_on_workers(finished, tmp_path, monkeypatch, workers) -> None:
    # small batches, so that there is something to share
    monkeypatch.setattr("tomeval.games.matrix.domain.STEPS_PER_CHUNK", 36)
    assert run(tmp_path / "run", workers) == 2 * 2 * 3 * 8
    assert dump(tmp_path / "run") == dump(finished)


def test_more_episodes_extend_a_run(finished, tmp_path) -> None:
    folder = tmp_path / "run"
    assert run(folder, episodes=3) == 12 * 3
    assert run(folder, episodes=8, workers=2) == 12 * 5
    assert dump(folder) == dump(finished)
    # fewer ask for nothing and delete nothing
    assert run(folder, episodes=2) == 0
    assert dump(folder) == dump(finished)


def test_gaps_are_filled(finished, damaged) -> None:
    edit(damaged, lambda line: None if (line["cell"] + line["episode"]) % 3 == 1 else line)
    assert run(damaged) > 0
    assert dump(damaged) == dump(finished)


def test_progress_counts_to_the_end(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tomeval.games.matrix.domain.STEPS_PER_CHUNK", 36)
    run(tmp_path / "run", episodes=3)
    seen: list[tuple[int, int]] = []
    run_experiment(
        make_experiment(SMALL), tmp_path / "run", progress=lambda a, b: seen.append((a, b))
    )
    total = 12 * 8 * 12
    assert seen[0] == (12 * 3 * 12, total)
    assert seen[-1] == (total, total)
    assert [a for a, _ in seen] == sorted(a for a, _ in seen)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"seed": 4}, "seed"),
        ({"horizon": 13}, "horizon"),
        ({"games": ["RPS"]}, "cells"),
        ({"name": "other"}, "name"),
        ({"reference": "stationary"}, "reference"),
    ],
)
def test_another_experiment_is_refused_and_nothing_changes(finished, changes, word) -> None:
    before = dump(finished)
    files = {p.name: p.read_bytes() for p in finished.iterdir()}
    with pytest.raises(TomevalError, match="holds another experiment") as caught:
        run(finished, **changes)
    assert word in str(caught.value)
    assert dump(finished) == before
    assert files == {p.name: p.read_bytes() for p in finished.iterdir()}


# --- kill -9 --------------------------------------------------------------------------------------

KILLED = """
import itertools, os, random, signal, sys, threading
import tomeval.play.runner
from tomeval.games.matrix import domain
domain.STEPS_PER_CHUNK = 2_000
from pathlib import Path
from tomeval.runs.experiment import make_experiment
from tomeval.runs.folder import locked
experiment = make_experiment({
    "name": "killed", "games": ["RPS", "IPD"], "subjects": ["rmax", "simulated"],
    "partners": ["single_action", "tit_for_tat"], "horizon": 20, "episodes": 400, "seed": 1,
})
folder, workers, dies_at = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
die = threading.Timer(random.uniform(0, 0.01), os.kill, (os.getpid(), signal.SIGKILL))
die.daemon = True
calls = itertools.count(1)
def progress(done, total):
    if next(calls) == dies_at:
        die.start()
if dies_at == 0:
    die.start()
tomeval.play.runner.run_experiment(experiment, folder, workers=workers, progress=progress)
if dies_at >= 0:
    die.join()
"""
NEVER = -1


def start(folder: Path, workers: int, dies_at: int = NEVER) -> subprocess.Popen:
    """Start a run that is killed shortly after its `dies_at`-th report of progress."""
    return subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder), str(workers), str(dies_at)],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def finish(folder: Path, workers: int) -> None:
    process = start(folder, workers)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("whole") / "run"
    finish(folder, 1)
    return dump(folder)


def episodes_in(folder: Path) -> int:
    with contextlib.closing(Store(folder)) as store:
        return sum(len(store.finished(cell)) for cell in store.played_cells())


def test_kill_at_random_moments_then_finish(tmp_path, uninterrupted) -> None:
    # The moments are drawn afresh in every run of the tests: whatever they are, it must hold.
    # They are counted in chunks of work, so that a fast machine is not done before them.
    folder = tmp_path / "run"
    kept = 0
    for dies_at in random.choices(range(4), k=4):
        process = start(folder, 2, dies_at)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL, errors
        if (folder / "experiment.json").exists():
            done, message = outcome(lambda: episodes_in(folder))
            if done is None:  # killed before its first line was written
                assert "nothing was played yet" in message
                done = 0
            assert done >= kept, "finished episodes were lost"
            kept = done
    assert kept < len(uninterrupted["episodes"]), "nothing was left to be finished"
    finish(folder, 2)
    assert dump(folder) == uninterrupted


def test_no_worker_outlives_a_killed_run(tmp_path) -> None:
    process = start(tmp_path / "run", 2)
    children: list[str] = []
    listing = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not listing.exists():
        process.kill()
        process.communicate()
        pytest.skip("needs /proc")
    deadline = time.monotonic() + 20
    while len(children) < 2 and time.monotonic() < deadline:
        children = listing.read_text().split()
        time.sleep(0.01)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 5
    alive = children
    while alive and time.monotonic() < deadline:
        alive = [pid for pid in alive if _runs(pid)]
        time.sleep(0.02)
    for pid in alive:
        os.kill(int(pid), signal.SIGKILL)
    assert not alive


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class DiesInWorker(Subject):
    """Ends its own process, as running out of memory would."""

    def act(self, observation):
        if observation.round == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return Decision(0)

    def predict(self, observation, own_action):
        return Decision(0)


def test_a_worker_that_dies_is_an_error_not_a_hang(tmp_path) -> None:
    script = (
        "import sys; sys.path[:0] = ['tests', 'tests/play']\n"
        "import test_runner, tomeval\n"
        "tomeval.SUBJECTS['dies'] = test_runner.DiesInWorker\n"
        "try:\n"
        "    tomeval.run({'games': 'IPD', 'subjects': ['dies'], 'episodes': 4, 'horizon': 3},\n"
        "                sys.argv[1], workers=2)\n"
        "except tomeval.TomevalError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "run")],
        capture_output=True,
        text=True,
        timeout=30,
        cwd=ROOT,
        check=False,
    )
    assert "a worker process died" in done.stdout, done.stderr


# --- folders that cannot be used ------------------------------------------------------------------


def test_a_folder_with_other_files_is_refused(tmp_path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(TomevalError, match=r"not empty and not a run folder.*thesis\.tex"):
        run(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(TomevalError, match="is a file"):
        run(tmp_path / "thesis.tex")


def test_reading_needs_no_lock(finished) -> None:
    with locked(finished), tomeval.Run(finished) as opened:
        assert len(opened.rows()) == 12


def test_a_folder_that_refuses_writing_is_one_message(tmp_path, monkeypatch) -> None:
    # what a read-only folder answers, for tests that run as root
    def refuse(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", refuse)
        with pytest.raises(TomevalError, match=r"cannot be created \(Permission denied\)"):
            run(tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", refuse)
        with pytest.raises(TomevalError, match=r"cannot be written \(Permission denied\)"):
            run(tmp_path / "run")


def test_a_full_disk_keeps_what_was_finished_and_goes_on_later(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "run"
    monkeypatch.setattr("tomeval.games.matrix.domain.STEPS_PER_CHUNK", 36)
    write, left = os.write, [20_000]

    def tight(file, data):
        if len(data) > left[0]:
            written = write(file, data[: left[0]]) if left[0] else 0
            left[0] = 0
            if not written:
                raise OSError(28, "No space left on device")
            return written
        left[0] -= len(data)
        return write(file, data)

    with monkeypatch.context() as patch:
        patch.setattr(lines.os, "write", tight)
        with pytest.raises(TomevalError, match=r"the disk is full; .*run the same command again"):
            run(folder)
    kept = dump(folder)
    assert 0 < len(kept["episodes"]) < 96
    assert (folder / "episodes.jsonl").read_bytes().endswith(b"\n")  # whole episodes only
    run(folder)
    assert len(dump(folder)["episodes"]) == 96


@pytest.mark.parametrize("cells", ["[]", "{", '[{"kind": "rmax"}]'])
def test_an_experiment_that_was_edited_is_an_error(damaged, cells) -> None:
    path = damaged / "experiment.json"
    text = path.read_text()
    path.write_text(text[: text.index('"cells": ')] + f'"cells": {cells}' + "}")
    for use in (tomeval.Run, run):
        _, message = outcome(lambda use=use: use(damaged))
        assert "experiment.json: damaged" in message or use is run
    with tomeval.Run(damaged) as opened:  # run anew, it is whole again
        assert len(opened.rows()) == 12


# --- own subjects and invalid answers -------------------------------------------------------------


class Mumbler(Subject):
    """Gives an unreadable answer in chosen steps."""

    def __init__(self, seat, act_at: int = 0, predict_at: int = 0, reason: str = "unparsable"):
        super().__init__(seat)
        self.act_at, self.predict_at, self.reason = act_at, predict_at, reason

    def act(self, observation):
        if observation.round == self.act_at and self.seat.rng.random() < 0.5:
            return Invalid(self.reason, "well...", attempts=3, calls=({"prompt": "act?"},))
        return Decision(1, calls=({"prompt": "act?", "reply": "D"},))

    def predict(self, observation, own_action):
        if observation.round == self.predict_at and self.seat.rng.random() < 0.5:
            return Invalid(self.reason, "hm")
        return Decision(0)


class Waiting(Subject):
    """Answers only after a while, like a served model."""

    async def act(self, observation):
        await asyncio.sleep(0)
        return Decision((observation.round - 1) % 2)

    async def predict(self, observation, own_action):
        await asyncio.sleep(0)
        assert own_action == (observation.round - 1) % 2
        return Decision(0)


@pytest.fixture
def own_subjects(monkeypatch):
    monkeypatch.setitem(SUBJECTS, "mumbler", Mumbler)
    monkeypatch.setitem(SUBJECTS, "waiting", Waiting)


def mumble(folder, workers=1, **changes) -> dict:
    subject = {"kind": "mumbler", "act_at": 3} | changes.pop("subject", {})
    data = {
        "games": "IPD",
        "partners": "tit_for_tat",
        "subjects": [subject],
        "horizon": 6,
        "episodes": 40,
    } | changes
    run_experiment(make_experiment(data), folder, workers=workers)
    return dump(folder)


def test_void_episodes_are_kept_and_left_out_of_metrics(own_subjects, tmp_path) -> None:
    rows = mumble(tmp_path / "run")
    statuses = [row[2] for row in rows["episodes"]]
    void = statuses.count("void")
    assert 5 < void < 35
    assert len(rows["steps"]) == 6 * (40 - void) + 3 * void
    with tomeval.Run(tmp_path / "run") as opened:
        row = opened.rows()[0]
        assert opened.status()[0]["complete"] == row["episodes"] == 40 - void
        assert opened.status()[0]["void"] == void
    # answers: 12 per complete episode; 2 + 2 + 1 in a void one, whose third act was invalid
    assert row["invalid_rate"] == pytest.approx(void / (12 * (40 - void) + 5 * void))
    # all that is left defected throughout: 10 + 5 x 5 of 5 x 8 + 10
    assert row["delta_functional_per_step"] == pytest.approx((50 - 35) / 6)
    last = [r for r in rows["steps"] if r[2] == 3 and r[11] == "unparsable"]
    assert len(last) == void
    # no action, no rewards, no prediction asked for
    assert all(r[4] is r[6] is r[7] is r[8] is None for r in last)
    assert all(r[12] == "not_asked" and r[13] == 3 and r[14] == 0 for r in last)


def waiting_setup() -> Setup:
    game = tomeval.get_game("IPD")
    return setup_of("waiting", {}, game, "tit_for_tat", 5)


def test_coroutine_subjects(own_subjects) -> None:
    steps = asyncio.run(play_episode_async(waiting_setup(), 0))
    assert steps.column("own_action") == [0, 1, 0, 1, 0]
    assert steps.column("partner_action") == [0, 0, 1, 0, 1]
    with pytest.raises(TomevalError, match="awaited something"):
        play_episode(waiting_setup(), 0)


class Wrong(Subject):
    """Answers what is no answer."""

    answer: object = 7

    def act(self, observation):
        return self.answer

    def predict(self, observation, own_action):
        return Decision(0)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (7, TypeError),
        (None, TypeError),
        (Decision(2), ValueError),
        (Decision(-1), ValueError),
        *((Decision(action), (TypeError, ValueError)) for action in (0.5, True, "0", None)),
    ],
)
def test_programming_errors_of_own_subjects_are_not_swallowed(monkeypatch, answer, error) -> None:
    monkeypatch.setitem(SUBJECTS, "waiting", Wrong)
    monkeypatch.setattr(Wrong, "answer", answer)
    with pytest.raises(error):
        play_episode(waiting_setup(), 0)
