"""What subjects make of beliefs that are right as often as the experiment says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.core.numbers import number
from tomeval.extensions.planted.tables import Told, families, told_cells
from tomeval.extensions.planted.trust import slope_ceiling, trust_threshold
from tomeval.plots.drawing import DEFAULT, Drawing, Options, interval_words, measured
from tomeval.plots.families import by_task
from tomeval.plots.settings import in_style
from tomeval.plots.style import BASELINE_LINE, add_head, line_style, new_figure, point_style
from tomeval.runs.results import Run
from tomeval.statistics.estimates import SEQUENCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "planted"
ROWS = {
    "stepwise_regret_per_step": "stepwise regret\n(payoff units)",
    "compliance_wrong_percent": "complies with\nwrong ones (%)",
    "use_slope": "use slope\n(share of ceiling)",
}
"""The measures that are drawn below each other, and what their axes are called."""

RATIONAL = "rational_regret_per_step"
MOST_LINES = 6
"""Subjects in one picture; further ones go on the next."""

_Subject = list[Told]
"""A subject's cells, by accuracy."""


def planted(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw regret, compliance and use against the accuracy of beliefs, a figure per task."""
    subjects = {members[0].cell.number: members for members in families(told_cells(run))}
    wilson = "" if options.interval == SEQUENCE else ", shares with Wilson's"
    drawings = []
    for title, stem, cells in by_task(NAME, (m[0].cell for m in subjects.values()), MOST_LINES):
        shown = [subjects[cell.number] for cell in cells]
        drawings.append(
            Drawing(
                NAME,
                stem,
                _figure(shown, title, options),
                f"Planted beliefs: {title}",
                "Given predictions of the partner that are right as often as the axis below says, "
                f"{title}: what subjects lose step by step (dashed: what a rational believer who "
                "knows how often they are right, and nothing else, loses on the first subject's "
                "steps), on which share of the steps with a wrong one they do what is best against "
                "it and not against the partner, and how much a prediction moves them (1: always "
                "followed, 0: without effect). Dotted: from where following them pays. Means with "
                f"{interval_words(options, of=wilson)}.",
                _describe(shown, options),
            )
        )
    return drawings


def _describe(subjects: Sequence[_Subject], options: Options) -> str:
    """Say every regret beside the rational believer's."""
    said = []
    for subject in subjects:
        values = [
            (told.accuracy, *measured(told.cell, (*ROWS, RATIONAL), options).mean[[0, -1]])
            for told in subject
        ]
        text = ", ".join(
            f"{100 * accuracy:.0f} %: {number(own)} and {number(rational)}"
            for accuracy, own, rational in values
        )
        said.append(f"{subject[0].name}: {text}")
    return f"Stepwise regret of subject and rational believer by accuracy. {'; '.join(said)}."


@in_style
def _figure(subjects: Sequence[_Subject], title: str, options: Options) -> Figure:
    """Draw a panel per measure, below each other, and a line per subject in each."""
    from matplotlib.lines import Line2D

    height = 0.4 + len(ROWS) * max(1.05, 0.3 * options.width)
    figure, panels = new_figure(options.width, height, len(ROWS), 1, sharex=True)
    game = subjects[0][0].cell.game
    ceiling, pays = slope_ceiling(game), trust_threshold(game)
    for axes, (measure, name) in zip(panels, ROWS.items(), strict=True):
        axes.set_ylabel(name)
        if np.isfinite(pays):
            axes.axvline(100 * pays, color="0.4", lw=0.9, ls=":", zorder=0)
        unit = ceiling if measure == "use_slope" else 1.0
        for index, subject in enumerate(subjects if unit else ()):
            _line(axes, subject, measure, unit, index, len(subjects), options)
    regret, compliance, slope = panels
    x = [100 * told.accuracy for told in subjects[0]]
    rational = [measured(told.cell, (RATIONAL,), options).mean[0] for told in subjects[0]]
    regret.plot(x, rational, **BASELINE_LINE, zorder=1)
    regret.set_ylim(bottom=0)
    compliance.set_ylim(-4, 104)
    slope.axhline(0, color="0.4", lw=0.6)
    slope.set_ylim(-1.15, 1.2)
    if ceiling == 0:
        slope.text(50, 0.5, "not identifiable", ha="center", fontsize="small")
    slope.set_xlim(-4, 104)
    slope.set_xticks([0, 25, 50, 75, 100])
    slope.set_xlabel("stated predictions that are right (%)")
    handles = [
        Line2D([], [], label=subject[0].name, **_look(index))
        for index, subject in enumerate(subjects)
    ]
    handles.append(Line2D([], [], label="rational believer", **BASELINE_LINE))
    handles.append(Line2D([], [], label="following pays from here", color="0.4", lw=0.9, ls=":"))
    add_head(figure, title, handles)
    return figure


def _look(index: int) -> dict[str, Any]:
    return {**point_style(index), "ls": line_style(index)["ls"], "markersize": 3.5}


def _line(
    axes: Axes, subject: _Subject, measure: str, unit: float, index: int, of: int, options: Options
) -> None:
    """Draw a measure of one subject by accuracy, in `unit`, its marks beside the others'."""
    values = [measured(told.cell, (measure,), options) for told in subject]
    ends = np.array([(one.mean[0], one.low[0], one.high[0]) for one in values]).T / unit
    aside = 2.0 * (index - (of - 1) / 2) / max(1, of - 1)
    there = np.isfinite(ends[0])
    mean, low, high = ends[:, there]
    x = np.array([100 * told.accuracy for told in subject])[there] + aside
    bars = np.nan_to_num(np.stack([mean - low, high - mean]))
    axes.errorbar(x, mean, bars, lw=1.0, elinewidth=0.8, capsize=1.5, **_look(index))
