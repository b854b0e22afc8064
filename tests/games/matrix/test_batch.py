from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ALL_GAMES, random_partner, setup_of, shipped, step_rows

from tomeval.games.matrix.batch import has_batch, simulate
from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.play import Setup, play_episode
from tomeval.games.matrix.subjects import SUBJECTS, all_subjects

OPTIONS = {
    "rmax": [
        {},
        {"gamma": 0.0},
        {"gamma": 0.5},
    ],
    "fictitious_play": [{}],
    "random": [{}],
    "equilibrium": [{}],
    "best_response": [{}],
    "simulated": [{}, {"p": 0.7, "q": 0.4}, {"p": 0.0, "q": 1.0}, {"p": 1, "q": 0}],
}
CASES = [(kind, options) for kind, every in OPTIONS.items() for options in every]


def assert_same_rows(setup: Setup, first: int, count: int = 3) -> None:
    for one in simulate(setup, first, count):
        alone = play_episode(setup, one.episode)
        assert (alone.status, alone.own) == (one.status, one.own)
        assert step_rows([alone]) == step_rows([one])


def test_every_kind_has_a_case() -> None:
    assert {kind for kind in all_subjects() if has_batch(kind)} == set(OPTIONS)


def test_a_kind_that_inherits_from_another_is_not_played_as_that_one() -> None:
    class Contrary(SUBJECTS["simulated"]):
        pass

    SUBJECTS["contrary"] = Contrary
    try:
        assert not has_batch("contrary")
    finally:
        del SUBJECTS["contrary"]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(CASES),
    st.sampled_from(ALL_GAMES),
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.integers(1, 30),
    st.integers(0, 500),
)
def test_batch_rows_are_loop_rows_against_random_tables(case, game, seed, size, horizon, first):
    rng = np.random.default_rng(seed)
    tables = [random_partner(game, rng, size, k) for k in ("mixed", "deterministic", "stochastic")]
    tables = tuple({t.name: t for t in tables}.values())
    weights = rng.dirichlet(np.ones(len(tables)))
    partners = PartnerSet("made", tables, tuple(weights / weights.sum()))
    setup = setup_of(*case, game, partners, horizon, seed)
    assert_same_rows(setup, first)


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_batch_rows_are_loop_rows_against_every_shipped_partner(game) -> None:
    for kind, every in OPTIONS.items():
        for partner in shipped(game):
            partners = PartnerSet("one", (partner,))
            assert_same_rows(setup_of(kind, every[-1], game, partners, 5), 2, 2)


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_rows_do_not_depend_on_blocks(kind, options) -> None:
    game = GAMES["RPS"]
    setup = setup_of(kind, options, game, get_partner_set("single_action", game))
    length = setup.horizon
    whole = step_rows(simulate(setup, 0, 12))
    parts = [step_rows(simulate(setup, a, b)) for a, b in ((0, 1), (1, 6), (7, 5))]
    assert whole == [row for part in parts for row in part]
    assert len(whole) == 12 * length


def test_every_subject_meets_the_same_partners() -> None:
    game = GAMES["IPD"]
    partners = get_partner_set("uniform_random + always(1)", game)
    seen = set()
    for kind in ("random", "rmax", "fictitious_play"):
        records = simulate(setup_of(kind, {}, game, partners), 0, 30)
        # neither of the two reacts, so their moves are the same whoever plays against them
        seen.add(str([(one.own, one.column("partner_action")) for one in records]))
    assert len(seen) == 1


def test_weights_and_moves_have_their_frequencies() -> None:
    game = GAMES["RPS"]
    spec = "{ partners = ['always(2)', 'mixture(0.5, 0.3, 0.2)'], weights = [0.2, 0.8] }"
    setup = setup_of("random", {}, game, get_partner_set(spec, game), horizon=50)
    records = simulate(setup, 0, 4_000)
    which = np.array([record.own["partner"] for record in records])
    own, theirs = (
        np.array([record.column(name) for record in records])
        for name in ("own_action", "partner_action")
    )
    # five standard errors of a share: sqrt(0.16 / 4000) = 0.0063
    assert abs((which == 0).mean() - 0.2) < 5 * 0.0063
    assert (theirs[which == 0] == 2).all()
    played = theirs[which == 1].ravel()
    error = 5 * np.sqrt(0.25 / len(played))
    for action, share in enumerate((0.5, 0.3, 0.2)):
        assert abs((played == action).mean() - share) < error
    shares = np.bincount(own.ravel(), minlength=3) / own.size
    assert np.abs(shares - 1 / 3).max() < 5 * np.sqrt(0.25 / own.size)
    # actions of the two seats are independent
    both = np.corrcoef(own.ravel(), theirs.ravel())[0, 1]
    assert abs(both) < 5 / np.sqrt(own.size)
