"""All figures of a run by name, how to draw those that its data supports, and their files."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tomeval.comparing.sides import check_by
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.files import write_bytes, write_text
from tomeval.core.parts import resolved
from tomeval.core.text import markdown, visible
from tomeval.plots.drawing import DEFAULT, Drawing, Options
from tomeval.plots.style import in_style
from tomeval.runs.analyses import known_figures
from tomeval.runs.results import Run
from tomeval.runs.selection import first_part

FIGURES: dict[str, str] = {"forest": "tomeval.plots.forest:forest"}
"""What every run can draw, as ``module:function``, loaded when it is drawn."""

FIRST = ("plane", "forest")
"""Those that are drawn if none is asked for."""


def figures_of(run: Run) -> dict[str, Any]:
    """Return what draws each figure of a run: every domain's, its domain's own, extensions'."""
    return {**FIGURES, **run.domain.figures, **run.added_figures}


def chosen(
    run: Run, only: Sequence[str] = (), options: Options = DEFAULT, every: bool = False
) -> list[str]:
    """Return the names of the figures to draw, see `draw`.

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
        f"--by {options.by}": (options.by, sorted({"regret", "tom"} & set(run.domain.figures))),
        f"--metric {', '.join(options.metrics)}": (options.metrics, list(FIGURES)),
    }
    asked = {option: able for option, (given, able) in heeding.items() if given}
    for name in only:
        _check_name(run, name)
        for option, able in asked.items():
            if name not in able:
                raise TomevalError(
                    f"{option} does not apply to the figure {name!r}; it applies to "
                    f"{', '.join(able) or 'none of these runs'}"
                )
    if only:
        return list(dict.fromkeys(only))
    first = [name for name in FIRST if name in figures_of(run)]
    names = list(figures_of(run)) if every or options.by else first
    names = [n for n in names if all(n in able for able in asked.values())]
    if not names:
        raise TomevalError(f"{run.folder}: no figure supports {' and '.join(asked)}")
    return names


def _check_name(run: Run, name: str) -> None:
    """Raise if a name is no figure of the run."""
    if name not in figures_of(run):
        if name in known_figures(run.domain):
            raise _unsupported(run, name)
        raise unknown("figure", name, figures_of(run))


def draw(
    run: Run,
    only: Sequence[str] = (),
    options: Options = DEFAULT,
    every: bool = False,
) -> list[Drawing]:
    """Draw figures of a run, each with caption and description.

    `only` holds names of figures; default: the few of `chosen`, or with `every` all that the
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
    part, left_out = first_part(run)
    for name in names:
        # Of `FIRST`, what this run has no data for is left out.
        some = resolved(figures_of(run)[name])(part, options)
        if not some and name in only:
            raise _unsupported(run, name)
        drawings += some
    if not drawings:
        raise TomevalError(
            f"{run.folder}: its data supports none of the figures {', '.join(names)}; --all draws "
            "all that it supports"
        )
    if left_out:
        drawings = [one._replace(caption=f"{one.caption} {left_out}.") for one in drawings]
    return safe_stems(drawings)


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


FILE_FORMATS = ("png", "svg", "pdf")
_LONGEST = 180

# No date and no random identifiers inside, so that the same run gives the same file.
# The rest is the mark by which `core.files` knows what it may replace.
_METADATA = {
    "png": {"Software": "tomeval"},
    "svg": {"Date": None, "Creator": "tomeval"},
    "pdf": {"CreationDate": None, "Creator": "tomeval"},
}


def save(
    drawings: Iterable[Drawing], folder: Path, formats: Sequence[str] = ("png",)
) -> list[Path]:
    """Write every drawing in every format, under its stem, and return the files."""
    check_formats(formats)
    return [
        write_bytes(folder / f"{drawing.stem}.{form}", picture(drawing, form))
        for drawing in drawings
        for form in formats
    ]


def check_formats(formats: Iterable[str]) -> None:
    """Raise a `TomevalError` if a format is not one of `FILE_FORMATS`."""
    for form in formats:
        if form not in FILE_FORMATS:
            raise unknown("format", form, FILE_FORMATS)


@in_style
def picture(drawing: Drawing, form: str, **more: Any) -> bytes:
    """Return a drawing as the content of a file; `more` goes to matplotlib's ``savefig``."""
    _settle(drawing)
    buffer = io.BytesIO()
    drawing.figure.savefig(buffer, format=form, metadata=_METADATA[form], **more)
    return buffer.getvalue()


def _settle(drawing: Drawing) -> None:
    """Lay a figure out once, so that each of its files is the same picture, with safe texts."""
    from matplotlib.text import Text

    for artist in drawing.figure.findobj(Text):
        assert isinstance(artist, Text)
        artist.set_text(visible(artist.get_text()))
    if drawing.figure.get_layout_engine() is not None:
        drawing.figure.draw_without_rendering()
        drawing.figure.set_layout_engine("none")


def safe_stems(drawings: Sequence[Drawing]) -> list[Drawing]:
    """Return the drawings with stems that are safe for any file system, each different."""
    stems = distinct(safe_name(drawing.stem) for drawing in drawings)
    return [d._replace(stem=stem) for d, stem in zip(drawings, stems, strict=True)]


def safe_name(text: str) -> str:
    """Return a text as a name of at most `_LONGEST` bytes; files may have 255 with their ending."""
    safe = "".join(char if char.isalnum() or char in "-_." else "-" for char in text)
    return safe.encode()[:_LONGEST].decode(errors="ignore")


def distinct(names: Iterable[str]) -> list[str]:
    """Return file names, numbered from the second of a kind on, all different in any letter case.

    Examples
    --------
    >>> distinct(["QA", "LM", "qa"])
    ['QA', 'LM', 'qa_2']
    """
    taken: dict[str, str] = {}
    for name in names:
        number, free = 1, name
        while free.casefold() in taken:
            number += 1
            free = f"{name}_{number}"
        taken[free.casefold()] = free
    return list(taken.values())


def write_captions(drawings: Sequence[Drawing], folder: Path, formats: Sequence[str]) -> Path:
    """Write what pictures show, a section per picture, into the folder's ``captions.md``."""
    sections = ["# Captions of tomeval plot"]
    for drawing in drawings:
        files = [f"{drawing.stem}.{form}" for form in formats]
        shown = next((name for name in files if not name.endswith(".pdf")), "")
        title = markdown(drawing.title)
        sections += [
            f"## {drawing.stem}",
            f"![{title}]({shown})" if shown else f"**{title}**",
            markdown(drawing.caption),
            f"In numbers: {markdown(drawing.description)}",
            f"Files: {', '.join(f'`{name}`' for name in files)}",
        ]
    return write_text(folder / "captions.md", "\n\n".join(sections) + "\n")
