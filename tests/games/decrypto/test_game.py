from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tomeval.games.decrypto.game import (
    CODES,
    Deal,
    Game,
    Rules,
    Turn,
    hint_fault,
    outcome_of,
)
from tomeval.games.decrypto.seats import BOB, EVE, Probes
from tomeval.games.decrypto.stages import Decrypto
from tomeval.lexicon.words import WordLists, is_form

WORDS = ["river", "violin", "bread", "winter", "dance", "glove", "king", "forest", "stone"]
KEYS = ("river", "violin", "bread", "winter")
HINTS = ("string", "snow", "bank")
RIGHT, WRONG = (2, 4, 1), (1, 2, 3)

codes = st.sampled_from(CODES)
hints = st.tuples(*[st.sampled_from(["a", "b", "c", "snow", "bank"])] * 3)


def turn(miscommunicated: bool, intercepted: bool) -> Turn:
    return Turn(RIGHT, HINTS, WRONG if miscommunicated else RIGHT, RIGHT if intercepted else WRONG)


def test_codes_are_all_ordered_triples() -> None:
    every = [c for c in itertools.product((1, 2, 3, 4), repeat=3) if len(set(c)) == 3]
    assert list(CODES) == every
    assert len(CODES) == 24


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=8))
def test_the_game_ends_at_the_first_limit(marks) -> None:
    rules = Rules()
    turns, wrong, caught, expected = [], 0, 0, None
    for miscommunicated, intercepted in marks:
        turns.append(turn(miscommunicated, intercepted))
        wrong += miscommunicated
        caught += intercepted
        if wrong == 2 or caught == 2:
            expected = {(True, True): "both", (True, False): "miscommunication"}.get(
                (wrong == 2, caught == 2), "interception"
            )
            break
        if len(turns) == 8:
            expected = "survived"
    assert outcome_of(turns, rules) == expected


SPELLINGS = [
    "river.",
    "r.i.v.e.r",
    "ri' ver",
    "old rivers’",
    "RIVERS'",
    "𝐑𝐈𝐕𝐄𝐑𝐒",
    "ｒｉｖｅｒ’s",
    "rıver",
]
SPELLINGS += ["rîver’", "non-river", "riv-ers"]

keyword_sets = st.lists(st.sampled_from(WORDS), min_size=4, max_size=4, unique=True).map(tuple)


@given(
    keyword_sets,
    keyword_sets,
    st.lists(codes, min_size=8, max_size=8, unique=True),
    st.lists(st.tuples(hints, codes, codes), max_size=6),
    hints,
    codes,
)
def test_what_eve_sees_does_not_depend_on_keywords_or_the_current_code(
    keywords, others, drawn, played, now, other_code
) -> None:
    def play(keys, current):
        past = list(drawn[: len(played)])
        game = Game(
            Deal(keys, (*past, current, *drawn)),
            Rules(turns=20, miscommunications=20, interceptions=20),
        )
        for given_hints, bob, eve in played:
            game = game.after(given_hints, bob, eve)
        return game

    one, two = play(keywords, drawn[len(played)]), play(others, other_code)
    assert one.view(EVE, now) == two.view(EVE, now)
    assert repr(one.view(EVE, now)) == repr(two.view(EVE, now))
    assert two.view(BOB, now) == play(others, drawn[len(played)]).view(BOB, now)
    if keywords != others:
        assert one.view(BOB, now) != two.view(BOB, now)


def test_deals_are_uniform() -> None:
    rules = Decrypto(WordLists(tuple(WORDS), HINTS), Rules(), Probes())
    rng = np.random.default_rng(11)
    games = [rules.deal(rng).deal for _ in range(4000)]
    for game in games:
        assert len(set(game.keywords)) == 4
        assert len(set(game.codes)) == len(game.codes) == 8
    firsts = np.bincount([CODES.index(game.codes[0]) for game in games], minlength=24)
    assert abs(firsts - 4000 / 24).max() < 5 * np.sqrt(4000 / 24)
    heads = np.bincount([WORDS.index(game.keywords[0]) for game in games], minlength=9)
    assert abs(heads - 4000 / 9).max() < 5 * np.sqrt(4000 / 9)


FORMS = {
    True: [
        *(("rivers", "river"), ("dancing", "dancer"), ("running", "run"), ("glasses", "glass")),
        *(("king's", "king"), ("café", "cafe"), ("ladies'", "lady"), ("runners’", "run")),
        *(("dancing’s", "dance"), ("rock'n'roll", "rock"), ("smørs", "smor"), ("ŁODZ'", "lodz")),
        *(("ocean", "ocean’s"), ("jacks'", "jack-o'-lantern")),
    ],
    False: [
        *(("train", "rain"), ("sunlight", "sun"), ("bank's", "driver's"), ("it'd", "cold'd")),
        *(("o'clock", "o'neill"), ("James'", "jamb")),
    ],
}


@pytest.mark.parametrize("expected", FORMS)
def test_forms(expected) -> None:
    assert [pair for pair in FORMS[expected] if is_form(*pair) is not expected] == []
    assert [pair for pair in FORMS[expected] if is_form(*pair[::-1]) is not expected] == []


@pytest.mark.parametrize(
    ("hint", "why"),
    [
        ("", "one or two words"),
        ("one two three", "one or two words"),
        ("2", "one or two words"),
        ("snow, ice", "one or two words"),
        ("x" * 61, "one or two words"),
        ("River", "a keyword"),
        ("winter-sport", "a keyword"),
        ("vio lin", "a keyword"),
        *((hint, "a keyword") for hint in SPELLINGS),
    ],
)
def test_illegal_hints(hint, why) -> None:
    fault = hint_fault((hint, "snow", "bank"), KEYS)
    assert fault is not None
    assert why in fault
    assert repr(hint) in fault


@pytest.mark.parametrize("sign", ["'", *"’‘‛′＇`´ʹʻʼꞌ"])
@pytest.mark.parametrize("form", ["rivers_", "river_", "river_s", "River_d", "ri_ver", "o_river"])
def test_apostrophes_of_any_kind_hide_no_keyword(form, sign) -> None:
    hint = form.replace("_", sign)
    assert hint_fault((hint, "snow", "bank"), KEYS) == (
        f"hint 1, {hint!r}: is a keyword or a form of one ('river')"
    )


@pytest.mark.parametrize(
    "hint", ["snow", "New York", "mother-in", "o'clock", "Übung", "St. Moritz"]
)
def test_legal_hints(hint) -> None:
    assert hint_fault((hint, "snow", "bank"), KEYS) is None
