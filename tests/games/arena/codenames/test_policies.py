"""Scripted players of Codenames against plain loops, and what answers are worth at most."""

import itertools

import numpy as np
import pytest
from games.arena.codenames.cases import WORDS, small_game
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.games.codenames.policies import EmbeddingPlayer
from tomeval.games.codenames.probes import best_set, overlap
from tomeval.games.codenames.state import Board
from tomeval.lexicon.embeddings import open_embedding


def worths(game, path, board, covered, risk, caution):
    """Return what every clue and number is worth to red, from the definition."""
    embedding = open_embedding(path, game.lists)

    def cosine(word, clue):
        one, two = (embedding.vectors[embedding.rows([w])[0]] for w in (word, clue))
        return float(one @ two)

    words = [w for i, w in enumerate(board.words) if covered >> i & 1]
    colour = dict(zip(board.words, board.key, strict=True))
    own = [w for w in words if colour[w] == 0]
    found = {}
    for clue in game.bank.clues:
        near = sorted((cosine(w, clue) for w in own), reverse=True)
        bad = [cosine(w, clue) + caution * (colour[w] == 3) for w in words if colour[w]]
        for number in range(1, len(own) + 1):
            found[clue, number] = near[number - 1] - max(bad) + risk * number
    return found


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("risk", [0.0, 0.15, 0.6])
def test_spymaster_from_the_definition(tmp_path, seed, risk):
    game, paths = small_game(tmp_path, (3, 2, 1, 1), seed)
    state = game.deal(np.random.default_rng(seed))
    view, (ask,) = game.view(state, 0), game.due(state)
    expected = worths(game, paths[0], state.board, state.covered, risk, 0.1)
    best = max(expected.values())
    greedy = EmbeddingPlayer(paths[0], risk=risk, caution=0.1)
    ((chance, said),) = greedy.choices(view, ask, None)
    assert chance == 1
    assert expected[said[:2]] == pytest.approx(best)


def test_words_meant_are_the_nearest_own_ones(tmp_path):
    game, paths = small_game(tmp_path, (3, 2, 1, 1), 3)
    state = game.deal(np.random.default_rng(3))
    embedding = open_embedding(paths[0], game.lists)
    for risk in (0.0, 0.15, 2.0):
        clue, number, *meant = EmbeddingPlayer(paths[0], risk=risk).action(game.view(state, 0))
        own = [w for w, c in zip(state.board.words, state.board.key, strict=True) if c == 0]
        vector = embedding.hint_vector(clue)
        near = sorted(own, key=lambda w: -float(embedding.hint_vector(w) @ vector))
        assert set(meant) == set(near[:number])
        assert meant == sorted(meant, key=state.board.words.index)


def test_operative_by_hand(tmp_path):
    game, paths = small_game(tmp_path, (2, 2, 1, 1), 1)
    state = game.begin(Board(WORDS[:6], (0, 0, 1, 1, 2, 3)))
    embedding = open_embedding(paths[0], game.lists)
    scores = [float(embedding.hint_vector(w) @ embedding.hint_vector("ocean")) for w in WORDS[:6]]
    state = game.outcomes(state, {0: ("ocean", 1)})[0][1]
    view, (ask,) = game.view(state, 1), game.due(state)
    greedy = EmbeddingPlayer(paths[0])
    nearest = WORDS[int(np.argmax(scores))]
    assert greedy.choices(view, ask, None) == ((1.0, nearest),)
    last = game.view(state._replace(left=1), 1)
    assert greedy.choices(last, ask, None) == ((1.0, None),)
    assert EmbeddingPlayer(paths[0], extra=True).choices(last, ask, None) == ((1.0, nearest),)
    unknown = game.view(state._replace(clue=("zzzyx", 1)), 1)
    assert greedy.choices(unknown, ask, None) == ((1.0, None),)


sequences = st.lists(st.sampled_from("abcd"), unique=True, max_size=3).map(tuple)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(sequences, st.integers(1, 9), min_size=1, max_size=6))
def test_best_answers_by_enumeration(weights):
    """No set of four letters scores more in expectation."""
    total = sum(weights.values())
    chances = {words: weight / total for words, weight in weights.items()}
    answers = [a for n in range(5) for a in itertools.combinations("abcd", n)]

    def expected(answer):
        return sum(p * overlap(answer, words) for words, p in chances.items())

    answer, value = best_set(chances)
    assert value == pytest.approx(max(map(expected, answers)))
    assert value == pytest.approx(expected(answer))
