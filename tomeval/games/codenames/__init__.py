"""Codenames, the word game of spymasters and operatives, and the values of its seats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tomeval.games.arena.kinds import Kind
from tomeval.games.codenames.operative import OperativeFollower
from tomeval.games.codenames.policies import POLICIES
from tomeval.games.codenames.rules import Codenames
from tomeval.games.codenames.spymaster import ClueSearch, SpymasterFollower
from tomeval.games.codenames.state import ENDINGS, CodenamesRules, CodenamesView
from tomeval.games.codenames.wording import CodenamesWording
from tomeval.games.game import ArenaGame, View
from tomeval.games.policy import Policy
from tomeval.games.solver import Follower, Solver


def solver(game: ArenaGame[Any], seat: int, policies: Mapping[int, Policy]) -> Solver | None:
    """Return the solver of a seat; None against policies with a memory."""
    assert isinstance(game, Codenames)
    if any(policy.remembers for policy in policies.values()):
        return None
    return CodenamesSolver(game, seat, policies)


class CodenamesSolver(Solver):
    """Values of a seat against policies without memory."""

    def __init__(self, game: Codenames, seat: int, policies: Mapping[int, Policy]) -> None:
        self.game, self.seat, self.policies = game, seat, policies

    def follow(self, view: View[Any]) -> Follower:
        """Return a follower of a game."""
        if self.seat % 2:
            return OperativeFollower(self.game, self.seat, self.policies)
        assert isinstance(view, CodenamesView)
        return SpymasterFollower(ClueSearch(self.game, self.seat, self.policies), view)


KIND = Kind(
    name="codenames",
    title="Codenames",
    rules=CodenamesRules,
    presets={"small": {"red": 3, "blue": 3, "neutral": 2, "assassin": 1}},
    make=Codenames,
    policies=POLICIES,
    solver=solver,
    endings=ENDINGS,
    wording=CodenamesWording(),
)
