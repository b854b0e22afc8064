"""Drawn games: the same on every machine, within their strata, and refused with the reason."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.game_sets import Disguise
from tomeval.domains.matrix.machines import Machines, different_states
from tomeval.domains.matrix.optima import best_response, worst_response
from tomeval.domains.matrix.partners import Partner, reachable
from tomeval.extensions.fresh.classes import (
    affine_form,
    conflict,
    dominance,
    is_textbook,
    pure_equilibria,
)
from tomeval.extensions.fresh.drawing import draw_games, read_drawn

KEYS = {"seed": 5, "count": 18, "sizes": ["2x2", "3x2", "4x4"]}


def as_machine(partner: Partner) -> Machines:
    """Return a deterministic partner as a machine, its start state first."""
    moves = partner.emissions.argmax(axis=1)
    size = len(moves)
    order = np.argsort(np.arange(size) != partner.start, kind="stable")
    number = np.argsort(order)
    after = partner.next_state[np.arange(size), :, moves]  # (S, n)
    follows = number[after[order]]
    return Machines(moves[order][None], follows[None])


@pytest.fixture(scope="module")
def games():
    return draw_games(read_drawn(KEYS))


def test_the_same_seed_gives_the_same_games(games) -> None:
    again = draw_games(read_drawn(KEYS | {"count": 7}))
    said = [_digest(games[:7]), _digest(again)]
    assert said[0] == said[1]
    # recorded: what any machine must draw
    assert said[0] == "a9cc0e"
    assert _digest(draw_games(read_drawn(KEYS | {"seed": 6, "count": 7}))) != said[0]


def _digest(games) -> str:
    told = [
        [one.game.payoffs.tolist(), [p.next_state.tolist() for p in one.partners.partners]]
        for one in games
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:6]


def test_games_are_of_their_strata_and_all_different(games) -> None:
    for index, one in enumerate(games):
        payoffs = one.game.payoffs
        size = KEYS["sizes"][index // 3 % 3]
        assert f"{one.game.n}x{one.game.m}" == size
        assert payoffs.min() >= 0
        assert payoffs.max() <= 9
        assert (payoffs == np.rint(payoffs)).all()
        kind = index % 3
        if kind == 0:
            assert (payoffs.sum(axis=2) == 9).all()
        elif kind == 2:
            assert (payoffs[..., 0] == payoffs[..., 1]).all()
        else:
            assert 0 < conflict(payoffs) < 1
        assert not is_textbook(one.game)
    assert len({affine_form(one.game) for one in games}) == len(games)


def test_machines_are_reachable_and_distinguishable(games) -> None:
    sizes = set()
    for one in games:
        keys = {
            as_machine(p).plays.tobytes() + as_machine(p).follows.tobytes()
            for p in one.partners.partners
        }
        assert len(keys) == len(one.partners.partners) == 3
        for partner in one.partners.partners:
            sizes.add(len(partner.emissions))
            assert reachable(partner.emissions, partner.next_state, partner.start).all()
            apart = different_states(as_machine(partner))[0]
            assert (apart | np.eye(len(apart), dtype=bool)).all()
    assert sizes == {1, 2, 3, 4}


def test_traits_are_what_the_optima_say(games) -> None:
    for one in games[:6]:
        best = [best_response(one.game, p, 20).value / 20 for p in one.partners.partners]
        worst = [worst_response(one.game, p, 20).value / 20 for p in one.partners.partners]
        assert one.traits.range == pytest.approx(min(np.subtract(best, worst)), abs=1e-12)
        assert one.traits.value == pytest.approx(np.mean(best), abs=1e-12)
        assert one.traits.range >= 0.5
        assert one.traits.relevance >= 0.05


def test_strata_of_equilibria_and_dominance() -> None:
    told = read_drawn(
        {"seed": 1, "count": 6, "sizes": "3x3", "interest": "mixed", "equilibria": ["none", "one"]}
        | {"dominance": "none"}
    )
    counts = [pure_equilibria(one.game.payoffs) for one in draw_games(told)]
    assert counts == [0, 1] * 3
    assert {dominance(one.game.payoffs) for one in draw_games(told)} == {"none"}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"seed": -1}, "seed must be a whole number from 0 to 4294967295, is -1"),
        ({"seed": 2**32}, "seed must be a whole number from 0 to 4294967295"),
        ({"seed": True}, "seed must be"),
        ({"count": 3}, "missing key 'seed'"),
        ({"seed": 1, "colour": 2}, "unknown key 'colour'; did you mean 'count'?|unknown key"),
        ({"seed": 1, "sizes": "7x7"}, "unknown sizes '7x7'"),
        ({"seed": 1, "sizes": []}, "sizes is an empty list"),
        ({"seed": 1, "payoffs": [5, 1]}, r"payoffs must be two whole numbers \[LEAST, MOST\]"),
        ({"seed": 1, "textbook": 1}, "textbook must be true or false"),
        ({"seed": 1, "states": [1, 1], "partners": 5}, "only [12] machines of 1 to 1 states"),
        ({"seed": 1, "relevance": [90, 99]}, "gave no game .* against no machines within relev"),
        (
            {"seed": 1, "interest": "common", "equilibria": "none"},
            r"stratum 2x2, common, none gave no game in 3,000 tables .* with one pure",
        ),
        (3, "must be a table"),
    ],
)
def test_bad_keys_are_one_line(keys, said) -> None:
    with pytest.raises(TomevalError, match=said) as caught:
        draw_games(read_drawn(keys))
    assert "\n" not in str(caught.value)


def test_disguises_survive_json() -> None:
    one = Disguise("IPD", ("labels",), (1, 0), (0, 1), (2.0, 3.0), (1.0, 0.0))
    assert Disguise.read(json.loads(json.dumps(one.data()))) == one
