"""Rows of a run on replicas are those of one process, whatever is lost on the way."""

from __future__ import annotations

import asyncio
import functools

import pytest
from every_domain import EXPERIMENTS, episode_of, experiment, good
from fake_engine import FakeEngine
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support import dump, scripts

from tomeval.models.base import BackendError, ContextExceeded
from tomeval.models.scripted import ScriptedModel
from tomeval.play.live import Live
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run

ARENA = {
    "domain": "arena",
    "games": {"g": {"game": "ipd3", "rounds": 2, "talk": 1}},
    "players": {
        "m": {"model": "scripted:arena"},
        "chance": {"kind": "random"},
        "tft": {"kind": "tit_for_tat"},
    },
    "lineups": [
        {"game": "g", "subject": "m", "others": ["tft", "chance"]},
        {"game": "g", "subject": "chance", "others": ["tft", "tft"]},
    ],
}
DOMAINS = [*EXPERIMENTS, "arena"]


def made(domain, **more):
    if domain == "arena":
        return make_experiment({**ARENA, **more}, where="x.toml")
    return make_experiment(experiment(domain, "scripted:rule", **more))


def play(folder, domain, script, engine=None, replicas=2, options=None, **more):
    if engine is not None:
        engine.replicas = replicas
    with scripts(rule=script):
        return run_experiment(made(domain, **more), folder, engine=engine, **(options or {}))


def noisy(domain):
    """Return a script that is understood at the first or second attempt, or never, by the seed."""
    fine = good(domain) if domain in EXPERIMENTS else None  # the arena has its own

    def script(request):
        assert fine is not None
        return "what?" if getattr(request, "seed", 0) % 7 == 3 else fine(request)

    return script


def slow(monkeypatch):
    """Let scripts answer after a while, as many at a time as play."""
    plain = ScriptedModel.generate

    async def generate(self, request):
        await asyncio.sleep(0.01 + request.seed % 5 / 1000)
        return await plain(self, request)

    monkeypatch.setattr(ScriptedModel, "generate", generate)


MORE = {"episodes": 4, "stop_after_voids": 0}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a function: the rows of a domain's run in one process."""

    @functools.cache
    def of(domain):
        folder = tmp_path_factory.mktemp("whole") / "run"
        play(folder, domain, noisy(domain), **MORE)
        return dump(folder)

    return of


# --- equal rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("domain", "replicas"), [*zip(DOMAINS, (2, 7, 1), strict=True)])
def test_rows_do_not_depend_on_replicas(whole, tmp_path, domain, replicas) -> None:
    engine, seen = FakeEngine(), []
    options = {"progress": lambda *pair: seen.append(pair)}
    count = play(tmp_path / "run", domain, noisy(domain), engine, replicas, options, **MORE)
    rows = dump(tmp_path / "run")
    assert rows == whole(domain)
    assert count == len(rows["episodes"])
    assert rows["answered"] == []
    assert seen[-1][0] == seen[-1][1]
    assert engine.closed
    assert not engine.threads()
    # Resumed, there is nothing to play, and no replica is started.
    engine = FakeEngine()
    assert play(tmp_path / "run", domain, noisy(domain), engine, **MORE) == 0
    assert engine.started == []


def test_a_run_with_a_condition_stops_at_the_same_place(tmp_path) -> None:
    more = {"episodes": 6, "until": "width(regret) < 0.5"}
    play(tmp_path / "one", "matrix", noisy("matrix"), **more)
    options = {"progress": stop_at(60)}
    with pytest.raises(KeyboardInterrupt):
        play(tmp_path / "ray", "matrix", noisy("matrix"), FakeEngine(), 3, options, **more)
    play(tmp_path / "ray", "matrix", noisy("matrix"), FakeEngine(), 3, **more)
    assert dump(tmp_path / "ray") == dump(tmp_path / "one")
    with Run(tmp_path / "one") as one, Run(tmp_path / "ray") as ray:
        assert ray.until == one.until
        assert max(told["episodes"] for told in one.until["cells"].values()) > 6


def stop_at(steps):
    """Return a progress that interrupts a run once so many steps are done."""

    def progress(done: int, total: int) -> None:
        if done >= steps:
            raise KeyboardInterrupt

    return progress


@pytest.mark.slow
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    domain=st.sampled_from(DOMAINS),
    kills=st.sets(st.integers(1, 70), max_size=4),
    replicas=st.sampled_from([1, 2, 7]),
)
@example(domain="matrix", kills={12, 24, 36}, replicas=1)
@example(domain="arena", kills={1, 31, 45, 70}, replicas=1)  # lost for a probe
def test_rows_never_depend_on_losses(whole, tmp_path_factory, domain, kills, replicas) -> None:
    folder = tmp_path_factory.mktemp("losses") / "run"
    play(folder, domain, noisy(domain), FakeEngine(kills), replicas, **MORE)
    assert dump(folder) == whole(domain)


def small(folder, engine):
    play(folder, "matrix", good("matrix"), engine, 2, {"concurrency": 2}, episodes=3, horizon=2)


def test_a_loss_at_any_answer_changes_nothing(tmp_path) -> None:
    """A full sweep; in each run one answer is lost, with all that its replica held."""
    play(tmp_path / "whole", "matrix", good("matrix"), episodes=3, horizon=2)
    rows, engine = dump(tmp_path / "whole"), FakeEngine()
    small(tmp_path / "run", engine)
    assert dump(tmp_path / "run") == rows
    assert engine.said >= 4  # one replica that opens, and three episodes, at least
    for kill in range(1, engine.said + 1):
        engine = FakeEngine([kill])
        small(tmp_path / f"run{kill}", engine)
        assert dump(tmp_path / f"run{kill}") == rows, kill
        assert len(engine.started) in (2, 3)
        assert not engine.threads()


# --- cells that stop, replies that do not come ----------------------------------------------------


def statuses(folder, cell=0):
    return {row[1]: row[2] for row in dump(folder)["episodes"] if row[0] == cell}


@pytest.mark.parametrize(("replicas", "kills"), [(3, ()), (1, (20,))])
def test_a_cell_stops_after_voids_in_a_row(tmp_path, caplog, monkeypatch, replicas, kills) -> None:
    slow(monkeypatch)

    def script(request):
        return "what?" if episode_of(request) >= 2 else good("matrix")(request)

    play(tmp_path / "whole", "matrix", script, episodes=20, stop_after_voids=0)
    seen, live = [], Live()
    options = {"concurrency": 2, "progress": lambda *p: seen.append(p), "live": live}
    engine = FakeEngine(kills)
    play(tmp_path / "run", "matrix", script, engine, replicas, options, episodes=20)
    found = statuses(tmp_path / "run")
    first = {**dict.fromkeys((0, 1), "complete"), **dict.fromkeys(range(2, 7), "void")}
    played = {e: s for e, s in found.items() if e < 7}
    # What a replica lost may wait, and is left out then, when five others have been void.
    assert played == first if not kills else played.items() <= first.items()
    assert list(found.values()).count("void") >= 5
    assert len(found) < 20
    whole, run = dump(tmp_path / "whole"), dump(tmp_path / "run")
    for name in ("episodes", "steps", "answers", "calls"):
        rows = [row for row in whole[name] if row[0] == 1 or row[1] in found]
        assert run[name] == rows
    assert not {row[:2] for row in run["answered"]} & {row[:2] for row in run["episodes"]}
    assert kills or run["answered"] == []
    text = " ".join(caplog.text.split())
    assert f"; {20 - len(found)} more will not be played" in text
    assert seen[-1][0] == seen[-1][1]
    with Run(tmp_path / "run") as opened:
        assert list(opened.store.stops()) == [0]
    # Its episodes are played once it is understood.
    play(tmp_path / "run", "matrix", script, FakeEngine(), episodes=20, stop_after_voids=0)
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")


def test_prompts_that_are_too_long_and_replies_that_do_not_come(tmp_path, caplog) -> None:
    healed = False

    def script(request):
        episode = episode_of(request)
        if episode == 3 and not healed:
            raise ContextExceeded("9,000 tokens, the context is 8,192")
        if episode == 1 and not healed:
            raise BackendError("gone")
        return good("matrix")(request)

    live = Live()
    options = {"live": live, "concurrency": 1}
    play(tmp_path / "run", "matrix", script, FakeEngine(), 1, options, episodes=16)
    found = statuses(tmp_path / "run")
    assert found[1] == "failed"
    assert 3 not in found
    assert len(found) < 16
    text = " ".join(caplog.text.split())
    assert text.count("stops: a prompt is longer than the model's context (9,000 tokens") == 1
    assert f"episode 3 is broken off, {15 - len(found)} more will not be played" in text
    assert live.ended["failed"] == 1
    assert live.ended["complete"] == sum(
        row[2] == "complete" for row in dump(tmp_path / "run")["episodes"]
    )
    healed = True
    for folder, engine in (("run", FakeEngine([5])), ("whole", None)):
        play(tmp_path / folder, "matrix", script, engine, episodes=16)
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")
