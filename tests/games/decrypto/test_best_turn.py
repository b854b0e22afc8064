"""The best attainable turn value, against brute force over every triple of a small bank."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.games.decrypto.best_turn import BestTurnSearch, best_hints
from tomeval.games.decrypto.embedding_players import (
    MATCHINGS,
    EmbeddingSpec,
    history_scores,
    history_sums,
    match,
)
from tomeval.games.decrypto.game import CODES, Turn, View, hint_fault
from tomeval.lexicon.embeddings import on_score_grid, shipped_embedding
from tomeval.lexicon.words import shipped_lists


def brute_force(bob, eve, code, matching, allowed=None) -> bool:
    """Whether any triple is worth 1: the players' own matching, on every triple."""
    allowed = range(len(bob)) if allowed is None else allowed
    triples = np.array(list(itertools.product(allowed, repeat=3)), np.intp).reshape(-1, 3)
    if not len(triples):
        return False
    decoded = match(bob[triples], "greedy") == code
    triples = triples[decoded]
    return bool(len(triples)) and bool((match(eve[triples], matching) != code).any())


def is_worth_one(bob, eve, code, matching, hints) -> bool:
    at = np.array([hints])
    return bool(match(bob[at], "greedy")[0] == code and match(eve[at], matching)[0] != code)


def check(bob, eve, code, matching, allowed=None) -> bool:
    """Compare with brute force; return the value."""
    found = best_hints(bob, eve, code, matching, allowed)
    assert (found is not None) == brute_force(bob, eve, code, matching, allowed)
    if found is not None:
        assert is_worth_one(bob, eve, code, matching, found)
        if allowed is not None:
            assert set(found) <= {*allowed.tolist()}
    return found is not None


@pytest.mark.parametrize("matching", MATCHINGS)
@pytest.mark.parametrize("names", [("minilm", "wordnet"), ("minilm", "minilm")])
def test_sixty_words_of_the_bank(names, matching) -> None:
    """Real words and embeddings; histories of several lengths, all kinds of listeners."""
    bob_of, eve_of = (shipped_embedding(name) for name in names)
    rng = np.random.default_rng(7)
    lists = shipped_lists()
    for past in (0, 2):
        bank = [lists.hints[i] for i in rng.choice(len(lists.hints), 60, replace=False)]
        keywords = [lists.keywords[i] for i in rng.choice(680, 4, replace=False)]
        turns = tuple(
            Turn(CODES[int(rng.integers(24))], tuple(rng.choice(bank, 3)), CODES[0], CODES[0])
            for _ in range(past)
        )
        bob = bob_of.vectors[bob_of.rows(bank)] @ bob_of.vectors[bob_of.rows(keywords)].T
        sums = history_sums(eve_of, turns)
        eve = history_scores(eve_of.vectors[eve_of.rows(bank)][None], sums[None])[0]
        for code in (0, int(rng.integers(1, 24))):
            value = check(bob, eve, code, matching)
            if not past:
                assert value == (code != 0)  # without history Eve says 1-2-3, whatever the hints


# Few levels make ties frequent; a bank that hardly lets Eve fail makes zeros frequent.
LEVELS = st.sampled_from([2, 3, 5, 1000])


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    size=st.integers(1, 12),
    bob_levels=LEVELS,
    eve_levels=LEVELS,
    follow=st.sampled_from([0.0, 0.8, 0.999, 1.0]),
    code=st.integers(0, 23),
    matching=st.sampled_from(MATCHINGS),
    legal=st.floats(0, 1),
)
def test_random_scores(seed, size, bob_levels, eve_levels, follow, code, matching, legal) -> None:
    """Where Eve hears almost what Bob hears, zeros are frequent."""
    rng = np.random.default_rng(seed)
    bob = rng.integers(0, bob_levels, (size, 4)) / 1024 - 0.3
    free = rng.integers(0, eve_levels, (size, 4)) / 1024
    eve = follow * bob + (1 - follow) * free
    allowed = rng.choice(size, round(legal * size), replace=False)
    check(on_score_grid(bob), on_score_grid(eve), code, matching, allowed)


def test_hints_are_legal() -> None:
    bob = EmbeddingSpec(shipped_embedding("minilm"), matching="greedy")
    eve = EmbeddingSpec(shipped_embedding("wordnet"))
    words = ("piano", "queen", "bread", "beach")
    past = (Turn((1, 2, 3), ("violin", "king", "loaf"), (1, 2, 3), (1, 2, 3)),)
    found = BestTurnSearch(shipped_lists(), bob, eve).search(View(words, (2, 1, 4), past))
    assert found is not None
    assert hint_fault(found, words) is None
