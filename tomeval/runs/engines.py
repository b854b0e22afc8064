"""Engines: who plays the episodes of a run. By default it is this process, with its workers.

An engine plays what it can, and the process that holds the run folder plays the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.extensions import named, part
from tomeval.runs.processes import play_all

if TYPE_CHECKING:
    from tomeval.runs.experiment import Experiment
    from tomeval.runs.filling import Filler


class Engine(Protocol):
    """Plays episodes, and tells the run what becomes of them."""

    def prepare(self, experiment: Experiment, prefix_reuse: bool, concurrency: int) -> None:
        """Raise `TomevalError`, in one line, if it cannot play this; no folder is made then."""

    def play(self, filler: Filler) -> None:
        """Play what it can of `filler.stretches` and `filler.groups`; the others are left."""

    def recall(self, cell: int, then: Callable[[int], None]) -> None:
        """Begin no more episodes of a cell; call back with how many that it held are left out."""

    def close(self) -> None:
        """End, whatever happened."""


class Workers:
    """Processes of this machine, which play the cells that ask no model.

    Parameters
    ----------
    count : int
        1: this process itself.
    """

    def __init__(self, count: int = 1) -> None:
        self._count = count

    def prepare(self, experiment: Experiment, prefix_reuse: bool, concurrency: int) -> None:
        """Refuse nothing."""

    def play(self, filler: Filler) -> None:
        """Play the cells that ask no model."""
        tasks = play_all(filler.domain, filler.cells, filler.stretches(), self._count)
        for (number, _, _), block in tasks:
            filler.together(number, block)
            filler.stopping.check()

    def recall(self, cell: int, then: Callable[[int], None]) -> None:
        """Hold none: only cells with a model stop."""
        then(0)

    def close(self) -> None:
        """Do nothing: the processes have ended."""


def engine_names() -> list[str]:
    """Return the names of all engines that are known."""
    return named("engines")


def make_engine(name: str | None, workers: int | None = None, **options: Any) -> Engine | None:
    """Return the engine of a name, or of ``NAME:ADDRESS``; nothing is started.

    Parameters
    ----------
    name : str, optional
        None: there is none, and no option may be given.
    workers : int, optional
        Processes of this machine, in place of an engine.
    options
        Of the engine, such as ``replicas``; None: not given.

    Raises
    ------
    TomevalError
        There is no such engine, it refuses an option, or what is given does not go together.

    Examples
    --------
    >>> make_engine("rya")
    Traceback (most recent call last):
    tomeval.core.errors.TomevalError: --engine: unknown engine 'rya' (did you mean 'ray'?); known:
    ray
    """
    given = {option: value for option, value in options.items() if value is not None}
    if name is None:
        for option in given:
            known = ", ".join(engine_names())
            raise TomevalError(f"--{option.replace('_', '-')} goes with --engine (known: {known})")
        return None
    kind, colon, address = name.partition(":")
    if colon and not address:  # as of a variable that is not set
        raise TomevalError(
            f"--engine {name!r}: nothing follows the colon; leave it out, or name an address"
        )
    if workers is not None:
        raise TomevalError(f"--workers does not go with --engine: {kind} plays what workers would")
    make: Callable[..., Engine] | None = part("engines", kind)
    if make is None:
        raise unknown("engine", kind, engine_names(), "--engine")
    return make(address, **given)
