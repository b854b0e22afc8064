"""The seal of a store: a line in a file beside it, which says how much the store must hold.

A damaged write-ahead log is read by SQLite as a shorter one, without an error: the last episodes
would be gone in silence. So the number of the last transaction stands in the store and in the seal.
When a session ends, the seal also gets size and checksum of the store's file: one that still has
them can be read without a look at its single rows.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import IO, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.runs import checksums

NAME = "run.seal"


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
        return checksums.of_file(store) == self.crc


def read_seal(folder: Path) -> Seal | None:
    """Return a folder's seal; None if there is none, or none that can be trusted."""
    try:
        line = (folder / NAME).read_bytes()
        commits, size, crc, _ = line.split()
        seal = Seal(int(commits), int(size), int(crc, 16))
    except (OSError, ValueError):
        return None
    return seal if seal.line() == line else None


class SealFile:
    """The seal of a store that is being written."""

    def __init__(self, store: Path) -> None:
        self._store, self._path = store, store.with_name(NAME)
        self._file: IO[bytes] | None = None

    def note(self, commits: int) -> None:
        """Note that a transaction has been committed."""
        self._write(Seal(commits))

    def close(self, commits: int) -> None:
        """Seal a store that has just been closed, unless a reader still holds its log."""
        try:
            if not _logged(self._store):
                size = self._store.stat().st_size
                self._write(Seal(commits, size, checksums.of_file(self._store)))
        finally:
            self.release()

    def release(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, seal: Seal) -> None:
        """Write in place, in one call: a kill must not tear the line."""
        try:
            if self._file is None:
                self._path.touch()
                self._file = self._path.open("r+b", buffering=0)
            self._file.seek(0)
            self._file.write(seal.line())
        except OSError as error:
            raise TomevalError(
                f"{self._path}: cannot be written ({error.strerror or error})"
            ) from None


def _logged(store: Path) -> bool:
    """Tell whether part of a store is in a log, or is to be taken back by a rollback journal."""
    for name in ("wal", "journal"):
        log = store.with_name(f"{store.name}-{name}")
        if log.exists():
            with log.open("rb") as file:
                if file.read(1) > b"\0":  # SQLite writes a zero over the head of a journal
                    return True
    return False
