from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.core.errors import TomevalError
from tomeval.lexicon.embeddings import (
    SHIPPED,
    Embedding,
    on_score_grid,
    shipped_embedding,
    unit,
)
from tomeval.lexicon.words import DATA, shipped_vocabulary


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
        (["a", "b"], [[1, 2], [np.nan, 1]], "vector of 'b' is not finite"),
        (["a", "b"], [[1, 2], [0, 0]], "vector of 'b' is zero"),
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
