"""What is looked up once for each object, and forgotten with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

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
