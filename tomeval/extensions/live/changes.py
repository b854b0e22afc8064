"""Parts of a page made anew when a run folder, which another process may be writing, has changed.

The folder is only read, and never kept open: a reader that stays would keep SQLite from shortening
its write-ahead log.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tomeval.core.errors import TomevalError
from tomeval.runs.database import NothingPlayed
from tomeval.runs.results import Run
from tomeval.runs.store import EXPERIMENT, HOLDER, LIVE, SESSIONS, STORE, Store

LOG = f"{STORE}-wal"
FILES = (STORE, LOG, EXPERIMENT, SESSIONS, HOLDER)
"""What changes when anything is stored."""

SHARE = 10
"""A part that took t seconds to make is not made again for `SHARE` times t."""


@dataclass
class Part:
    """A part of a page, made when the folder has changed and not too often.

    Attributes
    ----------
    build : callable
        Returns its text, given the run, or None where nothing was played yet.
    live : bool
        Whether it also shows what the process that plays says of itself.
    text, version : str
        As it was made last, and the version of the folder that it was made from.
    rests : float
        When it may be made again.
    """

    build: Callable[[Run | None], str]
    live: bool = False
    text: str = ""
    version: str = ""
    rests: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)


class Changes:
    """A run folder and the parts of a page that are made from it.

    Attributes
    ----------
    trouble : str
        Why a part could not be made; it then stays as it was.
    """

    def __init__(
        self, folder: Path, parts: dict[str, Part], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.folder, self.parts, self._clock, self.trouble = folder, parts, clock, ""

    def version(self, live: bool = False) -> str:
        """Return a text that changes with every change of the folder; a look at six files."""
        seen = [self.folder.name]
        for name in (*FILES, LIVE) if live else FILES:
            with suppress(OSError):
                file = (self.folder / name).stat()
                if file.st_size or name != LOG:  # readers too make an empty log
                    seen.append(f"{name} {file.st_ino} {file.st_size} {file.st_mtime_ns}")
        return "|".join(seen)

    def versions(self) -> dict[str, str]:
        """Return for each part the version that it can be had in now."""
        now = self._clock()
        return {
            name: self.version(part.live) if now >= part.rests else part.version
            for name, part in self.parts.items()
        }

    def part(self, name: str) -> Part:
        """Return a part, made anew if it is time to and the folder has changed."""
        part = self.parts[name]
        with part.lock:  # two pages that ask at once have it made once
            version, began = self.version(part.live), self._clock()
            if version != part.version and began >= part.rests:
                try:
                    part.text, self.trouble = self._made(part), ""
                except TomevalError as error:
                    self.trouble = str(error)
                now = self._clock()
                part.version, part.rests = version, now + max(1.0, SHARE * (now - began))
            return part

    def _made(self, part: Part) -> str:
        try:
            run = Run(self.folder)
        except NothingPlayed:
            return part.build(None)
        with run:
            return part.build(run)


def experiment_of(folder: Path) -> str:
    """Return the hash of the experiment in a run folder; empty while nothing is stored."""
    if not folder.exists():
        raise TomevalError(f"{folder}: there is no such folder")
    try:
        with closing(Store(folder)) as store:
            return str(store.meta()["sha256"])
    except NothingPlayed:
        return ""
