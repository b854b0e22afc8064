"""llama-cpp-python's server on a random model, where LLAMA names an interpreter that has it.

    LLAMA=/path/to/python python -m pytest -m slow tests/models/served/test_real_llama.py

It needs `pip install 'llama-cpp-python[server]' gguf safetensors`, in an environment of its own;
pip builds llama.cpp, which takes half an hour on two cores. The embedded model cannot be served:
llama.cpp has no pre-tokenizer like its own. Keys and values are kept in 32 bits for the comparison.
"""

import json
import os
import subprocess
from pathlib import Path

import gguf_writer
import pytest
from fake_server import running, with_started
from tiny import SPECIALS, make_model

from tomeval.models.base import GenerateRequest, Message, Prompt, Sampling, ScoreRequest, Unlisted
from tomeval.models.served import OpenAIOptions
from tomeval.models.served.model import OpenAIModel

pytestmark = pytest.mark.slow

LLAMA = os.environ.get("LLAMA", "")
if not LLAMA:
    pytest.skip("set LLAMA to a Python that has llama-cpp-python", allow_module_level=True)

_LONGEST_START = 120  # seconds
_CONTEXT = 4096
# A random model does not continue a begun answer in any way that can be told.
_OPTIONS = {"thinking_budget": 0}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Start the server; yield the model's folder and the base URL."""
    folder = tmp_path_factory.mktemp("llama") / "toy"
    make_model(folder, "llama", "chatml", bos=False)
    config = json.loads((folder / "config.json").read_text())
    config["max_position_embeddings"] = _CONTEXT
    (folder / "config.json").write_text(json.dumps(config))
    file = str(folder.parent / "toy.gguf")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([LLAMA, gguf_writer.__file__, str(folder), file], env=environment, check=True)
    command = [LLAMA, "-m", "llama_cpp.server", "--model", file, "--model_alias", "toy"]
    command += ["--n_ctx", str(_CONTEXT), "--n_threads", "1", "--logits_all", "true"]
    command += ["--type_k", "0", "--type_v", "0"]
    log = Path(folder.parent / "log.txt")
    with running(command, environment, log, _LONGEST_START, "/v1/models") as url:
        yield str(folder), url


def with_model(served, work, **options):
    options = OpenAIOptions(**{**_OPTIONS, **options})
    return with_started(OpenAIModel("toy", served[1], options), work)


def prompts():
    for text in ("Choose.", "Go.", "Round 1: you chose J.\nRound 2?", "Rock or Paper? " * 30):
        yield Prompt((Message("user", text),))


def local(served):
    from tomeval.models.local.transformers import TransformersModel

    return TransformersModel(served[0], dtype="float32")


def whole(text):
    """Return a text without what the server leaves out: control tokens, halves of characters."""
    for piece in ("\N{REPLACEMENT CHARACTER}", *SPECIALS):
        text = text.replace(piece, "")
    return text


def test_it_says_what_the_model_in_this_process_says(served):
    asked = [GenerateRequest(p, Sampling(temperature=0.0, max_tokens=40), 5) for p in prompts()]

    async def ask(model):
        assert (model._requests.server.off["top_k"], model.route) == (0, "")
        return [(await model.generate(request)).text for request in asked]

    there = with_model(served, ask, scoring="off")
    here = [whole(reply.text) for reply in local(served).generate_batch(asked)]
    assert len(set(here)) > 1
    assert there == here


def test_its_numbers_are_those_of_the_model_in_this_process(served):
    """It tells the likeliest tokens only: labels are single letters, asked for among them all."""
    labels = tuple("JFYGbpa")

    async def score(model):
        return [await model.score(ScoreRequest(prompt, labels)) for prompt in prompts()]

    told = with_model(served, score, top_logprobs=378)
    here = local(served).score_batch([ScoreRequest(prompt, labels) for prompt in prompts()])
    assert {scores.method for scores in told} == {"top_k"}
    for mine, theirs in zip(here, told, strict=True):
        assert theirs.logprobs == pytest.approx(mine.logprobs, abs=1e-4)


def test_a_label_beyond_the_likeliest_has_no_number(served):
    async def score(model):
        with pytest.raises(Unlisted, match="not among the"):
            await model.score(ScoreRequest(next(prompts()), ("zebra", "zoo")))

    with_model(served, score)
