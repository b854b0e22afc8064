"""The ladder of recursion against its definition, written out in loops over all 24 codes."""

from __future__ import annotations

import asyncio
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from tomeval.core.errors import TomevalError
from tomeval.extensions.levels import (
    COST,
    IMAGINED,
    PLACES,
    SHARPNESS,
    Scores,
    guesses,
    spec_of,
    worths_of,
)
from tomeval.games.decrypto.game import (
    CODES,
    Turn,
    View,
)
from tomeval.games.decrypto.players import DecryptoPlayer
from tomeval.games.decrypto.seats import ROLES
from tomeval.games.game import Probe
from tomeval.games.seats import Chair
from tomeval.lexicon.embeddings import shipped_embedding
from tomeval.lexicon.words import shipped_lists

WORDS = 7
KEYS = ("river", "violin", "bread", "winter")


def literal(bank, given, h, length, digits):
    """Return P(the first digits | hints) from all 24 codes, each equally likely beforehand."""
    hints = [*given[: length - 1], bank[h]]
    weight = {c: math.exp(SHARPNESS * sum(s[d - 1] for s, d in zip(hints, c, strict=False)))
              for c in CODES}  # fmt: skip
    fits = sum(w for c, w in weight.items() if c[:length] == digits)
    return fits / sum(weight.values())


def worth(level, bob, eve, given_b, given_e, h, digits):
    length = len(digits)
    value = -COST * (1 - bob[h][digits[-1] - 1])
    if level > 0:
        value += math.log(literal(bob, given_b, h, length, digits))
    if level > 1:
        reads = literal(eve, given_e, h, length, digits)
        value += math.log(1 - reads)
    return value


def slow_listener(level, bob, eve, told, legal):
    """Return the posterior over codes by Bayes' rule with Alice's probabilities."""
    posterior = []
    for code in CODES:
        total = 0.0
        for i in range(3):
            given_b, given_e = [bob[h] for h in told[:i]], [eve[h] for h in told[:i]]
            values = [worth(level, bob, eve, given_b, given_e, h, code[: i + 1])
                      for h in range(WORDS)]  # fmt: skip
            sums = sum(math.exp(IMAGINED * v) for v, ok in zip(values, legal, strict=True) if ok)
            total += IMAGINED * values[told[i]] - math.log(sums)
        posterior.append(math.exp(total))
    return np.array(posterior) / sum(posterior)


@pytest.fixture
def toy():
    """Cosines of seven words with four digits for either listener, and three hints of them."""
    rng = np.random.default_rng(3)
    bob, eve = rng.uniform(-0.06, 0.27, (2, WORDS, 4))
    eve[:, 2] = 0.0  # a digit without history
    return bob, eve, (4, 1, 6)


def both(values, told):
    return Scores(values.T.copy(), values[list(told)].T.copy())


@pytest.mark.parametrize("level", [0, 1, 2])
def test_alice_is_her_definition(toy, level) -> None:
    bob, eve, told = toy
    for code in CODES[::5]:
        for place in range(3):
            sequence = PLACES[place][CODES.index(code)]
            worths = worths_of(level, both(bob, told), both(eve, told), place)[sequence]
            given_b, given_e = [bob[h] for h in told[:place]], [eve[h] for h in told[:place]]
            truth = [worth(level, bob, eve, given_b, given_e, h, code[: place + 1])
                     for h in range(WORDS)]  # fmt: skip
            np.testing.assert_allclose(worths, truth, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("level", [1, 2])
def test_listeners_invert_alice(toy, level) -> None:
    bob, eve, told = toy
    legal = np.array([True, True, False, True, True, True, True])
    for first, second in ((bob, eve), (eve, eve)):  # Bob's guess, and Eve's
        found = guesses(level, both(first, told), both(second, told), legal)
        truth = slow_listener(level, first, second, told, legal)
        np.testing.assert_allclose(np.exp(found), truth, rtol=1e-6, atol=1e-12)


def test_a_literal_listener_weighs_24_codes(toy) -> None:
    bob, _, told = toy
    found = guesses(0, both(bob, told), None, np.ones(WORDS, bool))
    weight = [
        math.exp(SHARPNESS * sum(bob[h][d - 1] for h, d in zip(told, c, strict=True)))
        for c in CODES
    ]
    np.testing.assert_allclose(np.exp(found), np.array(weight) / sum(weight), rtol=1e-9)


PAST = (Turn((1, 2, 3), ("stream", "guitar", "loaf"), (1, 2, 3), (1, 2, 4)),)


def seated(role, seed=0, **options):
    player = DecryptoPlayer.scripted("p", "rsa", options, None)
    chair = Chair(ROLES.index(role), np.random.default_rng(seed))
    return player.seat(shipped_lists(), chair)


def test_alice_draws_by_her_probabilities() -> None:
    view = View(KEYS, (2, 4, 1), PAST)
    words = shipped_lists().hints
    worth = seated("encoder").worths(2, view, ())
    chance = softmax(2.0 * worth)
    likely = np.argsort(chance)[-8:]
    said = [asyncio.run(seated("encoder", seed, level=2, alpha=2.0).answer(view, None)).action[0]
            for seed in range(160)]  # fmt: skip
    seen = np.array([said.count(words[i]) for i in likely])
    expected = 160 * np.append(chance[likely], 1 - chance[likely].sum())
    assert stats.chisquare([*seen, 160 - seen.sum()], expected).pvalue > 1e-3


def test_listeners_draw_by_their_probabilities_and_repeat_themselves() -> None:
    view = View(KEYS, turns=PAST, hints=("music", "snow", "bank"))
    bobs = [seated("decoder", seed, level=1, alpha=0.02) for seed in range(60)]
    said = [asyncio.run(bob.answer(view, None)).action for bob in bobs]
    assert said == [asyncio.run(bob.answer(view, None)).action for bob in bobs]
    assert len(set(said)) > 5  # nearly at random
    eve = seated("interceptor", level=0)
    same = View(turns=PAST, hints=("stream", "guitar", "loaf"))
    assert asyncio.run(eve.answer(same, None)).action == (1, 2, 3)
    doubting = seated("interceptor", level=2)
    assert asyncio.run(doubting.answer(same, None)).action != (1, 2, 3)


def test_levels_of_a_mixture_are_drawn_by_turn_and_noted() -> None:
    view = View(KEYS, (2, 4, 1), PAST)
    notes = [asyncio.run(seated("encoder", seed, level=[0.25, 0, 0.75]).answer(view, None)).details
             for seed in range(120)]  # fmt: skip
    twos = sum(note["level"] == 2 for note in notes)
    assert {note["level"] for note in notes} == {0, 2}
    assert 0.6 < twos / 120 < 0.9
    assert asyncio.run(seated("encoder", level=2).answer(view, None)).details is None


def test_alice_predicts_only_whom_she_reasons_about() -> None:
    view, hints = View(KEYS, (2, 4, 1), PAST), ("guitar", "snow", "creek")
    asked = {
        (level, question): asyncio.run(
            seated("encoder", level=level).probe(view, None, Probe(question, None, hints))
        )
        for level in (0, 1, 2)
        for question in ("bob", "eve")
    }
    assert [key for key, said in asked.items() if said] == [(1, "bob"), (2, "bob"), (2, "eve")]
    assert asked[2, "bob"].action == (2, 4, 1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"level": 3}, "level must be 0, 1 or 2"),
        ({"level": [0.5, 0.6, 0.0]}, "add up to 1"),
        ({"level": [2.0, -1.0, 0.0]}, "add up to 1"),
        ({"alpha": -1}, "alpha at least 0"),
    ],
)
def test_options_out_of_range(options, says) -> None:
    with pytest.raises(TomevalError, match=says):
        spec_of(shipped_embedding("minilm"), **options)
