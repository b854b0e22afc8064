"""What all other rooms build on: errors, files, random streams, outcomes. Imports no other room.

`streams` and `numbers` are imported by module, so that the errors load without NumPy.
"""

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.core.outcomes import Decision, Invalid, Said

__all__ = ["Decision", "Invalid", "Said", "TomevalError", "did_you_mean", "unknown"]
