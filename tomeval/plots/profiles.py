"""Performance profiles (Agarwal et al. 2021): the share of episodes above every score."""

from __future__ import annotations

import numpy as np

from tomeval.core.numbers import number
from tomeval.plots.drawing import DEFAULT, Drawing, Options, sample_words
from tomeval.plots.families import all_words
from tomeval.plots.lines import Frame, Line, lines_figure
from tomeval.plots.overlays import comparisons
from tomeval.runs.results import Run


def performance_profiles(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw, for every score, the share of episodes that reach more, over all tasks of the run."""
    from tomeval.comparing.profiles import collect_scores
    from tomeval.comparing.profiles import performance_profiles as profile

    cells = [cell for cell in run.cells if len(cell.episodes)]
    shown = {
        name: score
        for name, score in run.domain.compare.scores.items()
        if all(map(score.defined, cells))
    }
    drawings = []
    for by in [options.by] if options.by else comparisons(run):
        others = {run.domain.compare.level(cell, by) for cell in cells if not cell.is_baseline}
        based = {run.domain.compare.level(cell, by) for cell in cells} - others
        for name, (what, axis, *_) in shown.items():
            scores = collect_scores(run, by=by, score=name, reference=options.reference)
            if not any(len(values) for row in scores.values for values in row):
                continue
            lowest = [float(values.min()) for row in scores.values for values in row if len(values)]
            found = profile(scores, np.linspace(min(0.0, *lowest), 1.0, 101))
            percent = 100 * found.share, 100 * found.low, 100 * found.high
            lines = [
                Line(level, found.thresholds, share, low, high, level in based)
                for level, share, low, high in zip(found.levels, *percent, strict=True)
                if np.isfinite(share).all()
            ]
            count = len(scores.tasks)
            over = f"{count} tasks, each counting the same" if count > 1 else "one task"
            told = all_words(cells)
            middle = percent[0][:, int(np.searchsorted(found.thresholds, 0.5))]
            said = ", ".join(
                f"{level} {number(float(share), 0)}"
                for level, share in zip(found.levels, middle, strict=True)
            )
            title, y = f"{told}: by {by}, over {over}", "% of episodes with more"
            frame = Frame(title, axis, y, run.domain.compare.baseline, limits=(-3, 103), steps=True)
            drawings.append(
                Drawing(
                    "profiles",
                    f"profiles_{name}_by_{by}",
                    lines_figure(lines, frame, options),
                    f"Performance profiles by {by}: {what}",
                    f"{told}: share of episodes with more than each score ({what}), over {over}, "
                    f"{sample_words(cells)}; bands are 95 % intervals of a bootstrap over episodes "
                    "within tasks. A line further up "
                    "and right is better; where lines cross, neither is better throughout "
                    "(Agarwal et al. 2021).",
                    f"Percent of episodes with a score above one half: {said}.",
                )
            )
    return drawings
