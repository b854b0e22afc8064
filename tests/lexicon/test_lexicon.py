"""Words and embeddings: what ships, lists and vectors of one's own, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.core.errors import TomevalError
from tomeval.games.decrypto.game import hint_fault
from tomeval.lexicon.embeddings import (
    SHIPPED,
    Embedding,
    on_score_grid,
    open_embedding,
    read_embedding,
    shipped_embedding,
    unit,
)
from tomeval.lexicon.words import (
    DATA,
    WordLists,
    read_lists,
    read_words,
    shipped_lists,
    shipped_vocabulary,
)


def test_shipped_lists() -> None:
    lists = shipped_lists()
    assert len(lists.keywords) == 680
    assert len(lists.hints) > 5000
    assert set(lists.keywords) <= set(lists.hints)
    assert list(lists.keywords) == sorted(lists.keywords)
    assert all(word.isascii() and word.islower() and word.isalpha() for word in lists.hints)
    assert all(3 <= len(word) <= 10 for word in lists.keywords)


def test_every_shipped_hint_is_legal_by_itself() -> None:
    keywords = ("qqqa", "qqqb", "qqqc", "qqqd")
    for hint in shipped_lists().hints:
        assert hint_fault((hint, hint, hint), keywords) is None


def test_lists_of_your_own(tmp_path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("River\n\n  violin \nice-cream\nwinter\n")
    lists = read_lists(keywords=path)
    assert lists.keywords == ("River", "violin", "ice-cream", "winter")
    assert lists.hints == shipped_lists().hints
    assert read_lists(hints=path).hints == lists.keywords


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("river\nice cream\n", r"own.txt:2: not a single word of letters: 'ice cream'"),
        ("river\na-b-c\n", r"own.txt:2: not a single word"),
        ("x" * 61, r"own.txt:1: not a single word"),
        ("river\nviolin\nRIVER\n", r"own.txt:3: 'RIVER' is already in line 1"),
        ("cafe\ncafé\n", r"own.txt:2: 'café' is already in line 1"),
        ("\n \n", r"own.txt: no words"),
        (b"\xff\xfe", r"own.txt: not UTF-8"),
    ],
)
def test_faulty_lists_are_named(tmp_path, text, message) -> None:
    path = tmp_path / "own.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(TomevalError, match=message):
        read_words(path)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped(name) -> None:
    embedding = shipped_embedding(name)
    assert embedding.words == shipped_vocabulary()
    assert embedding.vectors.shape == (10_500, 128)
    lengths = np.sqrt((embedding.vectors**2).sum(axis=1))
    assert np.abs(lengths - 1).max() < 1e-5
    with np.load(DATA / f"{name}.npz", allow_pickle=False) as file:
        assert file["vectors"].dtype == np.float16


def _sum(values) -> float:
    total = 0.0
    for value in values.tolist():
        total += value
    return total


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 300))
def test_scores_do_not_depend_on_the_order_of_summing(seed, dimensions) -> None:
    rng = np.random.default_rng(seed)
    vectors = unit(rng.normal(size=(6, dimensions)))
    order = rng.permutation(dimensions)
    forward = vectors @ vectors.T
    assert np.array_equal(forward, vectors[:, order] @ vectors[:, order].T)
    one_by_one = [[_sum(a * b) for b in vectors] for a in vectors]
    assert np.array_equal(forward, one_by_one)
    assert np.array_equal(on_score_grid(forward), forward)


def test_unit_vectors_of_any_length() -> None:
    found = unit([[3e-300, 4e-300], [3e300, -4e300], [0, 0]])
    assert np.allclose(found, [[0.6, 0.8], [0.6, -0.8], [0, 0]], atol=1e-6)


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["a", "b"], [[1, 2]], "2 words need as many rows"),
        (["a", "a"], [[1, 2], [2, 1]], "a word appears twice"),
        (["a", "b"], [[1, 2], [np.nan, 1]], "vector of 'b' is zero or not finite"),
        (["a", "b"], [[1, 2], [0, 0]], "vector of 'b' is zero or not finite"),
        ([], np.zeros((0, 2)), "0 words"),
    ],
)
def test_faulty_embeddings(words, vectors, message) -> None:
    with pytest.raises(TomevalError, match=message):
        Embedding.of("x", words, vectors)


class TestHintVector:
    toy = Embedding.of("toy", ["cat", "dance", "ice", "cream", "creme"], np.eye(5))

    @pytest.mark.parametrize(
        ("hint", "expected"),
        [
            ("cat", [1, 0, 0, 0, 0]),
            ("cats", [1, 0, 0, 0, 0]),
            ("Dancing", [0, 1, 0, 0, 0]),
            ("crème", [0, 0, 0, 0, 1]),
            ("ice cream", [0, 0, 1, 1, 0]),
            ("ice zzz", [0, 0, 1, 0, 0]),
        ],
    )
    def test_known(self, hint, expected) -> None:
        assert np.array_equal(self.toy.hint_vector(hint), unit(expected))

    @pytest.mark.parametrize("hint", ["zzz", "", "concatenate"])
    def test_unknown(self, hint) -> None:
        assert self.toy.hint_vector(hint) is None


LISTS = WordLists(("river", "violin", "bread", "winter"), ("bank", "string", "loaf", "snow"))
WORDS = (*LISTS.keywords, *LISTS.hints)
VECTORS = np.random.default_rng(5).normal(size=(8, 6)).astype(np.float32)


def text_of(words=WORDS, vectors=VECTORS) -> str:
    rows = (" ".join([word, *map(str, row)]) for word, row in zip(words, vectors, strict=True))
    return "\n".join(rows) + "\n"


def check(embedding: Embedding) -> None:
    assert embedding.words == WORDS
    assert np.array_equal(embedding.vectors, unit(VECTORS))


@pytest.mark.parametrize("header", ["", "8 6\n"])
def test_text(tmp_path, header) -> None:
    # GloVe 840B has tokens with blanks inside; words that nobody wants may be broken
    text = header + text_of() + "at name@domain.com " + " ".join("123456") + "\nzzz a b c d e f\n"
    (tmp_path / "glove.txt").write_text(text)
    check(open_embedding("glove.txt", LISTS, base=tmp_path))


def test_missing_words_are_named(tmp_path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text(text_of(WORDS[:-1], VECTORS[:-1]) + "snows 1 2 3 4 5 6\n")
    with pytest.raises(TomevalError, match=r"no vector for 1 of 8 words: 'snow'"):
        open_embedding(str(path), LISTS)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"river 1 2 3\nviolin 1 2\n", r"a.txt:2: a word and 3 numbers expected"),
        ("a.txt", b"river 1 2 3\nviolin 1 x 3\n", r"a.txt:2: no number after 'violin'"),
        ("a.txt", b"", r"a.txt: has none of"),
        ("a.txt", b"river nan 1\n", r"'river' is zero or not finite"),
        ("a.bin", b"", r"a.bin: not an embedding file by its suffix"),
    ],
)
def test_faulty_files(tmp_path, name, data, message) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(TomevalError, match=message):
        read_embedding(tmp_path / name, WORDS)


def test_too_short_lists() -> None:
    with pytest.raises(TomevalError, match="needs 4 keywords, but the list has 3"):
        WordLists(("a", "b", "c"), ("d",))
    with pytest.raises(TomevalError, match="hint bank is empty"):
        WordLists(("a", "b", "c", "d"), ())
