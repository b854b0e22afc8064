"""Embedding players against definitions written out, in seats and in batch."""

from __future__ import annotations

import asyncio
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.core.errors import TomevalError
from tomeval.domains.decrypto.batch import candidates, deal_games, outcomes, play_games, simulate
from tomeval.domains.decrypto.embedding_players import (
    ENCODER_DRAWS,
    MATCHINGS,
    EncoderSpec,
    ListenerSpec,
    forms,
    history_scores,
    match,
    nearest,
    table,
)
from tomeval.domains.decrypto.embedding_seats import (
    EmbeddingEncoder,
    EmbeddingListener,
)
from tomeval.domains.decrypto.game import (
    CODES,
    OUTCOMES,
    Deal,
    Game,
    Rules,
    Turn,
    deal,
    deal_stream,
    hint_fault,
    outcome_of,
)
from tomeval.domains.decrypto.seats import seat_stream
from tomeval.domains.seated.seats import Chair
from tomeval.lexicon.embeddings import Embedding, on_score_grid, shipped_embedding
from tomeval.lexicon.words import WordLists, shipped_lists

LISTS = shipped_lists()
MINILM, WORDNET = shipped_embedding("minilm"), shipped_embedding("wordnet")
LOOSE = Rules(turns=24, miscommunications=24, interceptions=24, no_repeat_hints=True)


def seats(players, seed, game, lists=LISTS):
    rng = seat_stream(seed, "encoder", "a").episode(game, ENCODER_DRAWS)
    return (
        EmbeddingEncoder(Chair("encoder", rng), players[0], lists),
        EmbeddingListener(Chair("decoder", np.random.default_rng(0)), players[1]),
        EmbeddingListener(Chair("interceptor", np.random.default_rng(0)), players[2]),
    )


def play_in_seats(players, seed, game, rules=None, lists=LISTS) -> Game:
    rules = rules or Rules()
    alice, bob, eve = seats(players, seed, game, lists)
    state = Game(deal(lists.keywords, rules, deal_stream(seed).episode(game)), rules)

    async def play(state: Game) -> Game:
        while state.outcome is None:
            hints = (await alice.answer(state.encoder_view())).value
            assert (await alice.answer(state.encoder_view())).value == hints  # asked twice
            assert hint_fault(hints, state.deal.keywords, state.code, state.turns, rules) is None
            guess = (await bob.answer(state.decoder_view(hints))).value
            caught = (await eve.answer(state.interceptor_view(hints))).value
            state = state.after(hints, guess, caught)
        return state

    return asyncio.run(play(state))


class TestBatchEqualsSeats:
    @pytest.mark.parametrize("careful", [False, True])
    @pytest.mark.parametrize(("bob", "eve"), [("assignment", "greedy"), ("greedy", "assignment")])
    @pytest.mark.parametrize("k", [1, 40])
    def test_shipped_embeddings(self, k, careful, bob, eve) -> None:
        players = (
            EncoderSpec(MINILM, k, careful),
            ListenerSpec(WORDNET, bob),
            ListenerSpec(MINILM, eve),
        )
        for rules in (Rules(), LOOSE):
            alice = seat_stream(4, "encoder", "a")
            played = simulate(LISTS, players, alice, seed=4, first=3, count=2, rules=rules)
            for number in range(2):
                game = play_in_seats(players, 4, 3 + number, rules)
                assert played.game(number) == game.turns
                assert OUTCOMES[played.outcomes[number]] == game.outcome
                places = [LISTS.keywords[i] for i in played.keywords[number]]
                assert tuple(places) == game.deal.keywords

    @settings(max_examples=25, deadline=None)
    @given(
        seed=st.integers(0, 2**32),
        levels=st.sampled_from([2, 3, 1000]),
        k=st.integers(1, 30),
        careful=st.booleans(),
        bob=st.sampled_from(MATCHINGS),
        eve=st.sampled_from(MATCHINGS),
    )
    def test_random_embeddings_with_ties(self, seed, levels, k, careful, bob, eve) -> None:
        rng = np.random.default_rng(seed)
        letters = "bcdfghjklmnpqrtvwxz"
        words = ["".join(row) for row in itertools.islice(itertools.permutations(letters, 3), 60)]
        lists = WordLists(tuple(words[:6]), tuple(words))
        one, two = (
            Embedding.of("r", words, rng.integers(0, levels, (60, 3)) + np.eye(3)[0])
            for _ in range(2)
        )
        players = (EncoderSpec(one, k, careful), ListenerSpec(two, bob), ListenerSpec(one, eve))
        played = simulate(lists, players, seat_stream(1, "encoder", "a"), seed=1, count=5)
        for number in range(5):
            assert played.game(number) == play_in_seats(players, 1, number, lists=lists).turns

    def test_blocks_do_not_matter(self) -> None:
        players = (EncoderSpec(MINILM), ListenerSpec(MINILM), ListenerSpec(WORDNET))
        alice = seat_stream(2, "encoder", "a")
        whole = simulate(LISTS, players, alice, seed=2, count=1100)
        part = simulate(LISTS, players, alice, seed=2, first=1000, count=100)
        assert np.array_equal(whole.hints[1000:], part.hints)
        assert np.array_equal(whole.eve[1000:], part.eve)
        other = simulate(LISTS, players, alice, seed=3, count=100)
        assert not np.array_equal(other.keywords, whole.keywords[:100])
        again = simulate(LISTS, players, seat_stream(3, "encoder", "a"), seed=2, count=100)
        assert np.array_equal(again.keywords, whole.keywords[:100])
        assert not np.array_equal(again.hints, whole.hints[:100])


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

    def test_scores_are_left_alone(self) -> None:
        scores = np.ones((1, 3, 4))
        match(scores, "greedy")
        assert (scores == 1).all()


def test_history_scores_are_cosines_with_the_mean() -> None:
    past = [[MINILM.vectors[3], MINILM.vectors[8]], [], [MINILM.vectors[5]], []]
    sums = np.array([np.sum(rows, axis=0) if rows else np.zeros(128) for rows in past])
    found = history_scores(MINILM.vectors[None, 100:103], sums[None])[0]
    for row, hint in zip(found, MINILM.vectors[100:103], strict=True):
        mean = (past[0][0] + past[0][1]) / 2
        assert row[0] == pytest.approx(hint @ mean / np.linalg.norm(mean), abs=1e-5)
        assert row[2] == pytest.approx(hint @ past[2][0], abs=1e-5)
        assert row[1] == row[3] == 0


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.sampled_from([3, 10_000]))
def test_nearest_is_a_stable_sort(seed, count, levels) -> None:
    scores = np.random.default_rng(seed).integers(-levels, levels, (4, 30)) / 2.0**20
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    assert np.array_equal(nearest(scores, count), expected)


def test_forms_are_those_of_the_rules() -> None:
    """For each hint, whether the game calls it a form of the keyword."""
    keywords = ("run", "dance", "bus", "berry")
    hints = ("runner", "dancing", "buses", "berries", "sunlight", "cat", "danced", "busing", "burr")
    filler = ("qqqa", "qqqb", "qqqc")
    expected = [
        [hint_fault((hint,) * 3, (word, *filler), CODES[0]) is not None for hint in hints]
        for word in keywords
    ]
    assert forms(keywords, hints).tolist() == expected
    some = LISTS.hints[::40]
    for keyword in LISTS.keywords[::170]:
        faults = [hint_fault((h,) * 3, (keyword, *filler), CODES[0]) is not None for h in some]
        assert forms([keyword], some)[0].tolist() == faults


class TestEncoder:
    def hints_of(self, spec, game, played) -> list[tuple[int, int, int]]:
        """Digit, earlier times that it came up, and position of the hint, in order."""
        found, count = [], [0] * 4
        for turn in played.game(game):
            for digit, hint in zip(turn.code, turn.hints, strict=True):
                found.append((digit - 1, count[digit - 1], LISTS.hints.index(hint)))
            for digit in turn.code:
                count[digit - 1] += 1
        return found

    @pytest.mark.parametrize("careful", [False, True])
    def test_hints_are_among_the_nearest_legal_ones(self, careful) -> None:
        """Ranks counted from the definition: K, plus one for each time the digit came up."""
        spec = EncoderSpec(MINILM, 4, careful)
        players = (spec, ListenerSpec(MINILM), ListenerSpec(MINILM))
        alice = seat_stream(6, "encoder", "a")
        played = simulate(LISTS, players, alice, seed=6, count=15, rules=LOOSE)
        scores = table(MINILM, LISTS).scores
        reached = set()
        for game in range(15):
            keywords = played.keywords[game]
            legal = ~forms([LISTS.keywords[i] for i in keywords], LISTS.hints).any(axis=0)
            for digit, before, hint in self.hints_of(spec, game, played):
                own = scores[keywords[digit]]
                rank = int((own[legal] > own[hint]).sum())
                assert legal[hint]
                assert rank < 4 + before
                reached.add(rank - before)
        assert 3 in reached  # the last of the list is drawn too: K is no less

    def test_every_candidate_is_as_likely(self) -> None:
        """First hints of one deal under many streams: 8 candidates, 4,000 draws."""
        rules = Rules(turns=1)
        words = [LISTS.keywords[i] for i in (17, 170, 320, 512)]
        spec = EncoderSpec(WORDNET, 8)
        players = (spec, ListenerSpec(WORDNET), ListenerSpec(WORDNET))
        deals = deal_games(LISTS, rules, 1, 0, 4000)
        deals.keywords[:] = [LISTS.keywords.index(word) for word in words]
        deals.codes[:] = CODES.index((3, 1, 2))
        draws = seat_stream(1, "encoder", "b").block(0, 4000, ENCODER_DRAWS)
        given_hints = play_games(LISTS, players, deals, draws, rules).hints[:, 0, 0]
        words_given, counts = np.unique(given_hints, return_counts=True)
        assert len(words_given) == 8
        assert ((counts - 500) ** 2 / 500).sum() < 24.3  # chi-square, 7 df, p = 0.001

    def test_careful_hints_are_nearest_to_their_own_keyword(self) -> None:
        scores = table(WORDNET, LISTS).scores
        shares = []
        for careful in (False, True):
            spec = EncoderSpec(WORDNET, 64, careful)
            players = (spec, ListenerSpec(WORDNET), ListenerSpec(MINILM))
            played = simulate(LISTS, players, seat_stream(1, "encoder", "a"), seed=1, count=200)
            own = []
            for game in range(200):
                for digit, _, hint in self.hints_of(spec, game, played):
                    own.append(scores[played.keywords[game], hint].argmax() == digit)
            shares.append(np.mean(own))
        assert shares[0] < 0.97
        assert shares[1] > 0.995

    def test_careful_without_a_choice(self) -> None:
        """No candidate is nearer to its own keyword: the one that comes closest is given."""
        words = ["ka", "kb", "kc", "kd", "one", "two", "six"]
        vectors = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0.1, 1, 0], [0.4, 1, 0], [0, 1, 0]]
        lists = WordLists(tuple(words[:4]), tuple(words[4:]))
        toy = Embedding.of("toy", words, vectors)
        players = (EncoderSpec(toy, 3, True), ListenerSpec(toy), ListenerSpec(toy))
        for game in range(5):
            alice = seats(players, 1, game, lists)[0]
            state = Game(Deal(lists.keywords, ((1, 2, 3),)), Rules(turns=1))
            hints = asyncio.run(alice.answer(state.encoder_view())).value
            assert hints[0] == "two"  # 0.37 - 0.93 is the smallest shortfall

    def test_a_bank_that_runs_out(self) -> None:
        words = ("ka", "kb", "kc", "kd", "one", "two")
        toy = Embedding.of("toy", words, np.random.default_rng(1).normal(size=(6, 3)))
        lists = WordLists(words[:4], words[4:])
        players = (EncoderSpec(toy), ListenerSpec(toy), ListenerSpec(toy))
        rules = Rules(turns=8, miscommunications=24, interceptions=24)
        with pytest.raises(TomevalError, match="no hint left"):
            simulate(lists, players, seat_stream(1, "encoder", "a"), seed=1, count=1, rules=rules)
        with pytest.raises(TomevalError, match="no hint left for 'k"):
            play_in_seats(players, 1, 0, rules, lists)

    @pytest.mark.parametrize("k", [0, -1, 2.5, True, "16"])
    def test_faulty_k(self, k) -> None:
        with pytest.raises(TomevalError, match="k must be a whole number"):
            EncoderSpec(MINILM, k)

    def test_candidates_of_a_tiny_bank_end_in_minus_one(self) -> None:
        lists = WordLists(LISTS.keywords[:4], LISTS.hints[:20])
        found = candidates(lists, EncoderSpec(MINILM, 30), np.array([[0, 1, 2, 3]]), 8)
        legal = ~forms(lists.keywords, lists.hints).any(axis=0)
        assert (np.sort(found[found >= 0].reshape(4, -1), axis=1) == np.flatnonzero(legal)).all()


class TestListeners:
    def test_unknown_matching(self) -> None:
        with pytest.raises(
            TomevalError, match=r"unknown matching 'gready' \(did you mean 'greedy'"
        ):
            ListenerSpec(MINILM, "gready")

    def test_hints_without_a_vector_score_nothing_and_are_named(self) -> None:
        words = ("piano", "queen", "bread", "beach")
        players = (EncoderSpec(MINILM), ListenerSpec(MINILM), ListenerSpec(MINILM))
        _, bob, eve = seats(players, 1, 0)
        game = Game(Deal(words, CODES[:8]))
        hints = ("zzyzx", "monarchs", "Toast")
        said = asyncio.run(bob.answer(game.decoder_view(hints)))
        assert said.value == (1, 2, 3)
        assert said.details == {"unknown_hints": ["zzyzx"]}
        said = asyncio.run(eve.answer(game.interceptor_view(hints)))
        assert said.details == {"unknown_hints": ["zzyzx"]}

    def test_without_history_eve_guesses_the_first_code(self) -> None:
        players = (EncoderSpec(MINILM), ListenerSpec(MINILM), ListenerSpec(MINILM))
        played = simulate(LISTS, players, seat_stream(1, "encoder", "a"), seed=1, count=300)
        assert (played.eve[:, 0] == 0).all()

    def test_eve_uses_the_history_and_nothing_else(self) -> None:
        """Other keywords, same hints: the same guess."""
        players = (EncoderSpec(MINILM), ListenerSpec(MINILM), ListenerSpec(WORDNET))
        played = simulate(LISTS, players, seat_stream(1, "encoder", "a"), seed=1, count=20)
        for number in range(20):
            turns = played.game(number)
            state = Game(Deal(("qa", "qb", "qc", "qd"), tuple(t.code for t in turns)))
            for turn in turns:
                eve = seats(players, 9, 9)[2]
                said = asyncio.run(eve.answer(state.interceptor_view(turn.hints)))
                assert said.value == turn.eve
                state = Game(state.deal, state.rules, (*state.turns, turn))

    def test_unknown_keyword(self) -> None:
        bob = seats((EncoderSpec(MINILM), ListenerSpec(MINILM), ListenerSpec(MINILM)), 1, 0)[1]
        game = Game(Deal(("piano", "queen", "zzyzx", "beach"), CODES[:8]))
        with pytest.raises(TomevalError, match="no vector for 1 of 1 words: 'zzyzx'"):
            asyncio.run(bob.answer(game.decoder_view(("violin", "king", "sand"))))


def test_outcomes_are_those_of_the_game() -> None:
    right, wrong = CODES[0], CODES[1]
    rules = Rules(turns=3)
    seen = set()
    for length in (1, 2, 3):
        for ends in itertools.product([right, wrong], repeat=2 * length):
            pairs = list(zip(ends[::2], ends[1::2], strict=True))
            turns = [Turn(right, ("a", "b", "c"), bob, eve) for bob, eve in pairs]
            expected = outcome_of(turns, rules)
            if expected is not None:
                missed = np.array([sum(bob != right for bob, _ in pairs)])
                caught = np.array([sum(eve == right for _, eve in pairs)])
                assert OUTCOMES[outcomes(missed, caught, rules)[0]] == expected
                seen.add(expected)
    assert seen == set(OUTCOMES)


def test_scores_are_on_the_grid() -> None:
    scores = table(MINILM, LISTS).scores[:5]
    assert np.array_equal(on_score_grid(scores), scores)


class TestFacts:
    """What the reference reports of embedding pairs, with 1,000 games each."""

    @pytest.mark.parametrize("matching", MATCHINGS)
    @pytest.mark.parametrize("eve", [MINILM, WORDNET], ids=lambda e: e.name)
    def test_pairs_with_one_embedding_are_clearly_better(self, eve, matching) -> None:
        miscommunicated, turns = {}, {}
        for alice, bob in itertools.product((MINILM, WORDNET), repeat=2):
            players = (
                EncoderSpec(alice, 16),
                ListenerSpec(bob, matching),
                ListenerSpec(eve, matching),
            )
            stream = seat_stream(1, "encoder", alice.name)
            played = simulate(LISTS, players, stream, seed=1, count=1000)
            lost = np.isin(played.outcomes, [0, 2])
            miscommunicated[alice is bob, alice.name] = interval(lost)
            turns[alice is bob, alice.name] = interval(played.turns)
        for one in ("minilm", "wordnet"):
            for other in ("minilm", "wordnet"):
                assert miscommunicated[True, one][1] < miscommunicated[False, other][0]
                assert turns[True, one][0] > turns[False, other][1]


def interval(values) -> tuple[float, float]:
    """95 % interval of a mean over games."""
    half = 1.96 * np.std(values, ddof=1) / np.sqrt(len(values))
    return float(np.mean(values) - half), float(np.mean(values) + half)
