"""Providers of inspect_ai as models, on its mock provider."""

import asyncio

import pytest

from tomeval.core.errors import TomevalError
from tomeval.extensions.inspect import InspectModel, InspectOptions, open_inspect
from tomeval.models import is_served
from tomeval.models.base import (
    BackendError,
    ContextExceeded,
    GenerateRequest,
    Message,
    Opening,
    Prompt,
    Sampling,
    Usage,
)
from tomeval.models.served import Budget, BudgetExceeded

NAME = "inspect:mockllm/model"
PROMPT = Prompt((Message("system", "Be brief."), Message("user", "Play.")))


def test_the_name_needs_a_provider_and_caps_count_its_calls():
    assert is_served(NAME)
    with pytest.raises(TomevalError, match="inspect:PROVIDER/MODEL"):
        open_inspect("inspect:gpt-5", {}, Opening())
    with pytest.raises(TomevalError, match="did you mean 'concurrency'"):
        open_inspect(NAME, {"concurency": 2}, Opening())


api = pytest.importorskip("inspect_ai.model", reason="needs inspect-ai")

# Of the package itself, on each call.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning")


class Mock:
    """Answers by a function of (messages, config); keeps what it was asked."""

    def __init__(self, answer=None, *, always=False):
        self.asked, self.answer, self.always = [], answer, always

    def __call__(self, messages, tools, choice, config):
        self.asked.append((messages, config))
        if self.answer is not None and (self.always or "Play." in messages[-1].text):
            return self.answer(messages, config)
        return output("word")


def output(text, stop="stop", usage=(7, 3, 2), reasoning=None, **more):
    content = text
    if reasoning is not None:
        content = [api.ContentReasoning(reasoning=reasoning), api.ContentText(text=text)]
    message = api.ChatMessageAssistant(content=content, model="mock-1", source="generate")
    choice = api.ChatCompletionChoice(message=message, stop_reason=stop)
    counts = usage and api.ModelUsage(
        input_tokens=usage[0], output_tokens=usage[1], input_tokens_cache_read=usage[2]
    )
    return api.ModelOutput(model="mock-1", choices=[choice], usage=counts, error=more.get("error"))


def with_model(mock, work, *, budget=None, **options):
    fields = {"model_args": {"custom_outputs": mock}, **options}

    async def run():
        model = InspectModel(NAME, InspectOptions(**fields), budget=budget)
        await model.start()
        try:
            return await work(model)
        finally:
            await model.close()

    return asyncio.run(run())


def generate(mock, *, prompt=PROMPT, seed=7, options=None, **sampling):
    request = GenerateRequest(prompt, Sampling(**sampling), seed)
    return with_model(mock, lambda model: model.generate(request), **options or {})


def test_sampling_reaches_the_provider_and_is_recorded():
    mock = Mock(lambda *_: output("J"))
    sampling = {"temperature": 0.7, "top_p": 0.9, "top_k": 5, "max_tokens": 9}
    reply = generate(mock, **sampling, options={"reasoning_effort": "low"})
    messages, config = mock.asked[-1]
    assert [(m.role, m.text) for m in messages] == [("system", "Be brief."), ("user", "Play.")]
    expected = {
        **{"temperature": 0.7, "top_p": 0.9, "top_k": 5, "max_tokens": 9},
        **{"seed": 7, "reasoning_effort": "low"},
    }
    assert {key: getattr(config, key) for key in expected} == expected
    assert reply.details["sent"] == expected
    assert not config.cache


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        *(("stop", "stop"), ("max_tokens", "length"), ("content_filter", "refusal")),
        *(("model_length", "length"), ("unknown", "stop")),
    ],
)
def test_finish_reasons(stop, finish):
    reply = generate(Mock(lambda *_: output("J", stop)))
    assert (reply.text, reply.finish, reply.details["finish"]) == ("J", finish, stop)


def test_reasoning_and_usage_are_kept_apart():
    reply = generate(Mock(lambda *_: output("J", reasoning="Hm.")))
    assert (reply.text, reply.reasoning) == ("J", "Hm.")
    assert reply.usage == Usage(prompt=9, completion=3, cached=2)
    assert reply.details["model"] == "mock-1"


def test_a_model_that_thinks_gets_room_and_is_told_its_budget():
    mock = Mock(lambda *_: output("J", reasoning="Hm."), always=True)
    reply = generate(mock, max_tokens=9)
    config = mock.asked[-1][1]
    assert (config.max_tokens, config.reasoning_tokens) == (8192 + 9, 8192)
    assert reply.details["thinking_budget"] == 8192
    reply = generate(mock, max_tokens=9, options={"thinking_budget": 100})
    assert mock.asked[-1][1].max_tokens == 109


def raising(error, cause=None):
    def answer(*_):
        raise error from cause

    return answer


TOO_LONG = "prompt is too long: 210000 tokens"
LIMIT = ValueError("This model's maximum context length is 8192 tokens")


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (lambda *_: output(TOO_LONG, "model_length", (9, 0, 0)), ContextExceeded, "210000"),
        (raising(LIMIT), ContextExceeded, "8192"),
        (raising(RuntimeError("x" * 999), LIMIT), ContextExceeded, "ValueError: .*length is 8192"),
        (raising(RuntimeError("the provider is gone")), BackendError, "RuntimeError: the provider"),
        (lambda *_: output("", error="odd"), BackendError, "odd"),
    ],
)
def test_errors_of_providers_say_their_cause(answer, kind, said):
    with pytest.raises(kind, match=said):
        generate(Mock(answer))


def test_caps_count_calls_and_tokens():
    budget = Budget(max_calls=2)

    async def two(model):
        request = GenerateRequest(PROMPT, Sampling(), 1)
        await model.generate(request)
        with pytest.raises(BudgetExceeded):
            await model.generate(request)

    mock = Mock()
    with_model(mock, two, budget=budget)
    assert (budget.calls, len(mock.asked)) == (2, 2)
    assert budget.tokens == 2 * 12


INSTEAD = Prompt((Message("user", "Play."),), prefill="I choose", instead="Answer J or F only.")


def test_a_prefill_is_left_out_and_the_message_says_what_to_answer():
    mock = Mock(lambda *_: output("J"))
    reply = generate(mock, prompt=INSTEAD)
    assert mock.asked[-1][0][-1].text == "Play.\n\nAnswer J or F only."
    assert reply.details["prefill"] == "omitted"
    with pytest.raises(TomevalError, match="prefill"):
        generate(mock, prompt=Prompt(INSTEAD.messages, prefill="I choose"))


def test_a_model_that_was_closed_opens_again_when_it_is_started():
    opened = []

    class Counting(InspectModel):
        def _open(self):
            opened.append(super()._open())
            return opened[-1]

    async def batches():  # as in a run with the condition `until`
        model = Counting(NAME, InspectOptions(model_args={"custom_outputs": Mock()}))
        for _ in range(2):
            await model.start()
            await model.close()

    asyncio.run(batches())
    assert len(opened) == 2
