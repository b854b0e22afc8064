"""Codenames, the word game of spymasters and operatives, and the values of its seats."""

from tomeval.games.arena.named_games import Kind
from tomeval.games.codenames.policies import POLICIES
from tomeval.games.codenames.rules import Codenames
from tomeval.games.codenames.state import ENDINGS, CodenamesRules
from tomeval.games.codenames.values import CodenamesSolver
from tomeval.games.codenames.wording import CodenamesWording

KIND = Kind(
    name="codenames",
    title="Codenames",
    rules=CodenamesRules,
    presets={"small": {"red": 3, "blue": 3, "neutral": 2, "assassin": 1}},
    make=Codenames,
    policies=POLICIES,
    solver=CodenamesSolver,
    endings=ENDINGS,
    wording=CodenamesWording(),
)
