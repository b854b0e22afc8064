"""All figures of a run by name, and how to draw those that its data supports."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tomeval.comparing.sides import Incomparable, check_by
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.parts import resolved
from tomeval.plots.drawing import DEFAULT, Drawing, Options
from tomeval.plots.output import check_formats, safe_stems, save, write_captions
from tomeval.runs.analyses import known_figures
from tomeval.runs.results import Run
from tomeval.runs.selection import first_part

logger = logging.getLogger(__name__)

FIGURES: dict[str, str] = {
    "forest": "tomeval.plots.forest:forest",
    "differences": "tomeval.plots.differences:differences",
}
"""What every run can draw, as ``module:function``, loaded when it is drawn."""

FIRST = ("plane", "forest")
"""Those that are drawn if none is asked for."""


def figures_of(run: Run) -> dict[str, Any]:
    """Return what draws each figure of a run: every domain's, its domain's own, extensions'."""
    return {**FIGURES, **run.domain.figures, **run.added_figures}


def drawable(run: Run) -> list[str]:
    """Return the names of the figures that a run can have data for."""
    return list(figures_of(run))


def chosen(
    run: Run, only: Sequence[str] = (), options: Options = DEFAULT, every: bool = False
) -> list[str]:
    """Return the names of the figures to draw, see `draw_one`.

    Those of `only`; else, with `every` or `Options.by`, all that heed the options; else those of
    `FIRST` that do.

    Raises
    ------
    TomevalError
        A name that is no figure's, a named figure that does not heed an option, options that no
        figure heeds, or both `only` and `every`.
    """
    if only and every:
        raise TomevalError("--only and --all cannot be combined")
    if options.by is not None:
        check_by([run], options.by)
    heeding = {
        f"--by {options.by}": (options.by, ["differences", *run.domain.curves]),
        f"--metric {', '.join(options.metrics)}": (options.metrics, list(FIGURES)),
    }
    asked = {option: able for option, (given, able) in heeding.items() if given}
    for name, (option, able) in itertools.product(only, asked.items()):
        if _figure(run, name) not in able:
            raise TomevalError(
                f"{option} does not apply to the figure {_figure(run, name)!r}; it applies to "
                f"{', '.join(able) or 'none of these runs'}"
            )
    if only:
        return list(dict.fromkeys(only))
    first = [name for name in FIRST if name in drawable(run)]
    names = drawable(run) if every or options.by else first
    names = [n for n in names if all(_figure(run, n) in able for able in asked.values())]
    if not names:
        raise TomevalError(f"{run.folder}: no figure supports {' and '.join(asked)}")
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
        # Of `FIRST`, what this run has no data for is left out.
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
