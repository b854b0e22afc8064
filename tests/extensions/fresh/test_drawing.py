"""Drawn games: the same on every machine, as asked for, never famous, or refused."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from tomeval.extensions.fresh import (
    Drawn,
    affine_form,
    canonical,
    conflict,
    draw_games,
    is_textbook,
    ranks,
)
from tomeval.games.matrix.games import MatrixGame, get_game
from tomeval.games.matrix.optima import best_response, relevance, worst_response
from tomeval.games.matrix.partners import Partner, reachable

KEYS = {"seed": 5, "count": 18, "sizes": ["2x2", "3x2", "4x4"]}


def behaviours(partner: Partner) -> list[tuple[int, ...]]:
    """Return what each state plays along every sequence of own moves that tells states apart."""
    moves, size, n = partner.emissions.argmax(axis=1), len(partner.emissions), partner.n
    told = []
    for start in range(size):
        heard = []
        for sequence in itertools.product(range(n), repeat=size - 1):
            state = start
            for own in sequence:
                heard.append(int(moves[state]))
                state = int(partner.next_state[state, own, moves[state]])
            heard.append(int(moves[state]))
        told.append(tuple(heard))
    return told


@pytest.fixture(scope="module")
def games():
    return draw_games(Drawn(**KEYS))


def test_the_same_seed_gives_the_same_games(games) -> None:
    recorded = "a9cc0e"  # what any machine must draw
    for drawn, same in (
        (games[:7], True),
        (draw_games(Drawn(**KEYS | {"count": 7})), True),
        (draw_games(Drawn(**KEYS | {"seed": 6, "count": 7})), False),
    ):
        told = [
            [game.payoffs.tolist(), [p.next_state.tolist() for p in partners.partners]]
            for game, partners in drawn
        ]
        digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:6]
        assert (digest == recorded) == same


def test_games_are_of_their_strata_and_all_different(games) -> None:
    for index, (game, _) in enumerate(games):
        payoffs = game.payoffs
        size = KEYS["sizes"][index // 3 % 3]
        assert f"{game.n}x{game.m}" == size
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
        assert not is_textbook(game)
    assert len({affine_form(game) for game, _ in games}) == len(games)


def test_machines_are_reachable_and_distinguishable(games) -> None:
    sizes = set()
    for _, partners in games:
        for partner in partners.partners:
            sizes.add(len(partner.emissions))
            assert reachable(partner.emissions, partner.next_state, partner.start).all()
            assert len(set(behaviours(partner))) == len(partner.emissions)
        assert len({partner.fingerprint() for partner in partners.partners}) == 3
    assert sizes == {1, 2, 3, 4}


def test_it_matters_how_they_are_played_and_against_whom(games) -> None:
    for game, partners in games[:6]:
        for p in partners.partners:
            gap = best_response(game, p, 20).value - worst_response(game, p, 20).value
            assert gap / 20 >= 0.5 - 1e-9
        assert relevance(game, partners, 20) >= 0.05 - 1e-9


def orbit(table: np.ndarray) -> frozenset[bytes]:
    """Return all tables that other orders of actions and players make of one, by brute force."""
    made = set()
    for one in (table, table.transpose(1, 0, 2)[..., ::-1]):
        for rows in ([0, 1], [1, 0]):
            for columns in ([0, 1], [1, 0]):
                made.add(np.ascontiguousarray(one[rows][:, columns]).tobytes())
    return frozenset(made)


def test_576_strict_tables_have_78_forms() -> None:
    """Rapoport and Guyer 1966: 78, of which 12 are symmetric and have half as many tables."""
    orders = [np.reshape(order, (2, 2)) for order in permutations(range(1, 5))]
    every = [np.stack([own, partner], axis=2).astype(float) for own in orders for partner in orders]
    orbits = {orbit(table) for table in every}
    assert Counter(map(len, orbits)) == {8: 66, 4: 12}
    assert len({canonical(ranks(table)) for table in every}) == 78
    for together in orbits:  # one form for each class
        tables = [np.frombuffer(one).reshape(2, 2, 2) for one in together]
        assert len({canonical(ranks(table)) for table in tables}) == 1


@pytest.mark.parametrize(
    ("reward", "sucker", "temptation", "punishment", "known"),
    [  # payoffs as published; a second row is the same game with its actions the other way round
        (3, 1, 4, 2, True),  # prisoner's dilemma
        (2, 4, 1, 3, True),
        (3, 2, 4, 1, True),  # chicken
        (2, 3, 4, 1, True),  # battle of the sexes; Rapoport 1967: leader, T > S > R > P
        (2, 4, 3, 1, True),  # hero, S > T > R > P
        (2, 1, 4, 3, True),  # deadlock
        (4, 2, 3, 1, True),  # concord
        (1, 2, 4, 3, False),  # compromise
        (4, 3, 1, 2, False),  # peace
    ],
)
def test_which_games_textbooks_name(reward, sucker, temptation, punishment, known) -> None:
    r, s, t, p = reward, sucker, temptation, punishment
    payoffs = np.array([[[r, r], [s, t]], [[t, s], [p, p]]], float)
    assert is_textbook(MatrixGame("mine", payoffs, get_game("IPD").labels)) is known


def test_forms_of_any_size_forget_order_and_affine_change() -> None:
    rng = np.random.default_rng(0)
    labels = type(get_game("IPD").label_set())
    for n, m in ((2, 3), (3, 3), (4, 2), (5, 5)):
        payoffs = rng.integers(0, 6, size=(n, m, 2)).astype(float)
        own, partner = rng.permutation(n), rng.permutation(m)
        changed = payoffs[own][:, partner] * [3.0, 2.0] + [-4.0, 7.0]
        forms = []
        other = payoffs + np.where(np.arange(n * m * 2).reshape(n, m, 2) == 0, 1.0, 0.0)
        for one in (payoffs, changed, changed.transpose(1, 0, 2)[..., ::-1], other):
            names = labels("l", tuple("ABCDE"[: one.shape[0]]), tuple("ABCDE"[: one.shape[1]]))
            game = MatrixGame("g", np.ascontiguousarray(one), {"l": names})
            forms.append(affine_form(game))
        assert len(set(forms[:3])) == 1
        assert forms[3] != forms[0]


def test_conflict_by_hand() -> None:
    assert conflict(get_game("matching_pennies").payoffs) == 1.0
    # six pairs of outcomes of the dilemma: CC-DD agreed, CD-DC apart, the rest apart by one side
    assert conflict(get_game("IPD").payoffs) == pytest.approx(5 / 6)
