"""Keep numpy to one thread, so that CPU seconds are those of one core."""

from __future__ import annotations

import os
import sys

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def use_one_thread() -> None:
    """Start the script again with the limits set: numpy reads them only when it is loaded."""
    if any(os.environ.get(name) != "1" for name in VARIABLES):
        limited = os.environ | dict.fromkeys(VARIABLES, "1")
        os.execve(sys.executable, [sys.executable, *sys.argv], limited)
