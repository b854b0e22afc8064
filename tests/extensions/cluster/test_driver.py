"""What a driver decides about Ray, and does when replicas are lost, unlike, broken or stopped."""

from __future__ import annotations

import os
import pickle
import re
import signal
import threading
import time

import pytest
from every_domain import episode_of, experiment, good
from fake_engine import FakeEngine
from support import dump

from tomeval.core.errors import TomevalError
from tomeval.core.resources import shipped
from tomeval.extensions import cluster as cluster_engine
from tomeval.extensions.cluster import RayEngine
from tomeval.games.codenames.clues import OWN, Bank
from tomeval.models.scripted import SCRIPTS
from tomeval.play.engines import make_engine
from tomeval.play.live import Live
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import load_experiment, make_experiment
from tomeval.runs.folder import versions


def play(folder, engine=None, replicas=2, *, script=None, domain="matrix", options=None, **more):
    SCRIPTS["rule"] = script or good(domain)
    if engine is not None:
        engine.replicas = replicas
    made = make_experiment(experiment(domain, "scripted:rule", **{"episodes": 4, **more}))
    return run_experiment(made, folder, engine=engine, **(options or {}))


def same_when_played_on(folder, **more) -> None:
    """Hold a run that is played to its end against one that was never interrupted."""
    play(folder / "run", FakeEngine(), **more)
    play(folder / "whole", **more)
    assert dump(folder / "run") == dump(folder / "whole")


def dawdling(request):
    time.sleep(0.02)  # so that all replicas have something to do
    return good("matrix")(request)


def deadly(engine, episodes):
    """Return a script that ends the process that plays these, before it has said anything more."""

    def script(request):
        if episode_of(request) in episodes:
            time.sleep(0.1)  # what ended before is heard
            here = threading.current_thread()
            next(one for one in engine.started if one.thread is here).stop()
        return good("matrix")(request)

    return script


# --- losses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("replicas", "episodes"), [(1, {0, 1, 9}), (2, {4})])
def test_what_kills_its_process_is_played_last_and_stops_the_run(
    tmp_path, replicas, episodes
) -> None:
    """All others are played, if one plays at a time; even on one replica for all of them."""
    engine, more = FakeEngine(), {"episodes": 12, "options": {"concurrency": 1}}
    said = f"replicas were lost {6 * replicas} times in a row; the last one, replica .*: killed"
    with pytest.raises(TomevalError, match=said):
        play(tmp_path / "run", engine, replicas, script=deadly(engine, episodes), **more)
    assert engine.closed
    rows = dump(tmp_path / "run")["episodes"]
    assert {row[2] for row in rows} == {"complete"}
    missing = {(cell, e) for cell in (0, 1) for e in range(12)} - {row[:2] for row in rows}
    assert missing == {(0, e) for e in episodes}
    same_when_played_on(tmp_path, **more)


# --- replicas that differ, errors -----------------------------------------------------------------


def other_revisions(who, method, answer):
    if method != "open":
        return answer
    return answer[0], dict.fromkeys(answer[1], f"r{who.number}")


def bad_input(who, method, answer):
    if method == "open":
        raise TomevalError("no such file")
    return answer


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (other_revisions, r"replica \d on .*: scripted:rule was used at revision r"),
        (bad_input, r"replica \d: no such file"),
    ],
)
def test_replicas_that_differ_or_cannot_play_stop_the_run(tmp_path, change, said) -> None:
    more = {"episodes": 20, "subjects": [{"strategy": "QA"}]}
    with pytest.raises(TomevalError, match=said):
        play(tmp_path / "run", FakeEngine(change=change), script=dawdling, **more)


def test_a_machine_with_other_libraries_stops_the_run(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(cluster_engine, "versions", lambda: {**versions(), "numpy": "1.0"})
    said = r"replica \d: .* differs from this machine: numpy [\d.]+, not 1.0; rows"
    with pytest.raises(TomevalError, match=said):
        play(tmp_path / "run", FakeEngine())


def test_an_error_of_the_program_stops_the_run_with_its_traceback(tmp_path) -> None:
    def script(request):
        if episode_of(request) == 2:
            raise ZeroDivisionError("what a script")
        return good("matrix")(request)

    engine = FakeEngine()
    with pytest.raises(
        RuntimeError, match=r"(?s)a program error on a replica.*Traceback.*what a script"
    ):
        play(tmp_path / "run", engine, script=script, options={"concurrency": 1})
    assert engine.closed
    assert (0, 2) not in {row[:2] for row in dump(tmp_path / "run")["episodes"]}
    same_when_played_on(tmp_path)


# --- stops ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", [False, True])
def test_a_run_that_is_to_stop_finishes_what_is_under_way(tmp_path, capfd, caplog, lost) -> None:
    def change(who, method, answer):
        if method == "play" and not told:
            told.append(who)
            os.kill(os.getpid(), signal.SIGINT)
            if lost:
                who.stop()
        return answer

    told, engine = [], FakeEngine(change=change)
    with pytest.raises(KeyboardInterrupt):
        play(tmp_path / "run", engine, script=dawdling, episodes=60, options={"concurrency": 2})
    said = capfd.readouterr().err
    assert re.search(r"finishing work in flight; a second signal stops", said)
    assert ("is lost (killed" in caplog.text) == lost
    mine = {row[1] for row in dump(tmp_path / "run")["episodes"] if row[0] == 0}
    assert len(mine) < 60
    assert lost or len(mine) > 1
    assert len(engine.started) == 2
    assert not engine.threads()
    same_when_played_on(tmp_path, episodes=60)


# --- what is told ---------------------------------------------------------------------------------


def test_what_is_played_on_replicas_is_counted(tmp_path) -> None:
    live, one, more = Live(), Live(), {"domain": "matrix", "episodes": 9}
    play(tmp_path / "whole", options={"live": one}, **more)
    play(tmp_path / "run", FakeEngine(), options={"live": live}, **more)
    assert live.counts == one.counts
    assert live.steps == live.total == one.steps == 9 * 3 * 2
    assert live.spent == one.spent
    assert live.spent.answers == 9 * 3 * 2


def test_served_models_play_in_the_driver(tmp_path, monkeypatch) -> None:
    from tomeval.models import BACKENDS

    seen = []

    def script(request):
        seen.append(threading.current_thread())
        return good("matrix")(request)

    monkeypatch.setitem(BACKENDS, "scripted", BACKENDS["scripted"]._replace(served=True))
    engine = FakeEngine()
    play(tmp_path / "run", engine, script=script)
    assert not engine.started  # nor for the cell without one
    assert set(seen) == {threading.main_thread()}
    play(tmp_path / "whole")
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")


def test_an_engine_that_cannot_give_what_it_is_asked_leaves_no_folder(tmp_path) -> None:
    def check():
        raise TomevalError("4 GPUs are asked for, there are 2")

    engine = FakeEngine()
    engine.check = check
    with pytest.raises(TomevalError, match="4 GPUs"):
        play(tmp_path / "run", engine)
    assert not (tmp_path / "run").exists()
    assert engine.closed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rey", None), "unknown engine 'rey' (did you mean 'ray'?)"),
        (("ray:", None), "--engine 'ray:': no address after the colon"),
        (("ray", None, 0), "--replicas must be at least 1, is 0"),
        (("ray", None, 1, 1.5), "between 0 and 1; is 1.5"),
        (("ray", None, 1, float("nan")), "is nan"),
        (("ray", 4, 2), "--workers cannot be combined with --engine"),
        ((None, None, 2), "--replicas needs --engine"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, said) -> None:
    name, workers, *values = arguments
    options = dict(zip(("replicas", "gpus_per_replica"), values, strict=False))
    with pytest.raises(TomevalError) as told:
        make_engine(name, workers, **options)
    assert said in str(told.value)
    assert "\n" not in str(told.value)


class FakeRay:
    """Ray on a machine with 16 cores and 4 GPUs, or one that does not start."""

    def __init__(self, error=None):
        self.error, self.ended = error, False

    def is_initialized(self):
        return False

    def init(self, **_):
        if self.error is not None:
            raise self.error

    def cluster_resources(self):
        return {"CPU": 16.0, "GPU": 4.0}

    def shutdown(self):
        self.ended = True


def check(monkeypatch, ray, *arguments):
    monkeypatch.setattr("tomeval.extensions.cluster.need", lambda *_: ray)
    RayEngine(*arguments).check()


@pytest.mark.parametrize(("replicas", "gpus"), [(17, 0), (5, 1), (9, 0.5), (3, 2)])
def test_replicas_have_to_fit(monkeypatch, replicas, gpus) -> None:
    check(monkeypatch, FakeRay(), "", replicas - 1, gpus)
    with pytest.raises(TomevalError, match="Ray has 16 cores and 4 GPUs"):
        check(monkeypatch, ray := FakeRay(), "", replicas, gpus)
    assert ray.ended


@pytest.mark.parametrize(
    ("address", "error", "why"),
    [
        ("local", OSError("AF_UNIX path length\ncannot exceed 107"), "AF_UNIX path length cannot"),
        ("10.0.0.1", ValueError("Invalid address format: 10.0.0.1"), "Invalid address format"),
        ("127.0.0.1:1", None, "[Errno 111] Connection refused"),
        ("head:70000", None, ""),
        ("", ValueError(), "ValueError"),
    ],
)
def test_a_ray_that_does_not_start_is_one_line(monkeypatch, address, error, why) -> None:
    ray = FakeRay(error)
    with pytest.raises(TomevalError) as told:
        check(monkeypatch, ray, address, 1, 0)
    said = str(told.value)
    assert said.startswith(f"--engine ray:{address}: Ray cannot be used: {why}")
    assert "\n" not in said
    assert ray.ended


def test_cells_of_what_ships_can_be_sent() -> None:
    for name in ("quickstart", "decrypto_quickstart", "arena_quickstart"):
        cells = load_experiment(str(shipped("experiments") / f"{name}.toml")).cells
        there = pickle.loads(pickle.dumps(list(cells)))
        assert [cell.definition for cell in there] == [cell.definition for cell in cells], name


def test_a_bank_of_clues_is_the_same_at_the_other_end() -> None:
    bank = Bank(("ocean", "wooden", "sun", "stars"), OWN)
    board = ("wood", "star")
    before = list(bank.legal(board))
    assert list(pickle.loads(pickle.dumps(bank)).legal(board)) == before
    assert 0 < len(before) < 4
