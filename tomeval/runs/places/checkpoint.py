"""What an address held at one moment: the file that says which files belong together."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass

from tomeval.core.errors import TomevalError
from tomeval.runs import checksums

NAMED = re.compile(r"\d{6,}-[0-9a-f]{8}")
"""The names of folders that hold checkpoints: a number, and what no other process draws."""

_FORMAT = 1


@dataclass(frozen=True)
class Checkpoint:
    """What an address held at one moment.

    Attributes
    ----------
    generation : int
        How many there were before, and 1.
    name : str
        The folder that holds the files.
    commits : int
        Transactions of the store.
    files : mapping of str to (int, str)
        Size and CRC-32 of every file, by name.
    by, written : str
        Process and host; when, as ISO 8601.
    before : str
        The name of the one before; empty: this is the first.
    """

    generation: int
    name: str
    commits: int
    files: dict[str, tuple[int, str]]
    by: str
    written: str
    before: str = ""

    def text(self) -> bytes:
        """Return its file."""
        return json.dumps(checksums.signed({"format": _FORMAT, **asdict(self)}), indent=1).encode()


def parsed(data: bytes, where: str) -> Checkpoint | None:
    """Read the file of a checkpoint; None if it is damaged.

    Raises
    ------
    TomevalError
        A later tomeval has written it, or it names files outside of its folder.
    """
    try:
        found = json.loads(data)
        if not (isinstance(found, dict) and "crc32" in found and checksums.holds(found)):
            return None
        if found.pop("format") != _FORMAT:
            raise TomevalError(f"{where}: written by another version of tomeval")
        found.pop("crc32")
        files = {str(name): (int(size), str(crc)) for name, (size, crc) in found["files"].items()}
        read = Checkpoint(**{**found, "files": files})
    except (KeyError, TypeError, ValueError):
        return None
    if not (NAMED.fullmatch(read.name) and all(is_plain(name) for name in files)):
        raise TomevalError(f"{where}: names files outside of its folder; it is not used")
    return read


def is_plain(name: str) -> bool:
    """Tell whether a name is that of a file in its folder, and of none that is hidden."""
    return re.fullmatch(r"[\w-][\w.-]*", name) is not None
