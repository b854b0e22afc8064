"""All figures of a run by name, and how to draw those that its data supports."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tomeval.comparing.sides import Incomparable
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.parts import resolved
from tomeval.plots.drawing import DEFAULT, Drawing, Options
from tomeval.plots.output import check_formats, safe_stems, save, write_captions
from tomeval.plots.overlays import check_by
from tomeval.runs.analyses import known_figures
from tomeval.runs.results import Run
from tomeval.runs.selection import first_part

logger = logging.getLogger(__name__)

FIGURES: dict[str, str] = {
    "forest": "tomeval.plots.forest:forest",
    "differences": "tomeval.plots.differences:differences",
}
"""What every run can draw, as ``module:function``, loaded when it is drawn."""

CHOOSE_BY = ("differences",)
"""Those of `FIGURES` that use `Options.by`; a domain's own are in `Show.heeds`."""

CHOOSE_METRICS = ("forest", "differences")
"""Those of `FIGURES` that use `Options.metrics`."""


def figures_of(run: Run) -> dict[str, Any]:
    """Return what draws each figure of a run: every domain's, its domain's own, extensions'."""
    return {**FIGURES, **run.domain.show.figures, **run.added_figures}


def drawable(run: Run) -> list[str]:
    """Return the names of the figures that a run can have data for."""
    own = run.domain.show
    return [*FIGURES, *own.figures, *run.added_figures]


def chosen(
    run: Run, only: Sequence[str] = (), options: Options = DEFAULT, every: bool = False
) -> list[str]:
    """Return the names of the figures to draw, see `draw_one`.

    Those of `only`; else, with `every` or options that some figures heed alone (`by`, those of
    curves), all that heed the options; else those of `Show.first_figures` that do.

    Raises
    ------
    TomevalError
        A name that is no figure's, a named figure that does not heed an option, options that no
        figure heeds, or both `only` and `every`.
    """
    if only and every:
        raise TomevalError("--only and --all cannot be combined")
    if options.by is not None:
        check_by(run, options.by)
    by, metrics = f"--by {options.by}", f"--metric {', '.join(options.metrics)}"
    can = run.domain.show.heeds
    heeding = {by: (*CHOOSE_BY, *(n for n in can if "by" in can[n]))} if options.by else {}
    heeding |= {metrics: CHOOSE_METRICS} if options.metrics else {}
    if options.of_curves:
        heeding[options.of_curves] = tuple(n for n in can if "window" in can[n])
    for name in only:
        figure = _figure(run, name)
        for option, heed in heeding.items():
            if figure not in heed:
                raise TomevalError(
                    f"{option} does not apply to the figure {figure!r}; it applies to "
                    f"{', '.join(heed) or 'none of these runs'}"
                )
    if only:
        return list(dict.fromkeys(only))
    first = [name for name in run.domain.show.first_figures if _figure(run, name) in drawable(run)]
    names = drawable(run) if every or options.by or options.of_curves else first
    names = [n for n in names if all(_figure(run, n) in heed for heed in heeding.values())]
    if not names:
        raise TomevalError(f"{run.folder}: no figure supports {' and '.join(heeding)}")
    return names


def _figure(run: Run, name: str) -> str:
    """Return the figure that a name belongs to: its own, or that of a file."""
    for figure in sorted(figures_of(run), key=len, reverse=True):
        if name == figure or name.startswith(f"{figure}_"):
            return figure
    if name in known_figures(run.domain):
        raise _unsupported(run, name)
    raise unknown("figure", name, figures_of(run))


def draw_one(run: Run, name: str, options: Options = DEFAULT, asked: bool = True) -> list[Drawing]:
    """Draw the figures of one name; none if the run's data does not support it.

    The name is one in `figures_of`, which means all its files, or the name of a file without its
    ending, or the beginning of several, such as ``forest_tom``.

    Raises
    ------
    TomevalError
        The name of no figure; or of no file, if it is `asked` for, else there are no drawings.
    """
    figure = _figure(run, name)
    options = replace(options, interval=run.method(options.interval))
    figure_of: Callable[[Run, Options], list[Drawing]] = resolved(figures_of(run)[figure])
    part, left_out = first_part(run)
    try:
        drawings = safe_stems(figure_of(part, options))
    except Incomparable as error:
        if asked:
            raise
        logger.warning("the figure %s is not drawn: %s", name, error)
        return []
    if left_out:
        drawings = [one._replace(caption=f"{one.caption} {left_out}.") for one in drawings]
    if name == figure or not drawings:
        return drawings
    mine = [one for one in drawings if one.stem == name or one.stem.startswith(f"{name}_")]
    if asked and not mine:
        raise unknown("figure", name, [figure, *(drawing.stem for drawing in drawings)])
    return mine


def draw(
    run: Run,
    only: Sequence[str] = (),
    options: Options = DEFAULT,
    every: bool = False,
) -> list[Drawing]:
    """Draw figures of a run, each with caption and description.

    `only` holds names as for `draw_one`; default: the few of `chosen`, or with `every` all that the
    run's data supports.

    Raises
    ------
    TomevalError
        See `chosen`; a named figure that the data does not support, data that supports none, or a
        run without any complete episode.
    """
    names = chosen(run, only, options, every)
    if not any(len(cell.episodes) for cell in run.cells):
        raise TomevalError(f"{run.folder}: no complete episode to plot yet")
    drawings: list[Drawing] = []
    for name in names:
        # Of `Show.first_figures`, files that this run has not are left out.
        some = draw_one(run, name, options, asked=name in only)
        if not some and name in only:
            raise _unsupported(run, name)
        drawings += some
    if not drawings:
        raise TomevalError(
            f"{run.folder}: its data supports none of the figures {', '.join(names)}; --all draws "
            "all that it supports"
        )
    return drawings


def _unsupported(run: Run, name: str) -> TomevalError:
    return TomevalError(f"{run.folder}: its data does not support the figure {name!r}")


def plot_run(
    run: Run,
    folder: Path,
    options: Options = DEFAULT,
    *,
    formats: Sequence[str] = ("png",),
    only: Sequence[str] = (),
    every: bool = False,
) -> list[Path]:
    """Draw figures of a run into a folder, made if it does not exist, and return the files.

    The last file is ``captions.md``, which holds the captions of all pictures of the folder. `only`
    and `every` are those of `draw`.

    Raises
    ------
    TomevalError
        See `draw`; a format that is not one of `FILE_FORMATS`; or the folder cannot be written.
    """
    check_formats(formats)
    drawings = draw(run, only, options, every)
    return [*save(drawings, folder, formats), write_captions(drawings, folder, formats)]
