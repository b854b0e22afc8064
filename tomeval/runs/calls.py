"""The log of model calls: a file of gzip members, one per episode, of JSON lines."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError

Call = tuple[int, str, str, dict[str, Any]]
"""Step, seat, form and record of a model call."""

_LEVEL = 6


def pack_calls(cell: int, episode: int, calls: Sequence[Call]) -> bytes:
    """Return the calls of an episode as a gzip member: a line each."""
    lines = (
        {"cell": cell, "episode": episode, "step": step, "seat": seat, "form": form, "call": call}
        for step, seat, form, call in calls
    )
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    return gzip.compress(text.encode(), _LEVEL, mtime=0)


def read_calls(path: Path, offset: int, size: int, checksum: str) -> list[Call]:
    """Return the calls of an episode, whose member begins at `offset`.

    Raises
    ------
    TomevalError
        The file cannot be read.
    ValueError, KeyError
        It is not what was written there.
    """
    try:
        with path.open("rb") as file:
            file.seek(offset)
            member = file.read(size)
    except OSError as error:
        raise TomevalError(f"{path}: cannot be read ({error.strerror or error})") from None
    if f"{zlib.crc32(member):08x}" != checksum:
        raise ValueError("its checksum is another one")
    try:
        lines = [json.loads(line) for line in gzip.decompress(member).splitlines()]
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(str(error)) from None
    return [(line["step"], line["seat"], line["form"], line["call"]) for line in lines]
