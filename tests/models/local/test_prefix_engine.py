"""Prefix reuse against whole prompts, which the other tests check against naive forwards."""

import asyncio
import random

import pytest

torch = pytest.importorskip("torch", reason="the transformers backend needs torch")
pytest.importorskip("transformers", reason="the transformers backend needs transformers")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from tiny import FAMILIES, WINDOW  # noqa: E402

from tomeval.core.errors import TomevalError  # noqa: E402
from tomeval.core.text import common_prefix  # noqa: E402
from tomeval.models.base import (  # noqa: E402
    Message,
    Prompt,
    Sampling,
    ScoreRequest,
)
from tomeval.models.batching import Batcher  # noqa: E402
from tomeval.models.local.cache import LEAST, Cache, usual_memory  # noqa: E402
from tomeval.models.local.engine import Engine  # noqa: E402
from tomeval.models.local.prefix import Prefixes  # noqa: E402
from tomeval.models.local.tasks import (  # noqa: E402
    LabelQuery,
    Scored,
    Text,
    choose,
)
from tomeval.models.local.trials import attention  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


def engines(model, memory=10**9):
    """Return an engine that keeps prefixes of a model, and one that reads every prompt whole."""
    keeping, whole = (Engine(model.model, 8192, None) for _ in range(2))
    keeping.reader = Prefixes(keeping, *attention(model.model.config), memory)
    return keeping, whole


def write(engine, texts):
    engine.write(texts)
    return [(text.tokens, text.ended) for text in texts]


def fed(items):
    """Return how many tokens were run for texts that were written, but for the prompts' own."""
    return sum(text.fed + len(text.tokens) - 1 for text in items)


class Play:
    """Made-up episodes: chains of random tokens that grow, with questions that branch off."""

    def __init__(self, rng, vocabulary):
        self.rng, self.vocabulary = rng, vocabulary
        # Longer than the window, so that sliding layers have something to forget.
        self.chains = {name: self.tokens(3, 4 * WINDOW) for name in "abcde"}

    def tokens(self, low, high):
        count = self.rng.randrange(low, high)
        return tuple(self.rng.randrange(self.vocabulary) for _ in range(count))

    def grow(self):
        for name in self.chains:
            self.chains[name] += self.tokens(0, 9)

    def some(self):
        names = self.rng.sample(sorted(self.chains), self.rng.randrange(1, 6))
        return [name for name in names for _ in range(self.rng.randrange(1, 3))]

    def start(self, name):
        """Return a chain, or, as a template that rewrites its past would, only its beginning."""
        chain = self.chains[name]
        return chain if self.rng.random() < 0.8 else chain[: self.rng.randrange(1, len(chain))]

    def query(self, name):
        labels = [self.tokens(1, 4) for _ in range(3)]
        if self.rng.random() < 0.5:
            labels[1] = labels[0] + self.tokens(1, 2)  # one label begins another
        group = name if self.rng.random() < 0.9 else ""
        return LabelQuery(self.start(name) + self.tokens(0, 5), tuple(labels), 0, group)

    def texts(self, names):
        """Return two equal texts to write for each name."""
        made = []
        for name in names:
            sampling = Sampling(
                temperature=self.rng.choice([0.0, 1.0]), max_tokens=self.rng.randrange(1, 12)
            )
            ids, seed = self.start(name) + self.tokens(0, 5), self.rng.randrange(10**6)
            ends = frozenset([3, 4, 5])
            made.append([Text(ids, sampling, seed, ends, group=name) for _ in range(2)])
        return [list(texts) for texts in zip(*made, strict=True)]


@pytest.mark.parametrize("family", FAMILIES)
@settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 10**9), memory=st.sampled_from([10**9, 0, 300_000, 2_000_000]))
def test_reuse_gives_what_plain_encoding_gives(models, family, seed, memory):
    """Within 1e-4 nats, and the same texts, over growing, branching, rewritten, evicted chains."""
    model = models(family)
    assert isinstance(model.engine.reader, Prefixes)  # after its trial
    engine, whole = engines(model, memory)
    play = Play(random.Random(seed), model.model.config.get_text_config().vocab_size)
    for _ in range(5):
        play.grow()
        queries = [play.query(name) for name in play.some()]
        for mine, other in zip(engine.score(queries), whole.score(queries), strict=True):
            assert mine.logprobs == pytest.approx(other.logprobs, abs=1e-4)
        texts, others = play.texts(play.some())
        write(engine, texts)
        write(whole, others)
        for text, other in zip(texts, others, strict=True):
            same = (text.ids, text.ended) == (other.ids, other.ended)
            assert same or near_tie(model.model, text, other)


def near_tie(model, text, other):
    """Tell whether two texts part where rounding decides: at the edge between two tokens."""
    at = common_prefix(text.ids, other.ids)
    with torch.no_grad():
        logits = model(torch.tensor([text.ids[:at]])).logits[:, -1]
    if text.sampling.temperature == 0:
        first, second = logits[0].topk(2).values.tolist()
        return first - second < 1e-5
    draw = Text((0,), text.sampling, text.seed).uniforms.random(at - text.prompt + 1)[-1]
    return len({choose(logits, [text.sampling], [draw + d])[0] for d in (-1e-6, 1e-6)}) == 2


def test_each_token_is_encoded_once(models):
    """Ten rounds of one line and two questions with two-token labels: no token is fed twice."""
    engine, _ = engines(models("llama"))
    rng = random.Random(0)

    def tokens(count):
        return tuple(rng.randrange(5, 200) for _ in range(count))

    chain, unique, processed = tokens(50), 50, 0
    for _ in range(10):
        labels = tuple((first, *tokens(1)) for first in (1, 2))
        for _ in range(2):
            question = tokens(6)
            [scored] = engine.score([LabelQuery(chain + question, labels, 0, "one")])
            processed += scored.fed
            unique += len(question) + len(labels)  # the last token of a label is never fed
        line = tokens(9)
        chain, unique = chain + line, unique + len(line)
    unique -= len(line)  # the last line was not asked about
    # A question that begins like the cached one may be fed again from the token that is wanted.
    assert unique <= processed <= 1.02 * unique


def test_out_of_memory_is_one_error_that_says_what_to_set(models, monkeypatch):
    engine, _ = engines(models("llama"))

    def never(*_, **__):
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(engine, "run", never)
    with pytest.raises(TomevalError, match="out of memory, set a smaller batch_tokens"):
        engine.score([LabelQuery((5, 6), ((7,), (8, 9)))])


# --- caches ---------------------------------------------------------------------------------------


def claimed(cache, groups, places):
    """Claim chains as a pass does, whose keys and values are of 2 heads x 3 numbers x 4 bytes."""
    cache.claim(groups, places)
    for kind in ("keys", "values"):
        rows, at = torch.zeros(1, 1).long(), torch.full((1, 1), cache.places - 1)
        cache.write(0, kind, torch.zeros(1, 2, 1, 3), rows, at, slice(0, 1), 1)
    return [cache.chains[name] for name in groups]


def test_caches_stay_within_their_memory():
    """Rows of 256 places at 48 bytes a place."""
    cache = Cache(5 * 256 * 48)
    for number in range(40):
        claimed(cache, [f"group {number}"], 200)
        assert sum(buffer.nbytes for buffer in cache.buffers.values()) <= 5 * 256 * 48
    assert cache.rows == 5
    chains = claimed(cache, ["group 39", "group 38"], 200)  # the most recent ones are still there
    assert len({chain.row for chain in chains}) == 2


def test_caches_of_a_small_model_are_bounded_and_let_go_of_episodes_that_are_over(models):
    model = models("llama")
    cache = model.engine.reader.cache
    assert usual_memory(model.model) == cache.memory <= LEAST

    async def play():
        with Batcher(model).episode() as line:
            request = ScoreRequest(Prompt((Message("user", "Round 1: J or F?"),)), ("J", "F"), "x")
            await line.score(request)
            assert ("x", 0) in cache.chains

    asyncio.run(play())
    assert ("x", 0) not in cache.chains


# --- what episodes have in common -----------------------------------------------------------------


def episodes(rng, shared):
    """Two kinds of six episodes in all that begin with the same tokens, and go on apart."""
    tokens = [tuple(rng.randrange(5, 200) for _ in range(n)) for n in (shared, 40, 40)]
    starts = [tokens[0] + tokens[1 + number % 2] for number in range(6)]
    return [start + (50 + number,) * 20 for number, start in enumerate(starts)]


@pytest.mark.parametrize("family", FAMILIES)
def test_what_episodes_have_in_common_is_read_once(models, family):
    """Of all by one, of each kind by one; later ones take it from those that play."""
    (engine, whole), texts = engines(models(family)), episodes(random.Random(1), 100)
    queries = [LabelQuery(ids, ((7,), (8, 9)), group=f"{n}") for n, ids in enumerate(texts)]
    mine = engine.score(queries[:4]) + engine.score(queries[4:])
    for one, other in zip(mine, whole.score(queries), strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    assert sum(one.fed for one in mine) == 100 + 2 * 40 + 6 * 21


def test_a_new_episode_takes_its_beginning_from_one_that_asks_at_the_same_time(models):
    engine, _ = engines(models("llama"))
    start = tuple(range(10, 110))
    engine.score([LabelQuery(start, ((7,), (8, 9)), group="old")])
    asked = [LabelQuery((*start, n, n), ((7,), (8, 9)), group=g) for n, g in ((5, "old"), (6, "b"))]
    assert sum(one.fed for one in engine.score(asked)) == 2 * 3


def test_short_readings_are_not_padded_to_long_ones_where_these_fill_a_pass(models):
    (engine, whole), rng = engines(models("llama")), random.Random(2)
    texts = [tuple(rng.randrange(5, 200) for _ in range(n)) for n in (300, 20, 290, 280, 30, 270)]
    queries = [LabelQuery(ids, ((7,), (8, 9)), group=f"{n}") for n, ids in enumerate(texts)]
    sizes = [
        [len(one.ids) for one in batch]
        for batch in engine.reader.batches(list(map(Scored, queries)))
    ]
    assert sizes == [[300, 290, 280, 270], [30, 20]]
    for one, other in zip(engine.score(queries), whole.score(queries), strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


LINES = st.lists(
    st.text(alphabet="aZ1 .,:'\"\t\r\n-é日\u00a0", max_size=12), min_size=1, max_size=8
).map("\n".join)


@given(text=LINES)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_line_wise_tokens_are_the_whole_text_s_tokens(models, text):
    model = models("llama")
    whole = model.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert model.codec.control.encode([text])[0] == whole
