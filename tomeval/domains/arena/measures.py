"""Functional and literal measures of the arena, from recorded decisions alone.

How ΔFunctional and ΔToM carry over from matrix games is this project's reading; see docs/arena.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tomeval.domains.arena.results import Bools, Floats, Ints, Played
from tomeval.runs.measures import Measure, Totals, registry
from tomeval.statistics.bounded import FROM_ZERO

OWN = "this project's reading, docs/arena.md"


def _by_game(played: Played, of: Ints, values: Floats, among: Bools) -> Totals:
    """Return sums and counts of some items by game; `of` tells the game of each."""
    top = np.bincount(of[among], weights=values[among], minlength=played.games).astype(np.float64)
    bottom = np.bincount(of[among], minlength=played.games)
    return Totals(top, bottom.astype(np.float64))


def _share(totals: Totals) -> Totals:
    return Totals(totals.top, totals.bottom, share=True)


def exact(played: Played, name: str) -> tuple[Floats, Bools]:
    """Return a regret of every decision, and where it is known exactly, (N,).

    `name` is ``regret`` or ``tom_regret``.
    """
    low, high = played.values[f"{name}_low"], played.values[f"{name}_high"]
    return low, low == high  # NaN equals nothing


def regret(played: Played, reference: str, name: str = "regret") -> Totals:
    """Return regret by game, over the decisions whose regret is known exactly."""
    values, known = exact(played, name)
    return _by_game(played, played.decision, values, known)


def regret_per_game(played: Played, reference: str) -> Totals:
    """Return the summed regret of games in which that of every decision is known exactly.

    A game in which the subject decided nothing, as it died before, lost it nothing.
    """
    values, known = exact(played, "regret")
    whole = np.bincount(played.decision[~known], minlength=played.games) == 0
    found = _by_game(played, played.decision, values, known)
    return Totals(np.where(whole, found.top, 0.0), (whole & known.any()).astype(np.float64))


def bound(played: Played, reference: str, end: str) -> Totals:
    """Return one end of regret, over the decisions whose regret is at least bounded."""
    values = played.values[f"regret_{end}"]
    return _by_game(played, played.decision, values, ~np.isnan(values))


def exact_share(played: Played, reference: str) -> Totals:
    """Return on how many of the subject's own decisions regret is known exactly."""
    _, known = exact(played, "regret")
    return _share(_by_game(played, played.decision, known.astype(np.float64), played.own))


def step_parts(played: Played) -> dict[str, Floats]:
    """Return the three parts of regret, each of shape (N,), all NaN on the same decisions.

    - ``belief``: one-step payoff of the best answer to what the others did, less that of the best
      reply to what was stated.
    - ``response``: that of the reply, less that of what was done.
    - ``foresight``: regret, less the one-step regret.

    So they add up wherever they are known. What a whole line-up lacks only its own parts lack:
    without any exact regret there is no foresight, without any statement neither belief nor
    response.
    """
    whole, known = exact(played, "regret")
    payoff, best, reply = (played.values[f"step_{name}"] for name in ("payoff", "best", "reply"))
    among = ~np.isnan(payoff)
    stating = np.isin(played.decision, played.probed[played.valid]) & ~np.isnan(reply)
    if stated := bool(stating.any()):
        among &= stating
    if valued := bool(known.any()):
        among &= known
    parts = {
        "belief": best - reply if stated else np.nan,
        "response": reply - payoff if stated else np.nan,
        "foresight": whole - (best - payoff) if valued else np.nan,
    }
    return {name: np.where(among, values, np.nan) for name, values in parts.items()}


def part(played: Played, reference: str, name: str) -> Totals:
    """Return one part of regret by game."""
    values = step_parts(played)[name]
    return _by_game(played, played.decision, values, ~np.isnan(values))


def split_share(played: Played, reference: str) -> Totals:
    """Return on how many of the subject's own decisions the parts are known, if on any."""
    split = ~np.all([np.isnan(values) for values in step_parts(played).values()], axis=0)
    among = played.own if split.any() else np.zeros_like(played.own)
    return _share(_by_game(played, played.decision, split.astype(np.float64), among))


def tom_share(played: Played, reference: str) -> Totals:
    """Return on how many decisions with a question beside them ΔToM is known."""
    _, known = exact(played, "tom_regret")
    among = played.own & played.asked
    return _share(_by_game(played, played.decision, known.astype(np.float64), among))


def acted_on(played: Played, reference: str) -> Totals:
    """Return on how many decisions what was done is the best reply to what was stated."""
    among = played.own & ~np.isnan(played.values["tom_regret_low"])
    return _share(_by_game(played, played.decision, played.acted_on.astype(np.float64), among))


def predicted(played: Played, reference: str, name: str) -> Totals:
    """Return a column of the probes by game, over probes that have it."""
    values: Floats = getattr(played, name)
    return _share(_by_game(played, played.probed, values, ~np.isnan(values)))


def brier(played: Played, scores: Floats) -> Totals:
    """Return Brier scores, or what they are above others, by game: means over its questions."""
    known = ~np.isnan(scores)
    return _by_game(played, played.probed, np.nan_to_num(scores), known)


def of_belief(played: Played, reference: str, name: str) -> Totals:
    """Return a number of planted beliefs by game, over the decisions that have it."""
    if not played.belief:
        return Totals(np.zeros(played.games), np.zeros(played.games))
    values = played.belief[name]
    return _by_game(played, played.decision, np.nan_to_num(values), np.isfinite(values))


def complied(played: Played, reference: str, right: bool) -> Totals:
    """Return on how many decisions statements that are right, or not, were followed."""
    if not played.belief:
        return Totals(np.zeros(played.games), np.zeros(played.games), share=True)
    found = played.belief
    among = (found["right"] == right) & np.isfinite(found["complied"])
    hits = found["complied"] == 1
    if not right:
        among &= found["misleads"] == 1
        hits &= found["answered"] == 0
    return _share(_by_game(played, played.decision, hits.astype(np.float64), among))


def statement_regret(played: Played, reference: str) -> Totals:
    """Return by game what following statements loses, over decisions where it is known exactly."""
    if not played.belief:
        return Totals(np.zeros(played.games), np.zeros(played.games))
    low, high = played.belief["regret_low"], played.belief["regret_high"]
    return _by_game(played, played.decision, np.nan_to_num(low), low == high)


def _plain(name: str) -> Callable[[Played, str], Totals]:
    return lambda played, _: Totals(np.asarray(getattr(played, name), dtype=np.float64))


MEASURES = registry(
    Measure(
        "reward",
        "reward",
        "The subject's reward per game, as the game pays it.",
        "payoff",
        1,
        "the game's rules, docs/arena.md",
        _plain("reward"),
    ),
    Measure(
        "win_percent",
        "win %",
        "The subject's share of wins; a tie counts as a part of one.",
        "%",
        1,
        "the game's rules, docs/arena.md",
        lambda played, _: Totals(played.won, np.ones(played.games), share=True),
    ),
    Measure(
        "tom_percent",
        "ToM %",
        "How right the subject's predictions are, of what others do and who they are, on the "
        "decisions that it is asked beside; readable predictions whose truth showed.",
        "%",
        1,
        "literal theory of mind as in matrix games; " + OWN,
        partial(predicted, name="hit"),
    ),
    Measure(
        "tom_attainable_percent",
        "attainable ToM %",
        "What an exact Bayesian observer, who knows the others' policies and sees what the subject "
        "sees, attains in expectation on the same questions, where it is computed.",
        "%",
        0,
        OWN,
        partial(predicted, name="attainable"),
    ),
    Measure(
        "brier_score",
        "Brier score",
        "How far the subject's probabilities are from the truth: the sum over all answers of the "
        "squared error, 0 to 2. Players that state no probabilities have none.",
        "score",
        -1,
        f"Brier 1950; {OWN}",
        lambda played, _: brier(played, played.brier),
        bounds=(0.0, 2.0),
    ),
    Measure(
        "brier_above_observer",
        "Brier above observer",
        "The Brier score less that of the exact Bayesian observer on the same questions, where "
        "that is computed: in expectation 0 for who knows as much, and above 0 for all others.",
        "score",
        -1,
        f"Brier 1950; {OWN}",
        lambda played, _: brier(played, played.brier - played.observer_brier),
        bounds=(-2.0, 2.0),
    ),
    Measure(
        "delta_functional_per_decision",
        "ΔFunctional/decision",
        "V* - Q* of what was done, from what the subject knew and against these partners; "
        "decisions whose values are exact.",
        "payoff",
        -1,
        OWN,
        regret,
        label="regret",
        bounds=FROM_ZERO,
    ),
    Measure(
        "delta_functional_per_game",
        "ΔFunctional/game",
        "The same summed over a game; its expectation is V* - reward. Games all of whose decisions "
        "have exact values.",
        "payoff",
        -1,
        OWN,
        regret_per_game,
        bounds=FROM_ZERO,
    ),
    Measure(
        "delta_functional_low_per_decision",
        "ΔFunctional/decision, at least",
        "A proven lower bound of V* - Q*; decisions with exact values count with these.",
        "payoff",
        -1,
        OWN,
        partial(bound, end="low"),
        bounds=FROM_ZERO,
    ),
    Measure(
        "delta_functional_high_per_decision",
        "ΔFunctional/decision, at most",
        "A proven upper bound of V* - Q*; decisions with exact values count with these.",
        "payoff",
        -1,
        OWN,
        partial(bound, end="high"),
        bounds=FROM_ZERO,
    ),
    Measure(
        "exact_percent",
        "exact %",
        "On how many of the subject's decisions V* and Q* are exact.",
        "%",
        0,
        OWN,
        exact_share,
    ),
    Measure(
        "delta_tom_per_decision",
        "ΔToM/decision",
        "V* - Q* of the best reply to what the subject stated: what acting on its own predictions "
        "would lose; decisions with readable predictions and exact values.",
        "payoff",
        -1,
        OWN,
        partial(regret, name="tom_regret"),
        bounds=FROM_ZERO,
    ),
    Measure(
        "delta_tom_known_percent",
        "ΔToM of %",
        "On how many of the decisions that predictions are asked beside ΔToM is known: they are "
        "readable, contradict neither each other nor what was seen, something follows from them, "
        "and values are exact.",
        "%",
        0,
        OWN,
        tom_share,
    ),
    Measure(
        "belief_per_decision",
        "belief/decision",
        "One-step payoff lost by the best reply to what was stated, the others' moves held fixed; "
        "games with one-step payoffs.",
        "payoff",
        -1,
        "as in matrix games, docs/measures.md; " + OWN,
        partial(part, name="belief"),
        bounds=FROM_ZERO,
    ),
    Measure(
        "response_per_decision",
        "response/decision",
        "One-step payoff lost by not playing the best reply to what was stated; games with "
        "one-step payoffs.",
        "payoff",
        -1,
        "as in matrix games, docs/measures.md; " + OWN,
        partial(part, name="response"),
    ),
    Measure(
        "foresight_per_decision",
        "foresight/decision",
        "V* - Q* less the one-step regret: what a move does to the others' later moves; negative "
        "where giving up payoff now pays off later.",
        "payoff",
        0,
        "as in matrix games, docs/measures.md; " + OWN,
        partial(part, name="foresight"),
    ),
    Measure(
        "split_percent",
        "split %",
        "On how many of the subject's decisions belief, response and foresight are known. They add "
        "up to ΔFunctional of these decisions.",
        "%",
        0,
        OWN,
        split_share,
    ),
    Measure(
        "acted_on_percent",
        "acted on %",
        "On how many decisions the subject did what is the best reply to its own predictions; of "
        "those with a best reply whose value is known at least by bounds.",
        "%",
        1,
        "self-consistency as in matrix games; " + OWN,
        acted_on,
    ),
    Measure(
        "rounds_per_game",
        "rounds/game",
        "Rounds, days or turns that were begun.",
        "rounds",
        0,
        "the game's rules, docs/arena.md",
        _plain("rounds"),
    ),
    Measure(
        "use_slope",
        "use slope",
        "Planted beliefs: how much more probable a best reply to what is stated of the others "
        "becomes by stating it, in place of anything else that could be stated. Not identified "
        "where statements are always right or always wrong, or too many could be made.",
        "probability",
        0,
        f"Horvitz and Thompson 1952; {OWN}",
        partial(of_belief, name="slope"),
        bounds=(-1.0, 1.0),
    ),
    Measure(
        "compliance_right_percent",
        "complies, right %",
        "Planted beliefs: on how many decisions with right statements alone the subject did what "
        "is a best reply to them.",
        "%",
        0,
        OWN,
        partial(complied, right=True),
    ),
    Measure(
        "compliance_wrong_percent",
        "complies, wrong %",
        "Planted beliefs: on how many decisions with a wrong statement, whose best reply is none "
        "to the truth, the subject did what is a best reply to it and none to the truth.",
        "%",
        0,
        OWN,
        partial(complied, right=False),
    ),
    Measure(
        "delta_statement_per_decision",
        "ΔToM/decision of the statement",
        "Planted beliefs: V* - Q* of the best reply to what was stated: what following it loses.",
        "payoff",
        0,
        OWN,
        statement_regret,
        bounds=FROM_ZERO,
    ),
)

PLANTED: tuple[str, ...] = tuple(list(MEASURES)[-4:])
"""The measures of planted beliefs."""
