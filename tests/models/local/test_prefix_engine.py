"""Prefix reuse against the plain engine, which the other tests check against naive forwards."""

import logging
import random

import pytest

torch = pytest.importorskip("torch", reason="the transformers backend needs torch")
pytest.importorskip("transformers", reason="the transformers backend needs transformers")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from tiny import FAMILIES, WINDOW, make_model  # noqa: E402

from tomeval.core.prefixes import common_prefix  # noqa: E402
from tomeval.models.base import (  # noqa: E402
    BackendError,
    GenerateRequest,
    Message,
    Prompt,
    Sampling,
    ScoreRequest,
)
from tomeval.models.local.cache import SlotCache  # noqa: E402
from tomeval.models.local.control import splits_at_lines  # noqa: E402
from tomeval.models.local.forward import PlainEngine  # noqa: E402
from tomeval.models.local.prefix import PrefixEngine  # noqa: E402
from tomeval.models.local.tasks import (  # noqa: E402
    LabelQuery,
    Task,
    choose,
    uniforms,
)
from tomeval.models.local.transformers import TransformersModel  # noqa: E402
from tomeval.models.local.tree import Tree  # noqa: E402
from tomeval.models.local.trials import prefix_engine, trial  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    made = {}

    def get(family, **options):
        key = (family, *sorted(options.items()))
        if key not in made:
            folder = make_model(tmp_path_factory.mktemp(family), family)
            made[key] = TransformersModel(str(folder), **options)
        return made[key]

    return get


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

    def task(self, name):
        sampling = Sampling(
            temperature=self.rng.choice([0.0, 1.0]), max_tokens=self.rng.randrange(1, 12)
        )
        ids = self.start(name) + self.tokens(0, 5)
        ends = frozenset([3, 4, 5])
        return Task(ids, sampling, self.rng.randrange(10**6), ends, lambda _: False, name)


@pytest.mark.parametrize("family", FAMILIES)
@settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 10**9), memory=st.sampled_from([None, 0, 300_000, 2_000_000]))
def test_reuse_gives_what_plain_encoding_gives(models, family, seed, memory):
    """Within 1e-4 nats, and the same texts, over growing, branching, rewritten, evicted chains."""
    model = models(family)
    plain = PlainEngine(model.model, 8192, None)
    engine = PrefixEngine(plain, memory)
    play = Play(random.Random(seed), model.model.config.get_text_config().vocab_size)
    for _ in range(5):
        play.grow()
        queries = [play.query(name) for name in play.some()]
        for mine, other in zip(engine.score(queries), plain.score(queries), strict=True):
            assert mine.logprobs == pytest.approx(other.logprobs, abs=1e-4)
        tasks = [play.task(name) for name in play.some()]
        for task, text, other in zip(
            tasks, engine.generate(tasks), plain.generate(tasks), strict=True
        ):
            same = (text.tokens, text.ended) == (other.tokens, other.ended)
            assert same or near_tie(model.model, task, text.tokens, other.tokens)


def near_tie(model, task, tokens, others):
    """Tell whether two texts part where rounding decides: at the edge between two tokens."""
    at = common_prefix(tokens, others)
    with torch.no_grad():
        logits = model(torch.tensor([[*task.ids, *tokens[:at]]])).logits[:, -1]
    if task.sampling.temperature == 0:
        first, second = logits[0].topk(2).values.tolist()
        return first - second < 1e-5
    draw = uniforms(task.seed).random(at + 1)[-1]
    return len({choose(logits, [task.sampling], [draw + d])[0] for d in (-1e-6, 1e-6)}) == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_reused_after_its_trial(models, family):
    assert isinstance(models(family).engine, PrefixEngine)
    assert isinstance(models(family, prefix_reuse=False).engine, PlainEngine)


def test_the_trial_finds_a_wrong_mask(models, monkeypatch, caplog):
    """A sliding layer that sees beyond its window must be found and plain encoding used."""
    plain = PlainEngine(models("mistral").model, 8192, None)
    engine = PrefixEngine(plain)
    assert trial(engine, plain) < 1e-4
    monkeypatch.setattr(engine._forward, "_window", 10_000)
    assert trial(engine, plain) > 1e-4
    monkeypatch.setattr("tomeval.models.local.trials.trial", lambda *_: 0.5)
    with caplog.at_level(logging.WARNING):
        assert prefix_engine(plain) is plain
    assert "encoded whole" in caplog.text


def test_a_stateful_model_is_encoded_whole(models, monkeypatch, caplog):
    model = models("llama").model
    monkeypatch.setattr(type(model), "_is_stateful", True, raising=False)
    plain = PlainEngine(model, 8192, None)
    with caplog.at_level(logging.WARNING):
        assert prefix_engine(plain) is plain
    assert "rolled back" in caplog.text


def test_each_token_is_encoded_once(models):
    """Ten rounds of one line and two questions with two-token labels: no token is fed twice."""
    plain = PlainEngine(models("llama").model, 8192, None)
    engine = PrefixEngine(plain)
    rng = random.Random(0)

    def tokens(count):
        return tuple(rng.randrange(5, 200) for _ in range(count))

    chain, unique = tokens(50), 50
    for _ in range(10):
        labels = tuple((first, *tokens(1)) for first in (1, 2))
        for _ in range(2):
            question = tokens(6)
            engine.score([LabelQuery(chain + question, labels, 0, "one")])
            unique += len(question) + len(labels)  # the last token of a label is never fed
        line = tokens(9)
        chain, unique = chain + line, unique + len(line)
    unique -= len(line)  # the last line was not asked about
    # A question that begins like the cached one may be fed again from the token that is wanted.
    assert unique <= engine.processed <= 1.02 * unique


def test_texts_of_one_group_share_the_prompt_and_do_not_see_each_other(models):
    plain = PlainEngine(models("llama").model, 8192, None)
    engine = PrefixEngine(plain)
    prompt = tuple(range(10, 60))
    tasks = [
        Task((*prompt, i), Sampling(max_tokens=8), i, frozenset(), lambda _: False, "one")
        for i in range(5)
    ]
    expected = [text.tokens for text in plain.generate(tasks)]
    assert [text.tokens for text in engine.generate(tasks)] == expected
    assert engine.processed == 50 + 5 + 5 * 7  # prompt, five questions, all but the last tokens


def test_out_of_memory_halves_the_batch_and_goes_on(models, monkeypatch):
    model = models("llama")
    plain = PlainEngine(model.model, 8192, None)
    engine = PrefixEngine(plain)
    play = Play(random.Random(3), 200)
    tasks = [play.task(name) for name in "abcde"]
    queries = [play.query(name) for name in "abcde"]
    texts = [text.tokens for text in plain.generate(tasks)]
    numbers = [scored.logprobs for scored in plain.score(queries)]
    run, refused = engine._forward.run, []

    def small(cache, slots, parts, wanted):
        if len(parts) > 2:
            refused.append(len(parts))
            raise torch.OutOfMemoryError("no room")
        return run(cache, slots, parts, wanted)

    monkeypatch.setattr(engine._forward, "run", small)
    before = engine.cache.memory
    assert [text.tokens for text in engine.generate(tasks)] == texts
    for scored, values in zip(engine.score(queries), numbers, strict=True):
        assert scored.logprobs == pytest.approx(values, abs=1e-4)
    assert refused
    assert engine.cache.memory < before

    def never(*_):
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(engine._forward, "run", never)
    with pytest.raises(BackendError, match="single episode"):
        engine.score(queries[:1])


def test_caches_stay_within_their_memory():
    """Slots of 256 places at 4 bytes x 2 heads x (3 + 3) = 48 bytes a place."""
    cache = SlotCache([(2, 3, torch.float32, torch.device("cpu"))] * 2, memory=5 * 256 * 48)
    for number in range(40):
        cache.claim([f"group {number}"], 200)
        held = sum(b.numel() * b.element_size() for b in cache.buffers)
        assert held <= 5 * 256 * 48
    assert cache.slots == 5
    entries = cache.claim(["group 39", "group 38"], 200)  # the most recent ones are still there
    assert len({entry.slot for entry in entries}) == 2


def test_growing_keeps_what_is_cached():
    cache = SlotCache([(1, 2, torch.float32, torch.device("cpu"))] * 2, memory=10**8)
    (one,) = cache.claim(["one"], 10)
    cache.buffers[0][one.slot, 0, :3] = torch.tensor([[1.0, 2], [3, 4], [5, 6]])
    one.tokens = (7, 8, 9)
    one, _ = cache.claim(["one", "two"], 5000)
    assert cache.get("one") == (7, 8, 9)
    assert cache.buffers[0][one.slot, 0, :3].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert cache.places >= 5000


@given(st.lists(st.integers(0, 2), max_size=12), st.lists(st.integers(0, 2), max_size=12))
def test_common_counts_leading_equal_tokens(a, b):
    expected = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    assert common_prefix(tuple(a), tuple(b)) == (
        min(len(a), len(b)) if expected is None else expected
    )


def test_a_tree_feeds_shared_nodes_once_and_keeps_the_chain():
    tree = Tree((1, 2, 3, 4), [(1, 2, 3, 9, 8), (1, 2, 3, 9, 7), (1, 5)], [4, 4, 1])
    assert tree.kept == 3
    assert tree.tokens == [9, 8, 7, 5]
    assert tree.depths == [3, 4, 4, 1]
    assert tree.chain == (1, 2, 3, 9, 8)
    expected = ["111 1000", "111 1100", "111 1010", "100 0001"]
    rows = ["".join(map(str, row)) for row in tree.part.seen.astype(int).tolist()]
    assert [f"{row[:3]} {row[3:]}" for row in rows] == expected


def test_a_wanted_token_is_fed_even_where_it_is_cached():
    tree = Tree((1, 2, 3), [(1, 2, 3)], [2])
    assert (tree.kept, tree.tokens) == (2, [3])


def episodes(rng, shared):
    """Two kinds of six episodes in all that begin with the same tokens, and go on apart."""
    tokens = [tuple(rng.randrange(5, 200) for _ in range(n)) for n in (shared, 40, 40)]
    starts = [tokens[0] + tokens[1 + number % 2] for number in range(6)]
    return [start + (50 + number,) * 20 for number, start in enumerate(starts)]


@pytest.mark.parametrize("family", FAMILIES)
def test_what_episodes_have_in_common_is_read_once(models, family):
    """By the first of each kind; later ones take it from those that play."""
    plain = PlainEngine(models(family).model, 8192, None)
    engine, texts = PrefixEngine(plain), episodes(random.Random(1), 100)
    queries = [LabelQuery(ids, ((7,), (8, 9)), group=f"{n}") for n, ids in enumerate(texts)]
    mine = engine.score(queries[:4]) + engine.score(queries[4:])
    for one, other in zip(mine, plain.score(queries), strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    assert engine.processed == 2 * 140 + 6 * 21 == sum(one.processed for one in mine)


def test_texts_of_episodes_that_begin_alike_are_what_they_were(models):
    plain = PlainEngine(models("llama").model, 8192, None)
    engine = PrefixEngine(plain)
    tasks = [
        Task(ids, Sampling(max_tokens=5), n, frozenset(), lambda _: False, f"{n}")
        for n, ids in enumerate(episodes(random.Random(2), 100))
    ]
    expected = [text.tokens for text in plain.generate(tasks)]
    assert [text.tokens for text in engine.generate(tasks)] == expected
    assert engine.processed == 2 * 140 + 6 * 20 + 6 * 4


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_growing_plays_score_and_answer_alike_through_the_whole_backend(models, family):
    """Texts, not tokens: rendering, line-wise tokenising, labels and drawing included."""
    reusing, plain = models(family), models(family, prefix_reuse=False)
    assert splits_at_lines(reusing.tokenizer)
    history = "You play a game with a partner.\n"
    for number in range(1, 7):
        requests = []
        for episode in range(3):
            text = f"{history}\nEpisode {episode}.\n\nRound {number} comes now."
            prompt = Prompt((Message("user", text),), f"Round {number}: you chose")
            requests.append(ScoreRequest(prompt, ("J", "F", "Scissors"), f"e{episode}"))
        for one, other in zip(
            reusing.score_batch(requests), plain.score_batch(requests), strict=True
        ):
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
            assert one.method == other.method
        asked = [
            GenerateRequest(r.prompt, Sampling(max_tokens=6), 7 + i, r.group)
            for i, r in enumerate(requests)
        ]
        texts = [reply.text for reply in reusing.generate_batch(asked)]
        assert texts == [reply.text for reply in plain.generate_batch(asked)]
        history += f"Round {number}: you chose J, the partner chose F.\n"


LINES = st.lists(
    st.text(alphabet="aZ1 .,:'\"\t\r\n-é日\u00a0", max_size=12), min_size=1, max_size=8
).map("\n".join)


@given(text=LINES)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_line_wise_tokens_are_the_whole_text_s_tokens(models, text):
    model = models("llama")
    whole = model.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert model.codec.control.encode([text])[0] == whole


@given(text=LINES, every=st.booleans())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_text_cut_at_its_last_line_keeps_its_tokens(models, text, every):
    control = models("llama").codec.control
    marked = control.mark(text + "</s>", every=every)
    cut = control.last_line(marked)
    head, tail = control.encode([marked[:cut], marked[cut:]])
    assert head + tail == control.encode([marked])[0]


def test_a_cut_is_found_where_lines_end_plainly(models):
    control = models("llama").codec.control
    assert control.last_line("one\ntwo\nthree") == len("one\ntwo\n")
    assert control.last_line("one\n\ntwo\n") == 0
    assert control.last_line("") == 0
