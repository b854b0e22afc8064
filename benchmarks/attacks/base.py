"""What an attack reports: one row for each kind of thing that was tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HEADINGS = ("case", "tried", "survived", "lost", "told after, s", "note")


@dataclass(frozen=True)
class Row:
    """One kind of attack, and what became of it.

    `tried` counts attempts. `survived` counts those after which everything was right: equal rows,
    an answer that was read as meant, or one clear error where none can be given. `lost` counts
    those with a wrong number, a lost reply, a traceback or silence; the two need not add up to
    `tried` where an attempt proves nothing, and `note` then says why. `told` is the longest time
    until the user was told, in seconds; None where nobody waits.
    """

    case: str
    tried: int
    survived: int
    lost: int
    told: float | None = None
    note: str = ""

    def cells(self) -> list[str]:
        """Return the row as the texts of a table."""
        told = "" if self.told is None else f"{self.told:.1f}"
        counts = [f"{count:,}" for count in (self.tried, self.survived, self.lost)]
        return [self.case, *counts, told, self.note]


@dataclass(frozen=True)
class Attack:
    """One attack: what it does, and the function that does it.

    `play` gets a share of full size (1 for the page, less for a try), a seed and an empty folder.
    """

    title: str
    about: str
    play: Callable[[float, int, Path], list[Row]]


def scaled(count: int, size: float) -> int:
    """Return a number of attempts at this share of full size, at least one."""
    return max(1, round(count * size))
