"""Codenames, the word game of spymasters and operatives."""

from tomeval.domains.arena.games.codenames.exact import solver
from tomeval.domains.arena.games.codenames.policies import POLICIES
from tomeval.domains.arena.games.codenames.rules import Codenames
from tomeval.domains.arena.games.codenames.state import ENDINGS, CodenamesRules
from tomeval.domains.arena.games.codenames.wording import CodenamesWording
from tomeval.domains.arena.kinds import Kind

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
