"""Actions by number, for programs that choose a number: all that a seat can ever do in a game."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.arena.game import Action, ArenaGame, Ask, View

Mask = NDArray[np.int8]
"""One entry per action: 1 if it is legal now."""


class Menu(ABC):
    """The actions of one seat.

    Attributes
    ----------
    size : int
    masked : bool
        Whether some actions are illegal at times.
    """

    size: int
    masked: bool = True

    @abstractmethod
    def action(self, view: View[Any], ask: Ask, index: int) -> Action:
        """Return an action by its number, legal or not."""

    @abstractmethod
    def mask(self, view: View[Any], ask: Ask | None) -> Mask:
        """Return which actions are legal; none if the seat is not due."""


class ListedMenu(Menu):
    """Actions that are listed, each for one kind of decision."""

    def __init__(self, entries: Sequence[tuple[str, Action]]) -> None:
        self.entries = tuple(entries)
        self.size = len(self.entries)

    def action(self, view: View[Any], ask: Ask, index: int) -> Action:
        """Return an action by its number."""
        return self.entries[index][1]

    def mask(self, view: View[Any], ask: Ask | None) -> Mask:
        """Return which actions are for this kind of decision, and legal."""
        found = np.zeros(self.size, np.int8)
        if ask is not None:
            for index, (kind, action) in enumerate(self.entries):
                if kind == ask.kind:
                    found[index] = view.game.fault(view, ask, action) is None
        return found


class AllocationMenu(Menu):
    """All ways to spread units over fields, in lexicographic order; each is always legal."""

    masked = False

    def __init__(self, fields: int, units: int) -> None:
        self.fields, self.units = fields, units
        self.size = math.comb(units + fields - 1, fields - 1)

    def action(self, view: View[Any], ask: Ask, index: int) -> Action:
        """Return an allocation by its number."""
        return self.allocation(index)

    def allocation(self, index: int) -> tuple[int, ...]:
        """Return an allocation by its number.

        Examples
        --------
        >>> menu = AllocationMenu(3, 2)
        >>> [menu.allocation(index) for index in range(menu.size)]
        [(0, 0, 2), (0, 1, 1), (0, 2, 0), (1, 0, 1), (1, 1, 0), (2, 0, 0)]
        """
        found, left = [], self.units
        for fields in range(self.fields - 1, 0, -1):
            units = 0
            while index >= (rest := math.comb(left - units + fields - 1, fields - 1)):
                index -= rest
                units += 1
            found.append(units)
            left -= units
        return (*found, left)

    def mask(self, view: View[Any], ask: Ask | None) -> Mask:
        """Raise: nothing is masked, and the mask could be very long."""
        raise NotImplementedError


class ClueMenu(Menu):
    """Every clue of the bank with every number: clue ``i`` with number ``n`` is at (i, n - 1)."""

    def __init__(self, clues: Sequence[str], most: int) -> None:
        self.clues, self.most = tuple(clues), most
        self.size = len(self.clues) * most

    def action(self, view: View[Any], ask: Ask, index: int) -> Action:
        """Return a clue with its number."""
        place, number = divmod(index, self.most)
        return self.clues[place], number + 1

    def mask(self, view: View[Any], ask: Ask | None) -> Mask:
        """Return which clues are legal beside the board, whatever the number."""
        found = np.zeros((len(self.clues), self.most), np.int8)
        if ask is not None:
            game: Any = view.game
            found[game.legal_clues(view.words)] = 1  # type: ignore[attr-defined]
        return found.ravel()


class GuessMenu(Menu):
    """The words of the board by place, then the pass."""

    def __init__(self, words: int) -> None:
        self.size = words + 1

    def action(self, view: Any, ask: Ask, index: int) -> Action:
        """Return a word of the board, or a pass."""
        return view.words[index] if index < self.size - 1 else None

    def mask(self, view: Any, ask: Ask | None) -> Mask:
        """Return which words are covered; passing is always legal."""
        found = np.zeros(self.size, np.int8)
        if ask is not None:
            found[-1] = 1
            found[:-1] = [word in view.covered for word in view.words]
        return found


def _ipd3(game: Any, seat: int) -> Menu:
    from tomeval.domains.arena.games.ipd3.states import OPPONENTS, PAIRS
    from tomeval.domains.arena.games.ipd3.talk import ACTS, sentence_of

    entries: list[tuple[str, Action]] = [("moves", pair) for pair in PAIRS]
    if game.rules.talk:
        acts = itertools.product(ACTS, ACTS)
        entries += [("talk", sentence_of(both, OPPONENTS[seat])) for both in acts]
    return ListedMenu(entries)


def _blotto(game: Any, seat: int) -> Menu:
    return AllocationMenu(game.fields, game.units)


def _codenames(game: Any, seat: int) -> Menu:
    if seat % 2:
        return GuessMenu(game.size)
    return ClueMenu(game.bank.clues, game.parameters.number)


def _mafia(game: Any, seat: int) -> Menu:
    from tomeval.domains.arena.games.mafia.talk import acts

    if game.rules.talk == "free":
        raise TomevalError(
            "games.mafia: talk is 'free', so what can be said has no list: give 'none' or 'acts'"
        )
    kinds = ("kill", "protect", "investigate", "vote")
    entries: list[tuple[str, Action]] = [(k, other) for k in kinds for other in range(game.seats)]
    if game.rules.talk == "acts":
        others = [other for other in range(game.seats) if other != seat]
        entries += [("act", act) for act in acts(others)]
    return ListedMenu(entries)


_MENUS: dict[str, Callable[[Any, int], Menu]] = {
    "ipd3": _ipd3,
    "blotto": _blotto,
    "codenames": _codenames,
    "mafia": _mafia,
}


def menu_of(game: ArenaGame[Any], seat: int) -> Menu:
    """Return the actions of a seat.

    Raises
    ------
    TomevalError
        A game without a list of them.
    """
    if game.name not in _MENUS:
        raise unknown("game with a list of actions", game.name, _MENUS)
    return _MENUS[game.name](game, seat)
