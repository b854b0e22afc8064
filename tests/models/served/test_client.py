"""Requests to one server: what is left out of them, how many at a time, caps, prices."""

import asyncio
import json
import subprocess
import sys

import pytest
from every_domain import experiment, good
from fake_server import FakeServer
from support import dump

from tomeval.models.base import Usage
from tomeval.models.served import Budget, BudgetExceeded, OpenAIOptions, Price
from tomeval.models.served.client import Client
from tomeval.models.served.faults import Refused, ServerGone
from tomeval.models.served.replies import read_usage
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment

BODY = {"model": "toy", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}
PATH = "chat/completions"


def client_of(server, budget=None, **options):
    return Client(server.url, ("", ""), "toy", OpenAIOptions(**options), budget)


def post(server, body=BODY, *, count=1, tokens=None, **options):
    """Send equal requests at the same time; return the last answer."""

    async def run():
        client = client_of(server, **options)
        try:
            asked = (client.ask(PATH, body, tokens) for _ in range(count))
            return (await asyncio.gather(*asked))[-1]
        finally:
            await client.close()

    return asyncio.run(run())


def refusal(status, message, **error):
    return {"status": status, "body": {"error": {"message": message, **error}}}


def test_the_sdk_is_loaded_by_the_first_request_alone(tmp_path):
    """It takes a second."""
    (tmp_path / "replies.json").write_text(json.dumps(["Final answer: J"] * 2))
    (tmp_path / "run.toml").write_text(
        'games = "IPD"\npartners = "always(0)"\nhorizon = 1\nepisodes = 1\nlabels = "neutral"\n'
        f'model = "scripted:{tmp_path}/replies.json"\nsubjects = {{ strategy = "QA" }}\n'
    )
    script = (
        "import sys\nfrom typer.testing import CliRunner\n"
        "from tomeval.cli.app import app\n"
        "args = ['run', sys.argv[1] + '.toml', '--out', sys.argv[1]]\n"
        "result = CliRunner().invoke(app, args)\nassert result.exit_code == 0, result.output\n"
        "print('openai' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["False"]


MENDED = [
    (400, {"error": {"message": "Unsupported: 'temperature'", "param": "temperature"}}),
    (422, {"detail": "Unexpected fields in the request: {'temperature', 'top_k'}"}),
    (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "temperature"]}]}),
    (400, {"message": "temperature is not supported"}),
]


@pytest.mark.parametrize(
    ("field", "status", "body"),
    [
        *(("temperature", *case) for case in MENDED),
        ("top_p", 400, {"message": "`max_tokens` and `top_p` cannot both be specified"}),
        ("seed", 400, {"message": "Unrecognized argument: seed"}),
    ],
)
def test_a_refused_parameter_is_left_out(field, status, body):
    sent = {**BODY, "temperature": 1.0, "seed": 5, "top_p": 1.0}
    with FakeServer() as server:
        server.faults.append({"status": status, "body": body})
        answer = post(server, sent)
    assert answer.mended == {"dropped": [field]}
    assert answer.sent == {name: value for name, value in sent.items() if name != field}


@pytest.mark.parametrize(
    ("field", "status", "said"),
    [
        *(({}, status, "never") for status in (400, 404, 405, 501)),
        ({}, 400, "max_tokens must be at least 1"),  # and not about the context
        ({"temperature": 3}, 400, "temperature must be at most 2"),
        ({"temperature": 0.7}, 400, "Unsupported value: 'temperature' does not support 0.7"),
        ({"reasoning_effort": "hgih"}, 400, "'reasoning_effort' does not support 'hgih'"),
        ({"logprobs": True}, 400, "logprobs are not supported"),  # the request needs them
    ],
)
def test_other_refusals_are_errors_and_leave_nothing_out(field, status, said):
    with FakeServer() as server:
        server.faults.append(refusal(status, said))
        with pytest.raises(Refused, match=f"HTTP {status}: {said}"):
            post(server, {**BODY, **field})
    assert len(server.requests) == 1


def test_concurrency_stays_under_the_limit_and_is_used():
    with FakeServer() as server:
        server.faults.extend({"delay": 0.05} for _ in range(20))
        post(server, count=20, concurrency=4)
    assert 2 <= server.most_at_once <= 4


def test_usage_of_the_reply_is_settled_and_a_failed_call_gives_its_room_back():
    budget = Budget()
    with FakeServer() as server:
        usage = post(server, tokens=50, budget=budget).data["usage"]
        assert budget.tokens == usage["prompt_tokens"] + usage["completion_tokens"]
        before = (budget.calls, budget.tokens)
        server.faults.append(refusal(404, "gone"))
        with pytest.raises(Refused):
            post(server, tokens=50, budget=budget)
    assert (budget.calls, budget.tokens) == before


class Broken(FakeServer):
    """Answers the first questions of a game, and then with whatever it is told."""

    def __init__(self, most):
        super().__init__("vllm")
        self.most, self.fault, self.games = most, None, []

    def post(self, path, body):
        if "game" in json.dumps(body):
            if self.fault and len(self.games) >= self.most:
                return self.fault
            self.games.append(json.dumps(body))
            self.reply = {"content": good("matrix")(None)}
        else:
            self.reply = {}
        return super().post(path, body)


def play(server, folder, **more):
    spec = {"name": f"openai:toy@{server.url}", "scoring": "off", "retry_budget": 0}
    made = make_experiment(experiment("matrix", spec, episodes=6))
    return run_experiment(made, folder, concurrency=1, **more)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ((503, {"error": {"message": "down"}}), "HTTP 503: down"),
        ((404, {"error": {"message": "no such model"}}), "HTTP 404: no such model"),
    ],
)
def test_a_run_stops_with_what_is_kept_and_goes_on(tmp_path, fault, said):
    with Broken(16) as server:
        play(server, tmp_path / "whole")
        server.games.clear()
        server.fault = fault
        with pytest.raises(ServerGone, match=f"3 requests in a row.*to continue.*{said}"):
            play(server, tmp_path / "run")
        server.fault = None
        play(server, tmp_path / "run")
        assert len(server.games) == len(set(server.games))  # nothing is asked twice
    for table in ("steps", "answers"):
        assert dump(tmp_path / "run")[table] == dump(tmp_path / "whole")[table]


@pytest.mark.parametrize(
    ("data", "usage"),
    [
        ({"usage": {"prompt_tokens": 5, "completion_tokens": 2}}, Usage(5, 2, 0)),
        (
            {"usage": {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}},
            Usage(5, 0, 4),
        ),
        ({"usage": {"prompt_tokens": 5, "prompt_tokens_details": None}}, Usage(5, 0, 0)),
        ({"tokens_evaluated": 5, "tokens_predicted": 1}, Usage(5, 1, 0)),
        *(
            ({"usage": usage}, None)
            for usage in (
                {"prompt_tokens": "9", "completion_tokens": 2},
                {"prompt_tokens": 9, "completion_tokens": -2},
                {"prompt_tokens": float("nan")},
                {"prompt_tokens": True},
                None,
            )
        ),
        ({}, None),
    ],
)
def test_usage_is_read_from_every_servers_shape(data, usage):
    assert read_usage(data) == usage


async def call(budget, tokens, usage=None, over=None):
    """Make a call that ends with an event."""
    async with budget.call(tokens) as one:
        if over is not None:
            await over.wait()
        one.usage = usage


def test_a_call_waits_for_room_that_calls_under_way_may_give_back():
    async def run():
        budget, over = Budget(max_tokens=100), [asyncio.Event() for _ in range(2)]
        uses = (Usage(prompt=10, completion=5), Usage(prompt=20, completion=30), None)
        calls = [
            asyncio.create_task(call(budget, 60, usage, event))
            for usage, event in zip(uses, [*over, None], strict=True)
        ]
        await asyncio.sleep(0.01)
        assert (budget.calls, budget.tokens) == (1, 60)
        over[0].set()
        await asyncio.sleep(0.01)  # 85 are left: room for one
        assert (budget.calls, budget.tokens) == (2, 15 + 60)
        assert [one.done() for one in calls] == [True, False, False]
        over[1].set()  # 35 are left, and nobody is under way
        said = "65 of 100 tokens are used, and it may take 60"
        with pytest.raises(BudgetExceeded, match=said):
            await calls[2]
        return budget.tokens

    assert asyncio.run(run()) == 65


def test_a_call_that_failed_gives_its_room_back():
    async def run():
        budget = Budget(max_calls=1, max_cost=1)
        with pytest.raises(RuntimeError):
            async with budget.call(5, Price(prompt=1, completion=1)):
                raise RuntimeError
        assert (budget.calls, budget.tokens, budget.cost) == (0, 0, 0)
        await call(budget, 5)
        return budget.calls, budget.tokens

    assert asyncio.run(run()) == (1, 5)  # no usage: the most stays counted
