"""Label scoring: every route gives the toy model's exact numbers, or none and says why."""

import asyncio
import math

import pytest
from fake_server import FakeServer, with_started

from tomeval.core.errors import TomevalError
from tomeval.models.base import (
    Message,
    Prompt,
    ScoreRequest,
    Unlisted,
    Unusable,
)
from tomeval.models.served import Budget, OpenAIOptions
from tomeval.models.served.model import OpenAIModel
from tomeval.models.served.replies import check_logprobs, match, read_entries

CHAT = Prompt((Message("user", "Play."),))
BEGUN = Prompt((Message("user", "Play."),), prefill="Answer:")
CHAT_TEXT = "<s><user>Play.</s><assistant>"

# flavour, and the route to expect
EXACT = [("vllm", "token_ids"), ("llama.cpp", "n_probs")]
TOP_K = [("llama_python", "top_k"), ("openai", "top_k")]


def with_model(server, work, *, budget=None, **options):
    model = OpenAIModel("toy", server.url, OpenAIOptions(**options), budget=budget)
    return with_started(model, work)


def score(server, labels=("J", "F"), prompt=CHAT, **options):
    return with_model(server, lambda model: model.score(ScoreRequest(prompt, labels)), **options)


def truth(server, text, labels):
    tokenizer = server.model.tokenizer
    context = tokenizer.encode(text, add_special_tokens=False)
    return [server.model.label(context, label) for label in labels]


@pytest.mark.parametrize(("flavour", "route"), [*EXACT, *TOP_K])
def test_every_route_gives_the_models_exact_numbers(flavour, route):
    with FakeServer(flavour) as server:
        scores = score(server)
        expected = truth(server, CHAT_TEXT, ("J", "F"))
    assert scores.method == route
    assert scores.logprobs == pytest.approx(expected, abs=1e-12)
    assert scores.mass == pytest.approx(sum(math.exp(value) for value in expected))
    assert scores.usage.prompt > 0


@pytest.mark.parametrize(("flavour", "route"), EXACT)
def test_a_label_after_a_prefill_begins_with_a_space(flavour, route):
    with FakeServer(flavour) as server:
        scores = score(server, prompt=BEGUN)
        expected = truth(server, CHAT_TEXT + "Answer:", (" J", " F"))
    assert scores.method == route
    assert scores.logprobs == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("flavour", "route"), EXACT)
def test_labels_of_several_tokens_are_summed_exactly(flavour, route):
    labels = ("Coop", "Defect", "Zx")  # Co+op, De+fect, and two single bytes
    with FakeServer(flavour) as server:
        scores = score(server, labels)
        expected = truth(server, CHAT_TEXT, labels)
    assert scores.logprobs == pytest.approx(expected, abs=1e-9)


def test_a_label_that_begins_another_does_not_get_its_probability():
    with FakeServer() as server:
        scores = score(server, ("Co", "Coop"))
        short, long = truth(server, CHAT_TEXT, ("Co", "Coop"))
    assert scores.logprobs[1] == pytest.approx(long)
    assert scores.logprobs[0] == pytest.approx(math.log(math.exp(short) - math.exp(long)))


def test_llama_cpp_is_asked_for_the_whole_vocabulary_only_for_rare_labels():
    with FakeServer("llama.cpp") as server:
        score(server, ("J", "F"))
        assert {body["n_probs"] for body in server.bodies("/completion")} == {64}
        rare = min(range(33, 127), key=lambda code: truth(server, CHAT_TEXT, (chr(code),)))
        scores = score(server, ("J", chr(rare)))
        assert server.bodies("/completion")[-1]["n_probs"] > 1000
        assert scores.logprobs == pytest.approx(truth(server, CHAT_TEXT, ("J", chr(rare))))


@pytest.mark.parametrize(("flavour", "route"), TOP_K)
def test_a_label_missing_from_the_top_tokens_has_no_number(flavour, route):
    with FakeServer(flavour) as server:
        for labels in (("J", "Zx"), ("Coop", "Defect")):  # not even by its first token
            with pytest.raises(Unlisted, match="is not among the"):
                score(server, labels)


def test_scoring_asks_for_one_greedy_token_without_thinking():
    with FakeServer("llama_python") as server:
        score(server)
        body = server.requests[-1][1]
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert (body["max_tokens"], body["temperature"], body["top_p"]) == (1, 0, 1.0)
    assert (body["top_k"], body["min_p"], body["top_logprobs"]) == (0, 0.0, 20)


def test_a_model_that_thinks_all_the_same_is_not_scored():
    with FakeServer("openai") as server:
        server.reply = {"reasoning_content": "hm"}
        with pytest.raises(TomevalError, match=r"(?s)cannot be scored.*top_k: the model thinks"):
            score(server)


async def _itself(model):
    return model


LIES = {"missing": "no log-prob", "equal": "all log-probs are equal", "positive": "positive"}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("flavour", ["vllm", "openai"])
def test_wrong_log_probs_are_refused_and_each_way_is_named(flavour, lie):
    with FakeServer(flavour) as server:
        server.lie = lie
        with pytest.raises(TomevalError, match=rf"top_k: .*{LIES[lie]}") as raised:
            score(server)
    assert f"openai:toy@{server.url}: labels cannot be scored: leave LM" in str(raised.value)


def test_scoring_must_be_there_where_it_is_required_and_started():
    with (
        FakeServer("plain") as server,
        pytest.raises(TomevalError, match="labels cannot be scored: leave LM and Social LM out"),
    ):
        with_model(server, _itself, scoring="required")
    with pytest.raises(TomevalError, match=r"scored after start\(\)"):
        asyncio.run(OpenAIModel("toy", server.url).score(ScoreRequest(CHAT, ("J", "F"))))


def test_a_crash_on_log_probs_leads_to_the_next_route(clock):
    with FakeServer() as server:
        original = server.post

        def crash(path, body):
            if "logprob_token_ids" in body:
                return 500, {"error": {"message": "KeyError"}}
            return original(path, body)

        server.post = crash
        assert score(server).method == "top_k"


def test_scoring_calls_count():
    budget = Budget()
    with FakeServer("vllm") as server:
        score(server, budget=budget)
        run = [path for path, _ in server.requests if path.endswith("completions")]
    assert budget.calls == len(run)
    assert budget.tokens > 0


def test_two_numbers_that_tie_are_no_fault_and_three_are():
    check_logprobs([-1.0, -1.0])
    with pytest.raises(Unusable, match="all log-probs are equal"):
        check_logprobs([-2.0, -2.0, -2.0])


def test_a_server_tokenizer_that_does_not_give_back_its_tokens_is_not_used():
    with FakeServer("vllm") as server:
        server._detokenize = lambda body: {"prompt": "another text"}
        scores = score(server)
    assert scores.method == "top_k"


ARGMAX = [*EXACT, *TOP_K]


def likeliest(server, text):
    """Return what the toy model would say next."""
    tokenizer = server.model.tokenizer
    values = server.model.logprobs(tokenizer.encode(text, add_special_tokens=False))
    return tokenizer.pieces[int(values.argmax())].decode(errors="replace")


@pytest.mark.parametrize(("flavour", "route"), ARGMAX)
def test_whether_the_likeliest_token_is_a_label_is_told(flavour, route):
    shape = "<s><user>{}</s><assistant>"
    with FakeServer(flavour) as server:
        text = next(t for t in map(str, range(99)) if likeliest(server, shape.format(t)) in "ABCJF")
        best = likeliest(server, shape.format(text))
        others = tuple(label for label in "ABCJF" if label != best)[:2]
        prompt = Prompt((Message("user", text),))
        among = score(server, (best, others[0]), prompt)
        not_among = score(server, others, prompt)
    assert among.method == route
    assert among.details["argmax_is_label"] is True
    assert not_among.details["argmax_is_label"] is False


@pytest.mark.parametrize(
    "entries",
    [
        None,
        [],
        "J",
        ["J"],
        [{"logprob": -1.0}],
        [{"token": 5, "logprob": -1.0}],
        [{"token": "J"}],
        [{"token": "J", "logprob": None}],
        [{"token": "J", "logprob": "-1"}],
        [{"token": "J", "logprob": True}],
        [{"token": "J", "logprob": float("nan")}],
        [{"token": "J", "logprob": 0.5}],
    ],
)
def test_log_probs_that_are_none_are_no_answer_of_the_model(entries):
    with pytest.raises(Unusable):  # and not `Unlisted`, which is one
        match("J", read_entries(entries))
