"""Models of every build against what their code gives to one prompt alone, without a cache."""

import logging

import pytest

torch = pytest.importorskip("torch", reason="the transformers backend needs torch")
hf = pytest.importorskip("transformers", reason="the transformers backend needs transformers")

from tiny import make_config, make_tokenizer  # noqa: E402

from tomeval.core.errors import TomevalError  # noqa: E402
from tomeval.models.base import ContextExceeded, Message, Prompt, ScoreRequest  # noqa: E402
from tomeval.models.local.load import Loaded, context_length  # noqa: E402
from tomeval.models.local.prefix import Prefixes  # noqa: E402
from tomeval.models.local.tasks import (  # noqa: E402
    LabelQuery,
    Sampling,
    Text,
)
from tomeval.models.local.transformers import TransformersModel  # noqa: E402
from tomeval.models.local.trials import fault, play  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = 300
SWITCH = 40  # tokens
BERT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
BERT |= {"intermediate_size": 48, "is_decoder": True, "initializer_range": 0.25}
LONG = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 4}
LONG |= {"long_factor": [8.0] * 4, "original_max_position_embeddings": SWITCH, "factor": 8.0}


def llama(kind="llama", **changes):
    config = make_config(kind, WORDS)
    for name, value in changes.items():
        setattr(config, name, value)
    return config


def phi3(**changes):
    sizes = {k: v for k, v in vars(llama()).items() if k in _SIZES}
    return hf.Phi3Config(**sizes, pad_token_id=0, eos_token_id=1, rope_parameters=dict(LONG),
                         original_max_position_embeddings=SWITCH, **changes)  # fmt: skip


_SIZES = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
          "num_attention_heads", "num_key_value_heads", "max_position_embeddings",
          "initializer_range")  # fmt: skip

SIZES = {"vocab_size": WORDS, "initializer_range": 0.25}
BUILDS = {
    # Attention by distance, whose bias takes masks of two dimensions.
    "bloom": lambda: hf.BloomConfig(**SIZES, hidden_size=32, n_layer=2, n_head=4),
    # State in place of a cache.
    "mamba": lambda: hf.MambaConfig(**SIZES, hidden_size=32, state_size=8, num_hidden_layers=2),
    # No cache at all, and one that cannot be gone on from.
    "openai-gpt": lambda: hf.OpenAIGPTConfig(
        **SIZES, n_positions=512, n_embd=32, n_layer=2, n_head=4),
    "cpmant": lambda: hf.CpmAntConfig(
        vocab_size=WORDS, hidden_size=32, num_attention_heads=4, dim_head=8, dim_ff=48,
        num_hidden_layers=2, init_std=0.25),
    # Places begin with 2.
    "roberta": lambda: hf.RobertaConfig(vocab_size=WORDS, **BERT),
    # A window that is kept in a mask of its own.
    "gpt-neo": lambda: hf.GPTNeoConfig(
        **SIZES, max_position_embeddings=512, hidden_size=32, num_layers=2, num_heads=4,
        attention_types=[[["global", "local"], 1]], window_size=8),
}  # fmt: skip


def opened(config, **options):
    torch.manual_seed(0)
    model = hf.AutoModelForCausalLM.from_config(config).eval()
    tokenizer = make_tokenizer()
    return TransformersModel("m", given=Loaded(model, tokenizer, ""), chat=False, **options)


@pytest.fixture(scope="module")
def build():
    made = {}

    def get(name):
        if name not in made:
            made[name] = opened(BUILDS[name]())
        return made[name]

    return get


def alone(model, ids):
    """Return the log-probabilities of the next token, as the model's own code has them."""
    with torch.no_grad():
        logits = model.model(input_ids=torch.tensor([list(ids)]), use_cache=False).logits
    return logits[0].log_softmax(-1)


def told(model, query):
    """Return a query's log-probabilities by a whole pass for each token."""
    return [
        sum(alone(model, query.prefix + ids[:n])[-1, token].item() for n, token in enumerate(ids))
        for ids in query.sequences
    ]


def written(model, ids, count):
    ids, first = list(ids), len(ids)
    for _ in range(count):
        ids.append(int(alone(model, ids)[-1].argmax()))
    return ids[first:]


def chain(seed, length):
    return tuple((7 * seed + 13 * n * n + 5 * n) % (WORDS - 20) + 10 for n in range(length))


def check(model, lengths, *, count=4):
    """Growing prompts of three episodes, of these lengths, in batches: labels and texts."""
    for length in lengths:
        queries = [
            LabelQuery(chain(k, length + more), ((11,), (12, 13), (14,)), 0, f"{k}")
            for k, more in enumerate((0, 3, -5))
        ]
        for query, scored in zip(queries, model.engine.score(queries), strict=True):
            assert scored.logprobs == pytest.approx(told(model, query), abs=1e-4)
        how = Sampling(temperature=0, max_tokens=count)
        texts = [Text(query.prefix, how, 1, group=query.group) for query in queries]
        model.engine.write(texts)
        for query, text in zip(queries, texts, strict=True):
            assert list(text.tokens) == written(model, query.prefix, count)


@pytest.mark.parametrize("name", BUILDS)
def test_models_of_other_builds_are_read_whole(build, name, caplog):
    with caplog.at_level(logging.WARNING, "tomeval"):
        model = build(name)
    assert not isinstance(model.engine.reader, Prefixes)
    assert "prefixes are not reused; every prompt is encoded whole: " in caplog.text
    check(model, (9, 14, 25))


def test_the_trial_finds_a_wrong_mask():
    """A sliding layer that sees beyond its window."""
    engine = opened(llama("mistral")).engine
    alone = play(engine)
    assert fault(engine, alone) == ""
    engine.reader._window = 10_000
    assert fault(engine, alone).startswith("log-probabilities differ by")


def test_a_model_that_does_not_read_text_alone_is_one_error(monkeypatch):
    def refuse(*_, **__):
        raise ValueError("You have to specify pixel_values\nand more")

    monkeypatch.setattr(hf.LlamaForCausalLM, "forward", refuse)
    with pytest.raises(TomevalError, match=r"does not work on text alone: ValueError: .*values$"):
        opened(llama())


# --- rotary factors that switch -------------------------------------------------------------------


def test_the_context_ends_where_rotary_factors_switch():
    model = opened(phi3())
    assert isinstance(model.engine.reader, Prefixes)
    check(model, (20, SWITCH - 8, 25), count=4)
    with pytest.raises(ContextExceeded, match=f"the model's context is {SWITCH}"):
        model.engine.score([LabelQuery(chain(1, SWITCH), ((11,), (12,)))])


def test_dynamic_factors_begin_where_no_prompt_gets():
    rope = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}
    model = opened(llama(max_position_embeddings=64, rope_parameters=rope))
    assert isinstance(model.engine.reader, Prefixes)
    check(model, (40, 58), count=3)
    text = Prompt((Message("user", "J or F? " * 40),))
    with pytest.raises(ContextExceeded, match="the model's context is 64"):
        model.score_batch([ScoreRequest(text, ("J", "F"))])


@pytest.mark.parametrize(
    ("rope", "switch"),
    [
        ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8}, 512),
        ({"rope_type": "default"}, 512),
        (None, 512),
        ({**LONG, "original_max_position_embeddings": None}, 96),
        ({"type": "su", "long_factor": [2.0], "short_factor": [1.0]}, 96),
        ({"a": LONG, "b": {**LONG, "original_max_position_embeddings": 12}}, 12),
    ],
)
def test_where_factors_switch(rope, switch):
    config = hf.PretrainedConfig(original_max_position_embeddings=96, n_positions=512)
    config.rope_parameters = rope
    assert context_length(config) == switch
