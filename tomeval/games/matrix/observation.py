"""What a subject sees, and what templates say of it: labels in order, amounts, payoffs, rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tomeval.games.matrix.games import Labels, MatrixGame


class Joint(NamedTuple):
    """One past step: both actions (indices) and both rewards."""

    own: int
    partner: int
    own_reward: float
    partner_reward: float


@dataclass(frozen=True)
class Observation:
    """What the subject knows when asked: the rules and the past, never the partner's table."""

    game: MatrixGame  # payoffs of both sides, title and wording
    labels: Labels  # what the actions are called in this episode
    round: int  # the current step, from 1
    horizon: int  # the number of steps of the episode
    past: tuple[Joint, ...]  # the steps played so far, ``round - 1`` of them


OPTION_ORDERS = ("fixed", "reversed", "shuffled")
GOALS = ("none", "win", "maximise")
_VERBS = {
    "points": {"you": "win", "other": "wins", "past": "won"},
    "score": {"you": "receive", "other": "receives", "past": "received"},
}
"""What one does with an amount, by the game's wording."""


@dataclass(frozen=True)
class Order:
    """In which order the options are listed: indices of the own and of the partner's actions."""

    own: tuple[int, ...]
    partner: tuple[int, ...]


def option_order(kind: str, n: int, m: int, rng: np.random.Generator) -> Order:
    """Return the order of one episode: as indexed, reversed or drawn."""
    own, partner = list(range(n)), list(range(m))
    if kind == "reversed":
        own, partner = own[::-1], partner[::-1]
    elif kind == "shuffled":
        own, partner = rng.permutation(n).tolist(), rng.permutation(m).tolist()
    return Order(tuple(own), tuple(partner))


class Words:
    """The values that templates fill in, for one game, label set and order of options."""

    def __init__(
        self,
        game: MatrixGame,
        labels: Labels,
        horizon: int,
        order: Order,
        *,
        show_table: bool = True,
        show_rewards: bool = True,
        goal: str = "win",
    ) -> None:
        self.game, self.labels, self.order = game, labels, order
        own = [labels.own[i] for i in order.own]
        partner = [labels.partner[i] for i in order.partner]
        self.common: dict[str, Any] = {
            "horizon": horizon,
            "own_labels": own,
            "partner_labels": partner,
            "own_options": _either(own),
            "partner_options": _either(partner),
            "show_table": show_table,
            "show_rewards": show_rewards,
            "goal": goal,
            "verb": _VERBS[game.wording],
        }

    def amount(self, value: float) -> str:
        """Word a payoff, never rounded: ``a score of +1`` or ``8 points``."""
        score = self.game.wording == "score"
        signed = score and bool(value != 0)
        number = np.format_float_positional(value + 0.0, trim="-", sign=signed)
        if score:
            return f"a score of {number}"
        return f"{number} point{'' if value == 1 else 's'}"

    def payoff_lines(self) -> list[dict[str, str]]:
        """Return one entry per joint action, in the order of options."""
        return [
            {
                "own": self.labels.own[a],
                "partner": self.labels.partner[b],
                "own_amount": self.amount(self.game.own[a, b]),
                "partner_amount": self.amount(self.game.partner[a, b]),
            }
            for a in self.order.own
            for b in self.order.partner
        ]

    def round_values(self, number: int, joint: Joint) -> dict[str, Any]:
        """Return the values of one past round."""
        return {
            **self.common,
            "round": number,
            "own": self.labels.own[joint.own],
            "partner": self.labels.partner[joint.partner],
            "own_amount": self.amount(joint.own_reward),
            "partner_amount": self.amount(joint.partner_reward),
        }


def _either(names: list[str]) -> str:
    """Join options: ``J or F``, ``J, F or B``."""
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
