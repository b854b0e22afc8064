"""Literal and functional measures per episode, from played steps alone: one table of objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tomeval.games.matrix.planned import planned_regret
from tomeval.games.matrix.played import (
    FloatArray,
    Played,
    StepFacts,
    by_episode,
    hindsight_regret,
)
from tomeval.games.matrix.responses import best_responses
from tomeval.games.matrix.scores import scores
from tomeval.games.matrix.storing import RECORDED, has_reactions, partners_react, tables_of
from tomeval.games.scores import score
from tomeval.runs.measures import Measure, Totals, registry
from tomeval.statistics.bounded import FROM_ZERO

if TYPE_CHECKING:
    from tomeval.runs.store import Store

PLANNED = "delta_tom_planned_per_step"
HINDSIGHT = "hindsight_constant_regret_per_step"
ONE_STEP = ("delta_tom_best_response_per_step", "delta_tom_misprediction_per_step")
"""The rules of ΔToM: one step at a time, and over T steps, which can differ if partners react."""


@dataclass(frozen=True)
class MatrixMeasure(Measure):
    """A measure of matrix games.

    Attributes
    ----------
    step : callable, optional
        What every step adds, shape (N,), in the unit of the measure: an episode's value is the mean
        over its steps. Without it, `of` gives the measure of whole episodes.
    """

    step: Callable[[StepFacts], FloatArray] | None = None


def _known(store: Store) -> bool:
    """Return whether any partner is known, for measures that need its table."""
    return any(tables for _, tables in tables_of(store))


def _looks_back(store: Store) -> bool:
    """Return whether a partner is not known or reacts to recorded games, for hindsight."""
    told = list(tables_of(store))
    recorded = any(definition["kind"] == RECORDED for definition, _ in told)
    return not all(tables for _, tables in told) or (recorded and partners_react(store))


def _reacting(store: Store) -> bool:
    """Return whether the conditional probe was asked or any partner reacts, for ΔToM over T."""
    return has_reactions(store) or partners_react(store)


def step_metrics(played: Played, reference: str = "horizon") -> dict[str, FloatArray]:
    """Return every metric's contribution of every step.

    Parameters
    ----------
    reference : {"horizon", "stationary"}
        What ΔFunctional is measured from: the expected rewards of the best response over the
        episode's own length, or until a game ends that goes on with a probability (the definition);
        or the best long-run mean reward per step.

    Returns
    -------
    dict of str to ndarray, shape (N,)
        One entry per name in `METRICS`, in payoff units or percent. Their mean over an episode's
        steps is the episode's value. NaN if the needed input is missing: ΔFunctional and foresight
        without a partner table, everything about predictions on steps without one.
    """
    facts = StepFacts(played, reference)
    return {one.name: one.step(facts) for one in _BY_STEP if one.step is not None}


def episode_metrics(played: Played, reference: str = "horizon") -> dict[str, FloatArray]:
    """Return every metric per episode: the mean over its steps, shape (E,).

    The episode is the sampling unit of every interval. Parameters and NaN as for `step_metrics`;
    what needs predictions is the mean over the episode's steps that have one, NaN if none has.

    Examples
    --------
    Always defecting against tit for tat, three steps, payoffs 8, 0, 10, 5. The optimum cooperates
    twice and then defects: 26. Defecting earns 10 + 5 + 5 = 20, a regret of 2 per step. With the
    partner's moves held fixed nothing was lost: all of it is foresight.

    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner
    >>> game = get_game("IPD")
    >>> defect = np.array([1, 1, 1])
    >>> theirs = np.array([0, 1, 1])
    >>> played = Played(game, [get_partner("tit_for_tat", game)], np.array([0]), np.array([3]),
    ...                 defect, theirs, theirs, game.own[defect, theirs])
    >>> metrics = episode_metrics(played)
    >>> float(metrics["delta_functional_per_step"][0]), float(metrics["foresight_gap_per_step"][0])
    (2.0, 2.0)
    """
    if played.episodes == 0:
        return {name: np.empty(0) for name in METRICS}
    means = {}
    for name, values in step_metrics(played, reference).items():
        there = np.isfinite(values)
        counts = np.add.reduceat(there, played.starts, dtype=np.int64)
        with np.errstate(invalid="ignore"):  # 0 / 0: no step of the episode has a value
            means[name] = np.add.reduceat(np.where(there, values, 0.0), played.starts) / counts
    return means


def curves(played: Played, reference: str = "horizon") -> dict[str, FloatArray]:
    """Return every metric by step and episode, shape (E, T); NaN where an episode has ended.

    Episodes are of equal length, but if games go on with a probability.
    """
    if played.continuation is None and len(set(played.lengths.tolist())) > 1:
        raise ValueError("curves need episodes of equal length")
    there = played.lengths[:, None] > np.arange(played.lengths.max(initial=0))
    laid = {}
    for name, values in step_metrics(played, reference).items():
        laid[name] = np.full(there.shape, np.nan)
        laid[name][there] = values
    return laid


# Worked out once for a cell, whichever of its measures is asked for first.
_of_episodes = lru_cache(maxsize=4)(episode_metrics)
_of_steps = lru_cache(maxsize=4)(step_metrics)


def _mean_of_steps(name: str, played: Played, reference: str) -> Totals:
    if played.continuation is not None:
        values = _of_steps(played, reference)[name]
        there = np.isfinite(values)
        sums = by_episode(played, np.where(there, values, 0.0))
        return played.per_step(sums, by_episode(played, there))
    # Recorded games: episodes in which nothing was predicted have no such value.
    return Totals.known(_of_episodes(played, reference)[name])


_PAPER = "Riemer et al. 2025, arXiv 2412.19726"
_OWN = "this project, docs/measures.md"


def _measure(
    name: str,
    heading: str,
    better: Literal[1, 0, -1],
    source: str,
    meaning: str,
    *,
    of: Callable[[Played, str], Totals] | None = None,
    **more: Any,
) -> MatrixMeasure:
    unit = "%" if name.endswith("_percent") else "payoff"
    of = of or partial(_mean_of_steps, name)
    return MatrixMeasure(name, heading, meaning, unit, better, source, of, **more)


_score = partial(score, scores=scores, of=MatrixMeasure)


# Neither side of a part of regret is better, because the parts trade off: against a partner that
# reacts, giving up a step's best move can pay off later; stepwise regret and the response gap then
# rise while regret falls, and acting on one's prediction can be a fault.
_TABLE = (
    _score("knows", present=_known),
    _score("uses"),
    _score("plays", present=_known),
    _score("replies"),
    _score("plans", present=_known),
    _measure(
        "tom_percent",
        "ToM %",
        1,
        f"{_PAPER}, definition 2.1 with the identity as metric",
        "Literal theory of mind: the share of steps on which the partner's action was predicted, "
        "0 to 100. Higher is better.",
        step=lambda s: s.if_said(100.0 * (s.predicted == s.played.partner)),
    ),
    _measure(
        "delta_functional_per_step",
        "ΔFunctional/T",
        -1,
        f"{_PAPER}, definition 2.2",
        "Functional theory of mind, as regret: how much less reward per step the subject earned "
        "than the best response to this very partner would have. 0 is optimal; lower is better; in "
        "payoff units.",
        present=_known,
        step=lambda s: s.regret,
    ),
    _measure(
        "delta_tom_best_response_per_step",
        "ΔToM/T (best response)",
        -1,
        f"{_PAPER}, ΔToM one step at a time",
        "Belief: the regret per step of a player who in each step plays a best response to the "
        "subject's prediction, the partner's moves held fixed. A one-step rule: blind to what a "
        "move does to the partner's later moves. Lower is better; in payoff units.",
        bounds=FROM_ZERO,
        step=lambda s: s.belief,
    ),
    _measure(
        "delta_tom_misprediction_per_step",
        "ΔToM/T (misprediction)",
        -1,
        f"{_PAPER}, as its tables have it",
        "The same, but every wrong prediction that can cost something does, as in the published "
        "tables. Also a one-step rule. Lower is better; in payoff units.",
        bounds=FROM_ZERO,
        step=lambda s: s.cost("misprediction"),
    ),
    _measure(
        PLANNED,
        "ΔToM/T (planned)",
        -1,
        f"{_PAPER}, ΔToM over T steps; what predictions imply: docs/measures.md",
        "The regret per step of a player who plans all T steps against the partner that the "
        "subject's predictions, and stated reactions, imply. Missing where they imply none. Lower "
        "is better; in payoff units.",
        bounds=FROM_ZERO,
        # Not `Totals.known`: the mean over some episodes would be of those predicted best.
        of=lambda played, reference: Totals(planned_regret(played)),
        present=_reacting,
    ),
    _measure(
        "stepwise_regret_per_step",
        "stepwise regret",
        0,
        _OWN,
        "What the actions lost step by step, the partner's moves held fixed: belief and response "
        "together. In payoff units.",
        bounds=FROM_ZERO,
        step=lambda s: s.stepwise,
    ),
    _measure(
        "response_gap_per_step",
        "response",
        0,
        _OWN,
        "Response: stepwise regret beyond belief, from not acting on one's own predictions. In "
        "payoff units, any sign.",
        step=lambda s: s.stepwise - s.belief,
    ),
    _measure(
        "foresight_gap_per_step",
        "foresight",
        0,
        _OWN,
        "Foresight: regret beyond stepwise regret, from what one's moves did to the partner's "
        "later moves. 0 for partners that do not react; negative where giving up a step's best "
        "move paid off later. Belief, response and foresight add up to the regret.",
        present=_known,
        step=lambda s: s.regret - s.stepwise,
    ),
    _measure(
        "self_consistency_percent",
        "self-consistent %",
        0,
        _OWN,
        "Share of steps on which the action is a best response to the subject's own prediction, "
        "0 to 100.",
        step=lambda s: s.if_said(100.0 * best_responses(s.played.game)[s.played.own, s.predicted]),
    ),
    _measure(
        "reward_per_step",
        "reward/step",
        1,
        _PAPER,
        "Reward that the subject earned per step, in payoff units.",
        step=lambda s: s.played.own_reward,
    ),
    _measure(
        HINDSIGHT,
        "hindsight regret (constant)",
        0,
        _OWN,
        "How much less per step the subject earned than the best single action, chosen after the "
        "episode against the partner's moves as recorded. In payoff units, any sign; for recorded "
        "games whose partner is unknown or reacts, and not equal to ΔFunctional.",
        of=lambda played, reference: played.per_step(hindsight_regret(played) * played.lengths),
        present=_looks_back,
    ),
)

MEASURES = registry(*_TABLE)
"""All measures, in the order of the tables; more come with extensions. Which of them a run has:
`measured`."""

_BY_STEP = tuple(measure for measure in _TABLE if measure.step is not None)
METRICS = tuple(measure.name for measure in _BY_STEP)
"""The measures that every step adds to, in the order of the tables."""
