"""Colonel Blotto: two players divide their units among fields, hidden from each other."""

from tomeval.games.arena.named_games import Kind
from tomeval.games.blotto.exact import solver
from tomeval.games.blotto.policies import POLICIES
from tomeval.games.blotto.rules import ENDINGS, PRESETS, Blotto, BlottoRules
from tomeval.games.blotto.wording import BlottoWording

KIND = Kind(
    name="blotto",
    title="Colonel Blotto",
    rules=BlottoRules,
    presets=PRESETS,
    make=Blotto,
    policies=POLICIES,
    solver=solver,
    endings=ENDINGS,
    wording=BlottoWording(),
)
