"""Checksums (CRC-32) of rows, of files and of objects in JSON files, and the seal of a store.

The seal is a line in a file beside the store. A damaged write-ahead log is read by SQLite as a
shorter one, without an error, so the number of the last transaction stands in the seal too. When a
session ends, the seal gets size and checksum of the store's file: one that still has them is whole.
"""

from __future__ import annotations

import json
import marshal
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from tomeval.core.errors import TomevalError

SEAL = "run.seal"
_CHUNK = 1 << 20
_KEY = "crc32"


def of_rows(rows: Sequence[tuple[Any, ...]]) -> int:
    """Return the checksum of rows as SQLite gives them, in order: numbers, texts, bytes, None.

    It is taken over their form in version 2 of `marshal`, which writes nothing but type, length and
    value and has been the same since Python 2.5; a test holds it to the byte.
    """
    return zlib.crc32(marshal.dumps(rows if isinstance(rows, list) else list(rows), 2))


def of_file(path: Path) -> int:
    """Return the checksum of a file's bytes."""
    crc = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
    return crc


def signed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object for a JSON file with its checksum, under the key ``crc32``."""
    return {**_bare(data), _KEY: _of_object(data)}


def holds(data: Mapping[str, Any]) -> bool:
    """Tell whether an object read from a JSON file is what was written; it has a checksum."""
    return data.get(_KEY) == _of_object(data)


def read_signed(path: Path) -> Any:
    """Return what a JSON file holds; None if it cannot be read or is not what was written."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    parts = data if isinstance(data, list) else [data]
    return data if all(isinstance(part, dict) and holds(part) for part in parts) else None


def _bare(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != _KEY}


def _of_object(data: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(_bare(data), sort_keys=True).encode()):08x}"


class Seal(NamedTuple):
    """What a seal says: the number of the last transaction; size and CRC-32 of a closed store.

    A size of 0 stands for a store that is being written, or was when its run was killed.
    """

    commits: int
    size: int = 0
    crc: int = 0

    def line(self) -> bytes:
        """Return the line as it is written; its length never changes."""
        text = f"{self.commits:016d} {self.size:016d} {self.crc:08x}"
        return f"{text} {zlib.crc32(text.encode()):08x}\n".encode()

    def fits(self, store: Path) -> bool:
        """Tell whether the store's file is as the last session left it."""
        if not self.size or _logged(store) or store.stat().st_size != self.size:
            return False
        return of_file(store) == self.crc


def read_seal(folder: Path) -> Seal | None:
    """Return a folder's seal; None if there is none, or none that can be trusted."""
    try:
        line = (folder / SEAL).read_bytes()
        commits, size, crc, _ = line.split()
        seal = Seal(int(commits), int(size), int(crc, 16))
    except (OSError, ValueError):
        return None
    return seal if seal.line() == line else None


class SealFile:
    """The seal of a store that is being written."""

    def __init__(self, store: Path) -> None:
        self._store, self._path = store, store.with_name(SEAL)
        self._file: IO[bytes] | None = None

    def note(self, seal: Seal) -> None:
        """Write in place, in one call: a kill must not tear the line."""
        try:
            if self._file is None:
                self._path.touch()
                self._file = self._path.open("r+b", buffering=0)
            self._file.seek(0)
            self._file.write(seal.line())
        except OSError as error:
            why = error.strerror or error
            raise TomevalError(f"{self._path}: cannot be written ({why})") from None

    def close(self, commits: int) -> None:
        """Seal a store that has just been closed, unless a reader still holds its log."""
        try:
            if not _logged(self._store):
                size = self._store.stat().st_size
                self.note(Seal(commits, size, of_file(self._store)))
        finally:
            if self._file is not None:
                self._file.close()
                self._file = None


def _logged(store: Path) -> bool:
    """Tell whether part of a store is in a log, or is to be taken back by a rollback journal."""
    for name in ("wal", "journal"):
        log = store.with_name(f"{store.name}-{name}")
        if log.exists():
            with log.open("rb") as file:
                if file.read(1) > b"\0":  # SQLite writes a zero over the head of a journal
                    return True
    return False
