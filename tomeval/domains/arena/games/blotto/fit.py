"""Fit a Blotto player: how often it played which allocation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tomeval.domains.arena.game import ArenaGame
from tomeval.domains.arena.games.blotto.allocations import Allocation
from tomeval.domains.arena.games.blotto.policies import Mixture
from tomeval.domains.arena.games.blotto.rules import Blotto
from tomeval.domains.arena.kinds import Seen


def fit(game: ArenaGame[Any], seen: Sequence[Seen]) -> Mixture:
    """Return the mixture of the allocations that a player was seen to play.

    It is the posterior mean under a Dirichlet prior that weighs as much as one allocation, spread
    evenly over all: of n that were seen each counts 1 / (n + 1), and a uniform draw as much. That
    it may react is ignored.
    """
    assert isinstance(game, Blotto)
    counts: Counter[Allocation] = Counter(
        stage.actions[player.seat] for player in seen for stage in player.trail
    )
    total = sum(counts.values())
    if not total:
        return Mixture([game.evenly], noise=1.0)
    weights = [float(n) for n in counts.values()]
    return Mixture(list(counts), weights, noise=1 / (total + 1))
