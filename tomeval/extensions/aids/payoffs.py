"""The payoff question: which own action earns most against each of the partner's."""

from __future__ import annotations

from tomeval.core.resources import shipped
from tomeval.domains.matrix.asides import Aside
from tomeval.domains.matrix.responses import best_responses
from tomeval.domains.matrix.results import MatrixRunCell
from tomeval.domains.matrix.subjects.base import Seat
from tomeval.strategies.labels import Labels
from tomeval.strategies.questions import Question

FORM = "payoff"


def questions(seat: Seat, step: int) -> list[Question[int]]:
    """Return a question for each action of the partner."""
    own = Labels(seat.labels.own)
    return [
        Question(f"{FORM} {label}", "functional", FORM, own, step, {"partner_action": label})
        for label in seat.labels.partner
    ]


def said(cell: MatrixRunCell, action: int, outcome: str, value: str | None) -> str:
    """Say what was named as best against an action, and whether it is."""
    asks = f"asked what earns most against {cell.labels.partner[action]}"
    if value is None:
        return f"{asks}: nothing ({outcome.replace('_', ' ')})"
    right = "right" if best_responses(cell.game)[int(value), action] else "wrong"
    return f"{asks}: {cell.labels.own[int(value)]}, {right}"


PAYOFFS = Aside(
    FORM,
    "In which rounds to ask, for each action of the partner, which own action earns most against "
    "it: in none, the first, the first and the last, or all.",
    shipped("prompts") / "parts" / "computing",
    questions,
    said,
)
