"""What the simulated subject should measure, in closed form: the instrument's known truth."""

from __future__ import annotations

import numpy as np

from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.optima import reference_rewards
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.responses import best_responses, misjudgement_cost, stepwise_regret
from tomeval.games.matrix.subjects.base import check_unit
from tomeval.games.matrix.subjects.simulated import simulated_policy


def expected(
    game: MatrixGame,
    partners: PartnerSet,
    *,
    p: float,
    q: float,
    horizon: int = 100,
    reference: str = "horizon",
) -> dict[str, float]:
    """Return the expected metrics of the simulated subject in a cell.

    Parameters
    ----------
    partners : PartnerSet
        The mean is over its weights.
    p, q : float
        Literal accuracy and rationality of `tomeval.games.matrix.subjects.SimulatedSubject`.
    horizon, reference
        As in the experiment.

    Returns
    -------
    dict of str to float
        Every name in `measures.METRICS`: exact expectations, no simulation. The partner's
        state is a Markov chain under the subject's policy; its distribution is carried forward
        step by step.

    Examples
    --------
    Predicts all, acts at random: the dissociation the toolkit measures.

    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner_set
    >>> game = get_game("RPS")
    >>> truth = expected(game, get_partner_set("single_action", game), p=1, q=0)
    >>> round(truth["tom_percent"], 9), truth["delta_tom_best_response_per_step"]
    (100.0, 0.0)
    >>> round(truth["delta_functional_per_step"], 9)
    1.0
    """
    p, q = check_unit("p", p), check_unit("q", q)
    total: dict[str, float] = {}
    for partner, weight in zip(partners.partners, partners.weights, strict=True):
        for name, value in _against(game, partner, p, q, horizon, reference).items():
            total[name] = total.get(name, 0.0) + weight * value
    return total


def _against(
    game: MatrixGame, partner: Partner, p: float, q: float, horizon: int, reference: str
) -> dict[str, float]:
    """Return the expected metrics against one partner."""
    best = best_responses(game)
    said = p * np.eye(game.m) + (1 - p) / (game.m - 1) * (1 - np.eye(game.m))  # [predicted, actual]
    policy = np.stack([simulated_policy(best[:, c], q) for c in range(game.m)])  # [predicted, own]
    acts = policy.T @ said  # [own, actual]
    state = np.eye(len(partner.emissions))[partner.start]
    frequency = np.zeros(game.m)  # mean over steps of P(partner plays b)
    for _ in range(horizon):
        joint = state[:, None, None] * partner.emissions[:, None, :] * acts[None]
        frequency += joint.sum(axis=(0, 1)) / horizon
        state = np.bincount(partner.next_state.ravel(), joint.ravel(), minlength=len(state))
    reward = float((game.own * acts).sum(axis=0) @ frequency)
    stepwise = float((stepwise_regret(game) * acts).sum(axis=0) @ frequency)
    belief = {
        rule: float((misjudgement_cost(game, rule) * said).sum(axis=0) @ frequency)
        for rule in ("best_response", "misprediction")
    }
    consistent = float((policy * best.T).sum(axis=1) @ said @ frequency)
    functional = float(reference_rewards(game, partner, horizon, reference).mean()) - reward
    return {
        "tom_percent": 100.0 * p,
        "delta_functional_per_step": functional,
        "delta_tom_best_response_per_step": belief["best_response"],
        "delta_tom_misprediction_per_step": belief["misprediction"],
        "stepwise_regret_per_step": stepwise,
        "response_gap_per_step": stepwise - belief["best_response"],
        "foresight_gap_per_step": functional - stepwise,
        "self_consistency_percent": 100.0 * consistent,
        "reward_per_step": reward,
    }
