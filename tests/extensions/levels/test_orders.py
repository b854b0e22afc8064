"""Players of a known order of theory of mind: what each loses against a partner of each."""

from __future__ import annotations

import tomllib

import pytest
from support import ROOT, brute_force_values

import tomeval
from tomeval.domains.matrix.games import GAMES
from tomeval.domains.matrix.partner_specs import get_partner

RPS = GAMES["RPS"]


def test_the_regret_of_orders_that_do_not_fit(tmp_path) -> None:
    """The experiment of docs/partners.md: its first subjects, by hand."""
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
