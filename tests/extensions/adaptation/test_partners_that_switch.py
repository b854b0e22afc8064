"""Partners that change their policy: the table against two machines played by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support import ALL_GAMES, random_partner

from tomeval.core.errors import TomevalError
from tomeval.extensions.adaptation.partners import switching
from tomeval.games.matrix.experiment import partners_data
from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.results import _partner

RPS, IPD = get_game("RPS"), get_game("IPD")


def expected_rows(first, second, step, joint):
    """Return what is played at every step, by keeping two machines and looking at the clock."""
    machine, state, rows = first, first.start, []
    for t, (own, theirs) in enumerate(joint, 1):
        if t == step:
            machine, state = second, second.start
        rows.append(machine.emissions[state])
        state = machine.next_state[state, own, theirs]
    return rows


@pytest.mark.parametrize("kind", ["deterministic", "stochastic", "mixed"])
@pytest.mark.parametrize("step", [2, 3, 5, 9])
def test_it_plays_one_machine_and_then_the_other(kind, step):
    rng = np.random.default_rng(step)
    for game in ALL_GAMES:
        first, second = (random_partner(game, rng, size, kind) for size in (3, 4))
        joined = switching(first, second, step)
        for _ in range(5):
            state, joint, rows = joined.start, [], []
            for _ in range(12):
                rows.append(joined.emissions[state])
                own = int(rng.integers(game.n))
                theirs = int(rng.choice(game.m, p=joined.emissions[state]))
                joint.append((own, theirs))
                state = joined.next_state[state, own, theirs]
            np.testing.assert_array_equal(rows, expected_rows(first, second, step, joint))


def test_a_stored_partner_comes_back_with_its_change():
    found = get_partner_set({"switch": ["tit_for_tat", "always(1)"], "at": [3, 5]}, IPD)
    told = json.loads(json.dumps(partners_data(found)))["tables"]
    assert [table["change"]["step"] for table in told] == [3, 5]
    for table, partner in zip(told, found.partners, strict=True):
        back = _partner(json.dumps(table))
        assert back.fingerprint() == partner.fingerprint()
        assert back.change.step == partner.change.step
        for name in ("first", "second"):
            one, other = getattr(back.change, name), getattr(partner.change, name)
            assert (one.name, one.fingerprint()) == (other.name, other.fingerprint())


def test_sets_expand_to_one_partner_per_change_point():
    two = get_partner_set({"switch": ["always(0)", "always(1)"], "at": {"from": 4, "to": 6}}, RPS)
    assert [partner.name for partner in two.partners] == [
        f"always(0) > always(1) at {step}" for step in (4, 5, 6)
    ]
    assert two.name == "always(0) > always(1) at 4-6"
    assert two.weights == pytest.approx([1 / 3] * 3)
    drawn = get_partner_set('{switch = "single_action", at = [4, 9], name = "drawn"}', RPS)
    assert drawn.name == "drawn"
    assert len({partner.name for partner in drawn.partners}) == 12
    assert drawn.weights == pytest.approx([1 / 12] * 12)


def test_policies_drawn_from_a_set_keep_its_weights():
    switch = {"partners": [f"always({k})" for k in range(3)], "weights": [0.5, 0.3, 0.2]}
    found = get_partner_set({"switch": switch, "at": 3}, RPS)
    chance = dict(zip([p.name for p in found.partners], found.weights, strict=True))
    assert sum(chance.values()) == pytest.approx(1)
    # Drawn one after the other without replacement.
    assert chance["always(0) > always(1) at 3"] == pytest.approx(0.5 * 0.3 / 0.5)
    assert chance["always(2) > always(1) at 3"] == pytest.approx(0.2 * 0.3 / 0.8)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"switch": ["always(0)", "always(1)"]}, "at"),
        ({"switch": ["always(0)", "always(1)"], "at": 1}, "from 2 to"),
        ({"switch": ["always(0)", "always(1)"], "at": {"from": 5, "to": 4}}, "in rising order"),
        ({"switch": "tit_for_tat", "at": 3}, "a set of at least two"),
        ({"switch": "single_action", "at": {"from": 2, "to": 900}}, "name fewer"),
        ("{switch = [", "is not a TOML table"),
    ],
)
def test_bad_sets_are_one_clear_error(spec, message):
    with pytest.raises(TomevalError, match=message):
        get_partner_set(spec, RPS)
