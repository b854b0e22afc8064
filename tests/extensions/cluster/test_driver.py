"""What a driver does when replicas are lost, silent, unlike or broken, and when it is stopped."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from dataclasses import replace

import pytest
from every_domain import episode_of, experiment, good
from fake_engine import FakeEngine
from support import dump

from tomeval.core.errors import TomevalError
from tomeval.extensions.cluster import driver, worker
from tomeval.extensions.cluster.messages import Begun, Broken, Opened, Played, Ready, Replied
from tomeval.models.scripted import SCRIPTS
from tomeval.runs.closing import closing
from tomeval.runs.experiment import make_experiment
from tomeval.runs.live import Live
from tomeval.runs.results import Run
from tomeval.runs.runner import run_experiment


def play(folder, engine=None, replicas=2, *, script=None, domain="toy", options=None, **more):
    SCRIPTS["rule"] = script or good(domain)
    if engine is not None:
        engine._count = replicas
    made = make_experiment(experiment(domain, "scripted:rule", **{"episodes": 4, **more}))
    return run_experiment(made, folder, engine=engine, **(options or {}))


class Stuck:
    """A script that waits in one episode, in the thread that comes to it first, until let go."""

    def __init__(self, episode: int) -> None:
        self.episode, self.go, self.waits = episode, threading.Event(), threading.Event()
        self.first: threading.Thread | None = None

    def __call__(self, request):
        here = threading.current_thread()
        if episode_of(request) == self.episode and self.first in (None, here):
            self.first = here
            self.waits.set()
            self.go.wait(5)
        return good("toy")(request)


def dawdling(request):
    time.sleep(0.02)  # so that all replicas have something to do
    return good("toy")(request)


# --- losses ---------------------------------------------------------------------------------------


def killer(of, times=3):
    """Return a change that loses the replica whenever a message of this kind comes, so often."""
    left = [times]

    def change(who, message):
        if of(message) and left[0]:
            left[0] -= 1
            who.stop()
        return message

    return change


def test_an_episode_that_is_lost_three_times_fails_as_without_a_reply(tmp_path, caplog) -> None:
    """Its second reply comes each time, and the replica is gone; one more reply is kept by then."""
    mine = lambda m: isinstance(m, Replied) and m.job == (0, 2)  # noqa: E731
    engine = FakeEngine(change=killer(mine))
    live = Live()
    play(tmp_path / "run", engine, options={"live": live, "concurrency": 1})
    tables = dump(tmp_path / "run")
    statuses = {row[1]: row[2] for row in tables["episodes"] if row[0] == 0}
    assert statuses == {0: "complete", 1: "complete", 2: "failed", 3: "complete"}
    answers = [row for row in tables["answers"] if row[:2] == (0, 2)]
    assert [row[5] for row in answers] == ["valid"] * 3 + ["backend_error"]
    (lost,) = [row for row in tables["calls"] if row[:2] == (0, 2) and "error" in row[-1]]
    assert "its replica was lost three times: killed" in lost[-1]
    assert len(tables["answered"]) == 3
    assert live.counts.failed == 1
    assert "1 episodes failed" in caplog.text
    play(tmp_path / "run", FakeEngine())
    play(tmp_path / "whole")
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")


def test_a_stretch_that_is_lost_three_times_stays_unplayed_and_is_named(tmp_path, caplog) -> None:
    mine = lambda m: isinstance(m, Begun) and m.job[0] == 1  # noqa: E731
    engine = FakeEngine(change=killer(mine))
    play(tmp_path / "run", engine, domain="matrix", options={"concurrency": 1})
    assert "cell 1 (random): episodes 0 to 3 not played: its replica was lost" in caplog.text
    assert {row[0] for row in dump(tmp_path / "run")["episodes"]} == {0}
    play(tmp_path / "run", FakeEngine(), domain="matrix")
    play(tmp_path / "whole", domain="matrix")
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")


def test_a_place_that_is_always_lost_is_given_up_and_the_others_go_on(tmp_path, caplog) -> None:
    def change(who, message):
        if who.number == 0:
            who.stop()
            return []  # nothing of it is ever heard, so no episode can be what it is lost for
        return message

    engine, live = FakeEngine(change=change), Live()
    play(tmp_path / "run", engine, script=dawdling, options={"live": live})
    play(tmp_path / "whole")
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")
    assert "was lost 3 times in a row and is given up (killed" in caplog.text
    assert sum(replica.number == 0 for replica in engine.replicas) == 3
    assert ": lost, " in live.replica_lines()[0]
    assert "; killed at message" in live.replica_lines()[0]


def deadly(engine, episodes):
    """Return a script that ends the process that plays these, before it has said anything more."""

    def script(request):
        if episode_of(request) in episodes:
            here = threading.current_thread()
            next(one for one in engine.replicas if one.worker._thread is here).stop()
        return good("toy")(request)

    return script


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("episodes", [{4}, {0, 1, 9}, {11}])
def test_what_kills_its_process_fails_alone(tmp_path, replicas, episodes) -> None:
    """All others are played, with 4 at a time, even if there is one replica for all of them."""
    engine, more = FakeEngine(), {"episodes": 12, "options": {"concurrency": 4}}
    play(tmp_path / "run", engine, replicas, script=deadly(engine, episodes), **more)
    rows = dump(tmp_path / "run")["episodes"]
    assert {row[1] for row in rows if row[2] == "failed"} == episodes
    assert len(rows) == 24
    play(tmp_path / "run", **more)
    play(tmp_path / "whole", **more)
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")


def test_if_all_that_is_left_kills_its_process_the_run_stops(tmp_path) -> None:
    engine = FakeEngine()
    script = deadly(engine, range(3, 30))
    with pytest.raises(TomevalError, match="replicas were lost at least 3 times in a row"):
        play(tmp_path / "run", engine, 1, script=script, episodes=30, options={"concurrency": 1})
    assert len(engine.replicas) < 12
    found = {row[:2] for row in dump(tmp_path / "run")["episodes"] if row[2] == "complete"}
    assert found == {(0, e) for e in range(3)} | {(1, e) for e in range(30)}


@pytest.mark.parametrize("heard", [True, False])
def test_a_stretch_that_kills_its_process_is_left_out_alone(tmp_path, caplog, heard) -> None:
    def change(who, message):
        if not (isinstance(message, Begun) and message.job == (1, 2)):
            return message
        who.stop()
        return message if heard else []

    play(tmp_path / "run", FakeEngine(change=change), 1, episodes=8)
    rows = dump(tmp_path / "run")["episodes"]
    assert {(cell, e) for cell in (0, 1) for e in range(8)} - {row[:2] for row in rows} == {(1, 2)}
    assert {row[2] for row in rows} == {"complete"}
    assert "episode 2 not played: its replica was lost three times" in caplog.text
    with Run(tmp_path / "run") as run:
        found = closing(run)
    assert found.lines[0] == "episodes: 15 complete, 0 void, 0 failed; 1 not played"
    assert not found.whole


def test_if_all_places_are_given_up_the_run_stops(tmp_path) -> None:
    engine = FakeEngine(range(1, 99))
    with pytest.raises(TomevalError, match="all replicas were lost at least 3 times in a row; "):
        play(tmp_path / "run", engine)
    assert engine.closed
    assert len(engine.replicas) <= 6


def be_impatient(monkeypatch) -> None:
    monkeypatch.setattr(driver, "SILENT", 0.5)
    monkeypatch.setattr(driver, "TURN", 0.05)
    monkeypatch.setattr(worker, "WAIT", 0.05)


# --- silence --------------------------------------------------------------------------------------


def test_what_a_silent_replica_holds_is_played_by_others(tmp_path, monkeypatch, caplog) -> None:
    be_impatient(monkeypatch)
    stuck, live, muted = Stuck(3), Live(), []

    def change(who, message):
        if isinstance(message, Begun) and message.job == (0, 3) and not muted:
            muted.append(who)
            who.mute = True  # the network is gone, the replica plays on
        if isinstance(message, Played) and (message.cell, message.block.episodes[0][0]) == (0, 3):
            stuck.go.set()
        return message

    engine = FakeEngine(change=change)
    play(tmp_path / "run", engine, script=stuck, options={"concurrency": 1, "live": live})
    assert len(engine.replicas) == 2
    play(tmp_path / "whole")
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")
    assert caplog.text.count("does not answer; what it held is given out again") == 1
    silent = live.replica_lines()[muted[0].number]
    assert ": silent, " in silent
    assert silent.endswith("; no answer for 0 s")


def test_a_replica_that_stays_silent_is_replaced(tmp_path, monkeypatch, caplog) -> None:
    """It is the only one: without that, the run would wait for ever."""
    be_impatient(monkeypatch)
    monkeypatch.setattr(driver, "GONE", 1.0)

    def change(who, message):
        if isinstance(message, Begun) and message.job == (0, 2) and not who.life:
            who.mute = True
        return message

    engine = FakeEngine(change=change)
    play(tmp_path / "run", engine, 1, script=dawdling, options={"concurrency": 1})
    play(tmp_path / "whole")
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")
    assert len(engine.replicas) == 2
    assert "is lost (no answer for 1 s)" in caplog.text


@pytest.mark.parametrize("differs", [0, 1e-5, 91])
def test_a_second_result_is_compared_and_never_written(tmp_path, caplog, differs) -> None:
    def change(who, message):
        if not isinstance(message, Played) or message.block.episodes[0][0] != 2:
            return message
        steps = message.block.steps
        if differs:
            steps = [(*row[:-2], row[-2] + differs, row[-1]) for row in steps]
        again = replace(message, block=replace(message.block, steps=steps))
        late = Replied((message.cell, 2), "guesser", "late", "{}")
        return [message, late, again]  # as one that was silent says it

    play(tmp_path / "run", FakeEngine(change=change), options={"concurrency": 1})
    play(tmp_path / "whole")
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")
    told = caplog.text.count("with other steps; the first result is kept")
    assert told == (2 if differs > 1 else 0)  # of both cells
    text = caplog.text
    assert ("2 episodes were played twice with results that differ: " in text) == (differs > 1)
    assert ("rounding only, at most by 1e-05: the first" in text) == (0 < differs < 1)


# --- replicas that differ, errors -----------------------------------------------------------------


def on(kind, number, **changed):
    """Return a change of messages of a kind from the replica of this number."""

    def change(who, message):
        if isinstance(message, kind) and who.number == number:
            return replace(message, **changed)
        return message

    return change


def test_replicas_with_other_libraries_are_refused(tmp_path) -> None:
    def change(who, message):
        if isinstance(message, Ready):
            versions = {**message.versions, **({"numpy": "1.0"} if who.number else {})}
            return replace(message, host=f"node{who.number}", versions=versions)
        return message

    with pytest.raises(TomevalError) as caught:
        play(tmp_path / "run", FakeEngine(change=change))
    text = str(caught.value)
    assert text.startswith("replica 2 on node1 differs from this machine: numpy 1.0, not ")
    assert "scipy" not in text


def test_replicas_with_other_revisions_are_refused(tmp_path) -> None:
    def change(who, message):
        if isinstance(message, Opened):
            return replace(message, revisions=dict.fromkeys(message.revisions, f"r{who.number}"))
        if isinstance(message, Ready):
            return replace(message, host=f"node{who.number}")
        return message

    more = {"episodes": 20, "guessers": ["llm"]}
    with pytest.raises(TomevalError) as caught:
        play(tmp_path / "run", FakeEngine(change=change), script=dawdling, **more)
    text = str(caught.value)
    assert "scripted:rule is at revision r" in text
    assert "replica 1 on node0" in text
    assert "replica 2 on node1" in text


def test_an_error_of_the_input_stops_the_run_with_its_line(tmp_path) -> None:
    def change(who, message):
        return Broken("no such file") if isinstance(message, Opened) else message

    with pytest.raises(TomevalError, match=r"replica \d on .*: no such file"):
        play(tmp_path / "run", FakeEngine(change=change))


def test_an_error_of_the_program_stops_the_run_with_its_traceback(tmp_path, caplog) -> None:
    def script(request):
        if episode_of(request) == 2:
            raise ZeroDivisionError("what a script")
        return good("toy")(request)

    engine = FakeEngine()
    with pytest.raises(RuntimeError, match=r"of the program on replica .*: what a script"):
        play(tmp_path / "run", engine, script=script, options={"concurrency": 1})
    assert "Traceback" in caplog.text
    assert engine.closed
    kept = {row[:2] for row in dump(tmp_path / "run")["episodes"]}
    play(tmp_path / "run", FakeEngine())
    play(tmp_path / "whole")
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")
    assert (0, 2) not in kept


# --- stops ----------------------------------------------------------------------------------------


def test_a_run_that_is_to_stop_finishes_its_leases(tmp_path, capfd) -> None:
    def change(who, message):
        if isinstance(message, Played) and message.cell == 0 and not told:
            told.append(who)
            os.kill(os.getpid(), signal.SIGINT)
        return message

    told, engine = [], FakeEngine(change=change)
    with pytest.raises(KeyboardInterrupt):
        play(tmp_path / "run", engine, episodes=60, options={"concurrency": 2})
    said = capfd.readouterr().err
    assert re.search(r"finishing \d leases?, up to .* min.*; once more stops at once", said)
    tables = dump(tmp_path / "run")
    mine = {row[1] for row in tables["episodes"] if row[0] == 0}
    assert 1 < len(mine) < 60
    assert tables["answered"] == []  # nothing was broken off
    assert not engine.threads()
    play(tmp_path / "run", FakeEngine(), episodes=60)
    play(tmp_path / "whole", episodes=60)
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")


def test_a_replica_that_is_lost_while_leases_are_finished_is_told(tmp_path, caplog) -> None:
    def change(who, message):
        if isinstance(message, Played) and message.cell == 0 and not told:
            told.append(who)
            os.kill(os.getpid(), signal.SIGINT)
            who.stop()
        return message

    told, engine = [], FakeEngine(change=change)
    with pytest.raises(KeyboardInterrupt):
        play(tmp_path / "run", engine, 1, script=dawdling, episodes=60, options={"concurrency": 2})
    assert "what it held is left for the next session" in caplog.text
    assert len(engine.replicas) == 1
    play(tmp_path / "run", FakeEngine(), episodes=60)
    play(tmp_path / "whole", episodes=60)
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")


def test_the_second_stop_is_at_once_and_replies_are_kept(tmp_path) -> None:
    stuck = Stuck(1)

    def stop():
        stuck.waits.wait(30)
        time.sleep(0.1)
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)
        stuck.go.set()

    threading.Thread(target=stop, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        play(tmp_path / "run", FakeEngine(), script=stuck)
    assert stuck.waits.is_set()
    play(tmp_path / "run", FakeEngine())
    play(tmp_path / "whole")
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")


# --- what is told ---------------------------------------------------------------------------------


def test_what_replicas_do_is_told(tmp_path) -> None:
    live, one, more = Live(), Live(), {"domain": "matrix", "episodes": 9}
    play(tmp_path / "whole", options={"live": one}, **more)
    play(tmp_path / "run", FakeEngine(), options={"live": live}, **more)
    rows = [
        re.fullmatch(r"(replica .) \((.*)\): \w+, (\d+) episodes", one) for one in live.replicas
    ]
    assert [row[1] for row in rows] == ["replica 1", "replica 2"]
    assert sum(int(row[3]) for row in rows) == 18
    assert {row[2] for row in rows} == {f"{os.uname().nodename.partition('.')[0]}, cpu"}
    assert live.counts == one.counts
    assert live.steps == live.total == one.steps == 9 * 3 * 2
    (asked,), (expected,) = live.models.values(), one.models.values()
    assert asked == expected
    assert asked.asked.answers == 9 * 3 * 2
    with Run(tmp_path / "run") as run:
        origins = run.store.origins()
        found = {row[0] for row in run.store.query("SELECT DISTINCT origin FROM episodes")}
        assert {origins[number].replica for number in found} <= {"replica 1", "replica 2"}
        assert all(origins[number].versions["numpy"] for number in found)


def test_served_models_play_in_the_driver(tmp_path, monkeypatch) -> None:
    from tomeval.models import BACKENDS

    seen = []

    def script(request):
        seen.append(threading.current_thread())
        return good("toy")(request)

    monkeypatch.setitem(BACKENDS, "scripted", BACKENDS["scripted"]._replace(served=True))
    engine = FakeEngine()
    play(tmp_path / "run", engine, script=script, options={"startup_test": False})
    assert {replica.number for replica in engine.replicas} == {0, 1}  # for the cell without one
    assert set(seen) == {threading.main_thread()}
    play(tmp_path / "whole", options={"startup_test": False})
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")


def test_an_engine_that_cannot_give_what_it_is_asked_leaves_no_folder(tmp_path) -> None:
    def check():
        raise TomevalError("4 GPUs are asked for, there are 2")

    engine = FakeEngine()
    engine.cluster.check = check
    with pytest.raises(TomevalError, match="4 GPUs"):
        play(tmp_path / "run", engine)
    assert not (tmp_path / "run").exists()
    assert engine.closed
    with pytest.raises(TomevalError, match="replicas must be at least 1"):
        FakeEngine(replicas=0)
