"""What payoffs are divided by, so that measures of games with different ones can be pooled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tomeval.comparing.sides import Side
from tomeval.core.errors import TomevalError
from tomeval.runs.cell import RunCell

SCALES = {"payoff": "", "range": "range of payoffs", "attainable": "attainable range"}
"""The scales, with what they divide by in words."""


def width(cell: RunCell, scale: str, reference: str | None = None) -> float | None:
    """Return what a scale divides a cell's payoffs by; None if that is not known."""
    if scale == "payoff":
        return 1.0
    return cell.payoff_range if scale == "range" else cell.regret_range(reference)


def pooled_scale(cells: Sequence[RunCell], reference: str | None = None) -> str:
    """Return the scale in which measures in payoff units can be pooled over cells.

    Payoffs themselves, if all cells are of one game; else what is attainable, where that is known
    everywhere; else the ranges of payoffs, where they are known and differ.
    """
    if len({next(iter(cell.shown_task.values()), "") for cell in cells}) < 2:
        return "payoff"
    if all(width(cell, "attainable", reference) for cell in cells):
        return "attainable"
    ranges = {cell.payoff_range for cell in cells}
    return "range" if len(ranges) > 1 and all(ranges) else "payoff"


def in_ranges(side: Side, names: Sequence[str], scale: str, reference: str | None = None) -> Side:
    """Divide metrics in payoff units by what a scale says.

    Raises
    ------
    TomevalError
        That is not known of the cell, or 0.
    """
    cell = side.cell
    measured = [cell.domain.measures[name] for name in names]
    if scale == "payoff" or not any(measure.in_payoffs for measure in measured):
        return side
    divided_by = width(cell, scale, reference)
    if not divided_by:
        why = "unknown" if divided_by is None else "0 and cannot be divided by"
        raise TomevalError(f"{cell.name}: its {SCALES[scale]} is {why}; choose another scale")
    divisor = np.array([divided_by if measure.in_payoffs else 1.0 for measure in measured])
    return replace(
        side,
        values=side.values / divisor,
        sizes=side.sizes / divisor,
    )
