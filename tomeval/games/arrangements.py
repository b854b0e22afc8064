"""Orders of things of which some are alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def arrangements(pack: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """Yield every order of a pack once, first those that begin with what comes first.

    Examples
    --------
    >>> list(arrangements((1, 1, 2)))
    [(1, 1, 2), (1, 2, 1), (2, 1, 1)]
    """
    if not pack:
        yield ()
    for first in dict.fromkeys(pack):
        rest = list(pack)
        rest.remove(first)
        yield from ((first, *others) for others in arrangements(rest))
