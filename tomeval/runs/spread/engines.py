"""The engines by name, and the text that chooses one: ``ray``, or ``ray:10.0.0.1:6379``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tomeval.core.errors import TomevalError, unknown
from tomeval.runs.spread.contract import Engine


def _ray(address: str, replicas: int, gpus: float) -> Engine:
    from tomeval.runs.spread.ray_engine import RayEngine

    return RayEngine(address, replicas, gpus)


ENGINES: Mapping[str, Callable[[str, int, float], Engine]] = {"ray": _ray}
"""What makes an engine from an address, which may be empty, how many replicas, and GPUs of each."""


def make_engine(name: str, replicas: int = 1, gpus: float = 0.0) -> Engine:
    """Return the engine of a name, or of ``NAME:ADDRESS``; nothing is started.

    Parameters
    ----------
    replicas : int
        How many there are to be; at least 1.
    gpus : float
        GPUs of each: a whole number, or a share of one GPU, such as 0.5.

    Raises
    ------
    TomevalError
        There is no such engine, or a number is out of range.
    """
    kind, _, address = name.partition(":")
    if kind not in ENGINES:
        raise unknown("engine", kind, ENGINES, "--engine")
    if replicas < 1:
        raise TomevalError(f"--replicas must be at least 1, is {replicas}")
    if not (math.isfinite(gpus) and gpus >= 0 and (gpus <= 1 or gpus == int(gpus))):
        raise TomevalError(
            f"--gpus-per-replica must be a whole number or, for several replicas on one GPU, a "
            f"share of it between 0 and 1; is {gpus:g}"
        )
    return ENGINES[kind](address, replicas, gpus)
