"""Embedding players against definitions written out."""

from __future__ import annotations

import asyncio
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.core.errors import TomevalError
from tomeval.core.streams import Stream
from tomeval.games.decrypto.embedding_players import (
    ENCODER_DRAWS,
    MATCHINGS,
    EmbeddingEncoder,
    EmbeddingListener,
    EmbeddingSpec,
    bank_vectors,
    forms,
    history_scores,
    match,
)
from tomeval.games.decrypto.game import (
    CODES,
    Deal,
    Game,
    Rules,
    hint_fault,
)
from tomeval.games.decrypto.seats import ALICE, BOB, EVE, Probes
from tomeval.games.decrypto.stages import Decrypto
from tomeval.games.seats import Chair
from tomeval.lexicon.embeddings import Embedding, shipped_embedding
from tomeval.lexicon.words import WordLists, shipped_lists

LISTS = shipped_lists()
MINILM, WORDNET = shipped_embedding("minilm"), shipped_embedding("wordnet")


def play_in_seats(specs, seed, game, rules=None, lists=LISTS) -> Game:
    rules = rules or Rules()
    rng = Stream.of(seed, "decrypto", "encoder", "a").episode(game, ENCODER_DRAWS)
    alice = EmbeddingEncoder(Chair(0, rng), specs[0], lists)
    bob, eve = EmbeddingListener(specs[1]), EmbeddingListener(specs[2])
    state = Decrypto(lists, rules, Probes()).deal(Stream.of(seed, "decrypto", "deal").episode(game))

    async def play(state: Game) -> Game:
        while state.outcome is None:
            hints = (await alice.answer(state.view(ALICE), None)).action
            assert (await alice.answer(state.view(ALICE), None)).action == hints  # asked twice
            assert hint_fault(hints, state.deal.keywords) is None
            guess = (await bob.answer(state.view(BOB, hints), None)).action
            caught = (await eve.answer(state.view(EVE, hints), None)).action
            state = state.after(hints, guess, caught)
        return state

    return asyncio.run(play(state))


def scores_of(embedding, lists=LISTS):
    """Scores of all keywords with all hints of the bank."""
    return embedding.vectors[embedding.rows(lists.keywords)] @ bank_vectors(embedding, lists).T


def drawn_by_definition(state: Game, spec, lists, draws):
    """Alice's hints, from the words of `EmbeddingSpec`."""
    scores = scores_of(spec.embedding, lists)[
        [lists.keywords.index(w) for w in state.deal.keywords]
    ]
    hints = []
    for place, digit in enumerate(state.code):
        past = [h for t in state.turns for d, h in zip(t.code, t.hints, strict=True) if d == digit]
        legal = [
            number
            for number, hint in enumerate(lists.hints)
            if hint_fault((hint,) * 3, state.deal.keywords) is None
        ]
        own = scores[digit - 1]
        near = sorted(legal, key=lambda number: -own[number])[: spec.k + len(past)]
        left = [number for number in near if lists.hints[number] not in past]
        draw = draws[3 * len(state.turns) + place]
        hints.append(lists.hints[left[int(draw * len(left))]])
    return tuple(hints)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    levels=st.sampled_from([2, 3, 1000]),
    k=st.integers(1, 30),
    matching=st.sampled_from(MATCHINGS),
)
def test_games_over_random_embeddings_with_ties(seed, levels, k, matching) -> None:
    """Alice's hints from her definition; Bob's guess from cosines with the keywords."""
    rng = np.random.default_rng(seed)
    letters = "bcdfghjklmnpqrtvwxz"
    words = ["".join(row) for row in itertools.islice(itertools.permutations(letters, 3), 60)]
    lists = WordLists(tuple(words[:6]), tuple(words))
    one, two = (
        Embedding.of("r", words, rng.integers(0, levels, (60, 3)) + np.eye(3)[0]) for _ in range(2)
    )
    players = (EmbeddingSpec(one, k), EmbeddingSpec(two, matching=matching), EmbeddingSpec(one))
    for number in range(3):
        played = play_in_seats(players, 1, number, lists=lists)
        draws = Stream.of(1, "decrypto", "encoder", "a").block(number, 1, ENCODER_DRAWS)[0]
        keywords = [lists.keywords.index(word) for word in played.deal.keywords]
        for past, turn in enumerate(played.turns):
            state = Game(played.deal, played.rules, played.turns[:past])
            assert turn.hints == drawn_by_definition(state, players[0], lists, draws)
            hints = [lists.hints.index(hint) for hint in turn.hints]
            cosines = scores_of(two, lists)[keywords][:, hints].T
            assert turn.bob == CODES[match(cosines[None], matching)[0]]


class TestMatch:
    @settings(max_examples=30, deadline=None)
    @given(st.integers(0, 2**32), st.sampled_from([2, 4, 1000]))
    def test_assignment_is_the_best_of_all_codes(self, seed, levels) -> None:
        from scipy.optimize import linear_sum_assignment

        scores = np.random.default_rng(seed).integers(0, levels, (8, 3, 4)) / 1024
        for guess, one in zip(match(scores, "assignment"), scores, strict=True):
            totals = [sum(one[i, d - 1] for i, d in enumerate(code)) for code in CODES]
            assert guess == totals.index(max(totals))  # the first of equals
            rows, columns = linear_sum_assignment(one, maximize=True)
            assert totals[guess] == one[rows, columns].sum()

    @settings(max_examples=30, deadline=None)
    @given(st.integers(0, 2**32), st.sampled_from([2, 4, 1000]))
    def test_greedy_takes_the_best_digit_left(self, seed, levels) -> None:
        scores = np.random.default_rng(seed).integers(-levels, levels, (8, 3, 4)) / 1024
        for guess, one in zip(match(scores, "greedy"), scores, strict=True):
            left, taken = [0, 1, 2, 3], []
            for row in one:
                best = max(left, key=lambda digit, row=row: (row[digit], -digit))
                left.remove(best)
                taken.append(best + 1)
            assert CODES[guess] == tuple(taken)


def test_history_scores_are_cosines_with_the_mean() -> None:
    past = [[MINILM.vectors[3], MINILM.vectors[8]], [], [MINILM.vectors[5]], []]
    sums = np.array([np.sum(rows, axis=0) if rows else np.zeros(128) for rows in past])
    found = history_scores(MINILM.vectors[None, 100:103], sums[None])[0]
    for row, hint in zip(found, MINILM.vectors[100:103], strict=True):
        mean = (past[0][0] + past[0][1]) / 2
        assert row[0] == pytest.approx(hint @ mean / np.linalg.norm(mean), abs=1e-5)
        assert row[2] == pytest.approx(hint @ past[2][0], abs=1e-5)
        assert row[1] == row[3] == 0


def test_forms_are_those_of_the_rules() -> None:
    """For each hint, whether the game calls it a form of the keyword."""
    keywords = ("run", "dance", "bus", "berry")
    hints = ("runner", "dancing", "buses", "berries", "sunlight", "cat", "danced", "busing", "burr")
    filler = ("qqqa", "qqqb", "qqqc")
    expected = [
        [hint_fault((hint,) * 3, (word, *filler)) is not None for hint in hints]
        for word in keywords
    ]
    assert forms(keywords, hints).tolist() == expected
    some = LISTS.hints[::40]
    for keyword in LISTS.keywords[::170]:
        faults = [hint_fault((h,) * 3, (keyword, *filler)) is not None for h in some]
        assert forms([keyword], some)[0].tolist() == faults


def test_a_bank_that_runs_out() -> None:
    words = ("ka", "kb", "kc", "kd", "one", "two")
    toy = EmbeddingSpec(Embedding.of("toy", words, np.random.default_rng(1).normal(size=(6, 3))))
    rules = Rules(turns=8, miscommunications=24, interceptions=24)
    with pytest.raises(TomevalError, match="no hint left for 'k"):
        play_in_seats((toy,) * 3, 1, 0, rules, WordLists(words[:4], words[4:]))


@pytest.mark.parametrize("k", [0, 2.5, True, "16"])
def test_faulty_k(k) -> None:
    with pytest.raises(TomevalError, match="k must be a positive integer"):
        EmbeddingSpec(MINILM, k)


def test_hints_without_a_vector_score_nothing_and_are_named() -> None:
    game = Game(Deal(("piano", "queen", "bread", "beach"), CODES[:8]))
    listener, hints = EmbeddingListener(EmbeddingSpec(MINILM)), ("zzyzx", "monarchs", "Toast")
    said = asyncio.run(listener.answer(game.view(BOB, hints), None))
    assert said.action == (1, 2, 3)
    assert said.details == {"unknown_hints": ["zzyzx"]}


def test_eve_uses_the_history_and_nothing_else() -> None:
    """Other keywords, same hints: the same guess."""
    specs = (EmbeddingSpec(MINILM), EmbeddingSpec(MINILM), EmbeddingSpec(WORDNET))
    eve = EmbeddingListener(specs[2])
    for number in range(20):
        turns = play_in_seats(specs, 1, number).turns
        state = Game(Deal(("qa", "qb", "qc", "qd"), tuple(t.code for t in turns)))
        for turn in turns:
            said = asyncio.run(eve.answer(state.view(EVE, turn.hints), None))
            assert said.action == turn.eve
            state = Game(state.deal, state.rules, (*state.turns, turn))
