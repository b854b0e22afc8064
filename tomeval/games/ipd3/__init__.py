"""Three-player iterated prisoner's dilemma with talk."""

from __future__ import annotations

from tomeval.games.arena.named_games import Kind
from tomeval.games.enumeration import enumeration
from tomeval.games.ipd3.named import POLICIES
from tomeval.games.ipd3.rules import Ipd3
from tomeval.games.ipd3.states import Rules
from tomeval.games.ipd3.wording import Ipd3Wording

KIND = Kind(
    name="ipd3",
    title="three-player iterated prisoner's dilemma",
    rules=Rules,
    presets={
        "mindgames": {"rounds": 5, "talk": 1, "reward": "rank"},
        "silent": {"talk": 0},
    },
    make=Ipd3,
    policies=POLICIES,
    solver=enumeration,
    endings={
        "played": "all rounds were played",
        "forfeit": "a player broke the rules for good and lost",
        "alone": "two players were eliminated",
    },
    wording=Ipd3Wording(),
)
"""The game, as the arena's registry knows it."""
