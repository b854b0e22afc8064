"""Files at an address that fsspec knows, such as ``s3://bucket/run``."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.extras import need
from tomeval.core.text import in_line

PAUSES = (1.0, 4.0)
"""Seconds after which an operation that failed is tried again; then it has failed."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::[A-Za-z][A-Za-z0-9+.-]*)*://")
_COLLAPSED = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_SECRET = re.compile(r"(?i)key|secret|token|passw|credential|sig|account|username")
_HIDDEN = "***"
_BUCKETS = frozenset(("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oss", "oci", "tos", "hf"))
"""Protocols without folders, where to make one could mean to make a bucket."""

_T = TypeVar("_T")


def is_address(text: str | Path) -> bool:
    """Tell whether something is an address rather than a folder.

    Examples
    --------
    >>> [is_address(text) for text in ("s3://bucket/run", "runs/first", "C:/runs", "memory://a")]
    [True, False, False, True]
    """
    return isinstance(text, str) and _ADDRESS.match(text) is not None


def refuse_address(folder: Path, instead: str = "") -> None:
    """Raise if a folder was meant as an address: a path holds one slash where there were two."""
    if _COLLAPSED.fullmatch(folder.parts[0] if folder.parts else ""):
        known = "`tomeval run --out` takes addresses, and so do the commands that read a run"
        address = shown(str(folder).replace(":/", "://", 1))
        raise TomevalError(f"{address}: this needs a folder, not an address; {instead or known}")


def shown(address: str) -> str:
    """Return an address as it may be printed: without a user's password, and without a query.

    Examples
    --------
    >>> shown("sftp://me:pass@host/runs/a"), shown("https://host/run/?sig=abc")
    ('sftp://me@host/runs/a', 'https://host/run')
    >>> shown("simplecache::s3://bucket/run/")
    'simplecache::s3://bucket/run'
    """
    before, chain, last = address.rpartition("::")
    parts = urlsplit(last)
    who, at, host = parts.netloc.rpartition("@")
    netloc = f"{who.partition(':')[0]}{at}{host}"
    return before + chain + urlunsplit((parts.scheme, netloc, parts.path, "", "")).rstrip("/")


class Unreachable(TomevalError):
    """An address cannot be read or written."""


class Remote:
    """A folder at an address.

    Parameters
    ----------
    address : str

    Raises
    ------
    TomevalError
        The protocol is unknown, or a package that it needs is not installed.
    """

    def __init__(self, address: str) -> None:
        self.shown = shown(address)
        core = need("fsspec.core", "remote", "run folders at addresses")
        registry = need("fsspec.registry", "remote", "run folders at addresses")
        for protocol in address.partition("://")[0].split("::"):
            known = {*registry.known_implementations, *registry.registry}
            if protocol not in known:
                raise unknown("protocol", protocol, sorted(known), in_line(self.shown))
            try:
                registry.get_filesystem_class(protocol)
            except ImportError as error:
                raise TomevalError(
                    f"{in_line(self.shown)}: a package that {protocol} needs is not installed "
                    f"(fsspec says: {error})"
                ) from None
        self._secrets = set(_secrets(address))
        self._fs, root = self._tried(lambda: core.url_to_fs(address))
        self._root = root.rstrip("/")
        own = self._fs.protocol
        self._buckets = bool(_BUCKETS & {*((own,) if isinstance(own, str) else own)})
        options = getattr(self._fs, "storage_options", {})
        self._secrets |= {v for k, v in options.items() if isinstance(v, str) and _SECRET.search(k)}

    def read(self, name: str) -> bytes | None:
        """Return what a file holds; None if there is no such file."""

        def look() -> bytes | None:
            self._fs.invalidate_cache()
            try:
                return bytes(self._fs.cat_file(self._path(name)))
            except FileNotFoundError:
                return None

        return self._tried(look)

    def names(self) -> list[str]:
        """Return the names of files and folders; none if there is no such folder."""

        def look() -> list[str]:
            self._fs.invalidate_cache()
            try:
                found = self._fs.ls(self._root, detail=False)
            except FileNotFoundError:
                return []
            return sorted({str(path).rstrip("/").rpartition("/")[2] for path in found})

        return self._tried(look)

    def write(self, name: str, data: bytes) -> None:
        """Write a small file."""

        def put() -> None:
            self._make_parent(name)
            self._fs.pipe_file(self._path(name), data)

        self._tried(put)

    def put(self, source: Path, name: str) -> None:
        """Upload a file, and check how much of it is there."""

        def put() -> None:
            self._make_parent(name)
            self._fs.put_file(str(source), self._path(name))
            self._fs.invalidate_cache()
            there, here = self._fs.info(self._path(name))["size"], source.stat().st_size
            if there != here:
                raise OSError(f"{there} of {here} bytes of {source.name} are there")

        self._tried(put)

    def get(self, name: str, target: Path) -> None:
        """Download a file."""
        self._tried(lambda: self._fs.get_file(self._path(name), str(target)))

    def remove(self, name: str) -> None:
        """Delete a file or a folder; nothing if there is none."""

        def remove() -> None:
            self._fs.invalidate_cache()
            if self._fs.exists(self._path(name)):
                self._fs.rm(self._path(name), recursive=True)

        self._tried(remove)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _make_parent(self, name: str) -> None:
        """Make the folder of a file, where there are folders."""
        if not self._buckets:
            self._fs.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)

    def _tried(self, act: Callable[[], _T]) -> _T:
        """Do something, again after pauses if it fails."""
        for pause in (*PAUSES, None):
            try:
                return act()
            except Exception as error:  # noqa: BLE001 (every protocol raises its own)
                if pause is None or isinstance(error, PermissionError | NotImplementedError):
                    raise Unreachable(f"{in_line(self.shown)}: {self._said(error)}") from None
            time.sleep(pause)
        raise AssertionError("the last pause is None")

    def _said(self, error: Exception) -> str:
        """Return what an error says, in one line and without what is secret."""
        text = " ".join(str(error).split()) or type(error).__name__
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, _HIDDEN)
        return in_line(text)


def _secrets(address: str) -> Iterator[str]:
    """Yield what an address holds that must not be printed."""
    parts = urlsplit(address.rpartition("::")[2])
    password = parts.netloc.rpartition("@")[0].partition(":")[2]
    values = [password, unquote(password), parts.query]
    values += [value for _, value in parse_qsl(parts.query)]
    yield from filter(None, values)
