"""Functional and literal measures of the arena, from recorded decisions alone.

How ΔFunctional and ΔToM carry over from matrix games is this project's reading; see docs/arena.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tomeval.games.arena.scores import scores
from tomeval.games.played import Played
from tomeval.games.scores import Counted, FloatArray, known, mean, percent, score
from tomeval.runs.measures import Measure, Totals, registry
from tomeval.statistics.bounded import FROM_ZERO

OWN = "this project's reading, docs/arena.md"
_MATRIX = "as in matrix games, docs/measures.md; " + OWN
_RULES = "the game's rules, docs/arena.md"


def exact(played: Played, name: str = "regret") -> Counted:
    """Return a regret of every decision, where it is known.

    `name` is ``regret`` or ``tom_regret``.
    """
    return known(played["game"], played[name])


def regret_per_game(played: Played, reference: str) -> Totals:
    """Return the summed regret of games in which that of every decision is known exactly.

    A game in which the subject decided nothing, as it died before, lost it nothing.
    """
    of, values, there = exact(played)
    whole = np.bincount(of[~there], minlength=played.games) == 0
    sums = np.bincount(of[there], weights=values[there], minlength=played.games)
    return Totals(np.where(whole, sums, 0.0), (whole & there.any()).astype(np.float64))


def step_parts(played: Played) -> dict[str, FloatArray]:
    """Return the three parts of regret, each of shape (N,), all NaN on the same decisions.

    - ``belief``: one-step payoff of the best answer to what the others did, less that of the best
      reply to what was stated.
    - ``response``: that of the reply, less that of what was done.
    - ``foresight``: regret, less the one-step regret.

    So they add up wherever they are known. What a whole line-up lacks only its own parts lack:
    without any exact regret there is no foresight, without any statement neither belief nor
    response.
    """
    _, whole, there = exact(played)
    payoff, best, reply = (played[f"step_{name}"] for name in ("payoff", "best", "reply"))
    among = ~np.isnan(payoff)
    answered = played.probes["game"][played.probes["valid"]]
    stating = np.isin(played["game"], answered) & ~np.isnan(reply)
    if stated := bool(stating.any()):
        among &= stating
    if valued := bool(there.any()):
        among &= there
    parts = {
        "belief": best - reply if stated else np.nan,
        "response": reply - payoff if stated else np.nan,
        "foresight": whole - (best - payoff) if valued else np.nan,
    }
    return {name: np.where(among, values, np.nan) for name, values in parts.items()}


def _part(name: str, played: Played) -> Counted:
    return known(played["game"], step_parts(played)[name])


def _split(played: Played) -> Counted:
    """Return whether the parts of regret are known, of a line-up in which they are on any."""
    split = ~np.all([np.isnan(values) for values in step_parts(played).values()], axis=0)
    among = played["own"] if split.any() else np.zeros_like(played["own"])
    return played["game"], split.astype(np.float64), among


def _acted_on(played: Played) -> Counted:
    among = played["own"] & ~np.isnan(played["tom_regret"])
    return played["game"], played["acted_on"].astype(np.float64), among


def _scored(name: str, played: Played, less: str = "") -> Counted:
    probes = played.probes
    return known(probes["game"], probes[name] - (probes[less] if less else 0.0))


def _known(name: str, beside: str, played: Played) -> Counted:
    """Return whether a value is known, of the subject's own decisions that have something else."""
    among = played["own"] & played[beside]
    return played["game"], np.isfinite(played[name]).astype(np.float64), among


def _plain(name: str) -> Callable[[Played, str], Totals]:
    return lambda played, _: Totals(np.asarray(played.by_game[name], dtype=np.float64))


_percent = partial(percent, source=OWN)
_mean = partial(mean, source=OWN)

PER_DECISION = "delta_functional_per_decision"

_score = partial(score, scores=scores)

MEASURES = registry(
    *map(_score, ("knows", "uses", "plays", "replies", "plans", "reads", "knows_used")),
    Measure(
        "reward",
        "reward",
        "The subject's reward per game, as the game pays it.",
        *("payoff", 1, _RULES, _plain("reward")),
    ),
    Measure(
        "win_percent",
        "win %",
        "The subject's share of wins; a tie counts as a fraction of a win.",
        *("%", 1, _RULES),
        lambda played, _: Totals(played.by_game["won"], np.ones(played.games), share=True),
    ),
    _percent(
        ("tom", "ToM %", 1),
        partial(_scored, "hit"),
        "How often the subject predicts correctly what others do and who they are; readable "
        "predictions whose truth became known.",
        source="literal theory of mind as in matrix games; " + OWN,
    ),
    _percent(
        ("tom_attainable", "attainable ToM %", 0),
        partial(_scored, "attainable"),
        "What an exact Bayesian observer, who knows the others' policies and sees what the subject "
        "sees, attains in expectation on the same questions, where it is computed.",
    ),
    _mean(
        ("brier_score", "Brier score", -1),
        partial(_scored, "brier"),
        "How far the subject's probabilities are from the truth: the sum over all answers of the "
        "squared error, 0 to 2. Only for players that state probabilities.",
        source=f"Brier 1950; {OWN}",
        unit="score",
        bounds=(0.0, 2.0),
    ),
    _mean(
        ("brier_above_observer", "Brier above observer", -1),
        partial(_scored, "brier", less="observer_brier"),
        "The Brier score less that of the exact Bayesian observer on the same questions, where "
        "that is computed: in expectation 0 for a player who knows as much, above 0 for others.",
        source=f"Brier 1950; {OWN}",
        unit="score",
        bounds=(-2.0, 2.0),
    ),
    _mean(
        (PER_DECISION, "ΔFunctional/decision", -1),
        exact,
        "V* - Q* of the subject's action, given what it knew and against these partners; "
        "decisions whose values are exact.",
        bounds=FROM_ZERO,
    ),
    Measure(
        "delta_functional_per_game",
        "ΔFunctional/game",
        "The same summed over a game; its expectation is V* - reward. Only games in which all "
        "decisions have exact values.",
        *("payoff", -1, OWN, regret_per_game),
        bounds=FROM_ZERO,
    ),
    _percent(
        ("exact", "exact %", 0),
        partial(_known, "regret", "own"),
        "Share of the subject's decisions whose V* and Q* are exact.",
    ),
    _mean(
        ("delta_tom_per_decision", "ΔToM/decision", -1),
        partial(exact, name="tom_regret"),
        "V* - Q* of the best reply to what the subject stated: what acting on its own predictions "
        "would lose; decisions with readable predictions and exact values.",
        bounds=FROM_ZERO,
    ),
    _percent(
        ("delta_tom_known", "ΔToM of %", 0),
        partial(_known, "tom_regret", "asked"),
        "Share of the decisions with predictions whose ΔToM is known: the predictions are "
        "readable, consistent with each other and with what was seen, and imply a best reply, "
        "and values are exact.",
    ),
    _percent(
        ("told", "told %", 0),
        partial(_known, "said_best", "stated"),
        "Share of the decisions with readable predictions of which it is known what the options "
        "are worth if these are true: uses is of these.",
    ),
    _mean(
        ("belief_per_decision", "belief/decision", -1),
        partial(_part, "belief"),
        "One-step payoff lost by the best reply to what was stated, the others' moves held fixed; "
        "games with one-step payoffs.",
        source=_MATRIX,
        bounds=FROM_ZERO,
    ),
    _mean(
        ("response_per_decision", "response/decision", -1),
        partial(_part, "response"),
        "One-step payoff lost by not playing the best reply to what was stated; games with "
        "one-step payoffs.",
        source=_MATRIX,
    ),
    _mean(
        ("foresight_per_decision", "foresight/decision", 0),
        partial(_part, "foresight"),
        "V* - Q* less the one-step regret: what a move does to the others' later moves; negative "
        "where giving up payoff now pays off later.",
        source=_MATRIX,
    ),
    _percent(
        ("split", "split %", 0),
        _split,
        "Share of the subject's decisions whose belief, response and foresight are known. They "
        "add up to ΔFunctional of these decisions.",
    ),
    _percent(
        ("acted_on", "acted on %", 1),
        _acted_on,
        "Share of decisions on which the subject played the best reply to its own predictions, of "
        "those whose best reply has a value. Of equally good replies only the solver's "
        "counts, so the share can be low where many are equally good.",
        source="self-consistency as in matrix games; " + OWN,
    ),
    Measure(
        "rounds_per_game",
        "rounds/game",
        "Rounds, days or turns that were begun.",
        *("rounds", 0, _RULES, _plain("rounds")),
    ),
)
