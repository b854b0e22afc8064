"""The one door to the terminal, so that no command can forget to make a text safe.

`show` and `tell` are for people, `show_data` for programs, `Console` asks a person until the answer
can be read. Nothing else prints; a test holds it.
"""

from __future__ import annotations

import io
import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TextIO, TypeVar

from tomeval.core.text import visible

T = TypeVar("T")


def show(text: object = "", *, to: TextIO | None = None, end: str = "\n") -> None:
    """Print a text for people; default: to standard output. See `tomeval.core.text.visible`."""
    print(visible(str(text)), file=to, end=end, flush=to is not None)


def tell(text: object = "") -> None:
    """Print a note, a warning or an error on standard error."""
    show(text, to=sys.stderr)


_MARK = re.compile(r"(?<=[_=/:;,|])")
"""After what a word that is too long is divided first."""


def wrap(text: str, room: int, indent: str = "") -> list[str]:
    """Return a text in lines at most `room` columns wide; all but the first begin with `indent`.

    Lines end at blanks; a word that is too long is divided after its marks, else anywhere. A text
    may begin with blanks.

    Examples
    --------
    >>> wrap("CoT(labels=neutral), by itself", 18, "  ")
    ['CoT(labels=', '  neutral), by', '  itself']
    """
    from rich.cells import cell_len, chop_cells

    if cell_len(text) <= room:
        return [text]
    begin, blank = text[: len(text) - len(text.lstrip())], ""
    left, lines = max(1, room - max(len(begin), len(indent))), [begin]
    for word in text.split():
        parts = [word] if cell_len(word) <= left else _MARK.split(word)
        for part in (piece for one in parts for piece in chop_cells(one, left)):
            if lines[-1].strip() and cell_len(lines[-1] + blank + part) > room:
                lines.append(indent)
            lines[-1] += blank * bool(lines[-1].strip()) + part
            blank = ""
        blank = " "
    return lines


def longest_part(text: str) -> int:
    """Return the width of the longest part of a text that `wrap` leaves whole."""
    from rich.cells import cell_len

    parts = (part for word in text.split() for part in _MARK.split(word))
    return max(map(cell_len, parts), default=0)


def wrapped(text: str, indent: int = 0, most: int | None = None) -> str:
    """Return a text in lines that fit the terminal, and one of 80 columns.

    With `most`, that many lines of it at most, which then end in dots.
    """
    room, after = min(79, get_terminal_size().columns), " " * (indent + 2)
    lines = wrap(" " * indent + text, room, after)
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], wrap(lines[most - 1], room - 4)[0] + " ..."]
    return "\n".join(lines)


def show_wrapped(text: str, to: TextIO | None = None) -> None:
    """Show a text of any length; at a terminal no line is longer than that is wide."""
    if (to or sys.stdout).isatty():
        width = max(20, get_terminal_size().columns)
        lines = visible(text).split("\n")
        text = "\n".join(part for line in lines for part in wrap(line, width, "    "))
    show(text, to=to)


def show_data(text: str) -> None:
    """Print data as it is; on a terminal, where a person reads, as `show` does."""
    with data_stream() as stream:
        stream.write(f"{text}\n")


@contextmanager
def data_stream() -> Iterator[TextIO]:
    """Give what data is written to that has no file: standard output, as for `show_data`."""
    if not sys.stdout.isatty():
        yield sys.stdout
        return
    written = io.StringIO(newline="")
    yield written
    show(written.getvalue(), end="")


class Notes(logging.Handler):
    """Prints what is logged where nobody else listens, such as what a server said."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record; standard error is looked up each time, as a bar takes its place."""
        show_wrapped(record.getMessage(), sys.stderr)


_QUIT = ("quit", "q", "exit")


class QuitGame(Exception):
    """The person quits, or the input has ended."""


class Console:
    """Reads lines from `source` and writes text to `sink`."""

    def __init__(self, source: TextIO, sink: TextIO) -> None:
        self.source, self.sink = source, sink

    def say(self, text: str = "") -> None:
        """Print a line."""
        show(text, to=self.sink)

    def read(self, prompt: str) -> str:
        """Return a line without its end; `QuitGame` at the end of the input."""
        show(prompt, to=self.sink, end="")
        line = self.source.readline()
        if not line:
            self.say()
            raise QuitGame
        return line.strip()

    def question(
        self,
        prompt: str,
        parse: Callable[[str], T | str],
        pages: Mapping[str, str],
        *,
        may_be_empty: bool = False,
    ) -> T:
        """Ask until a line can be read; a text from `parse` says what is wrong with it.

        `pages` are texts that a person can ask for by a word; the word ``quit`` ends the game. An
        empty line is asked for again, unless it may be an answer.
        """
        while True:
            line = self.read(prompt)
            word = line.casefold()
            if word in _QUIT:
                raise QuitGame
            if word in pages:
                self.say(pages[word])
            elif word or may_be_empty:
                answer = parse(line)
                if not isinstance(answer, str):
                    return answer
                self.say(f"  {answer}. Try again, or ? for help.")
