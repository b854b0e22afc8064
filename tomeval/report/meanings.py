"""What the columns of a report mean, in words for readers who do not know the measures."""

from __future__ import annotations

from collections.abc import Sequence

from tomeval.report.tables import HEADINGS

_MEANINGS = {
    "invalid_rate": "Share of all answers, void episodes included, that could not be used: "
    "unreadable, illegal, cut off or refused.",
    "tom_percent": "Literal theory of mind: the share of steps on which the partner's action was "
    "predicted, 0 to 100. Higher is better.",
    "delta_functional_per_step": "Functional theory of mind, as regret: how much less reward per "
    "step the subject earned than the best response to this very partner would have. 0 is optimal; "
    "lower is better; in payoff units.",
    "delta_tom_best_response_per_step": "Belief: the regret per step of a player who acts on the "
    "subject's predictions, the partner's moves held fixed. Lower is better; in payoff units.",
    "delta_tom_misprediction_per_step": "The same where every wrong prediction that can cost "
    "something does, as published tables count it. Lower is better; in payoff units.",
    "stepwise_regret_per_step": "What the actions lost step by step, the partner's moves held "
    "fixed: belief and response together. In payoff units.",
    "response_gap_per_step": "Response: stepwise regret beyond belief, from not acting on one's "
    "own predictions. In payoff units, any sign.",
    "foresight_gap_per_step": "Foresight: regret beyond stepwise regret, from what one's moves did "
    "to the partner's later moves. 0 for partners that do not react; negative where giving up a "
    "step's best move paid off later. Belief, response and foresight add up to the regret.",
    "self_consistency_percent": "Share of steps on which the action is a best response to the "
    "subject's own prediction, 0 to 100.",
    "reward_per_step": "Reward that the subject earned per step, in payoff units.",
    "delta_tom_planned_per_step": "The regret per step of a planner who takes the predictions and "
    "the stated reactions of the partner as true. Lower is better; in payoff units.",
    "reaction_accuracy_percent": "How probable the stated reactions are under the partner's table, "
    "0 to 100. Higher is better.",
}


def meanings(metrics: Sequence[str]) -> list[tuple[str, str]]:
    """Return (heading, meaning) of the invalid rate and of every metric that has one here."""
    return [
        (HEADINGS.get(name, name), _MEANINGS[name])
        for name in ("invalid_rate", *metrics)
        if name in _MEANINGS
    ]
