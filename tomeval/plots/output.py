"""Write figures to files with their captions."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import unknown
from tomeval.core.files import write_bytes, write_text
from tomeval.core.text import markdown, visible
from tomeval.plots.drawing import Drawing
from tomeval.plots.style import in_style

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
    data = buffer.getvalue()
    return _shorter(data.decode("utf-8")).encode("utf-8") if form == "svg" else data


def _shorter(drawn: str) -> str:
    """Round the coordinates of paths to tenths of a point, which no eye can tell apart."""

    def rounded(path: re.Match[str]) -> str:
        return re.sub(r"-?\d+\.\d{2,}", lambda number: f"{float(number[0]):.1f}", path[0])

    return re.sub(r'<[^>]*\sd="[^"]*"', lambda tag: re.sub(r'\sd="[^"]*"', rounded, tag[0]), drawn)


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
