"""What is looked up once for each object: forgotten with it, or when much else was read since."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, ref

T = TypeVar("T")


def once_each(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """Return a function of one object that is computed once for each object.

    Unlike `functools.lru_cache` it keeps no object alive, such as the store of a run that was
    closed, and however many are open at once, none is looked up again. What it returns must not
    refer to the object, or both stay.

    Examples
    --------
    >>> class Folder:
    ...     pass
    >>> @once_each
    ... def look(folder):
    ...     print("looked")
    ...     return 3
    >>> folder = Folder()
    >>> look(folder), look(folder)
    looked
    (3, 3)
    """
    known: WeakKeyDictionary[Any, T] = WeakKeyDictionary()

    @wraps(function)
    def found(of: Any) -> T:
        if of not in known:
            known[of] = function(of)
        return known[of]

    return found


MOST = 1_000_000
"""Steps that are held of a run, but at least one cell; a step is 30 to 200 bytes."""


class Holding:
    """Which cells of a run hold their episodes, in the order in which they were read.

    Parameters
    ----------
    most : int
        Steps that are held.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most, self._steps = most, 0
        self._held: list[tuple[ref[Any], str, int]] = []

    def add(self, cell: Any, name: str, steps: int) -> None:
        """Note that a cell has read an attribute of so many steps; let go of the last cell's.

        Commands go through all cells again and again: to let go of the first ones would be to let
        go of each before it is asked for.
        """
        self._steps += steps
        while self._steps > self._most and self._held and self._held[-1][0]() is not cell:
            last, attribute, gone = self._held.pop()
            self._steps -= gone
            if (other := last()) is not None:
                other.__dict__.pop(attribute, None)
        self._held.append((ref(cell), name, steps))


def held(read: Callable[[Any], T]) -> cached_property[T]:
    """Return an attribute of a `RunCell` that is computed once, and again if it was let go.

    It is for what grows with the cell's steps.

    Examples
    --------
    >>> class Cell:
    ...     holding, steps = Holding(most=5), 3
    ...     def __init__(self, name):
    ...         self.name = name
    ...     @held
    ...     def played(self):
    ...         print("read", self.name)
    ...         return self.name
    >>> a, b = Cell("a"), Cell("b")
    >>> a.played + a.played + b.played + b.played + a.played
    read a
    read b
    read a
    'aabba'
    """

    @wraps(read)
    def noted(cell: Any) -> T:
        value = read(cell)
        cell.holding.add(cell, read.__name__, cell.steps)
        return value

    return cached_property(noted)
