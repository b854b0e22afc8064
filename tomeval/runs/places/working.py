"""Work on a run folder wherever it lies: at an address, copies are sent there now and then."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tomeval.core.errors import TomevalError
from tomeval.core.text import in_line
from tomeval.runs.counts import Progress
from tomeval.runs.places.remote import is_address

if TYPE_CHECKING:
    from tomeval.runs.places.mirror import Mirror

logger = logging.getLogger(__name__)

EVERY = 180.0
"""Seconds between two copies to an address, at least."""

SHARE = 10
"""A copy that took t seconds is not followed by another for `SHARE` times t."""


class Place:
    """A run folder that lies on this machine.

    Attributes
    ----------
    folder : Path
    name : str
        What the user called it.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    def watching(self, progress: Progress | None) -> Progress | None:
        """Return a function that is called with steps done and in all, and calls `progress`."""
        return progress


class _Away(Place):
    """One that lies at an address."""

    def __init__(self, mirror: Mirror) -> None:
        super().__init__(mirror.folder, mirror.shown)
        self._mirror = mirror
        self._copying: threading.Thread | None = None
        self._due = time.monotonic() + EVERY
        self._refused: TomevalError | None = None

    def watching(self, progress: Progress | None) -> Progress | None:
        """Return a function that also begins a copy when one is due.

        It raises, and so stops the run, if the address has been changed by somebody else.
        """

        def on_steps(done: int, total: int) -> None:
            if self._refused is not None:
                raise self._refused
            if self._copying is None and time.monotonic() >= self._due:
                # No thread before: where cells play in several processes, these are forked first.
                self._copying = threading.Thread(target=self._copy, daemon=True)
                self._copying.start()
            if progress is not None:
                progress(done, total)

        return on_steps

    def _copy(self) -> None:
        from tomeval.runs.places.mirror import Moved

        began = time.monotonic()
        try:
            if self._mirror.changed():
                self._mirror.send()
        except Moved as error:
            self._refused = error
        except TomevalError as error:
            logger.warning("%s; the run goes on in %s, and this is tried again", error, self.folder)
        now = time.monotonic()
        self._due = now + max(EVERY, SHARE * (now - began))
        self._copying = None

    def finish(self, said: Callable[[str], None]) -> None:
        """Send the last copy."""
        if (copying := self._copying) is not None:
            copying.join()
        if self._refused is not None:
            raise self._refused
        from tomeval.runs.places.mirror import Moved

        try:
            if sent := self._mirror.send():
                said(in_line(f"{self.name}: copied there, checkpoint {sent.generation}"))
        except Moved:
            raise
        except TomevalError as error:
            raise TomevalError(
                f"{error}; nothing is lost: the run is in {self.folder}, and the same command, run "
                "again on this machine, copies it"
            ) from None


@contextmanager
def working_on(out: str | Path, said: Callable[[str], None]) -> Iterator[Place]:
    """Give the place of a run folder that is to be written.

    One at an address is fetched first, into a folder of this machine, and copied back inside the
    block, see `Place.watching`, and at its end, whatever ends it.

    Parameters
    ----------
    out : str or path
        A folder, or an address that fsspec knows.
    said : callable
        Tells the user where the work is done.

    Raises
    ------
    TomevalError
        The address cannot be used, or holds something else or what somebody else has changed; at
        the end, it could not be copied.
    """
    if not is_address(out):
        yield Place(Path(out), str(out))
        return
    from tomeval.runs.places.mirror import Mirror

    mirror = Mirror(str(out))
    mirror.check_writable()
    fetched = mirror.bring()
    mirror.begin()
    had = f", from its checkpoint {fetched.generation} of {fetched.written}" if fetched else ""
    said(in_line(f"{mirror.shown}: worked on in {mirror.folder}{had}"))
    place = _Away(mirror)
    try:
        yield place
    except BaseException as stopped:
        try:
            place.finish(said)
        except TomevalError as error:
            if error is not stopped:
                logger.warning("%s", error)
        raise
    place.finish(said)


def folder_of(run: str | Path, said: Callable[[str], None] = lambda text: None) -> Path:
    """Return the folder of a run that is to be read; one at an address is fetched if it is newer.

    Raises
    ------
    TomevalError
        The address cannot be read, or holds no run.
    """
    if not is_address(run):
        return Path(run)
    from tomeval.runs.places.mirror import Mirror

    mirror = Mirror(str(run))
    if found := mirror.bring():
        what = f"checkpoint {found.generation} of {found.written}"
        said(in_line(f"{mirror.shown}: {what}, fetched to {mirror.folder}"))
    elif not mirror.folder.exists():
        raise TomevalError(f"{in_line(mirror.shown)}: there is no run")
    return mirror.folder
