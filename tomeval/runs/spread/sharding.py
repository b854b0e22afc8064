"""Shards: one experiment played in parts, by processes that know nothing of each other.

Which shard an episode belongs to follows from its cell and number alone, so parts stay what they
are when an experiment gets more episodes. Episodes that are played in one batch stay together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.runs.checksums import signed
from tomeval.runs.folder import read_json

SHARE = "shard.json"
"""The file of a run folder that says which shard it holds, and how many episodes that is."""


@dataclass(frozen=True, order=True)
class Shard:
    """One of `count` parts of an experiment; `number` counts from 1.

    Examples
    --------
    >>> [Shard(number, 3).among(0, range(6)) for number in (1, 2, 3)]
    [[0, 3], [1, 4], [2, 5]]
    >>> Shard(1, 2).among(1, range(6), together=2)
    [2, 3]
    """

    number: int
    count: int

    def among(self, cell: int, episodes: Iterable[int], together: int = 1) -> list[int]:
        """Return which episodes of a cell are of this shard.

        Parameters
        ----------
        cell : int
        episodes : iterable of int
        together : int
            How many episodes are played at once, see `tomeval.runs.domain.Domain.together`; 0 and
            1: one.
        """
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
        It is no shard, or its number is out of range.

    Examples
    --------
    >>> parse_shard("3/16")
    Shard(number=3, count=16)
    """
    found = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", text)
    if found is None:
        raise TomevalError(f"shard {text!r}: write K/N, such as 3/16 for the third of 16 parts")
    shard = Shard(int(found[1]), int(found[2]))
    if not shard.count:
        raise TomevalError(f"shard {text!r}: there must be at least one part")
    if not 1 <= shard.number <= shard.count:
        raise TomevalError(
            f"shard {text!r}: the number is out of range; shards of {shard.count} are 1/"
            f"{shard.count} to {shard.count}/{shard.count}"
        )
    return shard


class Share(NamedTuple):
    """A shard, and how many episodes of each cell it is to have."""

    shard: Shard
    wanted: Sequence[int]


def note_share(folder: Path, share: Share) -> None:
    """Write what the share of a run folder is, unless it says so already."""
    if share_of(folder) != share:
        data = signed({"shard": str(share.shard), "wanted": list(share.wanted)})
        write_text(folder / SHARE, json.dumps(data))


def share_of(folder: Path) -> Share | None:
    """Return the share of a run folder; None if it holds a whole run."""
    found = read_json(folder / SHARE)
    if not isinstance(found, dict):
        return None
    return Share(parse_shard(str(found["shard"])), list(found["wanted"]))
