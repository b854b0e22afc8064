"""The command line: a thin face over all other rooms. Nothing imports it.

Heavy imports wait until a command needs them.
"""

from tomeval.cli.main import main

__all__ = ["main"]
