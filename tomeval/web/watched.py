"""A run folder that another process may be writing: what changed, and parts of a page made anew.

The folder is only read, and never kept open: a reader that stays would keep SQLite from shortening
its write-ahead log.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tomeval.core.errors import TomevalError
from tomeval.runs.checksums import SEAL
from tomeval.runs.database import NothingPlayed
from tomeval.runs.results import Run
from tomeval.runs.store import EXPERIMENT, HOLDER, SESSIONS, STORE

LOG = f"{STORE}-wal"
FILES = (STORE, LOG, SEAL, EXPERIMENT, SESSIONS, HOLDER)
"""What changes when anything is written."""

SHARE = 10
"""A part that took t seconds to make is not made again for `SHARE` times t."""


@dataclass
class Part:
    """A part of a page, made from a run when it has changed and not too often.

    Attributes
    ----------
    build : callable
        Returns its text, given the run, or None where nothing was played yet.
    least : float
        Seconds between two times that it is made, at least.
    text, version : str
        As it was made last, and the version of the folder that it was made from.
    """

    build: Callable[[Run | None], str]
    least: float = 1.0
    text: str = ""
    version: str = ""
    rests: float = field(default=0.0, repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def due(self, version: str, now: float) -> bool:
        """Tell whether it is to be made anew."""
        return version != self.version and now >= self.rests


class Watched:
    """A run folder and the parts of a page that are made from it.

    Parameters
    ----------
    folder : Path
    parts : dict of str to Part
    clock : callable
        Seconds, for how often parts are made.
    """

    def __init__(
        self, folder: Path, parts: dict[str, Part], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.folder, self._parts, self._clock = folder, parts, clock
        self.trouble = ""

    def version(self) -> str:
        """Return a text that changes with every change of the folder; a look at six files."""
        seen = [f"{name} {f.st_ino} {f.st_size} {f.st_mtime_ns}" for name, f in self._files()]
        return hashlib.sha256("|".join(seen).encode()).hexdigest()[:16]

    def changed(self) -> float:
        """Return when the folder was last written, in seconds since 1970; 0 if it never was."""
        return max((found.st_mtime for _, found in self._files()), default=0.0)

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield what the system knows of those of `FILES` that there are.

        Readers too make a write-ahead log where there is none; as long as it is empty it tells
        nothing.
        """
        for name in FILES:
            with suppress(OSError):
                found = (self.folder / name).stat()
                if found.st_size or name != LOG:
                    yield name, found

    def versions(self) -> dict[str, str]:
        """Return for each part the version that it can be had in now."""
        version, now = self.version(), self._clock()
        return {
            name: version if part.due(version, now) else part.version
            for name, part in self._parts.items()
        }

    def part(self, name: str) -> Part:
        """Return a part, made anew if it is due; one that cannot be made stays as it was.

        Why it cannot is then in `trouble`.
        """
        part = self._parts[name]
        with part.lock:  # two pages that ask at once have it made once
            version, began = self.version(), self._clock()
            if part.due(version, began):
                try:
                    part.text, self.trouble = self._made(part), ""
                except TomevalError as error:
                    self.trouble = str(error)
                now = self._clock()
                part.version, part.rests = version, now + max(part.least, SHARE * (now - began))
            return part

    def read(self, look: Callable[[Run], str]) -> str:
        """Return what `look` makes of the run as it is now.

        Raises
        ------
        TomevalError
            The run cannot be read, or `look` says so.
        """
        with Run(self.folder) as run:
            return look(run)

    def _made(self, part: Part) -> str:
        try:
            run = Run(self.folder)
        except NothingPlayed:
            return part.build(None)
        with run:
            return part.build(run)
