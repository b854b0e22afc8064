"""Literal and functional measures per episode, from played steps alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Literal

import numpy as np

from tomeval.domains.matrix.conditional import reactions_right
from tomeval.domains.matrix.hindsight import HINDSIGHT, hindsight_metrics
from tomeval.domains.matrix.optima import reference_rewards
from tomeval.domains.matrix.planned import planned_regret
from tomeval.domains.matrix.played import FloatArray, Mixture, Played
from tomeval.domains.matrix.responses import best_responses, misjudgement_cost, stepwise_regret
from tomeval.domains.matrix.steps import NONE
from tomeval.runs.measures import Measure, Totals, registry
from tomeval.statistics.bounded import FROM_ZERO, Bounds

METRICS = (
    "tom_percent",
    "delta_functional_per_step",
    "delta_tom_best_response_per_step",
    "delta_tom_misprediction_per_step",
    "stepwise_regret_per_step",
    "response_gap_per_step",
    "foresight_gap_per_step",
    "self_consistency_percent",
    "reward_per_step",
)
"""The measures that every step adds to, in the order of the tables."""

OF_PARTNER = ("delta_functional_per_step", "foresight_gap_per_step")
"""Those that need the partner's table."""

ONE_STEP = ("delta_tom_best_response_per_step", "delta_tom_misprediction_per_step")
PLANNED = "delta_tom_planned_per_step"
"""The rules of ΔToM: one step at a time, and over T steps, which can differ if partners react."""

REACTIONS = "reaction_accuracy_percent"
"""Of the conditional probe."""

_IN_ORDER = (*METRICS[:4], PLANNED, *METRICS[4:])

OF_PREDICTIONS = (
    "tom_percent",
    "delta_tom_best_response_per_step",
    "delta_tom_misprediction_per_step",
    "response_gap_per_step",
    "self_consistency_percent",
)
"""Those that need predictions."""


def measures_for(
    known: Sequence[bool], conditional: bool = False, reacts: bool = False
) -> tuple[str, ...]:
    """Return the measures of a table, given for each of its cells whether the partner is known.

    Where none is known, those that need its table are left out; where any is unknown, regret in
    hindsight is added. `conditional`: whether the conditional probe was asked; `reacts`: whether
    any partner reacts. ΔToM over T steps is there in either case.
    """
    left_out = set() if any(known) or not known else set(OF_PARTNER)
    if not (conditional or reacts):
        left_out.add(PLANNED)
    names = [name for name in _IN_ORDER if name not in left_out]
    return (*names, *((REACTIONS,) if conditional else ()), *(() if all(known) else HINDSIGHT))


def step_metrics(played: Played, reference: str = "horizon") -> dict[str, FloatArray]:
    """Return every metric's contribution of every step.

    Parameters
    ----------
    reference : {"horizon", "stationary"}
        What ΔFunctional is measured from: the expected rewards of the best response over the
        episode's own length (the definition), or the best long-run mean reward per step.

    Returns
    -------
    dict of str to ndarray, shape (N,)
        One entry per name in `METRICS`, in payoff units or percent. Their mean over an episode's
        steps is the episode's value. NaN if the needed input is missing: ΔFunctional and foresight
        without a partner table, everything about predictions on steps without one.

    Notes
    -----
    With b_t the partner's action, a_t the own one and c_t the predicted one (Riemer et al. 2025):

    - ToM % (def. 2.1, identity, percent): 100 [c_t = b_t].
    - ΔFunctional (def. 2.2): r*_t - r(a_t, b_t).
    - ΔToM: `tomeval.domains.matrix.responses.misjudgement_cost` of (c_t, b_t), under both rules.
    - stepwise regret: max_a r(a, b_t) - r(a_t, b_t).
    - ΔFunctional = belief + response + foresight, exactly: belief is ΔToM (best response), response
      is stepwise regret - belief, foresight is ΔFunctional - stepwise regret. For a stochastic
      partner foresight also holds what only a clairvoyant could have gained.
    - self-consistency: 100 [a_t is a best response to c_t].
    """
    game, shape = played.game, played.own.shape
    missing = np.full(shape, np.nan)
    result = dict.fromkeys(METRICS, missing)
    stepwise = stepwise_regret(game)[played.own, played.partner]
    result["reward_per_step"] = played.own_reward
    result["stepwise_regret_per_step"] = stepwise
    if played.partners:
        functional = _reference_by_step(played, reference) - played.own_reward
        result["delta_functional_per_step"] = functional
        result["foresight_gap_per_step"] = functional - stepwise
    if played.predicted is not None:
        said = played.predicted != NONE
        predicted = np.where(said, played.predicted, 0)
        belief = misjudgement_cost(game, "best_response")[predicted, played.partner]
        wrong = misjudgement_cost(game, "misprediction")[predicted, played.partner]
        consistent = best_responses(game)[played.own, predicted]
        found = {
            "tom_percent": 100.0 * (predicted == played.partner),
            "delta_tom_best_response_per_step": belief,
            "delta_tom_misprediction_per_step": wrong,
            "response_gap_per_step": stepwise - belief,
            "self_consistency_percent": 100.0 * consistent,
        }
        result |= {name: np.where(said, values, np.nan) for name, values in found.items()}
    return result


def episode_metrics(played: Played, reference: str = "horizon") -> dict[str, FloatArray]:
    """Return every metric per episode: the mean over its steps, shape (E,).

    The episode is the sampling unit of every interval. Parameters and NaN as for `step_metrics`;
    what needs predictions is the mean over the episode's steps that have one, NaN if none has.

    Examples
    --------
    Always defecting against tit for tat, three steps, payoffs 8, 0, 10, 5. The optimum cooperates
    twice and then defects: 26. Defecting earns 10 + 5 + 5 = 20, a regret of 2 per step. With the
    partner's moves held fixed nothing was lost: all of it is foresight.

    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner
    >>> game = get_game("IPD")
    >>> defect = np.array([1, 1, 1])
    >>> theirs = np.array([0, 1, 1])
    >>> played = Played(game, [get_partner("tit_for_tat", game)], np.array([0]), np.array([3]),
    ...                 defect, theirs, theirs, game.own[defect, theirs])
    >>> metrics = episode_metrics(played)
    >>> float(metrics["delta_functional_per_step"][0]), float(metrics["foresight_gap_per_step"][0])
    (2.0, 2.0)
    """
    by_step = step_metrics(played, reference)
    if played.episodes == 0:
        return {name: np.empty(0) for name in METRICS}
    starts = np.concatenate([[0], np.cumsum(played.lengths)[:-1]])
    if played.predicted is not None and (played.predicted == NONE).any():
        said = np.add.reduceat(played.predicted != NONE, starts, dtype=np.int64)
        counts = dict.fromkeys(OF_PREDICTIONS, said)
        by_step |= {name: np.nan_to_num(by_step[name]) for name in counts}
    else:
        counts = {}
    with np.errstate(invalid="ignore"):  # 0 / 0: no step of the episode has a prediction
        return {
            name: np.add.reduceat(values, starts) / counts.get(name, played.lengths)
            for name, values in by_step.items()
        }


def curves(played: Played, reference: str = "horizon") -> dict[str, FloatArray]:
    """Return every metric by step and episode, shape (E, T), for episodes of equal length."""
    if len(set(played.lengths.tolist())) > 1:
        raise ValueError("curves need episodes of equal length")
    by_step = step_metrics(played, reference)
    return {name: values.reshape(played.episodes, -1) for name, values in by_step.items()}


def _mixed_reference(played: Played, mixture: Mixture, reference: str) -> FloatArray:
    """Return r*_t of every step where partners are known up to probabilities, shape (N,)."""
    known: dict[tuple[int, int], FloatArray] = {}
    parts = []
    for weights, length in zip(mixture.weights, played.lengths.tolist(), strict=True):
        total = np.zeros(length)
        for k in np.flatnonzero(weights).tolist():
            if (k, length) not in known:
                known[k, length] = reference_rewards(
                    played.game, mixture.partners[k], length, reference
                )
            total += weights[k] * known[k, length]
        parts.append(total)
    return np.concatenate(parts) if parts else np.empty(0)


def _reference_by_step(played: Played, reference: str) -> FloatArray:
    """Return r*_t of every step, shape (N,)."""
    if played.mixture is not None:
        return _mixed_reference(played, played.mixture, reference)
    # Partner and length as one number: pairs take numpy long to tell apart.
    width = int(played.lengths.max(initial=0)) + 1
    pairs, inverse = np.unique(played.which * width + played.lengths, return_inverse=True)
    rewards = [
        reference_rewards(played.game, played.partners[pair // width], pair % width, reference)
        for pair in pairs.tolist()
    ]
    if not rewards:
        return np.empty(0)
    if len({len(row) for row in rewards}) == 1:
        return np.stack(rewards)[inverse].ravel()
    return np.concatenate([rewards[i] for i in inverse])


@lru_cache(maxsize=4)
def all_metrics(played: Played, reference: str) -> dict[str, FloatArray]:
    """Return the measures of `METRICS` per episode, shape (E,), once for each cell that is read."""
    return episode_metrics(played, reference)


@lru_cache(maxsize=4)
def _in_hindsight(played: Played) -> dict[str, FloatArray]:
    """Return the measures that stand in for regret where no partner is known, once for a cell."""
    return hindsight_metrics(played)


def _of(name: str, played: Played, reference: str) -> Totals:
    if name in HINDSIGHT:
        return Totals(_in_hindsight(played)[name])
    if name == PLANNED:
        # Not `Totals.known`: the mean over some episodes would be of those predicted best.
        return Totals(planned_regret(played))
    if name == REACTIONS:
        return Totals.known(reactions_right(played))
    # Recorded games: episodes in which nothing was predicted have no such value.
    return Totals.known(all_metrics(played, reference)[name])


_PAPER = "Riemer et al. 2025, arXiv 2412.19726"
_OWN = "this project, docs/measures.md"


def _measure(
    name: str,
    heading: str,
    better: Literal[1, 0, -1],
    source: str,
    meaning: str,
    spoken: str = "",
    label: str = "",
    bounds: Bounds | None = None,
) -> Measure:
    unit = "%" if name.endswith("_percent") else "payoff"
    of = partial(_of, name)
    return Measure(name, heading, meaning, unit, better, source, of, spoken, label, bounds)


# Neither side of a part of regret is better, because the parts trade off: against a partner that
# reacts, giving up a step's best move can pay off later; stepwise regret and the response gap then
# rise while regret falls, and acting on one's prediction can be a fault.
_ALWAYS = (
    _measure(
        "tom_percent",
        "ToM %",
        1,
        f"{_PAPER}, definition 2.1 with the identity as metric",
        "Literal theory of mind: the share of steps on which the partner's action was predicted, "
        "0 to 100. Higher is better.",
    ),
    _measure(
        "delta_functional_per_step",
        "ΔFunctional/T",
        -1,
        f"{_PAPER}, definition 2.2",
        "Functional theory of mind, as regret: how much less reward per step the subject earned "
        "than the best response to this very partner would have. 0 is optimal; lower is better; in "
        "payoff units.",
        label="regret",
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
    ),
    _measure(
        "delta_tom_misprediction_per_step",
        "ΔToM/T (misprediction)",
        -1,
        f"{_PAPER}, as its tables have it",
        "The same where every wrong prediction that can cost something does, as published tables "
        "count it. A one-step rule too. Lower is better; in payoff units.",
        bounds=FROM_ZERO,
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
    ),
    _measure(
        "stepwise_regret_per_step",
        "stepwise regret",
        0,
        _OWN,
        "What the actions lost step by step, the partner's moves held fixed: belief and response "
        "together. In payoff units.",
        bounds=FROM_ZERO,
    ),
    _measure(
        "response_gap_per_step",
        "response",
        0,
        _OWN,
        "Response: stepwise regret beyond belief, from not acting on one's own predictions. In "
        "payoff units, any sign.",
    ),
    _measure(
        "foresight_gap_per_step",
        "foresight",
        0,
        _OWN,
        "Foresight: regret beyond stepwise regret, from what one's moves did to the partner's "
        "later moves. 0 for partners that do not react; negative where giving up a step's best "
        "move paid off later. Belief, response and foresight add up to the regret.",
    ),
    _measure(
        "self_consistency_percent",
        "self-consistent %",
        0,
        _OWN,
        "Share of steps on which the action is a best response to the subject's own prediction, "
        "0 to 100.",
    ),
    _measure(
        "reward_per_step",
        "reward/step",
        1,
        _PAPER,
        "Reward that the subject earned per step, in payoff units.",
    ),
    _measure(
        REACTIONS,
        "reactions right %",
        1,
        _OWN,
        "How probable the stated reactions are under the partner's table, 0 to 100. Higher is "
        "better.",
    ),
    _measure(
        HINDSIGHT[0],
        "hindsight regret (constant)",
        0,
        _OWN,
        "How much less per step the subject earned than the best single action, chosen after the "
        "episode against the partner's moves as recorded. In payoff units, any sign; stands in "
        "where the partner is unknown, and is no ΔFunctional.",
    ),
    _measure(
        HINDSIGHT[1],
        "hindsight regret (memory-one)",
        0,
        _OWN,
        "The same against the best reply to the previous joint move as recorded. In payoff units, "
        "any sign.",
    ),
)

MEASURES = registry(*_ALWAYS)
"""All measures, in the order of the tables; more come with extensions. Which of them a run has:
`measures_for`."""
