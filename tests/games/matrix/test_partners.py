from __future__ import annotations

import tomllib
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import ODD_GAMES, SHIPPED, SPECS, changed_documents, make_game, outcome, play_against

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.games import GAMES, get_game
from tomeval.games.matrix.partner_specs import get_partner, get_partner_set
from tomeval.games.matrix.partners import Partner, PartnerSet

IPD, RPS = GAMES["IPD"], GAMES["RPS"]
C, D = 0, 1


# --- every shipped partner, every built-in game -------------------------------------------------


FOR_TWO_ACTIONS = {"generous_tit_for_tat", "grim_trigger", "tit_for_two_tats"}
FOR_TWO_ACTIONS |= {"ipd_pair_1", "ipd_pair_2"}  # explicit tables
FOR_TWO_ACTIONS |= {"defect_once", "hard_tit_for_tat", "naive_prober", "reverse_tit_for_tat"}
COPY = {"noisy_tit_for_tat", "suspicious_tit_for_tat", "tit_for_tat"}
# One game of each shape.
PLACES = [(name, game) for name in SHIPPED for game in (IPD, RPS, *ODD_GAMES)]


def misfit(place) -> str:
    """Return why a partner cannot play a game."""
    name, game = place
    if name in FOR_TWO_ACTIONS and (game.n, game.m) != (2, 2):
        return "does not fit"
    return "cannot copy" if name in COPY and game.n != game.m else ""


@pytest.mark.parametrize(
    ("name", "game"), list(filter(misfit, PLACES)), ids=lambda x: getattr(x, "name", x)
)
def test_partners_that_do_not_fit_the_game(name: str, game) -> None:
    with pytest.raises(TomevalError, match=misfit((name, game))):
        get_partner(name, game)


@pytest.mark.parametrize(
    ("name", "game"), [p for p in PLACES if not misfit(p)], ids=lambda x: getattr(x, "name", x)
)
def test_contract(name: str, game) -> None:
    spec = SPECS[name]
    if name == "mixture":
        spec = f"mixture({', '.join([str(1 / game.m)] * game.m)})"
    partner = get_partner(spec, game)
    assert (partner.n, partner.m) == (game.n, game.m)
    assert len(set(partner.states)) == len(partner.emissions)
    assert partner.title
    assert partner.source
    assert partner.fingerprint() == get_partner(spec, game).fingerprint()


# --- known behaviours, as transcripts ------------------------------------------------------------

TRANSCRIPTS = [
    # spec, own moves, the partner's moves (its first move answers nothing)
    ("always(1)", [C, D, C], [D, D, D]),
    ("tit_for_tat", [C, D, D, C, C], [C, C, D, D, C]),
    ("suspicious_tit_for_tat", [C, D, C, C], [D, C, D, C]),
    ("tit_for_two_tats", [D, C, D, D, D, C, C], [C, C, C, C, D, D, C]),
    ("grim_trigger", [C, C, D, C, C, C], [C, C, C, D, D, D]),
    ("generous_tit_for_tat(0)", [C, D, D, C], [C, C, D, D]),
    ("generous_tit_for_tat(1)", [C, D, D, C], [C, C, C, C]),
    ("noisy_tit_for_tat(0)", [C, D, D, C], [C, C, D, D]),
    ("noisy_tit_for_tat(1)", [C, D, D, C], [D, D, C, C]),
    ("alternator", [C, C, C, C], [C, D, C, D]),
    ("cycler", [C, C, C], [C, D, C]),
    # steps count from 1: with k = 3 the third move is the first of the new kind
    ("switcher(0, 1, 3)", [C] * 5, [C, C, D, D, D]),
    ("switcher(1, 0, 2)", [C] * 3, [D, C, C]),
    # Pavlov: IPD's mean payoff is 5.75. It plays C; against C it gets 8: stays; against D 0:
    # shifts to D; D against D pays 5 < 5.75: shifts back to C; D against C pays 10: stays with D.
    ("win_stay_lose_shift", [C, D, D, C, D, C, C], [C, C, D, C, C, D, D]),
    # policies of published games
    ("hard_tit_for_tat(1)", [C, C, D, C, C, C, C], [D, C, C, D, D, D, C]),
    ("hard_tit_for_tat", [D, D, C, C, C, C], [C, D, D, D, D, C]),
    ("reverse_tit_for_tat", [C, D, D, C], [D, D, C, C]),
    ("defect_once", [D, D, C], [D, C, C]),
    ("alternator(1, 0)", [C, C, C], [D, C, D]),
]


@pytest.mark.parametrize(("spec", "own", "theirs"), TRANSCRIPTS)
def test_transcript_in_ipd(spec: str, own: list[int], theirs: list[int]) -> None:
    assert play_against(get_partner(spec, IPD), own) == theirs


def test_rps_tit_for_tat_is_the_best_response_to_the_last_action() -> None:
    # After rock (0) it plays paper (1), after paper scissors (2), after scissors rock (0).
    partner = get_partner("tit_for_tat", RPS)
    assert play_against(partner, [0, 1, 2, 0, 0]) == [0, 1, 2, 0, 1]
    late = get_partner("suspicious_tit_for_tat", RPS)
    assert play_against(late, [0, 1, 2]) == [1, 1, 2]
    assert partner.fingerprint() == get_partner("best_responder", RPS).fingerprint()
    assert play_against(get_partner("best_responder(first=1)", RPS), [0, 1]) == [1, 1]


def test_rps_cycler_alternator_and_wsls() -> None:
    assert play_against(get_partner("cycler", RPS), [0] * 5) == [0, 1, 2, 0, 1]
    assert play_against(get_partner("alternator", RPS), [0] * 4) == [0, 1, 0, 1]
    # Mean payoff 0: a draw or a win stays, a loss moves on. Rock loses to paper -> paper; paper
    # loses to scissors -> scissors; scissors lose to rock -> rock.
    wsls = get_partner("win_stay_lose_shift", RPS)
    assert play_against(wsls, [0, 2, 1, 2, 0, 1]) == [0, 0, 0, 1, 2, 0]


def test_best_responder_follows_its_own_payoffs() -> None:
    # The partner's payoff rows of `two_by_three`: own0 -> (1, 2, 0), own1 -> (5, 0, 1).
    partner = get_partner("best_responder", ODD_GAMES[0])
    assert play_against(partner, [0, 1, 0, 0]) == [0, 1, 0, 1]


def test_stochastic_rows() -> None:
    # States: start, after 0, after 1.
    generous = get_partner("generous_tit_for_tat(0.3)", IPD).emissions
    assert np.allclose(generous, [[1, 0], [1, 0], [0.3, 0.7]])
    noisy = get_partner("noisy_tit_for_tat(e=0.2)", IPD).emissions
    assert np.allclose(noisy, [[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]])
    # With three actions noise falls on the two that are not meant, half each.
    rps = get_partner("noisy_tit_for_tat(0.2)", RPS).emissions
    assert np.allclose(rps[1], [0.1, 0.8, 0.1])
    assert np.allclose(get_partner("uniform_random", RPS).emissions, 1 / 3)
    assert np.allclose(get_partner("mixture(0.2, 0.3, 0.5)", RPS).emissions, [[0.2, 0.3, 0.5]])


def test_mixture_of_a_point_is_deterministic() -> None:
    partner = get_partner("mixture(0, 1)", IPD)
    assert partner.is_deterministic
    assert not partner.reacts
    assert get_partner("tit_for_tat", IPD).reacts
    assert not get_partner("cycler", IPD).reacts


# --- specs and sets ------------------------------------------------------------------------------


def test_sets() -> None:
    one = get_partner_set("tit_for_tat", IPD)
    assert (one.name, one.weights) == ("tit_for_tat", (1.0,))
    three = get_partner_set("single_action", RPS)
    assert [p.name for p in three.partners] == ["always(0)", "always(1)", "always(2)"]
    assert three.weights == (1 / 3,) * 3
    plain = get_partner_set("always(0) + mixture(0.5, 0.5) + tit_for_tat", IPD)
    assert plain.weights == (1 / 3,) * 3
    table = get_partner_set(
        {"partners": ["always(0)", "grim_trigger"], "weights": [0.9, 0.1], "name": "mix"}, IPD
    )
    assert (table.name, table.weights) == ("mix", (0.9, 0.1))
    assert np.allclose(three.cumulative(), [1 / 3, 2 / 3])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("tit_for_tata", "unknown partner 'tit_for_tata' (did you mean 'tit_for_tat'?)"),
        ("always(2)", "2 is not an action index 0..1"),
        ("always(", "cannot be read"),
        ("generous_tit_for_tat(1.5)", "must be a number from 0 to 1, is 1.5"),
        ("mixture(0.5, 0.4)", "not stochastic"),
        ("always(0) + always(0)", "appears twice"),
        ({"partners": ["always(0)", "always(1)"], "weights": [1.5, -0.5]}, "must be positive"),
        ({"partners": ["always(0)"], "weights": [0.5, 0.5]}, "2 weights for 1 partners"),
        ({"partner": ["always(0)"]}, "unknown key 'partner' (did you mean 'partners'?)"),
    ],
)
def test_bad_sets(spec, message: str) -> None:
    with pytest.raises(TomevalError) as caught:
        get_partner_set(spec, IPD)
    assert message in str(caught.value)


def test_set_of_games_of_different_sizes() -> None:
    with pytest.raises(TomevalError, match="different sizes"):
        PartnerSet("x", (get_partner("always(0)", IPD), get_partner("always(1)", RPS)))
    with pytest.raises(TomevalError, match="at least one"):
        PartnerSet("x", ())


# --- tables --------------------------------------------------------------------------------------

FINE = [[[0, 0], [0, 0]]]


@pytest.mark.parametrize(
    ("emissions", "next_state", "start", "message"),
    [
        ([0.5, 0.5], FINE, 0, "need (S, m)"),
        ([[0.5, 0.5]], [[[0, 1], [0, 0]]], 0, "outside 0..0"),
        ([[0.5, 0.5]], [[[0.0, 0.5], [0, 0]]], 0, "whole numbers"),
        ([[0.5, 0.6]], FINE, 0, "not stochastic"),
        # only an action that state 0 never plays leads to state 1
        ([[1, 0], [0, 1]], [[[0, 1], [0, 1]], [[1, 1], [1, 1]]], 0, "unreachable"),
    ],
)
def test_bad_tables(emissions, next_state, start, message) -> None:
    with pytest.raises(TomevalError, match="partner 'demo'") as caught:
        Partner("demo", emissions, next_state, start)
    assert message in str(caught.value)


FILE = """
title = "Mine"
source = "me"
start = "calm"
[parameters]
p = 0.25
[states.calm]
play = 0
next = ["calm", "angry"]
[states.angry]
play = ["$p", 0.75]
next = [["calm", "angry"], "angry"]
"""


def test_own_partner_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    partner = get_partner("mine.toml", IPD, tmp_path)
    assert partner.emissions.tolist() == [[1, 0], [0.25, 0.75]]
    assert partner.next_state.tolist() == [[[0, 0], [1, 1]], [[0, 1], [1, 1]]]
    assert partner.states == ("calm", "angry")
    assert get_partner(f"{path}", IPD).fingerprint() == partner.fingerprint()
    with pytest.raises(TomevalError, match="not stochastic"):
        get_partner(f"{path}(p=0.5)", IPD)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('start = "calm"', 'start = "clam"', "unknown state 'clam' (did you mean 'calm'?)"),
        ('source = "me"', "actions = [3, 3]", "fits games with 3 x 3"),
        ('source = "me"', 'rule = { kind = "sequence" }', "needs either 'states'"),
        ("play = 0", "", "missing key 'play'"),
        ("play = 0", "play = [nan, 1.0]", "must be a number from 0 to 1, is nan"),
        ('next = ["calm", "angry"]', 'next = ["calm"]', "next needs a state, one for each"),
        ('"$p"', '"$q"', "unknown parameter 'q'"),
        (FILE, 'rule = { kind = "react2" }', "unknown rule 'react2' (did you mean 'react'?)"),
        (FILE, 'rule = { kind = "switch", first = 0, second = 1 }', "step None must be"),
    ],
)
def test_bad_partner_files(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    assert old in FILE
    path.write_text(FILE.replace(old, new, 1))
    with pytest.raises(TomevalError) as caught:
        get_partner("mine.toml", IPD, tmp_path)
    assert message in str(caught.value)


# --- anything at all -----------------------------------------------------------------------------

DOCUMENTS = [
    tomllib.loads(FILE),
    {"rule": {"kind": "sequence", "actions": [0, 1]}},
    {"rule": {"kind": "mixture", "probabilities": [0.5, 0.5]}},
    {"rule": {"kind": "switch", "first": 0, "second": 1, "step": 3}},
    {"rule": {"kind": "react", "response": "copy", "first": 0, "noise": 0.1}},
]


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(DOCUMENTS).flatmap(changed_documents))
@example({"rule": {"kind": "react", "response_in": 1}})
def test_any_document_is_a_partner_or_a_clear_error(data) -> None:
    with patch("tomeval.games.matrix.partner_files.read_toml", return_value=data):
        partner, message = outcome(lambda: get_partner("fuzz.toml", IPD))
    if partner is None:
        assert message
    else:
        assert np.allclose(partner.emissions.sum(axis=1), 1)
        assert isinstance(partner.title, str)
        assert isinstance(partner.source, str)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="always(0),+*=.k1 tomlnx-", max_size=20))
def test_any_spec_is_a_set_or_a_clear_error(spec: str) -> None:
    found, message = outcome(lambda: get_partner_set(spec, IPD))
    assert message if found is None else found.partners


def test_the_rest_of_a_list_of_probabilities_can_be_left_open(tmp_path) -> None:
    game = get_game("IPD")
    prober = get_partner("naive_prober(0.2)", game)
    assert prober.emissions == pytest.approx(np.array([[1, 0], [0.8, 0.2], [0, 1]]))
    file = tmp_path / "mine.toml"
    four = make_game(np.eye(4))
    head = 'title = "t"\nsource = "s"\nstart = "a"\n[states.a]\nnext = "a"\n'
    for others in ((0.7, 0.2, 0.1), (0.1, 0.2, 0.7), (0.6, 0.3, 0.1)):  # whose sums round
        file.write_text(f'{head}play = [{", ".join(map(str, others))}, "rest"]\n')
        assert get_partner(str(file), four).emissions[0].tolist() == [*others, 0.0]
    for play, said in ((["rest", "rest"], "is 'rest'"), ([1.5, "rest"], "1.5")):
        file.write_text(
            f'title = "t"\nsource = "s"\nstart = "a"\n[states.a]\nplay = {play}\nnext = "a"\n'
        )
        with pytest.raises(TomevalError, match=said):
            get_partner(str(file), game)
