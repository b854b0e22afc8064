"""Whether a run that another process plays goes on: by its file and its writer.

Clocks of two machines need not agree, so a file that looks old is looked at again before it is
taken for old.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tomeval.core.errors import TomevalError
from tomeval.runs.live_file import EVERY, read_live
from tomeval.runs.live_state import State
from tomeval.runs.store import EXPERIMENT, HOLDER, LIVE, STORE
from tomeval.runs.writer import writer_of

OLD = 20.0
"""Seconds after which a file that did not change is old: it is written every two."""

Goes = Literal["begins", "goes", "silent", "gone", "over", "unknown", "none"]


@dataclass(frozen=True)
class Standing:
    """What can be said of a run from outside.

    Attributes
    ----------
    folder : Path
    goes : str
        ``goes``: it is played. ``silent``: its process is there and writes nothing. ``gone``: its
        process ended without a word. ``over``: as `state` says. Without a file: ``begins``, a
        process holds the folder; ``none``, nothing was played; ``unknown``, something was.
    state : State or None
    age : float
        Seconds since the file was written, as far as the clocks agree.
    trouble : str
        Why the file cannot be read; `state` is then what was read before.
    """

    folder: Path
    goes: Goes
    state: State | None = None
    age: float = 0.0
    trouble: str = ""


class Looking:
    """Looks at one run folder again and again."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        if not folder.is_dir():
            what = "is a file, not a run folder" if folder.exists() else "there is no such folder"
            raise TomevalError(f"{folder}: {what}")
        names = (STORE, EXPERIMENT, HOLDER, LIVE)
        if not any((folder / name).exists() for name in names) and any(folder.iterdir()):
            raise TomevalError(f"{folder}: not a run folder (no {STORE} in it)")
        self.folder, self._clock = folder, clock
        self._state: State | None = None
        self._new = 0.0  # when this state was written, or seen in place of another

    def look(self) -> Standing:
        """Return how the run is now."""
        trouble = ""
        try:
            found = read_live(self.folder)
        except TomevalError as error:
            found, trouble = self._state, str(error)
        now = self._clock()
        if found is None:
            goes: Goes = "unknown" if (self.folder / STORE).exists() else "none"
            goes = "begins" if writer_of(self.folder).there else goes
            return Standing(self.folder, goes, trouble=trouble)
        if self._state is None:
            self._new = min(now, found.written)
        elif found.written != self._state.written:
            self._new = now
        self._state, age = found, now - self._new
        return Standing(self.folder, self._goes(found, age), found, age, trouble)

    def look_twice(self) -> Standing:
        """Return how the run is now, looking again a little later if its file seems to be old."""
        first = self.look()
        if first.goes in ("silent", "gone") and first.age < 86_400:
            time.sleep(1.25 * EVERY)
            return self.look()
        return first

    def _goes(self, state: State, age: float) -> Goes:
        if state.over:
            return "over"
        writer = writer_of(self.folder)
        if age < OLD and not (writer.sure and writer.there is False):
            return "goes"
        return "gone" if writer.there is False else "silent"
