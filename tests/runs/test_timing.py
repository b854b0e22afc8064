"""The time that a plan says: held against models whose steps take a known time."""

from __future__ import annotations

import pytest
from support import scripts

from tomeval.core.errors import TomevalError
from tomeval.models.base import LocalModel, Reply, Scores, Usage
from tomeval.runs import timing
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.runs.plan import plan_rows, scoring_words
from tomeval.runs.timing import Speed, demands, times

SERVED = "openai:big@http://127.0.0.1:9/v1"


class Slow(LocalModel):
    """Scoring takes 0.01 s a request and writing 0.1 s; replies have `length` tokens."""

    name = "slow"

    def __init__(self, clock, length=20):
        self.clock, self.length, self.asked = clock, length, []

    def generate_batch(self, requests):
        self.clock[0] += 0.1 * len(requests)
        self.asked.append(len(requests))
        return [self._reply(r.sampling.max_tokens) for r in requests]

    def _reply(self, most):
        finish = "length" if self.length > most else "stop"
        return Reply("...", finish=finish, usage=Usage(1, min(self.length, most)))

    def score_batch(self, requests):
        self.clock[0] += 0.01 * len(requests)
        return [Scores((-0.7, -0.7), 1.0, "forward") for _ in requests]

    def count_tokens(self, prompt):
        return 1


def asked(strategies, model="pocket", **keys):
    data = {"games": "IPD", "partners": "tit_for_tat", "labels": "neutral", "horizon": 10}
    data |= {"episodes": 40, "model": model}
    made = make_experiment(data | {"subjects": [{"strategy": strategies, **keys}]})
    found: list = []
    plan_rows(made, found=found)
    return made, demands(made, found)


@pytest.fixture
def slow(monkeypatch):
    def opened(length=20):
        clock = [0.0]
        model = Slow(clock, length)
        monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])
        monkeypatch.setattr(timing, "open_model", lambda *_, **__: model)
        return model

    return opened


def test_a_local_model_takes_what_its_steps_take(slow):
    model = slow()
    [took] = times(*asked("QA"), None)
    # 40 episodes of 10 steps, two questions each, 0.1 s a question; in batches of at most 32.
    assert took.seconds == pytest.approx(40 * 10 * 2 * 0.1)
    assert max(model.asked) == 32
    slow()
    [took] = times(*asked("LM", option_order="shuffled"), None)
    assert took.seconds == pytest.approx(40 * 10 * 2 * 0.01)


def test_a_reply_that_was_cut_takes_in_proportion(slow):
    slow(length=10_000)
    [took] = times(*asked("CoT"), None)
    # 64 of the 250 tokens that are assumed were written.
    assert took.seconds == pytest.approx(40 * 10 * 2 * 0.1 * 250 / 64)


def test_served_models_take_what_the_given_speed_says():
    made, needed = asked("QA", SERVED)
    [unknown] = times(made, needed, None)
    assert (unknown.seconds, "--speed" in unknown.why) == (None, True)
    assert "://" not in unknown.name
    [took] = times(made, needed, Speed.of("4 calls/s"))
    assert took.seconds == pytest.approx(40 * 10 * 2 / 4)
    [took] = times(made, needed, Speed.of("100"))
    assert took.seconds == pytest.approx(40 * 10 * 2 * 20 / 100)  # 20 tokens, as assumed of QA


@pytest.mark.parametrize("text", ["", "fast", "0", "-3", "3 words/s", "3 4"])
def test_a_speed_that_cannot_be_read_is_refused(text):
    with pytest.raises(TomevalError, match="--speed"):
        Speed.of(text)


def test_a_model_that_is_not_here_is_not_fetched():
    [took] = times(*asked("QA", "hf:nobody/no-such-model"), None)
    assert (took.seconds, took.why) == (None, "its weights are not on this machine yet")


def test_scripted_models_take_no_time():
    with scripts(rule=lambda request: "?"):
        assert times(*asked("QA", "scripted:rule"), None) == []


def test_whether_log_probabilities_are_needed():
    assert scoring_words(asked("QA")[0]) == "no log-probabilities are needed"
    said = scoring_words(asked(["QA", "LM"])[0])
    assert "needed in 1 of 2 cells" in said
    assert "(LM)" in said


def test_a_seat_of_roles_is_asked_its_share():
    """Of six players two are Mafia, one the doctor, one the detective; twelve games are made up."""
    made = make_experiment(
        {
            "domain": "arena",
            "games": {"m": {"game": "mafia"}},
            "players": {
                "me": {"kind": "llm", "strategy": "QA", "model": "pocket"},
                "r": {"kind": "random"},
            },
            "lineups": [{"game": "m", "subject": "me", "others": "r"}],
            "episodes": 12,
        }
    )
    domain, cell = get_domain("arena"), made.cells[0]
    share, forms = domain.asked_share(cell, "subject"), domain.forms(cell, "subject")
    assert share["kill"] == pytest.approx(1 / 3, abs=0.15)
    assert share["protect"] + share["investigate"] == pytest.approx(1 / 3, abs=0.15)
    [row] = plan_rows(made)
    usual = sum(share[form] * len(steps) for form, steps in forms.items())
    assert row["calls"] == 12 * round(usual)
    assert row["calls_most"] > 12 * sum(map(len, forms.values()))  # an upper bound stays one
