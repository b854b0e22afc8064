"""What `run` and `status` say at the end, their exit codes, and progress on the way."""

from __future__ import annotations

import json
import tomllib

import pytest
from every_domain import EXPERIMENTS, episode_of, experiment, good
from support import edit, scripts

from tomeval.models.base import BackendError, Reply, Usage
from tomeval.models.served import BudgetExceeded
from tomeval.strategies.readers import MARKER


def toml(data) -> str:
    """Return an experiment as TOML; values are JSON, which TOML reads but for tables."""

    def value(x):
        if isinstance(x, dict):
            return "{" + ", ".join(f"{k} = {value(v)}" for k, v in x.items()) + "}"
        if isinstance(x, list):
            return "[" + ", ".join(map(value, x)) + "]"
        return json.dumps(x)

    text = "\n".join(f"{k} = {value(v)}" for k, v in data.items())
    assert tomllib.loads(text) == data
    return text


@pytest.fixture
def play(tomeval, tmp_path):
    """Return a function that runs a domain's experiment with a script into tmp_path/run."""

    def call(domain, script, *more, episodes=6, **keys):
        path = tmp_path / "e.toml"
        path.write_text(toml(experiment(domain, "scripted:rule", episodes=episodes, **keys)))
        with scripts(rule=script):
            return tomeval("run", path, "--out", tmp_path / "run", *more)

    return call


# --- exit codes and closing lines -----------------------------------------------------------------


@pytest.mark.parametrize("domain", EXPERIMENTS)
def test_a_whole_run_is_code_zero(play, tomeval, tmp_path, domain) -> None:
    code, out, errors = play(domain, good(domain))
    assert (code, out) == (0, "")
    assert "warning" not in errors
    cells = 1 if domain == "decrypto" else 2
    assert f"cells: {cells} with complete episodes, 0 without\n" in errors
    assert errors.endswith(f"next: tomeval table {tmp_path / 'run'}\n")


@pytest.mark.parametrize("domain", EXPERIMENTS)
def test_a_cell_without_a_complete_episode_is_named(play, tomeval, tmp_path, domain) -> None:
    code, _, errors = play(domain, lambda request: "what?")
    assert code == 1
    text = " ".join(errors.split())
    assert "warning: no episode is complete" in text
    reason = "0 complete, 5 void, 0 failed; 1 not played; stopped: 5 void episodes in a row"
    assert reason in text
    last = "transcript" if domain == "decrypto" else "table"  # other cells can be measured
    assert errors.endswith(f"next: tomeval {last} {tmp_path / 'run'}\n")
    # The same command says so again, whether it plays or not; so does `status`, whose code is 0.
    assert play(domain, lambda request: "what?", "--set", "stop_after_voids=0")[0] == 1
    assert play(domain, lambda request: "what?")[0] == 1
    code, out, _ = tomeval("status", tmp_path / "run")
    assert code == 0
    assert "warning: no episode is complete" in out
    assert "0 complete, 6 void, 0 failed" in " ".join(out.split())
    rows = json.loads(tomeval("status", tmp_path / "run", "--format", "json")[1])
    assert rows[0]["void"] == 6


def test_a_failed_episode_is_code_one_and_none_after_it_was_played(play) -> None:
    def script(request):
        if episode_of(request) == 3 and down:
            raise BackendError("gone")
        return good("matrix")(request)

    down = True
    assert play("matrix", script)[0] == 1
    down = False
    assert play("matrix", script)[0] == 0


# --- calls and tokens of unfinished episodes ------------------------------------------------------


def test_status_counts_replies_of_unfinished_and_failed_episodes(play, tomeval, tmp_path) -> None:
    """Every reply is 10 + 1 tokens; counted as they are given."""
    given = []

    def script(request):
        episode = episode_of(request)
        if episode == 1 and given.count(1) == 3 and first:
            raise BackendError("gone")
        if episode == 4 or given.count(1) == 4:
            raise BudgetExceeded("the cap is reached")
        given.append(episode)
        return Reply(f"{MARKER} J", usage=Usage(10, 1))

    def status():
        return json.loads(tomeval("status", tmp_path / "run", "--format", "json")[1])[0]

    options, first = ("--concurrency", "1"), True
    assert play("matrix", script, *options)[0] == 2
    row = status()
    assert (row["complete"], row["failed"], row["unfinished"]) == (3, 1, 0)
    assert row["calls"] == len(given)
    assert (row["prompt_tokens"], row["completion_tokens"]) == (10 * len(given), len(given))
    # The failed one is played again and broken off: what it was given before counts once.
    first = False
    assert play("matrix", script, *options)[0] == 2
    assert status()["calls"] == len(given) == 3 * 6 + 3 + 1
    edit(tmp_path / "run", lambda line: None if line.get("status") == "failed" else line)
    assert status()["unfinished"] == 1
    out = tomeval("status", tmp_path / "run")[1]
    assert f"{len(given)} model calls" in out
    assert "including those of 1 unfinished episode" in out
