"""Playing language models: batches, concurrency, invalid answers, kills, caps, logs, secrets."""

import asyncio
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from attacks.commands import call
from fake_server import FakeServer
from known import Known, episode_of, fixed, make_setup, play, question
from scipy.stats import binomtest
from support import ROOT, calls_in, dump, stored

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.games import get_game
from tomeval.models.base import (
    BackendError,
    GenerateRequest,
    LocalModel,
    Message,
    Prompt,
    Reply,
    Sampling,
    Scores,
    Unlisted,
)
from tomeval.models.batching import Batcher
from tomeval.models.scripted import SCRIPTS
from tomeval.play.closing import closing
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run
from tomeval.strategies import NAMED

NAMES = [strategy.name for strategy in NAMED]
IPD = get_game("IPD")


def experiment(script, strategies="QA", **options):
    """Return an experiment of one scripted model; further options go to the subject or above."""
    if script is not None:
        SCRIPTS["rule"] = script
    above = (
        "games",
        "partners",
        "labels",
        "horizon",
        "episodes",
        "on_invalid",
        "reference",
        "seed",
    )
    data = {
        "games": ["IPD"],
        "partners": ["tit_for_tat"],
        "labels": "neutral",
        "horizon": 3,
        "episodes": 3,
        "model": "scripted:rule",
    }
    subject = {"strategy": strategies, **{k: v for k, v in options.items() if k not in above}}
    data |= {key: value for key, value in options.items() if key in above}
    return make_experiment(data | {"subjects": [subject]})


def rows_of(folder):
    """Return all that is stored, without what may differ: latencies."""
    tables = dump(folder)
    del tables["meta"]  # revisions of models that differ
    tables["calls"] = [(*row[:-1], _without_latency(row[-1])) for row in tables["calls"]]
    return tables


def _without_latency(record):
    call = json.loads(record)
    for part in ("reply", "scores"):
        if part in call:
            call[part].pop("latency")
    return json.dumps(call)


# --- what a reply looks like does not matter here: it depends on the request alone ---------------


def noisy(request):
    """Answer by the seed: mostly readable, now and then not."""
    purpose, _, _ = question(request)
    if not hasattr(request, "seed"):
        text = request.prompt.messages[0].content + request.prompt.prefill
        draw = np.random.default_rng(len(text)).random(len(request.labels))
        return np.log(draw / draw.sum()).tolist()
    rng = np.random.default_rng(request.seed)
    if purpose in ("summarise", "reflect", "plan"):
        return f"note {rng.integers(100)}"
    options = ["Final answer: J", "Final answer: F", "J?", "Final answer: K", "<think>"]
    return str(rng.choice(options, p=[0.4, 0.3, 0.1, 0.1, 0.1]))


REQUEST = GenerateRequest(Prompt((Message("user", "x"),)), Sampling(), 1)


class Local(LocalModel):
    """A local model that answers by a script, and notes its batches."""

    name = "local"

    def __init__(self, script):
        self.script, self.batches = script, []

    def generate_batch(self, requests):
        self.batches.append(len(requests))
        return [Reply(self.script(request)) for request in requests]

    def score_batch(self, requests):
        self.batches.append(len(requests))
        scores = [tuple(self.script(request)) for request in requests]
        return [Scores(s, sum(map(math.exp, s)), "local") for s in scores]


def run_local(monkeypatch, model, loaded, folder, **options):
    monkeypatch.setattr("tomeval.play.filling.open_model", lambda *args, **kwargs: model)
    monkeypatch.setattr("tomeval.play.runner.known_models", lambda experiment: {})
    return run_experiment(loaded, folder, **options)


def test_scripted_rows_do_not_depend_on_concurrency(tmp_path, monkeypatch):
    loaded = experiment(noisy, NAMES, on_invalid="random", max_attempts=2, conditional=True)
    plays = []
    for concurrency in (1, 3, 32):
        for kind in ("served", "local"):
            folder = tmp_path / f"{kind}{concurrency}"
            if kind == "served":
                run_experiment(loaded, folder, concurrency=concurrency)
            else:
                model = Local(noisy)
                with monkeypatch.context() as patch:
                    run_local(patch, model, loaded, folder, concurrency=concurrency)
                # As full as it can be: written answers ask both questions side by side.
                assert concurrency < max(model.batches) <= 2 * concurrency
            tables = rows_of(folder)
            tables["calls"] = [
                (*row[:-1], re.sub('"method": "(local|scripted)"', "", row[-1]))
                for row in tables["calls"]
            ]
            tables["steps"] = [
                tuple(re.sub("'method': '(local|scripted)'", "", str(x)) for x in row)
                for row in tables["steps"]
            ]
            assert tables["answered"] == []
            plays.append(tables)
    assert all(tables == plays[0] for tables in plays[1:])
    with Run(folder) as run:  # what is drawn from scored labels is in it
        drawn = run.store.read("steps", ("own_action", "own_probs"), NAMES.index("LM"))
        assert any(probs[action] < max(probs) for action, probs in drawn)
    outcomes = {row[11] for row in plays[0]["steps"]}
    assert {"valid", "illegal", "unparsable", "truncated"} <= outcomes


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    pytest.importorskip("transformers")
    pytest.importorskip("torch")
    sys.path.insert(0, str(ROOT / "experiments"))
    try:
        from make_tiny_model import make_model
    finally:
        sys.path.pop(0)
    folder = tmp_path_factory.mktemp("model") / "tiny"
    make_model(folder)
    return folder


def test_transformers_rows_do_not_depend_on_the_batch(tmp_path, tiny):
    data = {
        "games": ["IPD"],
        "partners": ["tit_for_tat"],
        "labels": "neutral",
        "horizon": 2,
        "episodes": 1,
        "on_invalid": "random",
        "subjects": [{"strategy": NAMES, "max_tokens": 2, "max_attempts": 1}],
        "model": f"hf:{tiny}",
    }
    loaded = make_experiment(data)
    dumps = []
    for concurrency in (1, 3, 32):
        run_experiment(loaded, tmp_path / str(concurrency), concurrency=concurrency)
        dumps.append(dump(tmp_path / str(concurrency)))
    for tables in dumps[1:]:
        for one, other in zip(dumps[0]["steps"], tables["steps"], strict=True):
            assert one[:9] == other[:9]  # states, actions, rewards
            assert one[11:16] == other[11:16]  # outcomes and attempts
            for a, b in zip(one[9:11], other[9:11], strict=True):  # up to rounding
                assert (a is None) == (b is None)
                if a is not None:
                    np.testing.assert_allclose(a, b, rtol=1e-3)
        for one, other in zip(dumps[0]["calls"], tables["calls"], strict=True):
            assert one[:5] == other[:5]
            call, call_2 = json.loads(one[-1]), json.loads(other[-1])
            assert call["prompt_rest"] == call_2["prompt_rest"]
            if "reply" in call:
                assert call["reply"]["text"] == call_2["reply"]["text"]
    with Run(tmp_path / "3") as run:
        assert {cell.columns["model"] for cell in run.cells} == {f"hf:{tiny}"}
        assert list(run.store.revisions()) == [f"hf:{tiny}"]
        assert run.store.revisions()[f"hf:{tiny}"]


# --- invalid answers ------------------------------------------------------------------------------

BAD = {
    "illegal": "Final answer: K",
    "unparsable": "I choose J.",
    "truncated": Reply("Final answer: J", finish="length"),
    "refusal": Reply("No.", finish="refusal"),
    "backend_error": BackendError("the server is gone"),
}


def fails(purpose, step, outcome, after=0):
    """Return a script that gives one bad kind of answer at one place, after some good draws."""
    known = Known(IPD, IPD.label_set("neutral"))
    count = {}

    def script(request):
        asked, at, _ = question(request)
        if (asked, at) == (purpose, step):
            episode = episode_of(request)
            count[episode] = count.get(episode, 0) + 1
            if count[episode] > after:
                if isinstance(BAD[outcome], Exception):
                    raise BAD[outcome]
                return BAD[outcome]
        return known(request)

    return script


@pytest.mark.parametrize("purpose", ["act", "predict"])
@pytest.mark.parametrize("outcome", BAD)
def test_void(tmp_path, purpose, outcome):
    loaded = experiment(fails(purpose, 2, outcome), max_attempts=4)
    run_experiment(loaded, tmp_path / "run")
    with Run(tmp_path / "run") as run:
        row = run.rows()[0]
        status = run.status()[0]
        names = ("step", "act_outcome", "predict_outcome", "act_attempts", "predict_attempts")
        steps = stored(run, "steps", *names, "own_action", "predicted_action", episode=0)
        calls = calls_in(run)
        asked = [(form, json.dumps(r)) for _, e, step, _, form, r in calls if (e, step) == (0, 2)]
    attempts = 1 if outcome == "backend_error" else 4
    failed = outcome == "backend_error"  # nobody's answer: to be played again
    if failed and purpose == "predict":  # which no move needs
        assert (status["complete"], status["failed"], status[outcome]) == (3, 0, 3)
        assert steps[1] == (2, "valid", outcome, 1, 1, 1, None)
        return
    assert row["episodes"] == 0
    assert np.isnan(row["tom_percent"])
    assert (status["complete"], status["void"], status["failed"]) == (0, 3 - 3 * failed, 3 * failed)
    assert status[outcome] == 3
    assert sum(status[name] for name in BAD) == 3
    assert steps[0] == (1, "valid", "valid", 1, 1, 0, 1)
    if purpose == "act":
        assert steps[1:] == [(2, outcome, "not_asked", attempts, 0, None, None)]
        assert row["invalid_rate"] == pytest.approx(0 if failed else 1 / 3)
    else:
        assert steps[1:] == [(2, "valid", outcome, 1, attempts, 1, None)]
        assert row["invalid_rate"] == pytest.approx(0 if failed else 1 / 4)
    bad = [json.loads(record) for form, record in asked if form == purpose]
    assert len(bad) == attempts
    assert len({call["seed"] for call in bad}) == attempts  # every attempt is a fresh draw
    assert [call["attempt"] for call in bad] == list(range(1, attempts + 1))


@pytest.mark.parametrize("outcome", BAD)
def test_random(tmp_path, outcome):
    options = {"on_invalid": "random", "episodes": 40, "max_attempts": 2}
    run_experiment(experiment(fails("act", 2, outcome), **options), tmp_path / "run")
    with Run(tmp_path / "run") as run:
        status = run.status()[0]
        rows = stored(run, "steps", "own_action", "act_outcome", "step")
        drawn = [row[:2] for row in rows if row[2] == 2]
        others = list({row[1:2] for row in rows if row[2] != 2})
    assert {o for _, o in drawn} == {outcome}
    assert others == [("valid",)]
    if outcome == "backend_error":  # never becomes an answer
        assert (status["complete"], status["failed"]) == (0, 40)
        assert {a for a, _ in drawn} == {None}
    else:
        assert (status["complete"], status["void"]) == (40, 0)
        assert 8 < sum(a for a, _ in drawn) < 32


def test_asked_again_until_readable(tmp_path):
    known = Known(IPD, IPD.label_set("neutral"))
    count = {}

    def script(request):
        purpose, step, _ = question(request)
        key = (request.group, purpose, step)
        count[key] = count.get(key, 0) + 1
        return "hm" if count[key] < 3 else known(request)

    run_experiment(experiment(script), tmp_path / "run")
    with Run(tmp_path / "run") as run:
        assert set(stored(run, "steps", "act_attempts", "predict_attempts")) == {(3, 3)}
        assert run.rows()[0]["invalid_rate"] == 0
    count.clear()
    run_experiment(experiment(script, temperature=0.0), tmp_path / "greedy")
    with Run(tmp_path / "greedy") as run:  # the same draw again would say the same
        assert set(stored(run, "steps", "act_attempts")) == {(1,)}
        assert run.status()[0]["void"] == 3


def one_episode(strategy, script, on_invalid="random", horizon=4, **options):
    partner = fixed(IPD, [0, 1, 0, 1])
    setup = make_setup(
        IPD, partner, strategy, horizon, "neutral", on_invalid, max_attempts=1, **options
    )
    return play(setup, script)


def outcomes(steps):
    names = ("act_outcome", "predict_outcome")
    return list(zip(*map(steps.column, names), strict=True))


def test_a_lost_summary_does_not_bring_back_an_old_prediction():
    """S2A + Social: no summary, no prediction; that of the round before is not its stand-in."""
    steps = one_episode("S2A + Social QA", fails("summarise for predict", 2, "refusal"))
    assert outcomes(steps)[1] == ("not_asked", "refusal")  # one refusal counts once
    assert outcomes(steps)[2] == ("valid", "valid")
    # Each summary is asked for once.
    asked = [purpose for *_, purpose, _ in steps.calls if purpose.startswith("summarise")]
    assert sorted(asked) == ["summarise"] * 4 + ["summarise for predict"] * 4


def test_notes_of_an_unreadable_reply_are_not_kept():
    log = []

    def script(request):
        purpose, step, _ = question(request)
        log.append(request.prompt.messages[0].content)
        if purpose == "act":
            return f"Plans: note {step}\nInsights: x\nFinal answer: {'K' if step == 2 else 'J'}"
        return "Final answer: J"

    one_episode("Plans + Insights", script)
    acts = [text for text in log if "Which action do you choose" in text]
    assert ["note 1" in text for text in acts] == [False, True, True, False]
    assert ["note 3" in text for text in acts] == [False, False, False, True]
    assert not any("note 2" in text for text in log)


@pytest.mark.parametrize(
    "said",
    [
        Scores((float("nan"), -1.0), 0.5, "x"),
        Scores((float("-inf"), float("-inf")), 0.0, "x"),
        Scores((0.5, -1.0), 1.0, "x"),
    ],
)
def test_scores_that_are_none_never_decide(said):
    steps = one_episode("LM", lambda request: said)
    assert outcomes(steps) == [("backend_error", "not_asked")]
    assert steps.status == "failed"


def test_a_label_outside_the_servers_list_is_an_answer_that_cannot_be_read():
    def script(request):
        raise Unlisted("label 'J' is not among the 20 likeliest tokens; the likeliest: 'The' 0.9")

    steps = one_episode("LM", script)
    assert outcomes(steps) == [("unlisted", "unlisted")] * 4
    assert steps.status == "complete"  # by random actions; asking again would tell the same
    assert "'The' 0.9" in json.dumps([call for *_, call in steps.calls])


def test_scored_labels():
    """The likelier label; the distribution, route and mass of each row."""
    said = [np.log(0.003), np.log(0.001)]
    steps = one_episode("LM", lambda request: said, decide="argmax")
    assert steps.column("own_action") == [0] * 4
    assert steps.column("own_probs") == [pytest.approx((0.75, 0.25))] * 4
    details = steps.column("act_details")[0]
    assert details["method"] == "scripted"
    assert details["mass"] == pytest.approx(0.004)
    assert details["low_mass"]
    ties = [
        one_episode("LM", lambda r: [-1.0, -1.0], decide="argmax", seed=s).column("own_action")
        for s in range(100)
    ]
    assert abs(np.mean(ties) - 0.5) < 4 * np.sqrt(0.25 / 400)


@pytest.mark.parametrize("temperature", [0, 1])
def test_actions_are_drawn_from_the_labels_and_predictions_compared(temperature):
    """As the source: an action with its label's share of the mass, the likeliest as prediction."""
    game, shares = get_game("RPS"), np.array([0.2, 0.5, 0.3])
    setup = make_setup(game, fixed(game, [0]), "LM", 20, temperature=temperature)
    script = np.log(0.01 * shares).tolist()
    steps = [play(setup, lambda request: script, episode) for episode in range(60)]
    acts = np.array([one.column("own_action") for one in steps])
    for label, share in enumerate(shares):
        assert binomtest(int((acts == label).sum()), acts.size, share).pvalue > 1e-3
    assert len(set(map(tuple, acts))) == len(acts)
    assert {said for one in steps for said in one.column("predicted_action")} == {1}


def test_failed_episodes_are_told_and_played_again(tmp_path):
    """The second run asks only where the backend failed, and completes."""
    script = Known(IPD, IPD.label_set("neutral"))
    down = {"now": True}

    def flaky(request):
        purpose, step, _ = question(request)
        if down["now"] and (purpose, step) == ("act", 2):
            raise BackendError("the server is gone")
        return script(request)

    loaded = experiment(flaky)
    run_experiment(loaded, tmp_path / "run")
    with Run(tmp_path / "run") as run:
        told = " ".join(" ".join(closing(run).lines).split())
    assert "most common reason for failed: the server is gone (3 of 3); run the same" in told
    asked = len(script.requests)
    down["now"] = False
    assert run_experiment(loaded, tmp_path / "run") == 3
    with Run(tmp_path / "run") as run:
        assert run.status()[0]["complete"] == 3
        assert not run.store.replies
        needed = len(calls_in(run))
    assert len(script.requests) == needed  # nothing that had been answered was asked again
    assert asked < needed
    run_experiment(loaded, tmp_path / "whole")
    assert rows_of(tmp_path / "run") == rows_of(tmp_path / "whole")


# --- batches --------------------------------------------------------------------------------------


def test_an_error_in_a_batch_reaches_the_user_once(tmp_path, monkeypatch, capfd, caplog):
    calls = []

    def script(request):
        calls.append(request)
        if len(calls) > 10:
            raise TomevalError("the prompt is too long")
        return "Final answer: J"

    loaded = experiment(None, episodes=4, horizon=5)
    with pytest.raises(TomevalError, match="the prompt is too long"):
        run_local(monkeypatch, Local(script), loaded, tmp_path / "run")
    assert "never retrieved" not in capfd.readouterr().err + caplog.text
    calls[:] = []
    done = run_local(monkeypatch, Local(lambda r: "Final answer: J"), loaded, tmp_path / "run")
    assert done == 4


def test_a_cancelled_episode_leaves_the_batch():
    async def go():
        model = Local(lambda request: "x")
        batcher = Batcher(model)

        async def episode(count):
            with batcher.episode() as line:
                for _ in range(count):
                    await line.generate(REQUEST)

        tasks = [asyncio.create_task(episode(count)) for count in (1, 3, 5)]
        await asyncio.sleep(0)
        tasks[2].cancel()
        await asyncio.wait(tasks, timeout=5)
        assert all(task.done() for task in tasks)
        return model.batches

    assert asyncio.run(go()) == [2, 1, 1]


class Halt(BaseException):
    """What ends a test or a process, and is no error of a model."""


def test_what_stops_a_batch_reaches_who_waits_for_it():
    def script(request):
        raise Halt

    async def go():
        with Batcher(Local(script)).episode() as line:
            await asyncio.wait_for(line.generate(REQUEST), 5)

    with pytest.raises(Halt):
        asyncio.run(go())


def test_episodes_wait_where_the_backend_keeps_less_than_all_have_read():
    """Two slots: the first two episodes are played to their ends before others begin."""

    async def go():
        model = Local(lambda request: "x")
        model.slots = lambda: 2
        batcher, ends = Batcher(model), []

        async def episode(number, count):
            with batcher.episode() as line:
                for _ in range(count):
                    await line.generate(REQUEST)
                ends.append(number)

        counts = (1, 3, 2, 1, 1)
        tasks = [asyncio.create_task(episode(*one)) for one in enumerate(counts)]
        await asyncio.wait(tasks, timeout=5)
        assert all(task.done() and not task.exception() for task in tasks)
        return ends, model.batches

    ends, batches = asyncio.run(go())
    assert [sorted(ends[:1]), sorted(ends[1:3]), sorted(ends[3:])] == [[0], [1, 2], [3, 4]]
    assert batches == [2, 2, 2, 2]  # 0 1 | 1 2 | 1 2 | 3 4


# --- served runs: kills, caps, keys ---------------------------------------------------------------

KEY = "sk-planted-0123456789abcdef"


class GameServer(FakeServer):
    """Plays by the seed; after `open_for` requests of the game it answers no more."""

    def __init__(self):
        super().__init__("vllm", KEY)
        self.open_for = None
        self.answered, self.held = [], []
        self.gate = threading.Event()
        self._mutex = threading.Lock()

    def post(self, path, body):
        text = json.dumps(body.get("messages") or body.get("prompt"))
        if "repeated game" not in text:
            return super().post(path, body)
        with self._mutex:
            hold = self.open_for is not None and len(self.answered) >= self.open_for
            (self.held if hold else self.answered).append(json.dumps(body, sort_keys=True))
        if hold:
            self.gate.wait(30)
        return super().post(path, body)

    def text(self, body):
        if "repeated game" not in json.dumps(body.get("messages")):
            return super().text(body)
        rng = np.random.default_rng(body.get("seed", 0))
        return f"Final answer: {rng.choice(['J', 'J', 'F', 'K'])}"

    def restart(self, open_for=None):
        self.open_for, self.answered, self.held = open_for, [], []
        self.gate.clear()


SERVED = """
games = "IPD"
partners = "tit_for_tat"
labels = "neutral"
horizon = 3
episodes = 3
on_invalid = "random"
[[subjects]]
strategy = [{strategies}]
max_attempts = 2
"""


def served_command(tmp_path, server, out, strategies, *more):
    path = tmp_path / "served.toml"
    path.write_text(SERVED.format(strategies=", ".join(f'"{name}"' for name in strategies)))
    command = [sys.executable, "-m", "tomeval", "run", str(path), "--out", str(out)]
    asked = ["--model", f"openai:toy@{server.url}", "--concurrency", "4"]
    return [*command, *asked, "--trust-host", f"{server.url[:-3]}=OPENAI_API_KEY", *more]


def environment(key=KEY):
    return {**os.environ, "OPENAI_API_KEY": key}


def run_command(command, key=KEY):
    """Run a command of `served_command` inside this process."""
    with mock.patch.dict(os.environ, environment(key)):
        done = call(*command[3:])
    assert done.crash == ""
    return subprocess.CompletedProcess(command, done.code, done.out, done.errors)


def assert_no_secret(folder, *texts):
    for path in Path(folder).rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
            assert b"Bearer" not in path.read_bytes().replace(b"Bearer ***", b""), path
    assert not any(KEY in text for text in texts)


def paid(bodies):
    """Return the requests that a server answers by its model: a prompt is split at every start."""
    return [body for body in bodies if '"max_tokens"' in body]


@pytest.mark.slow
def test_kill_and_resume(tmp_path):
    strategies = ["QA", "Reflexion 1", "S2A", "LM"]
    with GameServer() as server:
        whole = run_command(served_command(tmp_path, server, tmp_path / "whole", strategies))
        assert whole.returncode == 0, whole.stderr
        needed = len(paid(server.answered))
        command = served_command(tmp_path, server, tmp_path / "killed", strategies)
        before: list[str] = []
        for open_for in (11, 30):
            server.restart(open_for)
            process = subprocess.Popen(
                command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            deadline = time.monotonic() + 60
            held = -1
            while (held < 4 or held != len(server.held)) and time.monotonic() < deadline:
                held = len(server.held)
                time.sleep(0.4)
            assert held >= 4  # every live episode waits: all answers have arrived
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            server.gate.set()
            before += server.answered
        assert list((tmp_path / "killed").glob("replies/*"))
        server.restart()
        resumed = run_command(command)
        assert resumed.returncode == 0, resumed.stderr
        assert len(paid([*before, *server.answered])) == needed
        drawn = [body for body in before + server.answered if '"max_tokens": 1,' not in body]
        written = [body for body in drawn if '"seed"' in body and '"assistant"' not in body]
        assert len(written) == len(set(written)) > 40
        assert rows_of(tmp_path / "killed") == rows_of(tmp_path / "whole")
        assert dump(tmp_path / "killed")["answered"] == []
    assert_no_secret(tmp_path, whole.stderr, whole.stdout, resumed.stderr)


def test_max_calls(tmp_path):
    with GameServer() as server:
        out = tmp_path / "run"
        nothing = run_command(served_command(tmp_path, server, out, ["QA"], "--max-calls", "0"))
        assert nothing.returncode == 2
        assert server.answered == []
        stopped = run_command(served_command(tmp_path, server, out, ["QA"], "--max-calls", "7"))
        assert stopped.returncode == 2
        kept = "everything is kept: run the same command again to go on"
        assert f"stopped before the next call: 7 of 7 calls are used; {kept}" in stopped.stderr
        assert "Traceback" not in stopped.stderr
        assert len(server.requests) == 7  # start-up tests cost calls too
        tokens = run_command(served_command(tmp_path, server, out, ["QA"], "--max-tokens", "900"))
        assert tokens.returncode == 2
        assert "of 900 tokens are used" in tokens.stderr
        resumed = run_command(served_command(tmp_path, server, out, ["QA"]))
        assert resumed.returncode == 0, resumed.stderr
        assert len(server.answered) == len(set(server.answered))
        asked = len(server.answered)
        server.restart()
        whole = run_command(served_command(tmp_path, server, tmp_path / "whole", ["QA"]))
        assert whole.returncode == 0
        assert len(server.answered) == asked
        assert rows_of(out) == rows_of(tmp_path / "whole")
    assert_no_secret(tmp_path, stopped.stderr)


def test_a_refused_key_is_not_told(tmp_path):
    with GameServer() as server:
        server.key = "sk-another"
        done = run_command(served_command(tmp_path, server, tmp_path / "run", ["QA"]))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert_no_secret(tmp_path, done.stderr, done.stdout)


def test_a_run_can_be_started_where_a_loop_is_running(tmp_path):
    """As in a notebook: the rows are those of a run outside."""
    loaded = experiment(noisy, ["QA", "LM"], on_invalid="random", max_attempts=2)

    async def cell():
        return run_experiment(loaded, tmp_path / "inside")

    assert asyncio.run(cell()) == run_experiment(loaded, tmp_path / "outside")
    assert rows_of(tmp_path / "inside") == rows_of(tmp_path / "outside")
