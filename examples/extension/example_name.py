"""An extension of tomeval: a measure of matrix games, a table, a figure and a command.

    tomeval --plugin example_name.py table RUN --metric example_name_percent
    tomeval --plugin example_name.py table RUN --what example_name
    tomeval --plugin example_name.py plot RUN --only example_name --out plots
    tomeval --plugin example_name.py example_name RUN

In a package with an entry point, as `tomeval init strategy` makes one, it needs no --plugin.
"""

from pathlib import Path

import numpy as np

from tomeval import Run
from tomeval.core.parts import Analysis, register
from tomeval.plots import Drawing
from tomeval.runs.analyses import make_measure
from tomeval.runs.columns import Table, fixed

NAME = "example_name_percent"


def repeated(played, reference):
    """Return per episode, shape (E,), how often the own action is that of the step before."""
    episodes = np.split(played.own, np.cumsum(played.lengths))[:-1]  # empty if E = 0
    return np.array([100 * np.mean(a[1:] == a[:-1]) if len(a) > 1 else np.nan for a in episodes])


MEASURE = make_measure(
    NAME,  # the column; a share in percent ends in _percent
    repeated,
    heading="repeated %",
    meaning="The share of steps after the first that repeat the own action of the step before.",
    unit="%",
    better=0,  # 1: more is better, -1: less, 0: neither
    source="your own",
)


def rows(run):
    """Return the subject and the most stubborn episode of every cell that has episodes."""
    cells = [cell for cell in run.cells if len(cell.episodes)]
    return [{"subject": c.title, "most %": c.totals(NAME).values.max()} for c in cells]


def bars(run, options):
    """Draw a bar per subject; what takes long to import is imported where it is used."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(options.width, 3), layout="constrained")
    figure.subplots().barh([row["subject"] for row in rows(run)], [r["most %"] for r in rows(run)])
    return [
        Drawing("example_name", "example_name", figure, "Repeated", "A caption.", str(rows(run)))
    ]


def print_rows(folder: Path) -> None:
    """Print who repeats itself most."""
    with Run(folder) as run:
        print(max(rows(run), key=lambda row: row["most %"], default="no complete episode"))


register(
    "analyses",
    "matrix example_name",
    Analysis(
        measures=[MEASURE],
        tables={"example_name": Table("the most stubborn episodes", fixed(rows))},
        figures={"example_name": bars},
    ),
)
register("commands", "example_name", print_rows)
