"""The engines by name, and the text that chooses one: ``ray``, or ``ray:10.0.0.1:6379``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.extensions import named, part
from tomeval.runs.spread.contract import Engine


def _ray(address: str, replicas: int, gpus: float) -> Engine:
    from tomeval.runs.spread.ray_engine import RayEngine

    return RayEngine(address, replicas, gpus)


ENGINES: Mapping[str, Callable[[str, int, float], Engine]] = {"ray": _ray}
"""What makes an engine from an address, which may be empty, how many replicas, and GPUs of each."""


def make_engine(
    name: str | None,
    replicas: int | None = None,
    gpus: float | None = None,
    workers: int | None = None,
) -> Engine | None:
    """Return the engine of a name, or of ``NAME:ADDRESS``; nothing is started.

    Parameters
    ----------
    name : str, optional
        None: there is none, and nothing that goes with one may be given.
    replicas : int, optional
        How many there are to be, at least 1; default: 1.
    gpus : float, optional
        GPUs of each: a whole number, or a share of one GPU, such as 0.5; default: 0.
    workers : int, optional
        Processes of this machine, in place of replicas.

    Raises
    ------
    TomevalError
        There is no such engine, a number is out of range, or what is given does not go together.

    Examples
    --------
    >>> make_engine("rya")
    Traceback (most recent call last):
    tomeval.core.errors.TomevalError: --engine: unknown engine 'rya' (did you mean 'ray'?); known:
    ray
    """
    if name is None:
        for option, given in (("--replicas", replicas), ("--gpus-per-replica", gpus)):
            if given is not None:
                known = ", ".join(engine_names())
                raise TomevalError(f"{option} goes with --engine (known: {known})")
        return None
    kind, colon, address = name.partition(":")
    make = ENGINES.get(kind) or part("engines", kind)
    if make is None:
        raise unknown("engine", kind, engine_names(), "--engine")
    if colon and not address:  # as of a variable that is not set
        raise TomevalError(
            f"--engine {name!r}: nothing follows the colon; leave it out, or name an address"
        )
    if workers is not None:
        raise TomevalError(
            "--workers does not go with --engine: replicas play what workers would; see --replicas"
        )
    replicas, gpus = 1 if replicas is None else replicas, gpus or 0.0
    if replicas < 1:
        raise TomevalError(f"--replicas must be at least 1, is {replicas}")
    if not (math.isfinite(gpus) and gpus >= 0 and (gpus <= 1 or gpus == int(gpus))):
        raise TomevalError(
            "--gpus-per-replica must be a whole number or, for several replicas on one GPU, a "
            f"share of it between 0 and 1; is {gpus:g}"
        )
    engine: Engine = make(address, replicas, gpus)
    return engine


def engine_names() -> list[str]:
    """Return the names of all engines."""
    return list(dict.fromkeys([*ENGINES, *named("engines")]))
