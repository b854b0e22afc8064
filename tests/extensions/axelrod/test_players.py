"""Players of the Axelrod library as partners, held against the library's own players in play."""

from __future__ import annotations

import itertools
import random
import sys

import numpy as np
import pytest
from support import play_against

from tomeval.core.errors import TomevalError
from tomeval.extensions.axelrod import _table
from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.partner_specs import get_partner, get_partner_set

IPD = get_game("IPD")
MACHINES = ("EvolvedFSM16", "Fortress3", "Predator", "Raider", "Ripoff", "SolutionB5", "TF1", "TF3")
STOCHASTIC = ("FirmButFair", "FirstByJoss", "GTFT", "StochasticWSLS", "ZDExtort2", "ZDGTFT2")


@pytest.fixture(scope="module")
def axelrod():
    return pytest.importorskip("axelrod")


def match(axelrod, name, seed, turns):
    """Return a match of a library's player against random moves, and these moves."""
    draw = random.Random(seed)
    theirs = [draw.randrange(2) for _ in range(turns)]
    letters = (axelrod.Action.C, axelrod.Action.D)
    player = getattr(axelrod, name)()
    opponent = axelrod.MockPlayer([letters[action] for action in theirs])
    return axelrod.Match((player, opponent), turns=turns, seed=seed), theirs


def test_every_move_is_the_librarys(axelrod) -> None:
    names = [kind.__name__ for kind in axelrod.all_strategies if _table(axelrod, kind)]
    partners = {name: get_partner(f"axelrod:{name}", IPD) for name in names}
    machines = [name for name, partner in partners.items() if partner.is_deterministic]
    assert {*MACHINES} <= {*machines}
    for name, seed in itertools.product(machines, range(5, 7)):
        played, theirs = match(axelrod, name, seed, 300)
        moves = [int(own == axelrod.Action.D) for own, _ in played.play()]
        assert play_against(partners[name], theirs) == moves, name


@pytest.mark.parametrize("name", STOCHASTIC)
def test_every_probability_is_the_librarys(axelrod, name, monkeypatch) -> None:
    """The chance with which it draws is caught on its way into the library's generator."""
    partner = get_partner(f"axelrod:{name}", IPD)
    asked: list[float] = []
    kind = axelrod.random_.RandomGenerator
    draw = kind.random_choice

    def caught(self, p=0.5):
        asked.append(float(p))
        return draw(self, p)

    monkeypatch.setattr(kind, "random_choice", caught)
    played, theirs = match(axelrod, name, 3, 4_000)
    moves = [int(own == axelrod.Action.D) for own, _ in played.play()]
    state, said = partner.start, []
    counts = np.zeros(partner.emissions.shape)
    for action, own in zip(theirs, moves, strict=True):
        chance = float(partner.emissions[state, 0])
        assert partner.emissions[state, own] > 0
        counts[state, own] += 1
        said.append(chance)
        state = int(partner.next_state[state, action, own])
    assert said[1:] == pytest.approx(asked)  # of the first move nothing is drawn
    assert len(asked) > 100
    seen = counts.sum(axis=1)
    error = np.sqrt(partner.emissions[:, 0] * partner.emissions[:, 1] / seen)
    assert (np.abs(counts[:, 0] / seen - partner.emissions[:, 0]) <= 5 * error + 1e-9).all()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("axelrod:Fortres3", "is not a player of the Axelrod library .did you mean 'Fortress3'.."),
        ("axelrod:SecondByMikkelson", "plays by rules of its own"),
        ("axelrod:GTFT(0.5)", "take no parameters"),
    ],
)
def test_other_names_are_one_error(axelrod, spec, message) -> None:
    with pytest.raises(TomevalError, match=message):
        get_partner_set(spec, IPD)


def test_other_games_are_refused(axelrod) -> None:
    with pytest.raises(TomevalError, match="RPS with 3 x 3 actions; Axelrod's players fit"):
        get_partner("axelrod:GTFT", get_game("RPS"))


def test_without_the_library_one_line_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "axelrod", None)
    with pytest.raises(TomevalError, match=r"need axelrod, .*pip install 'tomeval\[axelrod\]'"):
        get_partner("axelrod:Fortress3", IPD)
