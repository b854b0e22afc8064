"""The file ``live.json`` of a run folder: how a run goes, for those who did not start it.

The process that plays writes it every two seconds and at the end, whole or not at all. Whoever can
read the folder, on this machine or on another one that has it too, sees the run by it.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.core.text import excerpt
from tomeval.models.naming import said_without_address
from tomeval.runs.checksums import holds, signed
from tomeval.runs.live import Live
from tomeval.runs.live_state import Over, State, state_of
from tomeval.runs.store import LIVE
from tomeval.runs.writer import this_process

logger = logging.getLogger(__name__)

EVERY = 2.0
"""Seconds between two states that are written."""


class LiveFile:
    """Writes the state of a run while it plays.

    Parameters
    ----------
    folder : Path
    live : Live
    name, shard : str
        As of `State`.
    """

    def __init__(self, folder: Path, live: Live, name: str, shard: str = "") -> None:
        self._path, self._live, self._last = folder / LIVE, live, -EVERY
        self._whose = State(name=name, shard=shard, process=this_process(), began=time.time())
        self._over, self._lock, self._failed = threading.Event(), threading.Lock(), False
        self._thread = threading.Thread(target=self._by_itself, daemon=True)

    def tell(self, alone: bool) -> None:
        """Write the state if it is time to; if `alone`, a thread does so by itself from now on.

        Where cells play in several processes, these are forked before there is a thread.
        """
        if self._thread.is_alive():
            return
        if alone:
            self._thread.start()
        elif time.monotonic() - self._last >= EVERY:
            self.write()

    def write(self, over: Over = "", why: str = "") -> None:
        """Write the present state; what keeps it from that is logged, and the run goes on."""
        with self._lock:
            self._last = time.monotonic()
            state = replace(state_of(self._live, self._whose), over=over, why=why)
            try:
                write_text(self._path, json.dumps(signed(state.to_dict())))
            except TomevalError as error:
                if not self._failed:
                    logger.warning("%s; the run goes on, tomeval watch does not see it", error)
                self._failed = True

    def end(self, over: Over, why: str) -> None:
        """Write the last state."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        self.write(over, why)

    def _by_itself(self) -> None:
        while not self._over.wait(EVERY):
            self.write()


@contextmanager
def live_file(folder: Path, live: Live, name: str, shard: str = "") -> Iterator[LiveFile]:
    """Write how a run goes into its folder inside the block, and at its end how it ended."""
    file = LiveFile(folder, live, name, shard)
    file.write()
    over, why = "failed", ""
    try:
        yield file
        over = "finished"
    except (KeyboardInterrupt, SystemExit):
        over = "stopped"
        raise
    except Exception as error:
        why = excerpt(said_without_address(error) or type(error).__name__, 300)
        raise
    finally:
        file.end(over, why)


def read_live(folder: Path) -> State | None:
    """Return what a folder's file says; None if there is none.

    Raises
    ------
    TomevalError
        It cannot be read, or is damaged.
    """
    path = folder / LIVE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is not text"
        raise TomevalError(f"{path}: cannot be read ({what or error})") from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or not holds(data):
        raise TomevalError(f"{path}: damaged; the next run into the folder writes it anew")
    return State.from_dict(data, str(path))
