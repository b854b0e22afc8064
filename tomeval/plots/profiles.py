"""Performance profiles (Agarwal et al. 2021): the share of episodes above every score."""

from __future__ import annotations

import numpy as np

from tomeval.plots.drawing import DEFAULT, TABULAR, Drawing, Options, number
from tomeval.plots.levels import comparisons, play_matters
from tomeval.plots.lines import Frame, Line, lines_figure
from tomeval.runs.results import Run

SCORES = {
    "attained": ("reward attained, from 0, the worst response, to 1, the best", "reward attained"),
    "tom": ("share of right predictions", "share predicted right"),
}


def performance_profiles(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw, for every score, the share of episodes that reach more, over all tasks of the run."""
    from tomeval.comparing.profiles import collect_scores
    from tomeval.comparing.profiles import performance_profiles as profile

    cells = [cell for cell in run.cells if cell.played.episodes]
    shown = {score: SCORES[score] for score in SCORES if score == "tom" or play_matters(cells)}
    tabular = {cell.definition["subject"] for cell in cells if cell.definition["kind"] == TABULAR}
    drawings = []
    for by in comparisons(run) if cells else ():
        for score, (what, axis) in shown.items():
            scores = collect_scores(run, by=by, score=score, reference=options.reference)
            lowest = [float(values.min()) for row in scores.values for values in row if len(values)]
            low = min(0.0, *lowest)
            found = profile(scores, np.linspace(low, 1.0, 101))
            lines = [
                Line(
                    level,
                    found.thresholds,
                    100 * found.share[index],
                    100 * found.low[index],
                    100 * found.high[index],
                    level in tabular,
                )
                for index, level in enumerate(found.levels)
                if np.isfinite(found.share[index]).all()
            ]
            count = len(scores.tasks)
            over = f"{count} tasks, each counting the same" if count > 1 else "one task"
            middle = int(np.searchsorted(found.thresholds, 0.5))
            said = ", ".join(
                f"{level} {number(100 * float(found.share[index, middle]), 0)}"
                for index, level in enumerate(found.levels)
            )
            frame = Frame(
                f"by {by}; {over}", axis, "% of episodes with more", (-3, 103), steps=True
            )
            drawings.append(
                Drawing(
                    "profiles",
                    f"profiles_{score}_by_{by}",
                    lines_figure(lines, frame, options),
                    f"Performance profiles by {by}: {what}",
                    f"Share of episodes with more than each score ({what}), over {over}; bands are "
                    "95 % intervals of a bootstrap over episodes within tasks. A line further up "
                    "and right is better; where lines cross, neither is better throughout "
                    "(Agarwal et al. 2021).",
                    f"Percent of episodes with a score above one half: {said}.",
                )
            )
    return drawings
