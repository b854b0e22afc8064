"""The corpus of the pocket model holds what it should, in the tokens that the model will read."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from plays import HELD_OUT_GAME, HELD_OUT_LABELS, draw_play  # noqa: E402

from tomeval.games.matrix.games import GAMES, NONSENSE  # noqa: E402
from tomeval.games.matrix.optima import best_response  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


def plays(own_play: str, count: int = 150):
    rng = np.random.default_rng(3)
    return [draw_play(rng, 8, own_play) for _ in range(count)]


def test_what_is_held_out_never_appears() -> None:
    for play in plays("varied") + plays("constant") + plays("best"):
        assert play.game.name != HELD_OUT_GAME
        assert not np.array_equal(play.game.payoffs, GAMES[HELD_OUT_GAME].payoffs)
        assert play.labels.name != HELD_OUT_LABELS
        words = {name.casefold() for name in play.labels.own + play.labels.partner}
        assert not words & {name.casefold() for name in NONSENSE}


def test_own_play_of_the_main_variant_earns_no_more_than_chance() -> None:
    """Over uniformly drawn roles, play that ignores the payoffs earns their mean."""
    earned, expected = [], []
    for play in plays("varied", 600):
        if len(play.partner.emissions) == 1:  # partners that do not react
            worth = play.game.own @ play.partner.emissions[0]
            earned.append(np.mean([worth[joint.own] for joint in play.joints]) - worth.mean())
            expected.append(worth.std())
    error = np.std(earned) / np.sqrt(len(earned))
    assert abs(np.mean(earned)) < 4 * error
    assert np.mean(expected) > 10 * error  # a best responder would stand out


def test_the_rational_variant_is_taught_the_exact_best_response() -> None:
    for play in plays("best", 40):
        plan = best_response(play.game, play.partner, play.horizon)
        for step, (state, target) in enumerate(zip(play.states, play.targets, strict=True)):
            assert plan.optimal[step, state, target]
