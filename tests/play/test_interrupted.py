"""Runs that are stopped: what is in flight is finished, nothing is asked twice, all is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from fake_server import FakeServer
from support import dump
from voice_server import VoiceServer

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment

SERVED = """
games = "IPD"
partners = "tit_for_tat"
labels = "neutral"
horizon = 3
episodes = 3
[[subjects]]
strategy = ["QA", "CoT", "Reflexion 1"]
"""
TABULAR = {"games": "IPD", "subjects": "rmax", "horizon": 5, "episodes": 3, "name": "small"}


class HeldServer(VoiceServer):
    """Keeps back its answers after the first ones until it is let go."""

    def __init__(self) -> None:
        super().__init__("terse")
        self.go, self.asked = threading.Event(), Counter[str]()
        self.free = 1_000_000

    def chat(self, body):
        text = json.dumps(body, sort_keys=True)
        self.asked[text] += "repeated game" in text  # not what a session asks of the server itself
        if self.asked.total() > self.free:
            self.go.wait(60)
        return super().chat(body)


def command(tmp_path: Path, server: VoiceServer, out: Path) -> list[str]:
    file = tmp_path / "served.toml"
    file.write_text(SERVED)
    words = ["run", str(file), "--out", str(out), "--model", server.model, "--concurrency", "4"]
    return [sys.executable, "-m", "tomeval", *words]


def begin(words: list[str]) -> subprocess.Popen[str]:
    environment = {**os.environ, "OPENAI_API_KEY": "none"}
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment)


def wait_until(true) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_the_first_signal_finishes_what_is_in_flight(tmp_path, number, code) -> None:
    with HeldServer() as server:
        with begin(command(tmp_path, server, tmp_path / "whole")) as whole:
            assert whole.wait(120) == 0, whole.stderr.read()
        needed, server.asked = +server.asked, Counter()
        server.free = 12
        with begin(command(tmp_path, server, tmp_path / "run")) as stopped:
            wait_until(lambda: server.asked.total() >= 14)
            stopped.send_signal(number)
            time.sleep(0.5)
            assert stopped.poll() is None  # it waits for the replies
            server.go.set()
            errors = stopped.stderr.read()
            assert stopped.wait(60) == code
            assert "finishing work in flight; a second" in errors
        assert errors.strip().endswith("stopped; run the same command again to go on")
        assert "Traceback" not in errors
        asked = server.asked.total()
        assert 14 <= asked < needed.total()
        with begin(command(tmp_path, server, tmp_path / "run")) as resumed:
            assert resumed.wait(120) == 0, resumed.stderr.read()
        assert +server.asked == needed
    assert dump(tmp_path / "run")["steps"] == dump(tmp_path / "whole")["steps"]


def test_the_second_signal_stops_at_once(tmp_path) -> None:
    with HeldServer() as server:
        server.free = 8
        with begin(command(tmp_path, server, tmp_path / "run")) as stopped:
            wait_until(lambda: server.asked.total() >= 9)
            stopped.send_signal(signal.SIGINT)
            # Two signals before the first is heard are one.
            heard = next(line for line in stopped.stderr if "finishing work in flight" in line)
            stopped.send_signal(signal.SIGINT)
            errors = heard + stopped.stderr.read()
            assert stopped.wait(20) == 130
        server.go.set()
    assert errors.strip().endswith("stopped; run the same command again to go on")
    assert "Traceback" not in errors


class TermServer(FakeServer):
    """Asks this process to stop at the question `after`, which it answers with `status`."""

    def __init__(self, after: int, status: int) -> None:
        super().__init__("plain")
        self.after, self.status = after, status
        self.asked = Counter[str]()
        self.replies = self.replies_before = 0
        self._one = threading.Lock()

    def post(self, path, body):
        with self._one:
            text = json.dumps(body, sort_keys=True)
            self.asked[text] += "game" in text
            if self.asked.total() == self.after:
                self.after = -1  # once: what else was on its way is no question of the game
                self.replies_before = self.replies
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(0.3)
                if self.status != 200:
                    return self.status, {"error": {"message": "slow down"}}
            self.replies += 1
        return super().post(path, body)


@pytest.mark.parametrize("status", [200, 429, 503])
@pytest.mark.parametrize("at_a_time", [1, 16])
def test_after_the_first_term_nothing_is_sent_or_sent_again(tmp_path, status, at_a_time) -> None:
    """What waits for its turn or for a second try is given up; the reply in flight is kept."""
    with TermServer(2, status) as server:
        model = {"name": f"openai:toy@{server.url}", "scoring": "off", "concurrency": at_a_time}
        made = make_experiment(
            {**TABULAR, "subjects": {"strategy": "QA"}, "labels": "neutral", "model": model}
        )
        begun = time.monotonic()
        with pytest.raises(SystemExit, match="143"):
            run_experiment(made, tmp_path / "run")
        assert time.monotonic() - begun < 10
        # Those that were on their way when the signal came are answered, and no others are sent.
        # Three episodes have two questions each; every reply before the signal allows one more.
        most = 2 if at_a_time == 1 else 6 + server.replies_before
        assert server.asked.total() <= most
        asked = +server.asked
        server.asked.clear()
        run_experiment(made, tmp_path / "run")
        again = sum((asked & server.asked).values())
    assert again == (status != 200)


@pytest.mark.parametrize("module", ["typer", "numpy"])
def test_a_stop_while_modules_load_is_one_line(module) -> None:
    script = f"""
import builtins, sys
real = builtins.__import__
def load(name, *rest):
    if name == {module!r}:
        raise KeyboardInterrupt
    return real(name, *rest)
builtins.__import__ = load
sys.argv = ["tomeval", "table", "nowhere"]
from tomeval.cli import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 130
    assert done.stderr.strip() == "tomeval: stopped; run the same command again to go on"


@pytest.mark.parametrize("left", ["run.lock", "experiment.json"])
def test_a_run_that_was_stopped_in_its_first_second(tmp_path, left) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / left).touch()
    with pytest.raises(TomevalError, match="nothing was played yet"):
        tomeval.Run(folder)
    assert run_experiment(make_experiment(TABULAR), folder) == 3
