"""The scores of a line-up: knows, uses, plays, and what they are made of."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tomeval.core.once import once_each
from tomeval.games.answer import NO_VALUE
from tomeval.games.played import Played
from tomeval.games.scores import FloatArray, Items, Scores, Terms

BY_DECISION = (
    "Plays is per decision, beside a random option, as the value of random play is not computed"
)

BROKEN = (
    "The player broke the rules for good, which has no regret: plays is by rewards, so that it "
    "costs what it cost; ΔFunctional is of its own decisions alone"
)
OWN_ONLY = "Plays and ΔFunctional leave out decisions in which the player broke the rules for good"


@once_each
def scores(played: Played) -> Scores:
    """Return what the scores of a line-up are made of.

    - *knows*: hits less chance over what is attainable less chance, of all probes whose truth and
      attainable score are known;
    - *plans*: 1 - loss / loss of a random option, by what options are worth if what was stated is
      true; it is *uses* where any decision depends on that;
    - *replies*: the same by the payoffs of the stage;
    - *plays*: 1 - sum of regrets / sum of V* less the value of random play before the deal, of
      games whose regrets are all exact. Where these values are not known, of V* less the mean of Q*
      over the options of decisions; where the subject broke the rules for good in any game, 1 - sum
      of V* less the reward / the same, which has the same expectation.

    Sums over games; a value that is not known leaves its decision or probe out.
    """
    told, of = played.probes, played.steps
    probes, used = Items(played.probes["game"], played.games), played.probes["used"]
    decisions = Items(played["game"], played.games)
    hits = (told["hit"], told["chance"], told["attainable"])
    lost, at_chance = (_less(of, "said", name) for name in ("chosen", "mean"))
    plans, other = decisions.losses(lost, at_chance), (of["other_lost"], of["other_chance"])
    shows = bool((of["depends"] == 1).any())
    knows, plays = probes.hits(*hits), _plays(played, decisions)
    valued = bool(plays.there.any())
    asked = bool(played.probes["valid"][used].any())
    known = bool(knows.there.any()) if asked else valued
    by_game = bool(np.isfinite(played.by_game["random_value"]).any())
    broken = not played["own"].all()
    remarks = {BY_DECISION: not by_game, (BROKEN if by_game else OWN_ONLY): broken}
    return Scores(
        knows,
        decisions.losses(_less(of, "step_said", "chosen"), _less(of, "step_said", "mean")),
        plans,
        plans if shows else None,
        plays,
        {
            "knows_used": Items(probes.of[used], played.games).hits(*(x[used] for x in hits)),
            "reads": decisions.reads((lost, at_chance), other) if shows else None,
        },
        asked=asked,
        lacks="" if known else NO_VALUE,
        remark="; ".join(text for text, holds in remarks.items() if valued and holds),
    )


def _less(values: Mapping[str, FloatArray], kind: str, name: str) -> FloatArray:
    """Return by how much something is worth less than the best option."""
    gap: FloatArray = values[f"{kind}_best"] - values[f"{kind}_{name}"]
    return gap


def _plays(played: Played, decisions: Items) -> Terms:
    """Return the terms of *plays*."""
    of, span = played.steps, played.by_game["best_value"] - played.by_game["random_value"]
    regret = of["regret"]
    if not np.isfinite(span).any():
        return decisions.losses(regret, regret + of["chosen"] - of["option_mean"])
    # A game in which the subject decided nothing, as it died before, lost it nothing.
    lost = np.bincount(played["game"], regret, played.games).astype(np.float64)
    if not played["own"].all():  # luck would differ from that of the others
        lost = played.by_game["best_value"] - played.by_game["reward"]
    return Items(np.arange(played.games), played.games).losses(lost, span)
