"""An episode of a matrix game as a reader wants it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tomeval.core.outcomes import VALID
from tomeval.runs.domain import Line
from tomeval.runs.store import Store

if TYPE_CHECKING:
    from tomeval.domains.matrix.results import MatrixRunCell


def episode_lines(store: Store, cell: MatrixRunCell, episode: int) -> Iterator[Line]:
    """Yield what was chosen, predicted and earned in every step."""
    [(partner, status, length)] = store.query(
        "SELECT partner, status, steps FROM episodes WHERE cell = ? AND episode = ?",
        (cell.number, episode),
    )
    yield Line(0, f"{cell.name}; episode {episode} against {cell.partner_names[partner]}: ")
    yield Line(0, f"{status}, {length} steps")
    labels = cell.labels
    for step, own, theirs, predicted, reward, act, predict in store.query(
        "SELECT step, own_action, partner_action, predicted_action, own_reward, act_outcome, "
        "predict_outcome FROM steps WHERE cell = ? AND episode = ? ORDER BY step",
        (cell.number, episode),
    ):
        yield Line(
            step,
            f"chose {_label(labels.own, own, act)}, "
            f"predicted {_label(labels.partner, predicted, predict)}; "
            f"partner chose {labels.partner[theirs]}"
            + (f"; reward {reward:g}" if reward is not None else ""),
        )


def _label(labels: tuple[str, ...], action: int | None, outcome: str) -> str:
    """Name an action, or say why there is none or what it stands for."""
    why = outcome.replace("_", " ")
    if action is None:
        return f"nothing ({why})"
    return labels[action] if outcome == VALID else f"{labels[action]} (drawn, {why})"
