"""Generation through OpenAI-compatible servers: what is sent, what is read, what is kept secret."""

import asyncio
import json
import logging

import pytest
from fake_server import FakeServer, with_started

from tomeval.core.credentials import trusting
from tomeval.core.errors import TomevalError
from tomeval.models.base import (
    BackendError,
    GenerateRequest,
    Message,
    Prompt,
    Sampling,
    ScoreRequest,
    Usage,
)
from tomeval.models.served import Budget, BudgetExceeded, OpenAIOptions
from tomeval.models.served.model import OpenAIModel

PROMPT = Prompt((Message("system", "Be brief."), Message("user", "Play.")))
QUESTION = [{"role": "user", "content": "Which?"}]
KEY = "sk-planted-0123456789abcdef"


def request(prompt=PROMPT, seed=7, choices=(), **sampling):
    return GenerateRequest(prompt, Sampling(**sampling), seed, choices=choices)


def with_model(server, work, *, budget=None, **options):
    """Start a model, run `work(model)` and close it."""
    options = OpenAIOptions(**{"scoring": "off", **options})
    return with_started(OpenAIModel("toy", server.url, options, budget=budget), work)


def generate(server, wanted=None, **options):
    return with_model(server, lambda model: model.generate(wanted or request()), **options)


def sent(server):
    return server.requests[-1][1]


PREFILLED = Prompt((Message("user", "Which?"),), prefill="I choose", instead="J or F only.")
BEGUN = {"messages": [*QUESTION, {"role": "assistant", "content": "I choose"}]}
BEGUN |= {"continue_final_message": True, "add_generation_prompt": False}
LEFT_OUT = {"messages": [{"role": "user", "content": "Which?\n\nJ or F only."}]}
DRAWN = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "max_tokens": 9, "seed": 7}
NO_PENALTY = {"presence_penalty": 0.0, "frequency_penalty": 0.0}
THINK = {"thinking_budget": 500, "extra_body": {"reasoning_effort": "low"}, "thinking": True}
EFFORT = {"max_tokens": 509, "reasoning_effort": "low"}


@pytest.mark.parametrize(
    ("flavour", "options", "prompt", "fields"),
    [
        # What is not sent servers take from the model's generation_config.json, or their own.
        ("vllm", {}, PROMPT, {**DRAWN, **NO_PENALTY, "repetition_penalty": 1.0}),
        ("sglang", {}, PROMPT, {**DRAWN, "repetition_penalty": 1.0}),
        ("llama.cpp", {}, PROMPT, {**DRAWN, **NO_PENALTY, "repeat_penalty": 1.0}),
        ("llama_python", {}, PROMPT, {**DRAWN, **NO_PENALTY, "repeat_penalty": 1.0, "top_k": 0}),
        ("ollama", {}, PROMPT, DRAWN),
        ("plain", {}, PROMPT, DRAWN),
        ("vllm", {"omit": ["seed", "min_p"]}, PROMPT, {"seed": None, "min_p": None}),
        ("vllm", {"extra_body": {"provider": ["x"]}}, PROMPT, {"provider": ["x"]}),
        ("plain", THINK, PROMPT, {**EFFORT, "chat_template_kwargs": {"enable_thinking": True}}),
        ("vllm", {}, PREFILLED, BEGUN),  # known to go on from it
        ("sglang", {}, PREFILLED, BEGUN),
        ("plain", {}, PREFILLED, LEFT_OUT),
        ("openai", {}, PREFILLED, LEFT_OUT),
    ],
)
def test_requests_are_in_the_words_of_each_server_and_recorded(flavour, options, prompt, fields):
    with FakeServer(flavour) as server:
        reply = generate(server, request(prompt, max_tokens=9), **options)
    assert {name: sent(server).get(name) for name in fields} == fields
    kept = reply.details["sent"]
    assert all(kept[name] == sent(server)[name] for name in kept)
    assert kept.keys() >= {name for name in DRAWN.keys() & fields.keys() if name in sent(server)}
    assert reply.details.get("dropped", []) in (sorted(options.get("omit", [])), ["min_p", "top_k"])
    recorded = {name: reply.details.get(name) for name in ("prefill", "instead")}
    left_out = {"prefill": "omitted", "instead": "J or F only."}
    assert recorded == (left_out if fields is LEFT_OUT else dict.fromkeys(left_out))


def test_a_reply_carries_its_usage_and_where_it_came_from():
    with FakeServer() as server:
        reply = generate(server)
    # <s><system> 9 bytes </s><user> 5 bytes </s><assistant>
    assert reply.usage == Usage(prompt=20, completion=3, cached=2)
    assert reply.details["fingerprint"] == "fp_toy"
    assert reply.details["route"] == "chat/completions"


def test_long_seeds_fit_every_server_and_stay_different():
    with FakeServer() as server:
        texts = {generate(server, request(seed=2**62 + k)).text for k in range(4)}
        assert 0 <= sent(server)["seed"] < 2**31
    assert len(texts) == 4


@pytest.mark.parametrize(
    ("message", "text", "reasoning", "finish"),
    [
        ({"content": None, "reasoning_content": "hm"}, "", "hm", "stop"),
        ({"content": None, "reasoning": "hm", "finish_reason": "length"}, "", "hm", "length"),
        ({"content": "<think>I will", "finish_reason": "length"}, "<think>I will", None, "length"),
        ({"content": "<think>x</think>J"}, "<think>x</think>J", None, "stop"),
        ({"content": "", "finish_reason": "content_filter"}, "", None, "refusal"),
        ({"content": None, "refusal": "I will not."}, "", None, "refusal"),
        ({"content": [{"type": "refusal", "refusal": "No."}]}, "", None, "refusal"),
        ({"content": "x", "finish_reason": None}, "x", None, "stop"),
        ({"content": [{"type": "text", "text": "J"}]}, "J", None, "stop"),
    ],
)
def test_reply_shapes(message, text, reasoning, finish):
    def shaped(model):
        server.reply = message
        return model.generate(request())

    with FakeServer() as server:
        reply = with_model(server, shaped)
    assert (reply.text, reply.reasoning, reply.finish) == (text, reasoning, finish)
    said = message.get("refusal") or ("No." if isinstance(message["content"], list) else None)
    assert reply.details.get("refusal") == (said if finish == "refusal" else None)


USED_UP = "Could not finish the message because max_tokens or model output limit was reached."


@pytest.mark.parametrize(
    ("error", "finish"),
    [
        ({"message": "It was filtered.", "code": "content_filter", "param": "prompt"}, "refusal"),
        ({"message": USED_UP}, "length"),  # as a model that thinks does with too few tokens
    ],
)
def test_errors_that_are_answers_of_the_model(error, finish):
    def ask(model):
        server.faults.append({"status": 400, "body": {"error": error}})
        return model.generate(request())

    with FakeServer("plain") as server:
        reply = with_model(server, ask)
    assert (reply.text, reply.finish) == ("", finish)


def test_a_strict_server_is_mended_at_the_start_and_not_again(caplog):
    with FakeServer("openai") as server:
        with caplog.at_level(logging.WARNING):
            first = with_model(
                server,
                lambda model: asyncio.gather(*(model.generate(request()) for _ in range(3))),
            )[0]
        refused = [body for body in server.bodies("/v1/chat/completions") if "top_k" in body]
    assert first.details["dropped"] == ["min_p", "top_k"]
    assert first.details["renamed"] == {"max_tokens": "max_completion_tokens"}
    assert "top_k" not in first.details["sent"]
    assert first.details["sent"]["max_completion_tokens"] == 256
    assert len(refused) == 1
    assert caplog.text.count("top_k left out") == 1


async def _itself(model):
    return model


def test_what_a_server_says_of_itself_and_refuses_is_kept(caplog, clock):
    with FakeServer() as server:
        assert with_model(server, _itself).revision == "id=toy; owned_by=vllm"
        other = OpenAIModel("toi", server.url, OpenAIOptions(scoring="off"))
        assert with_started(other, _itself).revision == ""
        server.no_list = True  # as transformers serve does before it has a cache
        assert with_model(server, _itself).revision == ""
    assert "does not list the model toi (did you mean 'toy'?)" in caplog.text


def test_a_prefill_that_must_go_and_has_nothing_instead_is_an_error():
    with FakeServer("openai") as server, pytest.raises(TomevalError, match="nothing instead"):
        generate(server, request(Prompt(PROMPT.messages, prefill="Answer:")))


async def _both(model, wanted):
    return model, await model.generate(wanted)


THINKING = [
    {"content": "11", "reasoning_content": "Hm."},
    {"content": "<think>Hm.</think>11"},
    {"content": "Hm.</think>11"},  # the template opened the block
    {"content": "", "finish_reason": "length"},  # hidden
]


@pytest.mark.parametrize("message", THINKING)
def test_a_model_that_thinks_gets_room_for_it_on_top_of_the_answer(message):
    with FakeServer("plain") as server:
        server.reply = message
        model, reply = with_model(server, lambda model: _both(model, request(max_tokens=9)))
        server.reply = {}
        other, free = with_model(server, lambda model: _both(model, request(max_tokens=9)))
    assert (model.thinks, other.thinks) == (True, False)
    assert reply.details["thinking_budget"] == 8192
    assert reply.details["sent"]["max_tokens"] == 8192 + 9
    assert free.details["sent"]["max_tokens"] == 9


@pytest.mark.parametrize(("answer", "room"), [(9, 2048), (3000, None), (4200, 0)])
def test_thinking_leaves_room_for_the_prompt_and_its_answer(answer, room):
    """A prompt of a few tokens, and 4,096 in all; what is set by hand is sent as it is."""
    with FakeServer() as server:
        server.reply = {"content": "<think>"}
        server.context_length = 4096
        asked = request(max_tokens=answer)
        _, reply = with_model(server, lambda model: _both(model, asked))
        most = reply.details["sent"]["max_tokens"]
        assert most == answer + reply.details.get("thinking_budget", 0)
        if room is None:
            assert answer < most < 4096
        else:
            assert most == answer + room
        _, by_hand = with_model(server, lambda model: _both(model, asked), thinking_budget=2048)
        assert by_hand.details["sent"]["max_tokens"] == answer + 2048


def test_the_cap_on_tokens_counts_the_room_for_thinking():
    with FakeServer() as server, pytest.raises(BudgetExceeded, match=r"may take 50[0-9][0-9]"):
        generate(server, request(max_tokens=9), thinking_budget=5000, budget=Budget(None, 2000))


CHOICES = ("Final answer: J", "Final answer: F")


async def held(model):
    """Return whether a model can be held to a form, and its reply to choices."""
    return model.capabilities.holds, await model.generate(request(choices=CHOICES))


SHAPE = {"type": "object", "properties": {"code": {"enum": ["1-2-3"]}}}
SHAPED = GenerateRequest(PROMPT, Sampling(), 7, schema=json.dumps(SHAPE))


@pytest.mark.parametrize(
    ("flavour", "field", "form"),
    [
        ("vllm", "structured_outputs", "choice"),
        ("llama.cpp", "response_format", "json_schema"),
    ],
)
def test_answers_are_held_to_choices_or_a_schema_in_the_servers_own_words(flavour, field, form):
    with FakeServer(flavour) as server:
        *_, loose = with_model(server, held, structured="auto")  # the server does not hold to it
        assert field in sent(server)
        server.forms = {field, "response_format"}
        holds, reply = with_model(server, held, structured="auto")
        assert (holds, reply.text) == (True, CHOICES[0])
        shaped = generate(server, SHAPED, structured="auto")
        assert (shaped.text, shaped.details["enforced"]) == ('{"code": "1-2-3"}', "json_schema")
        *_, free = with_model(server, held)  # the option is off
        assert field not in sent(server)
    enforced = [each.details.get("enforced") for each in (reply, loose, free)]
    assert enforced == [form, None, None]


def test_a_model_that_thinks_is_not_held_to_a_form_which_is_told_in_one_line(caplog):
    with FakeServer("vllm") as server:
        server.reply = {"reasoning": "Hm."}
        holds, reply = with_model(server, held, structured="auto")
    assert not holds
    assert "enforced" not in reply.details
    [line] = [record.getMessage() for record in caplog.records if "auto" in record.getMessage()]
    assert line.endswith("the model thinks first")


def test_costs_follow_the_users_prices():
    with FakeServer() as server:
        reply = generate(server, price={"prompt": 10, "completion": 100, "cached": 1})
    assert reply.details["cost"] == pytest.approx((18 * 10 + 2 * 1 + 3 * 100) / 1e6)


def test_the_key_is_sent_and_never_written(monkeypatch, caplog):
    monkeypatch.setenv("TOY_KEY", KEY)
    seen = []

    async def work(model):
        seen.append(repr(model) + repr(model.options) + model.revision)
        server.reply = {"content": f"your key is {KEY}", "refusal": f"not with {KEY}"}
        reply = await model.generate(request())
        seen.append(repr(reply))
        server.key = "another"  # the refusal repeats what was sent, as real servers do
        with pytest.raises(TomevalError, match="Incorrect API key") as raised:
            await model.generate(request())
        seen.append(str(raised.value) + repr(raised.value))
        server.key = KEY
        server.faults.append({"status": 400, "body": {"message": f"bad {KEY}"}})
        with pytest.raises(BackendError) as refused:
            await model.generate(request())
        seen.append(repr(refused.value) + repr(vars(refused.value)))
        with pytest.raises(TomevalError) as unscored:
            await model.score(ScoreRequest(PROMPT, ("J", "F")))
        seen.append(str(unscored.value))

    with FakeServer(key=KEY) as server, caplog.at_level(logging.DEBUG):
        slow = {"retry-after-ms": "1"}
        server.faults.append({"status": 429, "body": {"message": f"slow, {KEY}"}, "headers": slow})
        with trusting([f"{server.url[:-3]}=TOY_KEY"]):
            with_model(server, work)
    assert server.requests  # so the key was accepted, which means it was sent
    everything = "".join(seen) + caplog.text + "".join(map(repr, caplog.records))
    assert "***" in everything
    assert KEY not in everything


@pytest.mark.parametrize(("most", "warned"), [(None, False), (40, True)], ids=["reads all", "cuts"])
def test_a_server_that_cuts_growing_prompts_without_a_word_is_told_of_once(most, warned, caplog):
    class Short(FakeServer):
        def _usage(self, context):
            return super()._usage(context[:most])

    async def converse(model):
        for rounds in (1, 20, 40, 80):
            prompt = Prompt((Message("user", "You chose J, the other F. " * rounds),))
            await model.generate(GenerateRequest(prompt, Sampling(), 7, group="episode 1"))
            await model.generate(GenerateRequest(PROMPT, Sampling(), 7, group=f"{rounds}"))

    with Short() as server:
        with_model(server, converse)
    notes = [message for message in caplog.messages if "seems to cut long prompts" in message]
    assert len(notes) == warned
