"""How much memory a file from elsewhere may take: a few packed bytes can stand for gigabytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tomeval.core.errors import TomevalError

OPTION, USUAL = "--max-mb", 2000
_allowed = [USUAL]


@contextmanager
def allowing(megabytes: int) -> Iterator[None]:
    """Inside the block, a file of others may take so many megabytes of memory.

    Examples
    --------
    >>> with allowing(1):
    ...     check_unpacked(2_000_000, "vectors.npz")
    Traceback (most recent call last):
    tomeval.core.errors.TomevalError: vectors.npz: needs more than the memory limit of 1 MB ...
    """
    _allowed.append(megabytes)
    try:
        yield
    finally:
        _allowed.pop()


def allowed() -> int:
    """Return the megabytes of `allowing`."""
    return _allowed[-1]


def check_unpacked(size: float, what: str) -> None:
    """Refuse what takes more bytes than are allowed; `what` names the file, and the place in it."""
    if size > allowed() * 1e6:
        needed = max(int(size / 1e6), 2 * allowed())
        raise TomevalError(
            f"{what}: needs more than the memory limit of {allowed():,} MB for one imported file; "
            f"to raise it: tomeval {OPTION} {needed} ..."
        )
