"""What the user is told while a server is waited for, and when a run gives the server up."""

import asyncio
import json
import logging

import pytest
from every_domain import experiment, good
from fake_server import FakeServer, FakeTime
from support import dump

from tomeval.models.base import (
    ContextExceeded,
    Damaged,
    Reply,
    Unlisted,
    Unusable,
    Usage,
)
from tomeval.models.served import http_patience
from tomeval.models.served.http_client import HttpClient
from tomeval.models.served.http_patience import Patience, ServerGone, Timing, delay
from tomeval.models.served.http_reading import Refused, Unanswered
from tomeval.models.served.limits import Budget, BudgetExceeded
from tomeval.models.waiting import Waiting
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run
from tomeval.runs.runner import run_experiment

BODY = {"model": "toy", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}
PATH = "chat/completions"


def timing(clock):
    return Timing(clock.monotonic, lambda: 5_000.0, clock.sleep, lambda: 0.5)


def post(server, *, clock=None, count=1, **options):
    async def run():
        client = HttpClient(
            server.url, timing=timing(clock or FakeTime()), key_env="NO_SUCH_KEY", **options
        )
        try:
            return await asyncio.gather(*(client.post(PATH, BODY) for _ in range(count)))
        finally:
            await client.close()

    return asyncio.run(run())


def test_what_is_added_to_a_long_wait_is_a_few_seconds():
    assert delay(3600, 1, 1.0) == 3610
    assert delay(5, 1, 1.0) == 5.5


@pytest.mark.parametrize(
    ("faults", "told"),
    [
        ([{"status": 429, "headers": {"Retry-After": "40"}}], True),
        ([{"status": 503}] * 3, False),  # short ones
    ],
)
def test_a_long_wait_is_told_with_its_status(faults, told, caplog):
    with FakeServer() as server:
        server.faults.extend(faults)
        post(server)
    assert (f"{server.url}: HTTP 429: a fault; retrying in 42 s" in caplog.text) is told
    assert told or "503" not in caplog.text


def test_while_requests_wait_it_says_why_and_when_the_first_of_them_is_sent_again():
    """One of several waits is over, or a reply comes: the others still wait for what was said."""
    told = Waiting(model="Llama 8B", under_way=3, heard=0.0)
    told.pauses("HTTP 429: slow down", 60.0)
    told.pauses("HTTP 429: slow down", 20.0)
    assert told.line(now=10) == "retrying in 10 s; HTTP 429: slow down; 3 requests under way"
    told.resumes(20.0)
    told.replied(21.0)
    assert told.line(now=22) == "retrying in 38 s; HTTP 429: slow down; 3 requests under way"
    told.resumes(60.0)
    told.replied(61.0)
    assert (told.line(now=62), told.retries) == ("", 2)


def test_notes_of_a_server_name_its_model_and_no_address(caplog):
    caplog.set_level(logging.INFO)
    with FakeServer() as server:
        server.faults += [{"status": 503}] * 2
        post(server, waiting=Waiting(model="Llama 8B"))
    noted = [r.message for r in caplog.records if r.name.startswith("tomeval")]
    assert sum(text.startswith("Llama 8B: HTTP 503: a fault; retrying in ") for text in noted) == 2
    assert "127.0.0.1" not in "".join(noted)


def test_a_silent_server_is_told_of_and_again_after_twice_as_long(monkeypatch, caplog):
    monkeypatch.setattr(http_patience, "SOON", 1.2)
    with FakeServer() as server:
        server.faults.append({"delay": 3.2})
        post(server, timeout=300)
    told = [message for message in caplog.messages if "no reply for" in message]
    assert told == [
        f"{server.url}: no reply for {seconds} s, 1 request under way; each times out after 300 s "
        "(option timeout)"
        for seconds in (1, 2)
    ]


def test_a_server_that_answers_is_not_told_of(monkeypatch, caplog):
    monkeypatch.setattr(http_patience, "SOON", 1.2)
    with FakeServer() as server:
        server.faults.extend([{"delay": 0.3}] * 6)
        post(server, count=6, concurrency=1)
    assert caplog.messages == []


# --- the end of it --------------------------------------------------------------------------------


def insist(patience, *outcomes):
    """Let one request after another end as given; return what came of each."""

    async def one(outcome):
        async def work():
            if isinstance(outcome, Exception):
                raise outcome
            return Reply(outcome)

        try:
            return (await patience.insist(work)).text
        except Exception as error:  # noqa: BLE001 (what is tested)
            return type(error)

    async def run():
        return [await one(outcome) for outcome in outcomes]

    return asyncio.run(run())


def patience_of(clock):
    return Patience("server", 600.0, 300.0, timing(clock))


def test_three_given_up_in_a_row_end_it_and_then_nothing_is_asked():
    down = Unanswered("down")
    found = insist(patience_of(FakeTime()), down, down, "fine", down, down, down, "fine")
    assert found == [*[Unanswered] * 2, "fine", *[Unanswered] * 2, ServerGone, ServerGone]


@pytest.mark.parametrize(
    "odd", [Unusable("no choices"), Damaged("no JSON"), Refused("url", 400, "filtered")]
)
def test_replies_that_cannot_be_used_come_from_a_server_that_is_there(odd):
    down = Unanswered("down")
    found = insist(patience_of(FakeTime()), odd, odd, odd, down, down, odd, down, down, "fine")
    assert ServerGone not in found
    assert found[-1] == "fine"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"status": 503}, Unanswered),
        ({"status": 500, "body": "x"}, Unanswered),
        ({"status": 429}, Unanswered),
        ({"delay": 2}, Unanswered),
        ({"cut": 9}, Damaged),
        ({"body": 7}, Damaged),
        ({"body": "text"}, Damaged),
    ],
)
def test_what_was_wrong_at_the_end_of_a_request_is_told_apart(fault, error):
    with FakeServer() as server:
        server.faults.append(fault)
        with pytest.raises(error):
            post(server, retry_budget=0, timeout=0.5)


def test_errors_of_single_requests_do_not_end_it():
    own = [ContextExceeded("long"), Unlisted("K"), Refused("url", 400, "filtered")] * 3
    assert insist(patience_of(FakeTime()), *own) == [ContextExceeded, Unlisted, Refused] * 3


def test_an_address_that_is_gone_ends_it():
    lost = Refused("url", 404, "no such model")
    assert insist(patience_of(FakeTime()), lost, lost, lost) == [Refused, Refused, ServerGone]


def test_a_reply_that_cannot_be_used_is_asked_for_again_for_half_a_minute():
    clock = FakeTime()
    assert insist(patience_of(clock), Unusable("no choices")) == [Unusable]
    assert clock.slept == [0.75, 1.5, 3.0, 6.0, 12.0]  # the next wait would end after 30 s


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


class Picky(FakeServer):
    """Gives no usable reply to one strategy's prompts, and good ones to all others."""

    def __init__(self, odd):
        super().__init__("vllm")
        self.odd, self.asked = odd, 0

    def post(self, path, body):
        if "step by step" in json.dumps(body):
            self.asked += 1
            if self.odd is not None:
                return 200, self.odd
        self.reply = {"content": good("matrix")(None)} if "game" in json.dumps(body) else {}
        return super().post(path, body)


@pytest.mark.parametrize(
    ("odd", "concurrency"),
    [({"choices": []}, 4), pytest.param(7, 1, marks=pytest.mark.slow)],
)
def test_a_strategy_without_a_usable_reply_stops_its_cell_alone(tmp_path, caplog, odd, concurrency):
    with Picky(None) as server:
        spec = {"name": f"openai:toy@{server.url}", "scoring": "off", "retry_budget": 0}
        data = experiment("matrix", spec, episodes=12)
        data["subjects"] = [{"strategy": name, "max_attempts": 1} for name in ("CoT", "QA")]
        made = make_experiment(data)
        more = {"concurrency": concurrency}
        run_experiment(made, tmp_path / "whole", **more)
        server.odd, server.asked = odd, 0
        run_experiment(made, tmp_path / "run", **more)
        # To act and to predict in five of twelve episodes: `stop_after_voids` of them begin.
        assert server.asked == 2 * 5
        with Run(tmp_path / "run") as run:
            assert run.store.stops() == {0: "5 episodes in a row, 5 of them without usable replies"}
            assert [(cell["complete"], cell["failed"]) for cell in run.status()] == [
                (0, 5),
                (12, 0),
            ]
        told = " ".join(caplog.text.split())
        assert "stops after 5 episodes in a row, 5 of them without usable replies; 7 more" in told
        server.odd = None  # what failed is played again, as if nothing had been
        run_experiment(made, tmp_path / "run", **more)
    for table in ("episodes", "steps", "answers"):
        assert dump(tmp_path / "run")[table] == dump(tmp_path / "whole")[table]


def test_why_episodes_failed_is_told(tmp_path, caplog):
    with Broken(0) as server, caplog.at_level(logging.WARNING):
        server.fault = (400, {"error": {"message": "flagged by a filter"}})
        play(server, tmp_path / "run")
    assert "6 episodes failed because the model gave no reply" in caplog.text
    assert "most often: " in caplog.text
    assert "HTTP 400: flagged by a filter" in caplog.text


# --- room under a cap -----------------------------------------------------------------------------


def test_a_call_waits_for_room_that_calls_under_way_may_give_back():
    async def run():
        budget = Budget(max_tokens=100)
        await budget.take(60)
        waiting = [asyncio.create_task(budget.take(60)) for _ in range(2)]
        await asyncio.sleep(0)
        before = [task.done() for task in waiting]
        budget.settle(60, Usage(prompt=10, completion=5))  # 85 are left: room for one
        await asyncio.sleep(0.01)
        between = [task.done() for task in waiting]
        budget.settle(60, Usage(prompt=20, completion=30))  # 35 are left, and nobody is under way
        with pytest.raises(BudgetExceeded, match=r"65 used and 0 reserved"):
            await waiting[1]
        return before, between, budget.tokens

    assert asyncio.run(run()) == ([False, False], [True, False], 65)


def test_the_cap_on_calls_counts_a_call_that_failed_back_in():
    async def run():
        budget = Budget(max_calls=1)
        await budget.take(5)
        waiting = asyncio.create_task(budget.take(5))
        await asyncio.sleep(0)
        budget.cancel(5)
        await waiting
        return budget.calls

    assert asyncio.run(run()) == 1
