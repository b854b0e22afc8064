"""What the subject's decisions were worth: V*, Q*, and what follows from what it stated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.core.outcomes import VALID
from tomeval.games.game import Action, ArenaGame, Probe, Stage, Stepwise
from tomeval.games.solver import Weighed

if TYPE_CHECKING:
    from tomeval.games.played import Decision

STATEMENTS = 8
"""Random statements that a decision is held to."""

CLOSE = 1e-9
"""Options whose values are closer than this are equally good."""


@dataclass
class Worth:
    """What a decision of the subject was worth, where that is known."""

    # V* and Q* of what was done; `chosen` is None if it was not the subject's own doing.
    best: float | None = None
    chosen: float | None = None
    regret: float | None = None  # V* - Q*
    reply: Action = None  # the best reply to what the subject stated; None without
    tom_regret: float | None = None  # V* - Q* of that reply
    # The best reply to what was stated as far as one stage goes; None without.
    step_reply: Action = None
    step: Stepwise | None = None  # one-step payoffs
    # What the options are worth; if what the subject stated is true; the same as far as one stage
    # goes.
    options: Weighed | None = None
    said: Weighed | None = None
    step_said: Weighed | None = None
    # What the decision and what a random option lose if random statements are true, on average over
    # `STATEMENTS` of them.
    other: tuple[float, float] | None = None
    # Whether no option is best for all of these statements and for what the subject stated.
    depends: bool | None = None


def value(game: ArenaGame[Any], view: Any, decision: Decision, rng: np.random.Generator) -> None:
    """Record V* and Q* of a decision, and what acting on its predictions is worth.

    `rng` is for random statements.
    """
    values, worth, action = decision.values, Worth(), decision.action
    decision.worth = worth
    said = {p.probe: p.answer.action for p in decision.probed if p.answer.outcome == VALID}
    worth.step_reply = game.step_reply(view, said) if said else None
    own = decision.verdict == "valid"
    if said and own:
        worth.step_said = Weighed.of(game.step_worths(view, said), action)
    if values is None:
        return
    for probed in decision.probed:
        if best := values.answer(probed.probe):
            probed.attainable = best[1]
    worth.best = values.best
    if own:
        worth.chosen, worth.regret = values.of(action), values.regret(action)
        worth.options = values.weighed(action, rng)
        _hold(game, view, decision, worth, said, rng)
    worth.reply = values.reply(said) if said else None
    if worth.reply is not None:
        worth.tom_regret = values.regret(worth.reply)


def _hold(
    game: ArenaGame[Any],
    view: Any,
    decision: Decision,
    worth: Worth,
    said: Mapping[Probe, Action],
    rng: np.random.Generator,
) -> None:
    """Hold a decision to what the subject stated, and to random statements."""
    values, action = decision.values, decision.action
    assert values is not None
    said = {probe: answer for probe, answer in said.items() if probe.name not in game.consequences}
    own = values.worths(said) if said else {}
    worth.said = Weighed.of(own, action) or (values.weighed(action, rng, said) if said else None)
    if worth.said is None or not own:
        return
    drawn = ({probe: game.guess(view, probe, rng) for probe in said} for _ in range(STATEMENTS))
    others = [worths for one in drawn if (worths := values.worths(one))]
    if held := [Weighed.of(worths, action) for worths in others]:
        lost = [(one.best - one.chosen, one.best - one.mean) for one in held if one is not None]
        worth.other = fmean(part for part, _ in lost), fmean(part for _, part in lost)
        best = ({a for a, x in w.items() if x > max(w.values()) - CLOSE} for w in (own, *others))
        worth.depends = not set.intersection(*best)


def weigh(game: ArenaGame[Any], decisions: Iterable[Decision], stage: Stage[Any]) -> None:
    """Note one-step payoffs, now that all actions of a stage are known."""
    for one in decisions:
        if one.worth is not None and one.verdict == "valid":
            reply = one.worth.step_reply
            one.worth.step = game.stepwise(stage.state, one.seat, stage.actions, reply)
