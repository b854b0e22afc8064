"""Orders of theory of mind in matrix games: a step by hand, edges, known truths."""

from __future__ import annotations

import math
import tomllib

import numpy as np
import pytest
from known import question
from support import ROOT, brute_force_values, scripts

import tomeval
from tomeval.domains.matrix.games import GAMES
from tomeval.domains.matrix.partner_specs import get_partner
from tomeval.domains.matrix.results import matrix_cells
from tomeval.extensions.levels.fit import NONE_FITS
from tomeval.extensions.levels.orders import (
    ACTIONS,
    PREDICTIONS,
    choices_in,
    expectations,
    order_notes,
    order_rows,
    own_answers,
    worths_of,
)

RPS, IPD = GAMES["RPS"], GAMES["IPD"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    orders = {"kind": "tom_order", "order": [0, 1, 2, 3]}
    data = {
        "games": ["RPS", "IPD"],
        "partners": ["uniform_random"],
        "subjects": [
            {**orders, "name": "exact"},
            {**orders, "name": "logit", "rationality": 2.0},
            "random",
        ],
        "horizon": 15,
        "episodes": 12,
    }
    with tomeval.run(data, tmp_path_factory.mktemp("orders") / "run") as played:
        yield played


def rows_of(rows, subject: str, game: str):
    return [row for row in rows if row["subject"].startswith(subject) and row["game"] == game]


@pytest.mark.parametrize("order", range(4))
def test_known_orders_come_back(run, order: int) -> None:
    for name in ("exact", "logit"):
        for row in rows_of(order_rows(run), f"{name}(order={order}", "RPS"):
            assert row["best_order"] == str(order), row["by"]
            assert row["order_ci95_low"] <= order <= row["order_ci95_high"]
            assert row[f"order_{order}_percent"] >= 75
    actions, predictions = rows_of(order_rows(run), f"logit(order={order}", "RPS")
    assert (actions["by"], predictions["by"]) == (ACTIONS, PREDICTIONS)
    assert 1 < actions["rationality"] < 4
    assert math.isnan(predictions["rationality"])


def test_what_no_order_explains_or_all_do(run) -> None:
    assert {row["best_order"] for row in rows_of(order_rows(run), "random", "RPS")} == {NONE_FITS}
    actions, predictions = rows_of(order_rows(run), "exact(order=2", "IPD")
    # orders 1 to 3 all expect defection, whatever was played, and say so
    for row in (actions, predictions):
        assert row["best_order"] == "1 or 2 or 3"
        assert row["order_ci95_low"] <= 1
        assert row["order_ci95_high"] == 3
    notes = "\n".join(order_notes(run))
    assert "none fits" in notes
    assert "not judged" not in notes


def test_the_likelihood_of_a_step_by_hand(run) -> None:
    """After rock against paper: order 0 expects paper, 1 paper, 2 rock, 3 rock."""
    assert expectations(RPS, 0, 1).tolist() == [1, 1, 0, 0]
    # 0 expects their paper; 1 that they beat my rock: paper; 2 that they beat what beats their
    # paper, scissors: rock; 3 that they beat what beats my rock's answer, paper > scissors: rock
    assert worths_of(RPS, ACTIONS, np.array([1]))[0].tolist() == [0, 0.5, 1]
    assert worths_of(RPS, PREDICTIONS, np.array([1]))[0].tolist() == [0, 1, 0]
    cell = next(c for c in matrix_cells(run) if c.player == "logit(order=2)" and c.game is not IPD)
    choices, played = choices_in(cell, ACTIONS), cell.played
    assert len(choices.said) == 12 * 14  # the first step of each episode has no past
    own, partner, said = played.own[2], played.partner[2], played.own[3]
    payoffs = {a: RPS.own[a, expectations(RPS, own, partner)[2]] for a in range(3)}
    for column, alpha in ((6, 1.0), (8, 2.0)):
        odds = {a: math.exp(alpha * payoffs[a] / 2) for a in payoffs}
        chance = odds[said] / sum(odds.values())
        assert choices.logs[2][2, column] == pytest.approx(math.log(chance))


def test_without_predictions_there_is_a_row_for_actions_alone(tmp_path) -> None:
    data = {
        "games": "RPS",
        "partners": "tit_for_tat",
        "subjects": {"strategy": "QA", "model": "scripted:one", "literal": False},
        "horizon": 3,
        "episodes": 2,
    }
    with scripts(one=lambda request: "Answer: Rock"), tomeval.run(data, tmp_path / "run") as played:
        assert {one["by"] for one in order_rows(played)} == {ACTIONS}


def test_the_regret_of_orders_that_do_not_fit(tmp_path) -> None:
    """The experiment of docs/measures/levels.md: its first subjects, by hand."""
    data = tomllib.loads((ROOT / "experiments" / "beyond_levels_matrix.toml").read_text())
    with tomeval.run(data | {"episodes": 1}, tmp_path / "run") as played:
        regret = {
            (row["subject"], row["partners"]): row["delta_functional_per_step"]
            for row in played.rows()
        }
    for order in range(4):
        for other in range(4):
            own, theirs = [1], [0]  # paper, as it expects rock, which is what all begin with
            for _ in range(19):
                a, b = own[-1], theirs[-1]
                expected = {0: b, 1: a + 1, 2: b + 2, 3: a + 3}[order]
                own.append((expected + 1) % 3)
                theirs.append({0: a + 1, 1: b + 2, 2: a, 3: b + 1}[other] % 3)
            won = sum({0: 0, 1: 1, 2: -1}[(a - b) % 3] for a, b in zip(own, theirs, strict=True))
            partner = get_partner(f"tom_order({other})", RPS)
            assert brute_force_values(RPS, partner, 5)[1] == 5  # every step can be won
            lost = regret[f"tom_order(order={order})", f"tom_order({other})"]
            assert lost == pytest.approx(1 - won / 20), (order, other)
            assert lost == pytest.approx(TABLE[order][other])


TABLE = [[1.00, 1.90, 0.50, 0.95], [0, 0, 1.90, 1.00], [0, 0, 1.00, 1.90], [0.95, 0.95, 0, 0]]


def test_what_was_drawn_for_an_invalid_answer_is_not_the_players_own(tmp_path) -> None:
    """Every second prediction and every third action cannot be read, and is drawn instead."""
    asked = {"predict": 0, "act": 0}

    def script(request):
        form, _, _ = question(request)
        asked[form] += 1
        return "mumble" if asked[form] % (2 if form == "predict" else 3) == 0 else "Answer: J"

    data = {
        "games": "RPS",
        "labels": "neutral",
        "partners": "always(0)",
        "subjects": {"strategy": "QA", "model": "scripted:odd", "max_attempts": 1},
        "on_invalid": "random",
        "horizon": 6,
        "episodes": 5,
    }
    with scripts(odd=script), tomeval.run(data, tmp_path / "run") as played:
        [cell] = matrix_cells(played)
        acted, predicted = own_answers(cell)
        assert (acted.sum(), predicted.sum()) == (20, 15)
        assert (cell.played.own[acted] == 0).all()
        assert (cell.played.predicted[predicted] == 0).all()
        later = np.arange(30) % 6 > 0
        assert len(choices_in(cell, ACTIONS).said) == (acted & later).sum()
