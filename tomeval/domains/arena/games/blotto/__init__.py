"""Colonel Blotto: two players divide their units among fields, hidden from each other."""

from tomeval.domains.arena.games.blotto.exact import solver
from tomeval.domains.arena.games.blotto.policies import POLICIES
from tomeval.domains.arena.games.blotto.rules import ENDINGS, PRESETS, Blotto, BlottoRules
from tomeval.domains.arena.games.blotto.wording import BlottoWording
from tomeval.domains.arena.kinds import Kind

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
