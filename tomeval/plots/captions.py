"""The captions of pictures in a folder, as one Markdown file beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.core.text import markdown
from tomeval.plots.drawing import Drawing
from tomeval.plots.output import FILE_FORMATS

NAME = "captions.md"
_TITLE = "# Captions"


def write_captions(drawings: Sequence[Drawing], folder: Path, formats: Sequence[str]) -> Path:
    """Write what the pictures of a folder show, a section per picture, and return the file.

    Sections that an earlier call wrote stay if their picture is still there.
    """
    sections = {
        stem: text
        for stem, text in _sections(folder / NAME).items()
        if any((folder / f"{stem}.{form}").exists() for form in FILE_FORMATS)
    }
    for drawing in drawings:
        files = [f"{drawing.stem}.{form}" for form in formats]
        shown = next((name for name in files if not name.endswith(".pdf")), "")
        title = markdown(drawing.title)
        sections[drawing.stem] = "\n\n".join(
            (
                f"## {drawing.stem}",
                f"![{title}]({shown})" if shown else f"**{title}**",
                markdown(drawing.caption),
                f"In numbers: {markdown(drawing.description)}",
                f"Files: {', '.join(f'`{name}`' for name in files)}",
            )
        )
    return write_text(folder / NAME, "\n\n".join([_TITLE, *sections.values()]) + "\n")


def _sections(path: Path) -> dict[str, str]:
    """Return the sections of an earlier file by name of the picture; none if there is no file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise TomevalError(f"{path}: cannot be read ({error})") from None
    parts = text.removeprefix(_TITLE).split("\n## ")[1:]
    return {part.split("\n", 1)[0].strip(): f"## {part.strip()}" for part in parts}
