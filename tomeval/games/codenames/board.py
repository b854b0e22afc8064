"""What is dealt: words on a board and the colour of each, as bit masks for speed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

RED, BLUE, NEUTRAL, ASSASSIN = range(4)
COLOURS = ("red", "blue", "neutral", "assassin")
"""Colours by number; the first two are also the numbers of the teams."""


@lru_cache(maxsize=65536)
def members(mask: int) -> tuple[int, ...]:
    """Return the places of a mask's bits, lowest first.

    Examples
    --------
    >>> members(0b1101)
    (0, 2, 3)
    """
    return tuple(place for place in range(mask.bit_length()) if mask >> place & 1)


@dataclass(frozen=True)
class Board:
    """Words in the order of the table, and their colours, by number.

    Examples
    --------
    >>> board = Board(("sea", "oak", "tax"), (RED, BLUE, ASSASSIN))
    >>> board.masks, board.full, board.place["tax"]
    ((1, 2, 0, 4), 7, 2)
    """

    words: tuple[str, ...]
    key: tuple[int, ...]

    @cached_property
    def _hash(self) -> int:
        return hash((self.words, self.key))

    def __hash__(self) -> int:
        # Kept, since states are looked up by it all the time.
        return self._hash

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """The places of each colour, as bits."""
        masks = [0] * len(COLOURS)
        for place, colour in enumerate(self.key):
            masks[colour] |= 1 << place
        return tuple(masks)

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Where each word lies."""
        return {word: place for place, word in enumerate(self.words)}

    @property
    def full(self) -> int:
        """The mask of all words."""
        return (1 << len(self.words)) - 1

    def named(self, mask: int) -> tuple[str, ...]:
        """Return the words of a mask, in the order of the table."""
        return tuple(self.words[place] for place in members(mask))
