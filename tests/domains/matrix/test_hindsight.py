"""Regret against the best simple reply in hindsight, against enumeration of every such reply."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support import THREE_BY_TWO, TWO_BY_THREE, episodes_of

from tomeval.domains.matrix.games import GAMES
from tomeval.domains.matrix.regret import HINDSIGHT, hindsight_metrics


def enumerated(game, own, theirs) -> tuple[float, float]:
    """Play every constant and every memory-one policy against the recorded moves."""
    steps = len(own)
    constant = max(sum(game.own[a, b] for b in theirs) for a in range(game.n))
    joints = list(itertools.product(range(game.n), range(game.m)))
    best = -np.inf
    for first in range(game.n):
        for replies in itertools.product(range(game.n), repeat=len(joints)):
            policy = dict(zip(joints, replies, strict=True))
            moves = [first] + [policy[own[t - 1], theirs[t - 1]] for t in range(1, steps)]
            best = max(best, sum(game.own[a, b] for a, b in zip(moves, theirs, strict=True)))
    earned = sum(game.own[a, b] for a, b in zip(own, theirs, strict=True))
    return (constant - earned) / steps, (best - earned) / steps


@pytest.mark.parametrize("game", [GAMES["IPD"], GAMES["IBS"], TWO_BY_THREE, THREE_BY_TWO])
def test_against_every_policy(game) -> None:
    rng = np.random.default_rng(5)
    lengths = [1, 2, 5, 9]
    own = [rng.integers(game.n, size=length) for length in lengths]
    theirs = [rng.integers(game.m, size=length) for length in lengths]
    found = hindsight_metrics(
        episodes_of(game, np.concatenate(own), np.concatenate(theirs), lengths=lengths)
    )
    for episode in range(len(lengths)):
        truth = enumerated(game, own[episode], theirs[episode])
        assert [found[name][episode] for name in HINDSIGHT] == pytest.approx(truth, abs=1e-12)


def test_by_hand() -> None:
    """Rock, Paper, Scissors in turn, against a subject that always plays Rock.

    Rock earns 0 - 1 + 1 + 0 - 1 + 1 = 0, as every constant reply does. The joint move before tells
    the next one, so a memory-one reply wins every step: 6.
    """
    played = episodes_of(GAMES["RPS"], [0] * 6, [0, 1, 2, 0, 1, 2])
    found = hindsight_metrics(played)
    assert [float(found[name][0]) for name in HINDSIGHT] == [0.0, 1.0]


def test_negative_where_no_simple_reply_earned_as_much() -> None:
    # a best reply to every move of a partner that no constant reply foresees
    played = episodes_of(GAMES["RPS"], [1, 2, 0], [0, 1, 2])
    assert float(hindsight_metrics(played)[HINDSIGHT[0]][0]) == -1.0
