"""A folder may be for a part of an experiment only: it then says which, and how much that is."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.runs.checksums import signed
from tomeval.runs.folder import read_json
from tomeval.runs.store import STORE

PART = "part.json"


class Part(Protocol):
    """Says which episodes of an experiment one folder is to hold."""

    @property
    def name(self) -> str:
        """What the part is called, for good, such as ``shard 3/16``."""

    @property
    def suffix(self) -> str:
        """What follows the experiment's name in that of its folder, unless one is named."""

    def among(self, cell: int, episodes: Iterable[int], together: int = 1) -> list[int]:
        """Return which episodes of a cell are of this part; so many are played at once."""

    def then(self, folder: str) -> str:
        """Say in a line what to do with the folder once it is played."""


class Share(NamedTuple):
    """What a folder says of itself: the name of its part, and how many episodes of each cell."""

    part: str
    wanted: Sequence[int]


def note_share(folder: Path, share: Share) -> None:
    """Write what the share of a run folder is, unless it says so already."""
    if share_of(folder) != share:
        data = signed({"part": share.part, "wanted": list(share.wanted)})
        write_text(folder / PART, json.dumps(data))


def share_of(folder: Path) -> Share | None:
    """Return the share of a run folder; None if it holds a whole run."""
    said = read_json(folder / PART)
    return Share(str(said["part"]), list(said["wanted"])) if isinstance(said, dict) else None


def run_folders(given: Iterable[str | Path]) -> list[Path]:
    """Return the run folders that are meant: each given one, those in a folder, those of a pattern.

    Raises
    ------
    TomevalError
        A pattern or folder without a run folder.
    """
    folders: list[Path] = []
    for one in given:
        path = Path(one)
        if path.is_dir() and not (path / STORE).exists():
            inside = sorted(p.parent for p in path.glob(f"*/{STORE}"))
            folders += inside or [path]
        elif glob.has_magic(str(one)) and not path.exists():
            inside = sorted(p for p in map(Path, glob.glob(str(one))) if p.is_dir())
            if not inside:
                raise TomevalError(f"{one}: no folder has a name like this")
            folders += run_folders(inside)
        else:
            folders.append(path)
    return list({path.resolve(): path for path in folders}.values())
