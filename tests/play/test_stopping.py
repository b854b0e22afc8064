"""Cells that stop: void episodes in a row, prompts beyond the context; counts on the way."""

from __future__ import annotations

import asyncio
import random

import pytest
from every_domain import EXPERIMENTS, episode_of, experiment, good
from support import dump, scripts

from tomeval.models.base import BackendError, ContextExceeded
from tomeval.models.scripted import ScriptedModel
from tomeval.play.closing import closing
from tomeval.play.live import Live
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run

DOMAINS = list(EXPERIMENTS)


@pytest.fixture
def waits(monkeypatch):
    """Let scripts answer after a while that differs, as servers do."""
    plain, clock = ScriptedModel.generate, random.Random(0)

    async def generate(self, request):
        await asyncio.sleep(clock.random() / 1000)
        return await plain(self, request)

    monkeypatch.setattr(ScriptedModel, "generate", generate)


def play(folder, domain, script, *, episodes=12, concurrency=32, **more) -> int:
    options = {k: more.pop(k) for k in ("progress", "go_on") if k in more}
    with scripts(rule=script):
        made = make_experiment(experiment(domain, "scripted:rule", episodes=episodes, **more))
        return run_experiment(made, folder, concurrency=concurrency, **options)


def void_in(domain, episodes, text="what a\nnice \x1b[2Jquestion"):
    """Return a script that is not understood in some episodes."""
    fine = good(domain)
    return lambda request: text if episode_of(request) in episodes else fine(request)


def statuses(folder, cell=0) -> dict[int, str]:
    return dict(sorted(row[1:3] for row in dump(folder)["episodes"] if row[0] == cell))


def of_cell(tables, cell, episodes):
    """Return what is stored of some episodes of a cell, latencies apart."""
    names = ("episodes", "steps", "answers", "calls")
    return {name: [r for r in tables[name] if r[0] == cell and r[1] in episodes] for name in names}


# --- voids in a row -------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 3, 32])
@pytest.mark.parametrize("domain", DOMAINS)
def test_a_cell_stops_after_voids_in_a_row(tmp_path, waits, domain, concurrency) -> None:
    bad = void_in(domain, range(2, 99))
    play(tmp_path / "whole", domain, bad, stop_after_voids=0)
    assert list(statuses(tmp_path / "whole").values()).count("void") == 10
    play(tmp_path / "run", domain, bad, episodes=100, concurrency=concurrency)
    found = statuses(tmp_path / "run")
    assert {e: s for e, s in found.items() if e < 7} == {
        **dict.fromkeys((0, 1), "complete"),
        **dict.fromkeys(range(2, 7), "void"),
    }
    assert len(found) == 7 if concurrency == 1 else len(found) < 100  # those under way end
    kept = {e for e in found if e < 12}
    whole, some = dump(tmp_path / "whole"), dump(tmp_path / "run")
    assert of_cell(some, 0, kept) == of_cell(whole, 0, kept)
    assert some["answered"] == []
    if domain != "decrypto":  # cells without a model play all
        assert len(statuses(tmp_path / "run", 1)) == 100


def test_a_cell_with_nothing_left_to_play_is_not_stopped(tmp_path, caplog) -> None:
    play(tmp_path / "run", "matrix", void_in("matrix", range(1, 99)), episodes=6)
    assert "has 5 void episodes in a row\n  the last: " in caplog.text
    with Run(tmp_path / "run") as run:
        assert run.store.stops() == {}
        assert closing(run).whole


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_stopped_cell_is_tried_again(tmp_path, domain) -> None:
    play(tmp_path / "run", domain, void_in(domain, range(99)))
    with Run(tmp_path / "run") as run:
        assert run.store.stops() == {0: "5 void episodes in a row"}
    # Still not understood: five more. The key may change; the experiment is the same.
    play(tmp_path / "run", domain, void_in(domain, range(99)))
    assert statuses(tmp_path / "run") == dict.fromkeys(range(10), "void")
    play(tmp_path / "run", domain, void_in(domain, range(10)), stop_after_voids=0)
    whole = {"stop_after_voids": 0, "go_on": True}
    play(tmp_path / "whole", domain, void_in(domain, range(10)), **whole)
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")
    with Run(tmp_path / "run") as run:
        assert [one["stop_after_voids"] for one in run.store.sessions()] == [5, 5, 0]


def test_failed_episodes_are_no_voids(tmp_path, waits) -> None:
    def script(request):
        if episode_of(request) % 2:
            raise BackendError("gone")
        return "what?"

    play(tmp_path / "run", "matrix", script, episodes=30)
    found = statuses(tmp_path / "run")
    # Passed over: five voids without a readable episode between them stop the cell.
    assert list(found.values()).count("void") == 5
    assert sorted(e for e in found if found[e] == "void") == [0, 2, 4, 6, 8]

    def silent(request):
        raise BackendError("gone")

    play(tmp_path / "silent", "matrix", silent, episodes=30)
    assert statuses(tmp_path / "silent") == dict.fromkeys(range(30), "failed")


# --- prompts beyond the context -------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("domain", DOMAINS)
def test_a_prompt_beyond_the_context_ends_its_cell_alone(
    tmp_path, caplog, domain, concurrency
) -> None:
    asked = []

    def script(request):
        asked.append(request.group)
        if episode_of(request) == 2 and small["context"]:
            raise ContextExceeded("9,000 tokens, the context is 8,192")
        return good(domain)(request)

    small = {"context": True}
    seen, live = [], Live()
    watch = {"progress": lambda *pair: seen.append(pair), "live": live}
    with scripts(rule=script):
        data = experiment(domain, "scripted:rule", episodes=9, seed=[0, 1])
        made = make_experiment(data)
        run_experiment(made, tmp_path / "run", concurrency=concurrency, **watch)
    models = [number for number, cell in enumerate(made.cells) if cell.models]
    text = " ".join(caplog.text.split())
    for cell in models:
        assert statuses(tmp_path / "run", cell).get(0) == "complete"
        assert 2 not in statuses(tmp_path / "run", cell)
        assert len(statuses(tmp_path / "run", cell)) <= 2 + 2 * concurrency
        assert f"cell {cell} (" in text
    assert text.count("stops: a prompt is longer than the model's context (9,000 tokens") == 2
    assert seen[-1][0] == seen[-1][1]  # the bar ends full: what is not played is not awaited
    assert live.ended["failed"] == 0
    with Run(tmp_path / "run") as run:
        assert set(run.store.stops()) == set(models)
        said = closing(run)
        assert not said.whole
        assert "a prompt is longer than the model's context: 9,000" in " ".join(
            " ".join(said.lines).split()
        )
    small["context"] = False
    before = len(asked)
    for folder in ("run", "whole"):
        with scripts(rule=script):
            run_experiment(make_experiment(data), tmp_path / folder)
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")
    assert before > 0


def test_beside_another_question_and_in_all_strategies(tmp_path) -> None:
    """Whatever is asked when the context is exceeded, the episode is broken off, never a move."""

    def script(request):
        text = request.prompt.messages[-1].content
        if len(text) > limit:
            raise ContextExceeded("too long")
        return [-0.1, -2.0] if hasattr(request, "labels") else "Final answer: J"

    names = ["LM", "QA", "CoT", "S2A", "Social QA", "Reflexion 1", "Plans + Insights"]
    for limit in (0, 1500):
        play(tmp_path / str(limit), "matrix", script, subjects=[{"strategy": names}], horizon=9)
        tables = dump(tmp_path / str(limit))
        assert {row[2] for row in tables["episodes"]} <= {"complete"}
        with Run(tmp_path / str(limit)) as run:
            stopped, complete = set(run.store.stops()), {row[0] for row in tables["episodes"]}
            assert stopped | complete == set(range(7))
            assert stopped


# --- counts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", DOMAINS)
def test_counts_are_those_of_the_store(tmp_path, domain) -> None:
    def script(request):
        episode = episode_of(request)
        if episode == 3 and not healed:
            raise BackendError("gone")
        return "?" if episode in (1, 4) else good(domain)(request)

    for healed in (False, True):
        live = Live()
        with scripts(rule=script):
            made = make_experiment(experiment(domain, "scripted:rule", episodes=6))
            run_experiment(made, tmp_path / "run", live=live)
        with Run(tmp_path / "run") as run:
            rows = run.status()
        for name in ("complete", "void", "failed"):
            assert live.ended[name] == sum(row[name] for row in rows)
        assert live.ended["failed"] == (0 if healed else 1)
        assert live.ended["void"] == 2
