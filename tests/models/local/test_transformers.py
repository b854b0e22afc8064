"""The transformers backend against plain, independent computations on tiny random models."""

import asyncio
import math
import sys
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the transformers backend needs torch")
hf = pytest.importorskip("transformers", reason="the transformers backend needs transformers")

from tiny import FAMILIES, make_model  # noqa: E402

from tomeval.core.errors import TomevalError  # noqa: E402
from tomeval.models.base import (  # noqa: E402
    ContextExceeded,
    GenerateRequest,
    Message,
    Prompt,
    Reply,
    Sampling,
    ScoreRequest,
)
from tomeval.models.batching import Batcher  # noqa: E402
from tomeval.models.local.transformers import TransformersModel  # noqa: E402

LABELS = ("J", "F", "Scissors", "zebra", "zoo", "zest")  # one token and several


pytestmark = pytest.mark.usefixtures("one_thread")


def prompts(count=5):
    """Prompts of different lengths, all longer than the sliding window."""
    return [
        Prompt(
            (
                Message("system", "You play a game with a partner."),
                Message("user", "Round 1: you chose J, the partner chose F. " * (1 + 2 * i % 5)),
            ),
            prefill="Answer:" if i % 2 else "",
        )
        for i in range(count)
    ]


def plain_text(prompt):
    parts = [message.content for message in prompt.messages]
    return "\n\n".join([*parts, prompt.prefill] if prompt.prefill else parts)


def naive_logprobs(model, text, labels, gap=" "):
    """One full forward a label, nothing shared: the sum of its tokens' log-probabilities."""
    start = len(model.tokenizer(text)["input_ids"])
    values = []
    for label in labels:
        ids = model.tokenizer(text + gap + label)["input_ids"]
        with torch.no_grad():
            logits = model.model(torch.tensor([ids]), use_cache=False).logits[0].double()
        logprobs = torch.log_softmax(logits, -1)
        values.append(sum(float(logprobs[i - 1, ids[i]]) for i in range(start, len(ids))))
    return values


def naive_tokens(model, text, sampling, seed):
    """One full forward a token; the draw inverts the cumulative distribution in numpy."""
    ids = model.tokenizer(text)["input_ids"]
    source = np.random.Generator(np.random.Philox(key=seed))
    tokens = []
    while len(tokens) < sampling.max_tokens:
        with torch.no_grad():
            logits = model.model(torch.tensor([ids + tokens]), use_cache=False).logits[0, -1]
        draw = source.random()
        if sampling.temperature == 0:
            token = int(logits.argmax())
        else:
            scaled = logits.double().numpy() / sampling.temperature
            steps = np.exp(scaled - scaled.max()).cumsum()
            token = int(np.searchsorted(steps, draw * steps[-1], side="right"))
        if token in model.ends:
            break
        tokens.append(token)
    return tokens


# --- scoring -------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_equal_one_full_forward_per_label(models, family):
    model = models(family)
    requests = [ScoreRequest(Prompt(p.messages, p.prefill or "Answer:"), LABELS) for p in prompts()]
    for request, result in zip(requests, model.score_batch(requests), strict=True):
        expected = naive_logprobs(model, plain_text(request.prompt), LABELS)
        assert result.logprobs == pytest.approx(expected, abs=1e-4)
        assert result.mass == pytest.approx(sum(map(math.exp, expected)), rel=1e-3)
        assert result.method == "forward"


# --- generation ----------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.0, 1.3])
@pytest.mark.parametrize("family", FAMILIES)
def test_generation_equals_a_naive_loop(models, family, temperature):
    model = models(family)
    sampling = Sampling(temperature=temperature, max_tokens=14)
    requests = [GenerateRequest(p, sampling, seed=50 + i) for i, p in enumerate(prompts(4))]
    for request, reply in zip(requests, model.generate_batch(requests), strict=True):
        tokens = naive_tokens(model, plain_text(request.prompt), sampling, request.seed)
        assert reply.text == model.tokenizer.decode(tokens)
        assert reply.usage.completion in (len(tokens), len(tokens) + 1)
        assert reply.finish == ("length" if len(tokens) == 14 else "stop")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_draw_does_not_depend_on_its_batch(models, family):
    """Rows of different lengths, settings and ends; rows leave the batch at different times."""
    model = models(family, "chatml")
    settings = [
        Sampling(max_tokens=3),
        Sampling(temperature=0.0, max_tokens=12),
        Sampling(temperature=0.7, top_p=0.8, max_tokens=20),
        Sampling(top_k=20, max_tokens=9),
        Sampling(min_p=0.05, max_tokens=16),
    ]
    requests = [
        GenerateRequest(p, s, seed=i)
        for i, (p, s) in enumerate(zip(prompts(), settings, strict=True))
    ]
    together = model.generate_batch(requests)
    mixed = model.generate_batch(requests[::-1] + requests[:2])
    for i, request in enumerate(requests):
        alone = model.generate_batch([request])[0]
        assert together[i].text == alone.text == mixed[len(requests) - 1 - i].text
        assert together[i].finish == alone.finish
        assert replace(together[i].usage, cached=0) == replace(alone.usage, cached=0)
    assert mixed[-1].text == together[1].text


def test_all_end_tokens_of_the_model_end_a_reply(tmp_path):
    folder = make_model(tmp_path, "llama", "chatml")
    config = hf.GenerationConfig.from_pretrained(folder)
    config.eos_token_id = [1, 300]
    config.do_sample, config.temperature, config.top_k = True, 0.01, 1
    config.save_pretrained(folder)
    model = TransformersModel(str(folder))
    end_of_turn = model.tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert model.ends == {1, 300, end_of_turn}
    # Its sampling defaults take no part: two seeds still differ at temperature 1.
    requests = [GenerateRequest(prompts(1)[0], Sampling(max_tokens=8), seed=s) for s in (1, 2)]
    one, two = model.generate_batch(requests)
    assert one.text != two.text


def test_generation_ends_at_the_context(models, monkeypatch):
    model = models("gpt2", prefix_reuse=False)
    room = len(model.codec.encode(prompts(1)[0])[0]) + 3
    monkeypatch.setattr(model.engine, "context", room)
    reply = model.generate_batch([GenerateRequest(prompts(1)[0], Sampling(), seed=2)])[0]
    assert (reply.finish, reply.usage.completion) == ("length", 3)
    monkeypatch.setattr(model.engine, "context", room - 3)
    with pytest.raises(ContextExceeded, match="context is"):
        model.generate_batch([GenerateRequest(prompts(1)[0], Sampling(), seed=2)])


# --- loading -------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["torch", "transformers"])
def test_a_missing_library_names_the_extra(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(TomevalError, match=rf"{library}.*tomeval\[local\]"):
        TransformersModel("./anything")


@pytest.mark.parametrize("path", ["./no-such-folder", "/no/such", "a/b/c"])
def test_a_missing_folder_is_a_clear_error(path):
    with pytest.raises(TomevalError, match="no such file or folder"):
        TransformersModel(path)


def test_an_unknown_repository_is_a_clear_error():
    with pytest.raises(TomevalError, match="hf:nobody/nothing@v1: cannot be loaded"):
        TransformersModel("nobody/nothing", "v1", local_files_only=True)


def test_a_folder_without_a_model_and_an_unknown_dtype_are_clear_errors(tmp_path, models):
    with pytest.raises(TomevalError, match=r"no config\.json"):
        TransformersModel(str(tmp_path))
    folder = models().name.removeprefix("hf:")
    with pytest.raises(TomevalError, match=r"dtype: Input should be 'auto'.*, is 'float31'"):
        TransformersModel(folder, dtype="float31")


def test_a_damaged_weights_file_is_a_clear_error(tmp_path):
    folder = make_model(tmp_path)
    (folder / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(TomevalError, match="cannot be loaded"):
        TransformersModel(str(folder))


def test_the_revision_of_a_folder_follows_its_files(tmp_path):
    one = make_model(tmp_path / "one", seed=1)
    same = make_model(tmp_path / "same", seed=1)
    other = make_model(tmp_path / "other", seed=2)
    revisions = [TransformersModel(str(folder)).revision for folder in (one, same, other)]
    assert revisions[0] == revisions[1] != revisions[2]
    assert revisions[0].startswith("sha256:")
    (one / "chat_template.jinja").write_text("{{ messages }}")
    assert TransformersModel(str(one)).revision != revisions[0]


def test_the_revision_of_a_hub_model_is_its_commit(tmp_path, monkeypatch):
    """A hand-made Hub cache stands for the Hub."""
    constants = pytest.importorskip("huggingface_hub").constants
    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "models--org--tiny"
    make_model(repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    model = TransformersModel("org/tiny", local_files_only=True)
    assert (model.name, model.revision) == ("hf:org/tiny", commit)


# --- what comes next, the context, thinking, gated models ----------------------------------------


@pytest.mark.parametrize("prefix_reuse", [True, False])
@pytest.mark.parametrize("count", [1, 4])
def test_whether_the_likeliest_token_begins_a_label(models, prefix_reuse, count):
    model = models(template="chatml", prefix_reuse=prefix_reuse)

    def likeliest(prompt):
        ids = model.codec.label_query(ScoreRequest(prompt, LABELS)).prefix
        with torch.inference_mode():
            return int(model.model(torch.tensor([ids])).logits[0, -1].argmax())

    def starts(prompt, labels):
        query = model.codec.label_query(ScoreRequest(prompt, labels))
        return {ids[0] for ids in query.sequences}

    asked = []
    for text in map(str, range(40)):
        prompt = Prompt((Message("user", text),))
        best = likeliest(prompt)
        said = model.tokenizer.decode([best])
        if said.isalpha() and best in starts(prompt, (said, "J")) - starts(prompt, ("J", "F")):
            asked += [(prompt, (said, "J"), True), (prompt, ("J", "F"), False)] * count
    assert asked, "no prompt whose likeliest token could be a label"
    scores = model.score_batch([ScoreRequest(prompt, labels) for prompt, labels, _ in asked])
    assert [s.details["argmax_is_label"] for s in scores] == [told for *_, told in asked]


def test_a_prompt_beyond_the_context_fails_alone(models, monkeypatch):
    model = models("gpt2", prefix_reuse=False)
    monkeypatch.setattr(model.engine, "context", 60)
    texts = ["short", "long " * 99, "short too", "Short"]

    async def go():
        batcher = Batcher(model)

        async def episode(text):
            request = GenerateRequest(Prompt((Message("user", text),)), Sampling(max_tokens=3), 1)
            with batcher.episode() as line:
                return await line.generate(request)

        return await asyncio.gather(*map(episode, texts), return_exceptions=True)

    replies = asyncio.run(go())
    assert [isinstance(reply, ContextExceeded) for reply in replies] == [False, True, False, False]
    assert all(isinstance(reply, Reply) for i, reply in enumerate(replies) if i != 1)


ROOM = [
    ("chatml", {}, 0),
    ("chatml", {"thinking_budget": 5}, 5),
    ("always", {}, "auto"),  # opens the block by itself
    ("switch", {"thinking": False}, 0),
    ("switch", {"thinking": True}, "auto"),
    ("switch", {"thinking": True, "thinking_budget": 0}, 0),
]


@pytest.mark.parametrize(("template", "options", "room"), ROOM)
def test_a_model_that_thinks_gets_room_on_top_of_the_answer(models, template, options, room):
    model = models(template=template, **options)
    if room == "auto":
        room = min(8192, model.engine.context // 2)
    assert model.thinking_budget == room
    if 0 < room < 100:
        request = GenerateRequest(prompts(1)[0], Sampling(max_tokens=4), seed=2)
        reply = model.generate_batch([request])[0]
        assert reply.usage.completion == 4 + room
        assert reply.details["thinking_budget"] == room
