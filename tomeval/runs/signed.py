"""JSON files of a run with a checksum (CRC-32) of their own, under the key ``crc32``."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.resources import read_text

_KEY = "crc32"


def signed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object for a JSON file with its checksum, under the key ``crc32``."""
    bare = {name: value for name, value in data.items() if name != _KEY}
    return {**bare, _KEY: f"{zlib.crc32(json.dumps(bare, sort_keys=True).encode()):08x}"}


def read_signed(path: Path) -> Any:
    """Return what a JSON file holds; None if it cannot be read or is not what was written."""
    try:
        data = json.loads(read_text(path))
    except (TomevalError, ValueError, RecursionError):
        return None
    parts = data if isinstance(data, list) else [data]
    sound = (isinstance(part, dict) and part.get(_KEY) == signed(part)[_KEY] for part in parts)
    return data if all(sound) else None
