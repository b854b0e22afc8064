"""A process beside a run that reads its folder and logs; the run itself knows no client.

So a client that hangs, fails or writes to the terminal cannot touch the run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tomeval.core.extras import installed, missing
from tomeval.core.printing import tell
from tomeval.core.text import excerpt
from tomeval.runs.live import LONGEST, Live

PATIENCE = 60.0
"""Seconds that a logger has to send what is left when the run is over."""

SILENT = 5.0
"""Seconds after which a note says that the command still waits for it."""


@contextmanager
def logged(name: str, folder: Path, live: Live) -> Iterator[None]:
    """Log the run that plays into a folder inside the block.

    What could not be logged is one warning at its first time, and is counted in `Live.closing`.

    Raises
    ------
    MissingExtra
        The client is not installed.
    """
    if not installed(name):
        raise missing(name, name, f"curves by --log {name}")
    command = [sys.executable, "-m", "tomeval.extensions.loggers.following"]
    command += [name, str(folder), str(time.time())]
    beside = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,  # whose end says that the run is over, however it ended
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the run
        text=True,
    )
    try:
        yield
    finally:
        live.closing.append(f"{name}: {_ended(name, beside)}")


def _ended(name: str, beside: subprocess.Popen[str]) -> str:
    """Let the process end, and return what it did; Ctrl-C ends no run any more, but the wait."""
    try:
        try:
            said, _ = beside.communicate(timeout=min(SILENT, PATIENCE))
        except subprocess.TimeoutExpired:
            tell(f"{name}: sends its last points, {PATIENCE:.0f} s at most (Ctrl-C: do not wait)")
            said, _ = beside.communicate(timeout=max(0.0, PATIENCE - SILENT))
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as why:
        beside.kill()
        beside.communicate()
        late = isinstance(why, subprocess.TimeoutExpired)
        ended = f"did not end within {PATIENCE:.0f} s" if late else "was interrupted"
        return f"{ended}; its last points may be missing"
    told = {}
    with suppress(ValueError):
        told = json.loads(said)
    if not told:
        return "ended early; its last points are missing"
    lost = f"; {told['missed']} more failed ({told['why']})" if told["missed"] else ""
    where = f", {told['where']}" if told["where"] else ""
    return excerpt(f"points logged: {told['points']}{lost}{where}", LONGEST)
