"""Files of a run: its experiment, JSON lines with their checksums (CRC-32), the log of calls.

Files of lines only grow. A line is ``CRC JSON``: eight hexadecimal digits, a blank, an object. The
checksum of a file's first line, its head, is that of the text; the head's goes into all others.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import from_json

from tomeval.core.errors import TomevalError
from tomeval.core.files import EXPERIMENT as EXPERIMENT
from tomeval.core.resources import read_text

FORMAT = 9
"""The version of the files."""

RESTORE = "restore the folder from a copy, or play the experiment into another one"

_FORM = re.compile(rb"([0-9a-f]{8}) (\{.*\})\n", re.DOTALL)

SYNC = 1.0
"""Seconds after which what was written is made to outlive a power cut, and at the end."""


class Line(NamedTuple):
    """A line of a file: its number from 1, where it begins, its bytes, and its JSON.

    `body` is None if the line is not what was written; the last one is `torn` if it has no end.
    """

    number: int
    offset: int
    text: bytes
    body: bytes | None

    @property
    def torn(self) -> bool:
        """Whether it has no end: it is being written, or its writer was killed."""
        return not self.text.endswith(b"\n")


def encode(data: Any, seed: int = 0) -> bytes:
    r"""Return an object as a line; `seed` is the head's checksum.

    Examples
    --------
    >>> encode({"cell": 0})
    b'370f11ca {"cell":0}\n'
    """
    try:
        body = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half a pair of surrogates, which UTF-8 does not have
        body = json.dumps(data, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(body, seed), body)


def body_of(line: bytes, seed: int = 0) -> bytes | None:
    """Return the JSON of a line; None if it is not what was written."""
    form = _FORM.fullmatch(line)
    if form is None or int(form[1], 16) != zlib.crc32(form[2], seed):
        return None
    return form[2]


def decode(path: Path, body: bytes) -> dict[str, Any]:
    """Return the JSON of a line; pydantic's parser takes a quarter of the time of Python's.

    Raises
    ------
    TomevalError
        It is none, which its checksum did not tell.
    """
    try:
        try:
            data = from_json(body)
        except ValueError:  # half a pair of surrogates, or nested deeply
            data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise TomevalError(f"{path}: damaged, not readable ({error}); {RESTORE}") from None
    assert isinstance(data, dict), "the form of a line"
    return data


def signed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object for a JSON file with its checksum (CRC-32), under the key ``crc32``."""
    bare = {name: value for name, value in data.items() if name != "crc32"}
    return {**bare, "crc32": f"{zlib.crc32(json.dumps(bare, sort_keys=True).encode()):08x}"}


def read_experiment(folder: Path) -> dict[str, Any]:
    """Return what the file of a run's experiment holds; empty if it is not what was written."""
    try:
        data = json.loads(read_text(folder / EXPERIMENT))
    except (TomevalError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) and data == signed(data) else {}


def read_lines(path: Path, seed: int = 0) -> Iterator[Line]:
    """Yield the lines of a file: the head first, or with the `seed` of another file's head.

    Raises
    ------
    TomevalError
        It cannot be read.
    """
    headed, offset = not seed, 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                body = body_of(line, seed)
                yield Line(number, offset, line, body)
                if headed and number == 1 and body is not None:
                    seed = zlib.crc32(body)
                offset += len(line)
    except OSError as error:
        raise TomevalError(f"{path}: cannot be read ({error.strerror or error})") from None


class Appended:
    """A file that grows by whole pieces, or not at all, and by this process alone.

    Parameters
    ----------
    path : Path
        Made if it is missing.

    Raises
    ------
    TomevalError
        It cannot be opened or written, or another process writes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            self.size = os.fstat(self._file).st_size
        except OSError as error:
            raise cannot_write(self.path, error) from None
        self._synced = 0.0

    def append(self, data: bytes) -> int:
        """Write at the end; return where that was."""
        start = self.size
        try:
            if os.fstat(self._file).st_size != start:
                raise TomevalError(
                    f"{self.path}: another process writes it too; stop one of the two, and look at "
                    "the folder with tomeval status"
                )
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            self.size += len(data)
            if time.monotonic() - self._synced > SYNC:
                self._sync()
        except OSError as error:
            os.ftruncate(self._file, start)
            self.size = start
            raise cannot_write(self.path, error) from None
        return start

    def close(self) -> None:
        """Make what was written outlive a power cut, and close; an empty file goes."""
        try:
            self._sync()
            if not self.size:
                self.path.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(self.path, error) from None
        finally:
            os.close(self._file)

    def _sync(self) -> None:
        os.fsync(self._file)
        self._synced = time.monotonic()


def cannot_write(path: Path, error: OSError) -> TomevalError:
    """Return the error for a file that cannot be written."""
    why = f"cannot be written ({error.strerror or error})"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        why = "the disk is full; free some space and run the same command again"
    elif error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        why = "cannot be written; is the folder read-only?"
    return TomevalError(f"{path}: {why}")


Call = tuple[int, str, str, dict[str, Any]]
"""Step, seat, form and record of a model call."""


def pack_calls(cell: int, episode: int, calls: Sequence[Call]) -> bytes:
    """Return the calls of an episode as a gzip member: a line each."""
    lines = (
        {"cell": cell, "episode": episode, "step": step, "seat": seat, "form": form, "call": call}
        for step, seat, form, call in calls
    )
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    return gzip.compress(text.encode(), 6, mtime=0)


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
