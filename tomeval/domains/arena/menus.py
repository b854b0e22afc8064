"""Actions by number, for programs that choose a number: all that a seat can ever do in a game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.int8]
"""One entry per action: 1 if it is legal now."""


class Menu(NamedTuple):
    """The actions of one seat.

    Attributes
    ----------
    size : int
    action : callable
        Given the seat's view, the decision and a number from 0, returns the action, legal or not.
    legal : callable or None
        Given a view and a decision, tells which actions are legal, in their order; None: all are
        at all times.
    """

    size: int
    action: Callable[[Any, Any, int], Any]
    legal: Callable[[Any, Any], Any] | None = None

    def mask(self, view: Any, ask: Any) -> Mask:
        """Return which actions are legal; none if the seat is not due, where `ask` is None."""
        if ask is None or self.legal is None:
            return np.zeros(self.size, np.int8)
        return np.array(self.legal(view, ask), np.int8)


def listed(entries: Sequence[tuple[str, Any]]) -> Menu:
    """Return a menu of actions, each with the kind of decision that it is for."""
    return Menu(
        len(entries),
        lambda view, ask, index: entries[index][1],
        lambda view, ask: [
            kind == ask.kind and view.game.fault(view, ask, action) is None
            for kind, action in entries
        ],
    )
