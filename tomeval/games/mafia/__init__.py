"""Secret Mafia: hidden roles, nights, talk and votes; 4 to 15 players."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from tomeval.games.arena.named_games import Kind
from tomeval.games.enumeration import Enumeration, enumeration
from tomeval.games.game import ArenaGame
from tomeval.games.mafia.policies import POLICIES
from tomeval.games.mafia.rules import ENDINGS, Mafia, MafiaRules
from tomeval.games.mafia.scripts import Script
from tomeval.games.mafia.wording import MafiaWording
from tomeval.games.policy import Policy

PLAYERS = 8
"""With more there are no values: the deals alone are too many."""


def solver(game: ArenaGame[Any], seat: int, policies: Mapping[int, Policy]) -> Enumeration | None:
    """Return a solver against scripts; None with more than `PLAYERS`.

    What no script at the table reads is forgotten.
    """
    assert isinstance(game, Mafia)
    if game.seats > PLAYERS:
        return None
    heard = copy(game)
    heard.reads = frozenset().union(*(s.reads for s in policies.values() if isinstance(s, Script)))
    return enumeration(heard, seat, policies)


KIND = Kind(
    name="mafia",
    title="Secret Mafia",
    rules=MafiaRules,
    presets={
        "acts": {"talk": "acts"},
        "free": {"talk": "free"},
        "textarena": {"talk": "free", "rules": "textarena-0.7.4"},
    },
    with_models={"talk": "free"},
    make=Mafia,
    policies=POLICIES,
    solver=solver,
    endings=ENDINGS,
    wording=MafiaWording(),
)
