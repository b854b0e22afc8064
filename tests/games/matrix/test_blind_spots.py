"""What a task cannot tell, held against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from support import ALL_GAMES, brute_force_values, make_game, random_partner

from tomeval.games.matrix.bounds import blind_spots
from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.partners import Partner

IPD, RPS = GAMES["IPD"], GAMES["RPS"]
INDIFFERENT = make_game([[1, 4], [1, 4]], name="indifferent")  # the own action never matters now


def spots(game, partners: str, horizon: int = 100) -> set[str]:
    return set(blind_spots(game, get_partner_set(partners, game).partners, horizon))


@pytest.mark.parametrize(
    ("game", "partners", "found"),
    [
        ("IPD", "single_action", {"belief"}),
        ("RPS", "single_action", set()),
        ("RPS", "uniform_random", {"functional", "literal"}),
        ("RPS", "uniform_random + mixture(0.5, 0.3, 0.2)", {"literal"}),
        ("RPS", "always(1)", {"literal"}),
        ("IPD", "tit_for_tat + grim_trigger", {"belief"}),
        ("chicken", "tit_for_tat + grim_trigger", set()),
    ],
)
def test_known_tasks(game, partners, found) -> None:
    assert spots(GAMES[game], partners) == found


def test_functional_is_where_no_policy_matters() -> None:
    rng = np.random.default_rng(2)
    seen = {True: 0, False: 0}
    games = [*ALL_GAMES[:5], INDIFFERENT]
    for number in range(120):
        game = games[number % len(games)]
        size, horizon = int(rng.integers(1, 4)), int(rng.integers(1, 5))
        partner = random_partner(game, rng, size, "mixed")
        low, high = brute_force_values(game, partner, horizon)
        same = abs(high - low) < 1e-9
        assert ("functional" in blind_spots(game, (partner,), horizon)) == same
        seen[same] += 1
    assert min(seen.values()) > 5  # each case did occur


def test_literal_is_where_one_prediction_attains_the_most() -> None:
    rng = np.random.default_rng(6)
    kinds = {True: 0, False: 0}
    for number in range(60):
        partner = random_partner(RPS, rng, 2, "mixed")
        if number % 2:
            partner = Partner("p", partner.emissions[:1], np.zeros((1, 3, 3), np.int64))
        fixed = any(all(row[b] >= row.max() - 1e-12 for row in partner.emissions) for b in range(3))
        assert ("literal" in blind_spots(RPS, (partner,), 20)) == fixed
        kinds[fixed] += 1
    assert min(kinds.values()) > 5


def test_plan_and_bounds_say_it(tomeval, tmp_path) -> None:
    text = 'games = ["IPD", "RPS"]\nsubjects = ["random"]\npartners = ["single_action"]\n'
    (tmp_path / "x.toml").write_text(text)
    joined = " ".join(tomeval("plan", tmp_path / "x.toml")[1].split())
    assert "cannot tell subjects apart in IPD, single_action: no prediction changes" in joined
    assert "RPS, single_action" not in joined
    _, out, _ = tomeval("bounds", "RPS", "uniform_random")
    assert "every policy has the same" in out
