"""Checksums of what a run keeps: rows of its store, the store's file, and the files beside it.

CRC-32 throughout. Damage is an accident here, not an adversary: CRC-32 finds every burst of up to
32 bits and all but one in four thousand million others, and reads a store at the speed of a disk.
"""

from __future__ import annotations

import json
import marshal
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

_CHUNK = 1 << 20
_ROWS = 1000
"""So many rows are turned into columns at once: more leave the processor's cache."""

_KEY = "crc32"

# What a column of each type gives back unchanged.
_KEPT: Mapping[str, set[type]] = {
    "INTEGER": {int, type(None)},
    "REAL": {float, type(None)},
    "TEXT": {str, type(None)},
    "BLOB": {bytes, type(None)},
}


def of_rows(rows: Sequence[tuple[Any, ...]]) -> int:
    """Return the checksum of rows as SQLite gives them, in order: numbers, texts, bytes, None.

    It is taken over their form in version 2 of `marshal`, which writes nothing but type, length and
    value and has been the same since Python 2.5; a test holds it to the byte.
    """
    return zlib.crc32(marshal.dumps(rows if isinstance(rows, list) else list(rows), 2))


def as_given(rows: Sequence[tuple[Any, ...]], kinds: Sequence[str]) -> bool:
    """Tell whether SQLite gives rows back as they are, for columns of these types.

    It makes 3.0 of an integer in a REAL column, 3 of 3.0 in an INTEGER one, 0.0 of -0.0, and NULL
    of NaN.
    """
    parts = (rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS))
    return all(_as_given(part, kinds) for part in parts)


def _as_given(rows: Sequence[tuple[Any, ...]], kinds: Sequence[str]) -> bool:
    for kind, column in zip(kinds, zip(*rows, strict=True), strict=False):
        types = set(map(type, column))
        if not types <= _KEPT.get(kind, set()):
            return False
        if float in types:
            numbers = np.array(column, dtype=np.float64)  # nan for None
            if np.isnan(numbers).sum() != column.count(None):
                return False
            if np.signbit(numbers[numbers == 0]).any():
                return False
    return True


def of_file(path: Path) -> int:
    """Return the checksum of a file's bytes."""
    found = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found = zlib.crc32(chunk, found)
    return found


def signed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object for a JSON file with its checksum, under the key ``crc32``."""
    return {**_bare(data), _KEY: _of_object(data)}


def holds(data: Mapping[str, Any]) -> bool:
    """Tell whether an object read from a JSON file is what was written; true without a checksum."""
    return _KEY not in data or data[_KEY] == _of_object(data)


def read_signed(path: Path) -> Any:
    """Return what a JSON file holds; None if it cannot be read or is not what was written."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    parts = found if isinstance(found, list) else [found]
    return found if all(isinstance(part, dict) and holds(part) for part in parts) else None


def _bare(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != _KEY}


def _of_object(data: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(_bare(data), sort_keys=True).encode()):08x}"
