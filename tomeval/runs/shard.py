"""Shards: one experiment played in parts, by processes that know nothing of each other.

Which shard an episode belongs to follows from its cell and number alone, so parts stay what they
are when an experiment gets more episodes. Episodes that are played in one batch stay together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tomeval.core.errors import TomevalError


@dataclass(frozen=True)
class Shard:
    """One of `count` parts of an experiment; the first is 1.

    Examples
    --------
    >>> [Shard(number, 3).among(0, range(6)) for number in (1, 2, 3)]
    [[0, 3], [1, 4], [2, 5]]
    """

    number: int
    count: int

    @property
    def part(self) -> str:
        """What the names of its files end with."""
        return f".{self.number}-of-{self.count}"

    def among(self, cell: int, episodes: Iterable[int], together: int = 1) -> list[int]:
        """Return which episodes of a cell are of this shard; so many are played at once."""
        size = max(1, together)
        mine = self.number - 1
        return [e for e in episodes if (cell + e // size) % self.count == mine]

    def __str__(self) -> str:
        """Return the shard as `parse_shard` reads it."""
        return f"{self.number}/{self.count}"


def parse_shard(text: str) -> Shard:
    """Read a shard such as ``3/16``.

    Raises
    ------
    TomevalError
        It is not a shard, or its number is out of range.
    """
    said = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", text)
    if said is None:
        raise TomevalError(f"shard {text!r}: write K/N, such as 3/16 for the third of 16 parts")
    shard = Shard(int(said[1]), int(said[2]))
    if not 1 <= shard.number <= shard.count:
        raise TomevalError(f"shard {text!r}: the number is out of range, it counts from 1 to N")
    return shard
