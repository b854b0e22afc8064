"""The ladder of aids: regret by rung, a dot per subject."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tomeval.core.numbers import between, number
from tomeval.domains.matrix.measures import MEASURES
from tomeval.extensions.aids.climb import Climb
from tomeval.extensions.aids.ladders import AIDS, LINKS, REGRET, Ladder, ladders, verdict
from tomeval.plots.dots import Panel, Series, dots_figure, ends_of
from tomeval.plots.drawing import DEFAULT, Drawing, Options, axis_name, better_side, sample_words
from tomeval.plots.families import MOST_PANELS, pages
from tomeval.plots.style import point_style
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = (
    AIDS[0],
    *(f"+ {aid} ({link})" for aid, link in zip(AIDS[1:3], LINKS[:2], strict=True)),
    f"{AIDS[3]} instead ({LINKS[2]})",
    f"+ {AIDS[4]} ({LINKS[3]})",
)


def aids(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw the ladders of all subjects, a panel per task."""
    tasks: dict[str, list[Ladder]] = {}
    for ladder in ladders(run):
        if len(ladder.ground.episodes):
            tasks.setdefault(ladder.task, []).append(ladder)
    drawings = []
    for page, part in enumerate(pages([*tasks], MOST_PANELS), 1):
        more = f", part {page}" if len(tasks) > MOST_PANELS else ""
        shown = [ladder for task in part for ladder in tasks[task]]
        drawings.append(
            Drawing(
                "aids",
                f"aids_{page}" if more else "aids",
                _figure(part, shown, f"The ladder of aids{more}", options),
                f"The ladder of aids{more}",
                "Regret without aids, and with one aid more from row to row: what earns most "
                "against each action of the partner, the own prediction, in its place the "
                "partner's true action, and the best reply to it. In brackets the link that the "
                "aid stands in for: what regret falls by from the row above is put down to it, and "
                f"what remains in the last row to {LINKS[-1]}. Means over "
                f"{sample_words(cell for ladder in shown for cell in ladder.cells)}, of which "
                "those count that are complete on every rung; lines: 95 % intervals over episodes "
                "(Student's t).",
                " ".join(f"{ladder.name}: {_words(ladder.climbed())}." for ladder in shown),
            )
        )
    return drawings


def _words(climbed: Climb) -> str:
    """Say every rung's regret, every link's share, and the verdict."""
    means = (f"{aid} {number(float(x))}" for aid, x in zip(AIDS, climbed.loss, strict=True))
    link, why = verdict(climbed)
    said = f"failing link {link}, {why}" if link else f"failing link cannot be told: {why}"
    if climbed.unknown:
        return f"{', '.join(means)}; {said}"
    shares = []
    for k, named in enumerate(LINKS):
        low, high = 100 * float(climbed.share_low[k]), 100 * float(climbed.share_high[k])
        ends = "" if np.isnan(low) else f" ({between(low, high, 0)})"
        shares.append(f"{named} {number(100 * float(climbed.share[k]), 0)} %{ends}")
    return f"regret {', '.join(means)}; shares {', '.join(shares)}; {said}"


def _figure(tasks: Sequence[str], shown: Sequence[Ladder], title: str, options: Options) -> Figure:
    """Draw a panel per task with a row per rung."""
    subjects = list(dict.fromkeys(ladder.who for ladder in shown))
    panels = [
        Panel(
            task,
            {
                (row, subjects.index(ladder.who)): ends_of(ladder.loss(row, REGRET))
                for ladder in shown
                if ladder.task == task
                for row in range(len(AIDS))
            },
        )
        for task in tasks
    ]
    return dots_figure(
        title,
        panels,
        ROWS,
        f"{axis_name(MEASURES[REGRET])}{better_side(MEASURES[REGRET])}",
        [Series(name, point_style(index)) for index, name in enumerate(subjects)],
        options,
        row_height=0.12 + 0.08 * len(subjects),
        gap=min(0.26, 0.8 / len(subjects)),
        columns=options.fits(1, 3),
    )
