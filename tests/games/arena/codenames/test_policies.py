"""Scripted players of Codenames against plain loops, and what answers are worth at most."""

import itertools
import math

import numpy as np
import pytest
from games.arena.codenames.cases import WORDS, small_game
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.games.codenames.policies import EmbeddingPlayer
from tomeval.games.codenames.probes import (
    best_sequence,
    best_set,
    common_start,
    overlap,
)
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
    soft = EmbeddingPlayer(paths[0], temperature=0.2, risk=risk, caution=0.1, breadth=5)
    choices = soft.choices(view, ask, None)
    top = sorted(expected.values(), reverse=True)[:5]
    weights = [math.exp(worth / 0.2) for worth in top]
    assert [expected[said[:2]] for _, said in choices] == pytest.approx(top)
    assert [chance for chance, _ in choices] == pytest.approx([w / sum(weights) for w in weights])


def test_words_meant_are_the_nearest_own_ones(tmp_path):
    game, paths = small_game(tmp_path, (3, 2, 1, 1), 3)
    state = game.deal(np.random.default_rng(3))
    embedding = open_embedding(paths[0], game.lists)
    policy = EmbeddingPlayer(paths[0], temperature=1.0, breadth=100)
    choices = policy.choices(game.view(state, 0), game.due(state)[0], None)
    assert len(choices) == 3 * len(game.legal_clues(state.board.words))
    for _, (clue, number, *meant) in choices:
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
    soft = {
        w: p for p, w in EmbeddingPlayer(paths[0], guess_temperature=0.5).choices(view, ask, None)
    }
    total = sum(math.exp(score / 0.5) for score in scores)
    for word, score in zip(WORDS[:6], scores, strict=True):
        assert soft[word] == pytest.approx(math.exp(score / 0.5) / total)
    last = game.view(state._replace(left=1), 1)
    assert greedy.choices(last, ask, None) == ((1.0, None),)
    assert EmbeddingPlayer(paths[0], extra=True).choices(last, ask, None) == ((1.0, nearest),)
    unknown = game.view(state._replace(clue=("zzzyx", 1)), 1)
    assert greedy.choices(unknown, ask, None) == ((1.0, None),)


def test_relabelled_words_change_nothing(tmp_path):
    """The order of the board is arbitrary: the same words are meant and taken."""
    game, paths = small_game(tmp_path, (2, 2, 1, 1), 4)
    key = dict(zip(WORDS[:6], (0, 1, 0, 1, 2, 3), strict=True))
    spy, guess = EmbeddingPlayer(paths[0]), EmbeddingPlayer(paths[1])
    seen = set()
    for order in list(itertools.permutations(WORDS[:6]))[::60]:
        state = game.begin(Board(order, tuple(key[w] for w in order)))
        taken = []
        while (due := game.due(state)) and len(taken) < 6:
            (ask,) = due
            policy = guess if ask.seat % 2 else spy
            action = policy.choices(game.view(state, ask.seat), ask, None)[0][1]
            taken.append(action[:2] if ask.kind == "clue" else action)
            state = game.outcomes(state, {ask.seat: action})[0][1]
        seen.add(tuple(taken))
    assert len(seen) == 1


sequences = st.lists(st.sampled_from("abcd"), unique=True, max_size=3).map(tuple)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(sequences, st.integers(1, 9), min_size=1, max_size=6))
def test_best_answers_by_enumeration(weights):
    """No sequence, and no set, of four letters scores more in expectation."""
    total = sum(weights.values())
    chances = {words: weight / total for words, weight in weights.items()}
    answers = [a for n in range(5) for a in itertools.permutations("abcd", n)]

    def expected(score, answer):
        return sum(p * score(answer, words) for words, p in chances.items())

    for best, score in ((best_sequence, common_start), (best_set, overlap)):
        answer, value = best(chances)
        assert value == pytest.approx(max(expected(score, other) for other in answers))
        assert value == pytest.approx(expected(score, answer))


def test_of_equally_good_sequences_the_first_in_alphabetical_order_is_taken():
    """Not the first of a set, whose order changes from process to process."""
    for words in (("oak", "sea", "tax"), ("tax", "oak", "sea")):
        assert best_sequence({(word,): 1 / 3 for word in words}) == (("oak",), 1 / 3)
        pairs = {(word, "end"): 1 / 3 for word in words}
        assert best_sequence(pairs) == (("oak", "end"), 1 / 3)
