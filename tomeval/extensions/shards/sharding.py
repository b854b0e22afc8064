"""Shards: one experiment played in parts, by processes that know nothing of each other.

Which shard an episode belongs to follows from its cell and number alone, so parts stay what they
are when an experiment gets more episodes. Episodes that are played in one batch stay together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tomeval.core.errors import TomevalError


@dataclass(frozen=True, order=True)
class Shard:
    """One of `count` parts of an experiment, see `tomeval.runs.runner.Part`; the first is 1.

    Examples
    --------
    >>> [Shard(number, 3).among(0, range(6)) for number in (1, 2, 3)]
    [[0, 3], [1, 4], [2, 5]]
    >>> Shard(1, 2).among(1, range(6), together=2)
    [2, 3]
    >>> Shard(3, 16).name
    'shard 3/16'
    """

    number: int
    count: int

    @property
    def name(self) -> str:
        """What the folder calls it, for good."""
        return f"shard {self}"

    @property
    def suffix(self) -> str:
        """What follows the experiment's name in that of its folder."""
        return f"-{self.number}-of-{self.count}"

    def among(self, cell: int, episodes: Iterable[int], together: int = 1) -> list[int]:
        """Return which episodes of a cell are of this shard.

        Parameters
        ----------
        cell : int
        episodes : iterable of int
        together : int
            How many episodes are played at once, see `Play.together`; 0 and 1: one.
        """
        size = max(1, together)
        mine = self.number - 1
        return [e for e in episodes if (cell + e // size) % self.count == mine]

    def then(self, folder: str) -> str:
        """Say which command merges the shards; whole if the folder is called as by default.

        Examples
        --------
        >>> Shard(3, 16).then("runs/grid-3-of-16")
        'next, once all shards are played: tomeval merge runs/grid-*-of-16 --out runs/grid'
        """
        whole = folder.removesuffix(self.suffix)
        if whole == folder or any(sign.isspace() or sign in "*?[]'\"\\$`" for sign in folder):
            return f"next: tomeval merge, once all {self.count:,} shards are played"
        these = f"{whole}-*-of-{self.count}"
        return f"next, once all shards are played: tomeval merge {these} --out {whole}"

    def __str__(self) -> str:
        """Return the shard as `parse_shard` reads it."""
        return f"{self.number}/{self.count}"


def parse_shard(text: str) -> Shard:
    """Read a shard such as ``3/16``.

    Raises
    ------
    TomevalError
        It is not a shard, or its number is out of range.

    Examples
    --------
    >>> parse_shard("3/16")
    Shard(number=3, count=16)
    """
    said = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", text)
    if said is None:
        raise TomevalError(f"shard {text!r}: write K/N, such as 3/16 for the third of 16 parts")
    shard = Shard(int(said[1]), int(said[2]))
    if not shard.count:
        raise TomevalError(f"shard {text!r}: there must be at least one part")
    if not 1 <= shard.number <= shard.count:
        raise TomevalError(
            f"shard {text!r}: the number is out of range; shards of {shard.count} are 1/"
            f"{shard.count} to {shard.count}/{shard.count}"
        )
    return shard


def shard_of(part: str) -> Shard | None:
    """Return the shard that a folder's part is, or None if it is not a shard.

    Examples
    --------
    >>> shard_of("shard 3/16"), shard_of("")
    (Shard(number=3, count=16), None)
    """
    kind, _, text = part.partition(" ")
    return parse_shard(text) if kind == "shard" else None


def missing_shards(present: Iterable[Shard | None]) -> list[Shard]:
    """Return the shards that are not there; none unless all that are there are parts of one split.

    Examples
    --------
    >>> missing_shards([Shard(1, 3), Shard(3, 3), None])
    [Shard(number=2, count=3)]
    >>> missing_shards([Shard(1, 3), Shard(1, 2)])
    []
    """
    there = {shard for shard in present if shard is not None}
    counts = {shard.count for shard in there}
    if len(counts) != 1:
        return []
    (count,) = counts
    return [s for n in range(1, count + 1) if (s := Shard(n, count)) not in there]
