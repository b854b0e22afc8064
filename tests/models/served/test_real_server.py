"""A server that is not ours, `transformers serve`, on a tiny random model made here."""

import importlib.util
import json
import os
import sys
from dataclasses import replace

import pytest
from fake_server import running, with_started

from tomeval.core.errors import TomevalError
from tomeval.models.base import GenerateRequest, Message, Prompt, Sampling
from tomeval.models.served import OpenAIOptions
from tomeval.models.served.model import OpenAIModel

_NEEDED = ("torch", "transformers", "fastapi", "uvicorn", "openai", "accelerate")
for _module in _NEEDED:  # by name only: importing them all takes seconds
    if importlib.util.find_spec(_module) is None:
        pytest.skip(
            f"{_module} is missing: pip install 'transformers[serving]'", allow_module_level=True
        )

_LONGEST_START = 120  # seconds
_COMMAND = "from transformers.cli.transformers import main; main()"
_SAMPLE = {"generation_config": json.dumps({"do_sample": True})}
# The imitated servers of the other modules here stand for it in the gate.
pytestmark = pytest.mark.slow
PROMPT = Prompt((Message("user", "Choose J or F."),))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Start the server; yield the model's name there and the base URL."""
    from tiny import make_model

    folder = tmp_path_factory.mktemp("served") / "toy"
    make_model(folder, "llama", "chatml")
    command = [sys.executable, "-c", _COMMAND, "serve", str(folder), "--device", "cpu"]
    (folder.parent / "hub").mkdir()  # without it the server's list of models is an error 500
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder.parent)}
    with running(command, environment, folder.parent / "log.txt", _LONGEST_START) as url:
        yield str(folder), url


def with_model(served, work, **options):
    # What a random model writes can look like thinking.
    common = {"thinking_budget": 0, "scoring": "off"}
    return with_started(OpenAIModel(*served, OpenAIOptions(**{**common, **options})), work)


def draw(model, seed, **sampling):
    return model.generate(GenerateRequest(PROMPT, Sampling(max_tokens=8, **sampling), seed))


def test_it_generates_what_the_seed_says(served):
    async def work(model):
        return [await draw(model, seed) for seed in (1, 1, 2)]

    first, again, other = with_model(served, work, extra_body=_SAMPLE)
    assert first.text == again.text != other.text
    assert first.usage.completion == 8
    assert first.finish == "length"
    # It takes neither, says so in a 422, and is not asked for them again.
    assert first.details["dropped"] == ["min_p", "top_k"]


def test_it_gives_no_log_probs_and_scoring_is_refused(served):
    with pytest.raises(TomevalError, match=r"labels cannot be scored[^$]*top_k: ") as raised:
        with_model(served, draw, scoring="required")
    assert str(raised.value).startswith(f"openai:{served[0]}@{served[1]}: ")


def test_a_prefill_is_refused_with_a_remedy_and_can_be_left_out(served):
    begun = GenerateRequest(
        Prompt(PROMPT.messages, prefill="Answer:"), Sampling(max_tokens=4), seed=1
    )
    with pytest.raises(TomevalError, match="not known to go on from a begun answer"):
        with_model(served, lambda model: model.generate(begun))
    other = replace(begun, prompt=replace(begun.prompt, instead="One label only."))
    reply = with_model(served, lambda model: model.generate(other))
    assert reply.details["prefill"] == "omitted"
