"""The command line: a thin face over all other rooms. Nothing imports it.

Heavy imports wait until a command needs them.
"""

from __future__ import annotations

import gc
import signal
import sys

__all__ = ["main"]

INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM
"""Exit codes, as shells have them."""


def main() -> None:
    """Run the command line; a stop at any moment, while modules load too, is one line."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as scripts start what ends in "&"
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.set_threshold(100_000, 50, 50)  # records are many objects, none of them in a circle
    try:
        from tomeval.cli.app import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(_stopped(INTERRUPTED))
    except SystemExit as stop:
        if stop.code in (INTERRUPTED, TERMINATED):
            _stopped(stop.code)
        raise


def _stopped(code: int) -> int:
    """Print that the program was stopped; later signals change nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from tomeval.core.printing import tell

    tell("tomeval: stopped; run the same command again to go on")
    return code
