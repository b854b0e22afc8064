"""What a local model takes of the machine: threads, width of its numbers, memory of its caches."""

import asyncio
import os

import pytest

torch = pytest.importorskip("torch", reason="the transformers backend needs torch")
pytest.importorskip("transformers", reason="the transformers backend needs transformers")

from tiny import make_model  # noqa: E402
from transformers import AutoModelForCausalLM  # noqa: E402

from tomeval.core.errors import TomevalError  # noqa: E402
from tomeval.models.base import Message, Prompt, ScoreRequest  # noqa: E402
from tomeval.models.batching import Batcher  # noqa: E402
from tomeval.models.local import threads as threads_module  # noqa: E402
from tomeval.models.local.cache import LEAST, usual_memory  # noqa: E402
from tomeval.models.local.threads import Threads, free_cores  # noqa: E402
from tomeval.models.local.transformers import TransformersModel  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("llama"), "llama")


@pytest.fixture
def eight(monkeypatch):
    """Let torch have eight threads, of which three cores are free, whatever the machine."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(threads_module, "free_cores", lambda: 3)
    before = torch.get_num_threads()
    torch.set_num_threads(8)
    yield monkeypatch
    torch.set_num_threads(before)


def million(device="cpu"):
    """Return a stand-in for a model of a million parameters."""
    model = torch.nn.Linear(1000, 1000, bias=False)
    model.device = torch.device(device)
    return model


def test_little_work_takes_one_thread_and_more_the_free_cores(eight):
    threads = Threads(million())
    assert [threads.of(tokens) for tokens in (0, 1, 999, 1000, 10**6)] == [1, 1, 1, 3, 3]
    with threads.taking():
        assert torch.get_num_threads() == 1
        with threads.taking(10**6):
            assert torch.get_num_threads() == 3
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 8


def test_what_the_user_says_wins_over_the_rule(eight):
    assert Threads(million(), 5).of(1) == Threads(million(), 5).of(10**6) == 5
    torch.set_num_threads(2)
    assert Threads(million()).of(10**6) == 2
    torch.set_num_threads(8)
    eight.setenv("OMP_NUM_THREADS", "8")
    with Threads(million()).taking():
        assert torch.get_num_threads() == 8


def test_threads_of_the_cpu_do_not_matter_on_another_device(eight):
    with Threads(million("meta")).taking():
        assert torch.get_num_threads() == 8


def test_the_free_cores_are_those_that_nobody_runs_on():
    assert 1 <= free_cores() <= os.cpu_count()


def test_a_model_scores_with_one_thread_and_gives_the_others_back(eight, folder):
    model = TransformersModel(str(folder))
    seen = []
    model.model.register_forward_pre_hook(lambda *_: seen.append(torch.get_num_threads()))
    model.score_batch([request("a")])
    assert set(seen) == {1}
    assert torch.get_num_threads() == 8
    with pytest.raises(TomevalError, match=r"threads: Input should be greater .* is 0"):
        TransformersModel(str(folder), threads=0)


def request(group):
    return ScoreRequest(Prompt((Message("user", "Round 1: J or F?"),)), ("J", "F"), group)


def test_half_precision_is_computed_in_single_on_a_cpu_unless_asked(folder, tmp_path):
    wide = TransformersModel(str(folder))
    half = AutoModelForCausalLM.from_pretrained(folder).half()
    half.save_pretrained(tmp_path)
    wide.tokenizer.save_pretrained(tmp_path)
    model = TransformersModel(str(tmp_path))
    assert model.describe()["dtype"] == "float32"
    # Exact: what a float32 model of the same, once rounded, weights says.
    wide.model.load_state_dict(half.float().state_dict())
    [mine], [other] = model.score_batch([request("")]), wide.score_batch([request("")])
    assert mine.logprobs == pytest.approx(other.logprobs, abs=1e-6)
    asked = TransformersModel(str(tmp_path), dtype="float16", prefix_reuse=False)
    assert asked.describe()["dtype"] == "float16"


def test_caches_of_a_small_model_are_bounded_and_let_go_of_episodes_that_are_over(folder):
    model = TransformersModel(str(folder))
    assert model.engine.cache.memory <= LEAST
    assert usual_memory(model.model) == model.engine.cache.memory

    async def play(batcher, name):
        with batcher.episode() as line:
            await line.score(request(name))

    async def several(batcher, names):
        await asyncio.gather(*(play(batcher, name) for name in names))

    batcher = Batcher(model)
    for batch in range(6):
        asyncio.run(several(batcher, [f"{batch} {episode}" for episode in range(4)]))
    assert model.engine.cache.slots == 4
    assert not model.engine.cache.get("5 0")
