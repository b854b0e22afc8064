"""The command that draws figures of a run."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from tomeval.cli.options import IntervalOption, RunFolder
from tomeval.core.printing import show, tell
from tomeval.core.text import in_line


def plot(
    folder: RunFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the pictures.")],
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help="Draw this figure, such as forest, which makes forest_regret and forest_tom, or "
            "one of these alone. Repeatable. Default: the few that say most.",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Draw every figure that the run's data supports.")
    ] = False,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="CONDITION",
            help="Cells to draw: COLUMN=VALUE[,VALUE], with * for any text; != for all others. "
            "Repeatable.",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            help="Measure of forest and differences, such as regret or 'ToM %'. Repeatable.",
        ),
    ] = None,
    column: Annotated[
        str,
        typer.Option(
            "--column",
            help="Width: screen (110 mm, readable on a telephone), or a single (85 mm) or double "
            "(175 mm) column of a page.",
        ),
    ] = "screen",
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help="png, svg or pdf. Repeatable. Default: png."),
    ] = None,
    interval: IntervalOption = "auto",
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            help="What to lay over each other in one panel, or to compare: in matrix games "
            "strategy, subject, model or labels. For regret, tom, differences and profiles.",
        ),
    ] = None,
) -> None:
    """Draw the figures that say most of a run, all of them, or those named, with their captions."""
    from tomeval.cli.progress import working
    from tomeval.plots import Options, chosen, drawable, plot_run
    from tomeval.runs.draws import weight_notes
    from tomeval.runs.results import Run
    from tomeval.runs.selection import choose_measures, first_part

    with Run(folder, where or ()) as opened:
        metrics = tuple(choose_measures(opened.measures, metric or ()))
        with working("drawing") as drawing, _glyphs() as lacking:
            files = plot_run(
                opened,
                out,
                interval,
                only=only or (),
                every=every,
                column=column,
                formats=formats or ("png",),
                by=by,
                metrics=metrics,
                on_figure=drawing.at,
            )
        for path in files:
            show(path)
        if lacking:
            tell(
                f"note: the font has no sign for {in_line(''.join(lacking))}, and draws boxes; "
                "name one that has it as font.family in your matplotlibrc"
            )
        part, left_out = first_part(opened)
        for note in [*filter(None, [left_out]), *weight_notes(part, interval)]:
            tell(f"note: {in_line(note)}")
        if only:
            return
        drawn = chosen(opened, (), Options(column, interval, by=by, metrics=metrics), every)
        left = [
            name
            for name in drawable(opened)
            if name not in drawn and not any(one.startswith(f"{name}_") for one in drawn)
        ]
        if left and (by is not None or metrics):
            option = f"--by {by}" if by is not None else "--metric"
            tell(f"note: {option} does not apply to {', '.join(left)}, which were not drawn")
        elif left:
            tell(f"note: not drawn: {', '.join(left)}; --all draws them, --only NAME one of them")


@contextmanager
def _glyphs() -> Iterator[list[str]]:
    """Collect the characters that the font cannot draw, of which matplotlib warns one by one."""
    found: dict[str, None] = {}
    lacking: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield lacking
    for warning in caught:
        if number := re.match(r"Glyph (\d+) .* missing from", str(warning.message)):
            found[chr(int(number[1]))] = None
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    lacking += found
