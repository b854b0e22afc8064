"""The one door to the terminal, so that no command can forget to make a text safe.

`show` and `tell` are for people, `show_data` for programs, `Console` asks a person until the answer
can be read. Nothing else prints; a test holds it.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from shutil import get_terminal_size
from typing import Protocol, TextIO, TypeVar

from tomeval.core.text import visible, wrap

T = TypeVar("T")


def show(text: object = "", *, to: TextIO | None = None, end: str = "\n") -> None:
    """Print a text for people; default: to standard output. See `tomeval.core.text.visible`."""
    print(visible(str(text)), file=to, end=end, flush=to is not None)


def tell(text: object = "") -> None:
    """Print a note, a warning or an error on standard error."""
    show(text, to=sys.stderr)


def show_wrapped(text: str, to: TextIO | None = None) -> None:
    """Show a text of any length; at a terminal no line is longer than that is wide."""
    if (to or sys.stdout).isatty():
        width = max(20, get_terminal_size().columns)
        lines = visible(text).split("\n")
        text = "\n".join(part for line in lines for part in wrap(line, width, "    "))
    show(text, to=to)


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
        show_wrapped(record.getMessage(), sys.stderr)


def notes_handler(level: int = logging.NOTSET) -> logging.Handler:
    """Return a handler that tells what is logged from a level on."""
    return _Safe(level)


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
