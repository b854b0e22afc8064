"""All figures of a run by name, and how to draw those that its data supports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from pkgutil import resolve_name

from tomeval.core.errors import TomevalError, unknown
from tomeval.plots.drawing import DEFAULT, Drawing, Options
from tomeval.plots.output import safe_stems, save
from tomeval.plots.overlays import check_by
from tomeval.runs.results import Run
from tomeval.statistics import AUTO

FIGURES: dict[str, str] = {
    "forest": "tomeval.plots.forest:forest",
    "differences": "tomeval.plots.differences:differences",
    "profiles": "tomeval.plots.profiles:performance_profiles",
}
"""What every run can draw, as ``module:function``, loaded when it is drawn."""

CHOOSE_BY = ("differences", "profiles")
"""Those of `FIGURES` that heed `Options.by`; a domain's own are in `Domain.figures_by`."""


def figures_of(run: Run) -> dict[str, str]:
    """Return what draws each figure of a run: those of every domain, and its domain's own."""
    return {**FIGURES, **run.domain.figures}


def figures_by(run: Run) -> tuple[str, ...]:
    """Return the names of the figures of a run that heed `Options.by`."""
    return (*CHOOSE_BY, *run.domain.figures_by)


def draw_one(run: Run, name: str, options: Options = DEFAULT) -> list[Drawing]:
    """Draw the figures of one name; none if the run's data does not support it."""
    found: Callable[[Run, Options], list[Drawing]] = resolve_name(figures_of(run)[name])
    return found(run, options)


def draw(run: Run, only: Sequence[str] = (), options: Options = DEFAULT) -> list[Drawing]:
    """Draw figures of a run, each with caption and description.

    `only` holds names in `figures_of`; default: all figures that the run's data supports, with
    `Options.by` those of them that heed it.

    Raises
    ------
    TomevalError
        An unknown name, a named figure that the data does not support or that does not heed
        `Options.by`, or a run without any complete episode.
    """
    known = list(figures_of(run))
    for name in only:
        if name not in known:
            raise unknown("figure", name, known)
    if options.by is not None:
        check_by(run, options.by)
        known = list(figures_by(run))
        for name in only:
            if name not in known:
                raise TomevalError(
                    f"--by {options.by} does not apply to the figure {name!r}, which always shows "
                    f"all players; it applies to {', '.join(known)}"
                )
    if not any(len(cell.episodes) for cell in run.cells):
        raise TomevalError(f"{run.folder}: has no complete episode yet, nothing to plot")
    drawings = []
    for name in dict.fromkeys(only or known):
        found = draw_one(run, name, options)
        if only and not found:
            raise TomevalError(f"{run.folder}: its data does not support the figure {name!r}")
        drawings += found
    return safe_stems(drawings)


def plot_run(
    run: Run,
    folder: Path,
    interval: str = AUTO,
    *,
    only: Sequence[str] = (),
    column: str = "double",
    formats: Sequence[str] = ("png", "svg"),
    by: str | None = None,
) -> list[Path]:
    """Draw figures of a run into a folder, made if it does not exist, and return the files.

    `interval`, `column` and `by` are those of `Options`, `only` that of `draw`, `formats` those of
    `save`.

    Raises
    ------
    TomevalError
        See `draw`; or the folder cannot be written.
    """
    return save(draw(run, only, Options(column, interval, by=by)), folder, formats)
