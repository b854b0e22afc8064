"""Partners of a theory-of-mind order: play by hand, nested reasoning, invariance and optima."""

from __future__ import annotations

from itertools import product

import pytest
from support import ALL_GAMES, play_against

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.games import GAMES, MatrixGame, mirrored
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.responses import MOST_ORDER

ORDERS = range(MOST_ORDER + 1)
RPS = GAMES["RPS"]


def by_hand(order: int, own: list[int], first: int = 0) -> list[int]:
    """Play rock (0), paper (1), scissors (2): action x + 1 beats x, counted round three."""
    played = [first]
    for a in own[:-1]:
        # Order 0: beat their last move. 1: they will beat mine, so beat that: mine + 2. 2: they
        # think I beat theirs (theirs + 1), so play theirs + 2, and I theirs + 3. 3: mine + 4.
        played.append({0: a + 1, 1: played[-1] + 2, 2: a, 3: played[-1] + 1}[order] % 3)
    return played


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("first", range(3))
def test_every_play_of_five_moves_of_rock_paper_scissors(order: int, first: int) -> None:
    partner = get_partner(f"tom_order({order}, {first})", RPS)
    for own in product(range(3), repeat=5):
        assert play_against(partner, own) == by_hand(order, list(own), first)


def nested(game: MatrixGame, seat: int, order: int, last: tuple[int, int]) -> int:
    """Return what the player in a seat does after a joint action, by what it thinks the other does.

    Written from the definition, with dictionaries of payoffs and no tables of replies.
    """
    expected = nested(game, 1 - seat, order - 1, last) if order else last[1 - seat]
    count = (game.n, game.m)[seat]
    payoff = {}
    for action in range(count):
        joint = (action, expected) if seat == 0 else (expected, action)
        payoff[action] = game.payoffs[joint][seat]
    return next(action for action in range(count) if payoff[action] == max(payoff.values()))


@pytest.mark.parametrize("game", ALL_GAMES, ids=lambda game: game.name)
@pytest.mark.parametrize("order", ORDERS)
def test_nested_reasoning_in_every_game(game: MatrixGame, order: int) -> None:
    partner = get_partner(f"tom_order({order}, first={game.m - 1})", game)
    for own in product(range(game.n), repeat=4):
        played = [game.m - 1]
        for a in own[:-1]:
            played.append(nested(game, 1, order, (a, played[-1])))
        assert play_against(partner, own) == played


def test_an_odd_order_hangs_on_its_own_moves_and_an_even_one_on_the_others() -> None:
    reacts = [get_partner(f"tom_order({order})", RPS).reacts for order in ORDERS]
    assert reacts == [True, False, True, False]
    for game in ALL_GAMES:
        zero, best = (get_partner(name, game) for name in ("tom_order(0)", "best_responder"))
        assert zero.fingerprint() == best.fingerprint()
        assert get_partner("tom_order(1)", mirrored(game)).n == game.m


@pytest.mark.parametrize("spec", ["tom_order(4)", "tom_order(-1)", "tom_order(1.5)"])
def test_orders_that_are_none(spec: str) -> None:
    with pytest.raises(TomevalError, match="must be a whole number from 0 to 3"):
        get_partner(spec, RPS)
    with pytest.raises(TomevalError, match=r"is not an action index 0\.\.2"):
        get_partner("tom_order(1, 3)", RPS)
