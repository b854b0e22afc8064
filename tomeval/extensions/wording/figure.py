"""What the wording decides: shares of variance by source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tomeval.core.numbers import between, number
from tomeval.extensions.wording.tables import found_in
from tomeval.extensions.wording.variance import Sensitivity
from tomeval.plots.dots import Panel, Series, dots_figure
from tomeval.plots.drawing import DEFAULT, Drawing, Options
from tomeval.plots.style import point_style
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def sensitivity(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw a figure per model and task whose wording is swept."""
    groups: dict[str, list[Sensitivity]] = {}
    for one in found_in(run)[0]:
        groups.setdefault(one.laid.where, []).append(one)
    first = [mine[0].laid for mine in groups.values()]
    drawings = []
    for where, mine in groups.items():
        title, laid = f"Sensitivity to wording: {where}", mine[0].laid
        stem = ["sensitivity"]
        stem += [laid.model] * (len({one.model for one in first}) > 1)
        task = run.domain.compare.words(laid.task) or "the task"
        stem += [task] * (len({repr(one.task) for one in first}) > 1)
        swept = ", ".join(f"{f.name} ({', '.join(f.levels)})" for f in laid.factors)
        drawings.append(
            Drawing(
                "sensitivity",
                "_".join(stem),
                _figure(mine, run.measures, title, options),
                title,
                "Share of one episode's variance by source, by crossed random effects; lines: "
                "generalised 95 % intervals, wide where an option has two or three values. Swept: "
                f"{swept}; {laid.values.shape[-1]} episodes. Any wording: all that wording does, "
                "alone and to single strategies.",
                _words(mine, run.measures),
            )
        )
    return drawings


def _words(mine: Sequence[Sensitivity], measures: Mapping[str, Measure]) -> str:
    """Say what the picture shows, in numbers."""
    told = []
    for one in mine:
        parts = []
        for part in one.variations:
            component = part.component
            ends = between(100 * component.share_low, 100 * component.share_high, 0)
            known = bool(np.isfinite(component.share_low))
            parts.append(
                f"{part.source} {number(100 * component.share, 0)} %" + f" ({ends})" * known
            )
        told.append(f"{measures[one.laid.metric].heading}: {', '.join(parts)}")
    return ". ".join(told) + "."


def _figure(
    mine: Sequence[Sensitivity], measures: Mapping[str, Measure], title: str, options: Options
) -> Figure:
    """Draw a row per source, with a dot and its interval per measure."""
    sources = list(dict.fromkeys(part.source for one in mine for part in one.variations))
    marks = {}
    for index, one in enumerate(mine):
        for part in one.variations:
            of = part.component
            ends = (100 * of.share, 100 * of.share_low, 100 * of.share_high)
            marks[sources.index(part.source), index] = ends

    def whole(axes: Axes, place: int) -> None:
        axes.set_xlim(-2, 102)

    return dots_figure(
        title,
        [Panel("", marks)],
        [source.replace(" x ", " × ") for source in sources],  # " x " would hold a line together
        "share of variance (%)",
        [Series(measures[one.laid.metric].heading, point_style(i)) for i, one in enumerate(mine)],
        options,
        row_height=0.22,
        gap=0.17,
        finish=whole,
    )
