"""The one door to the terminal, so that no command can forget to make a text safe.

`show` and `tell` are for people, `show_data` for programs. Nothing else prints; a test holds it.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from shutil import get_terminal_size
from textwrap import fill
from typing import Protocol, TextIO

from tomeval.core.text import visible


def show(text: object = "", *, to: TextIO | None = None, end: str = "\n") -> None:
    """Print a text for people; default: to standard output. See `tomeval.core.text.visible`."""
    print(visible(str(text)), file=to, end=end, flush=to is not None)


def show_bold(lines: Iterable[Iterable[tuple[str, bool]]]) -> None:
    """Print lines in pieces, each with whether it is bold, where the terminal can show that."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    for line in lines:
        text = Text()
        for piece, bold in line:
            text.append(visible(piece), style="bold" if bold else None)
        console.print(text, soft_wrap=True)


def tell(text: object = "") -> None:
    """Print a note, a warning or an error on standard error."""
    show(text, to=sys.stderr)


def tell_wrapped(text: str) -> None:
    """Tell a text of any length; at a terminal no line is longer than that is wide."""
    if sys.stderr.isatty():
        width = max(20, get_terminal_size().columns)
        text = "\n".join(_folded(line, width) for line in visible(text).split("\n"))
    tell(text)


def _folded(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    start = line[: len(line) - len(line.lstrip())]
    return fill(
        line.strip(),
        width,
        initial_indent=start,
        subsequent_indent=f"{start}  ",
        break_on_hyphens=False,
        break_long_words=False,
    )


def show_data(text: str) -> None:
    """Print data as it is; on a terminal, where a person reads, as `show` does."""
    data_stream().write(f"{text}\n")


class Sink(Protocol):
    """What text can be written to."""

    def write(self, text: str, /) -> object:
        """Write a text."""


def data_stream() -> Sink:
    """Return where data goes that has no file: standard output, made visible on a terminal."""
    return _Visible() if sys.stdout.isatty() else sys.stdout


class _Visible:
    """Standard output for data that a person looks at."""

    def write(self, text: str, /) -> object:
        """Write a text, made visible."""
        return sys.stdout.write(visible(text))


class _Safe(logging.Handler):
    """Prints what is logged where nobody else listens, such as what a server said."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record; standard error is looked up each time, as a bar takes its place."""
        tell_wrapped(record.getMessage())


def notes_handler(level: int = logging.NOTSET) -> logging.Handler:
    """Return a handler that tells what is logged from a level on."""
    return _Safe(level)
