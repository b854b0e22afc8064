"""What the forecaster should measure, by enumeration: the known truth of stated probabilities."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.partners import PartnerSet
from tomeval.domains.matrix.played import FloatArray
from tomeval.domains.matrix.responses import expected_best, expected_response_cost
from tomeval.extensions.probabilistic.forecaster import spoilt
from tomeval.extensions.probabilistic.forecasts import (
    BINS,
    bins_of,
    brier_scores,
    likeliest,
    log_losses,
)

_DIGITS = 12  # histories that leave the same posterior but for rounding are one


def expected_forecast(
    game: MatrixGame,
    partners: PartnerSet,
    *,
    temperature: float = 1.0,
    shift: float = 0.0,
    horizon: int = 10,
) -> dict[str, float]:
    """Return the expected measures of the forecaster in a cell.

    Parameters
    ----------
    temperature, shift
        As for `tomeval.extensions.probabilistic.forecaster.Forecaster`.
    horizon : int
        Steps per episode. Every history that can be told apart is walked, so against reactive or
        random partners the work grows quickly with it.

    Returns
    -------
    dict of str to float
        The measures of `tomeval.extensions.probabilistic.measures`, ``tom_percent``,
        ``ece_percent`` (the binned calibration error) and ``bayes_log_loss``: exact expectations,
        no simulation.

    Examples
    --------
    A calibrated forecaster meets one of three partners that always play one action: at first
    it is right in a third of cases, and then always.

    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner_set
    >>> game = get_game("RPS")
    >>> truth = expected_forecast(game, get_partner_set("single_action", game), horizon=4)
    >>> round(truth["log_loss"], 4), round(float(np.log(3) / 4), 4), round(truth["ece_percent"], 9)
    (0.2747, 0.2747, 0.0)

    It says 58.6 % of what happens in 80 % of cases.

    >>> blunt = get_partner_set("mixture(0.8, 0.1, 0.1)", game)
    >>> round(expected_forecast(game, blunt, temperature=2.0, horizon=2)["ece_percent"], 1)
    21.4
    """
    total: dict[str, float] = defaultdict(float)
    gaps = np.zeros(BINS)
    actions = np.arange(game.m)
    start = tuple(partner.start for partner in partners.partners)
    histories = {(tuple(partners.weights), start): 1.0}
    for _ in range(horizon):
        after: dict[tuple[tuple[float, ...], tuple[int, ...]], float] = defaultdict(float)
        for (weights, states), chance in histories.items():
            emits = np.stack(
                [p.emissions[s] for p, s in zip(partners.partners, states, strict=True)]
            )
            true = np.asarray(weights) @ emits
            stated = spoilt(true[None], temperature, shift)
            each = chance * true / horizon  # of every action of the partner
            _add(total, gaps, game, stated, true, each)
            best = expected_best(game, stated)[0]
            for b in actions[true > 0]:
                posterior = np.asarray(weights) * emits[:, b] / true[b]
                for a in np.flatnonzero(best):
                    moved = tuple(
                        int(p.next_state[s, a, b])
                        for p, s in zip(partners.partners, states, strict=True)
                    )
                    key = (tuple(posterior.round(_DIGITS).tolist()), moved)
                    after[key] += chance * true[b] / best.sum()
        histories = after
    return {**total, "ece_percent": 100.0 * float(np.abs(gaps).sum())}


def _add(
    total: dict[str, float],
    gaps: FloatArray,
    game: MatrixGame,
    stated: FloatArray,
    true: FloatArray,
    each: FloatArray,
) -> None:
    """Add one step's expectations, given the chance of `each` action of the partner."""
    here = np.flatnonzero(each)
    mass, probs, named = each[here], np.repeat(stated, len(here), axis=0), likeliest(stated)[0]
    right = float(each[named].sum() / named.sum())
    sure = float(stated.max() * each.sum())
    losses, best = log_losses(probs, here), -np.log(true[here])
    total["tom_percent"] += 100.0 * right
    total["log_loss"] += float(losses @ mass)
    total["excess_log_loss"] += float((losses - best) @ mass)
    total["bayes_log_loss"] += float(best @ mass)
    total["brier_score"] += float(brier_scores(probs, here) @ mass)
    total["overconfidence"] += 100.0 * (sure - right)
    total["bayes_accuracy_percent"] += 100.0 * float(true.max() * each.sum())
    cost = expected_response_cost(game, probs, here)
    total["delta_tom_expected_utility_per_step"] += float(cost @ mass)
    gaps[bins_of(stated.max(axis=1))[0]] += sure - right
