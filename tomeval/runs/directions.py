"""Which side of a metric is better, and what unit it has."""

from __future__ import annotations

DIRECTIONS = {
    "tom_percent": 1,
    "delta_functional_per_step": -1,
    "delta_tom_best_response_per_step": -1,
    "delta_tom_misprediction_per_step": -1,
    "stepwise_regret_per_step": 0,
    "response_gap_per_step": 0,
    "foresight_gap_per_step": 0,
    "self_consistency_percent": 0,
    "reward_per_step": 1,
    "delta_tom_planned_per_step": -1,
    "reaction_accuracy_percent": 1,
}
"""1: more is better. -1: less is better. 0: neither, because the parts of regret trade off.

Against a partner that reacts, giving up a step's best move can pay off later: stepwise regret and
the response gap then rise while regret falls, and acting on one's prediction can be a fault.
"""


def in_payoff_units(metric: str) -> bool:
    """Tell whether a metric is in the game's payoff units, so that games differ in its scale."""
    return metric.endswith("_per_step")
