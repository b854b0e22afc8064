"""Where players of a game sit, and what an oracle may learn beyond its view."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tomeval.models.base import Model

Beliefs = Callable[..., tuple[float, float]]
"""Returns the two uniform numbers of what is stated in a step, from 1, of a question if there are
several."""


def chance_of_previews(step: int, question: str = "") -> tuple[float, float]:
    """Return the fixed numbers that previews use in place of chance."""
    return 0.5, 0.5


class Door:
    """What an oracle may learn beyond its view; the turn loop puts it there, and sees its use."""

    def __init__(self, beliefs: Beliefs = chance_of_previews) -> None:
        self._look: Callable[..., Awaitable[Any]] | None = None
        self.beliefs = beliefs
        self.used = False

    def set(self, look: Callable[..., Awaitable[Any]]) -> None:
        """Put the coming step behind the door."""
        self._look, self.used = look, False

    def hold(self, answer: Any) -> None:
        """Put one answer behind the door, whatever is asked."""

        async def look(*asked: Any) -> Any:
            return answer

        self.set(look)

    async def __call__(self, *asked: Any) -> Any:
        """Open it; what is asked is the game's own."""
        self.used = True
        if self._look is None:
            raise RuntimeError("the oracle's answer is not set yet")
        return await self._look(*asked)


@dataclass(frozen=True)
class Chair:
    """Where a player sits for one game.

    Attributes
    ----------
    seat : int
    rng : numpy.random.Generator
        The player's own generator; the only source of chance it may use.
    name : str
        Unique to seed, cell, episode and seat: seeds of requests derive from it.
    base : Path or None
        Folder that relative paths among the options start from.
    attempts : int
        How often the table asks until an answer is legal; 0: as often as the player's options say.
    """

    seat: int
    rng: np.random.Generator
    model: Model | None = None
    name: str = ""
    base: Path | None = None
    door: Door = field(default_factory=Door, repr=False)
    attempts: int = 0
