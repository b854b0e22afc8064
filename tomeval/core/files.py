"""Write files whole or not at all: neither a kill nor a full disk leaves half of one.

What a command writes replaces an earlier output of its kind and no other file, and lies outside
run folders.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tomeval.core.errors import TomevalError, did_you_mean

EXPERIMENT = "experiment.json"
"""The file that makes a folder a run folder."""

_MARKS = {
    b"<!doctype html": b'content="tomeval',
    b"<?xml": b"<dc:title>tomeval",
    b"\x89PNG": b"Software\0tomeval",
    b"%PDF": b"/Creator (tomeval)",
}
"""How files of a kind begin, and what those hold that tomeval wrote."""

_SEEN = 1 << 16  # bytes at either end of a file that are looked at
_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:')


def check_ending(path: Path, form: str, endings: Mapping[str, str]) -> None:
    """Refuse to write a format into a file whose name says another one.

    Parameters
    ----------
    path : Path
    form : str
        What is to be written; empty: what the ending says.
    endings : mapping of str to str
        Which format each known ending, such as ``csv``, stands for.

    Raises
    ------
    TomevalError
        The ending is of another format, or is nearly that of one, or says none where it should.

    Examples
    --------
    >>> check_ending(Path("x.jsnl"), "jsonl", {"csv": "csv", "jsonl": "jsonl"})
    Traceback (most recent call last):
    tomeval.core.errors.TomevalError: -o x.jsnl: unknown ending 'jsnl' (did you mean 'jsonl'?)
    """
    ending = path.suffix[1:].lower()
    said = endings.get(ending, form)
    if form and said != form:
        raise TomevalError(f"-o {path}: the ending means {said}, but --format is {form}")
    if ending not in endings and (near := did_you_mean(ending, endings)):
        raise TomevalError(f"-o {path}: unknown ending {ending!r}{near}")
    if ending and ending not in endings and not form:
        known = ", ".join(endings)
        raise TomevalError(f"-o {path}: the ending must be {known}, or --format say what to write")


def check_outside(path: Path) -> None:
    """Refuse a place inside a run folder, which holds a run and nothing else."""
    for folder in Path(os.path.realpath(path)).parents:
        if os.path.lexists(folder / EXPERIMENT):
            raise TomevalError(f"{path}: lies inside the run folder {folder}; choose another place")


@contextmanager
def replacing(path: Path, *, own: bool = False, by: str = "") -> Iterator[Path]:
    """Give a draft to write, which replaces `path` if the block ends without an error.

    The draft lies beside `path`, in a folder that is made if needed; after an error it is removed.
    With `own` the file is one of a run folder; it is replaced whatever it holds. `by` tells writers
    of one file apart, each of which has a draft of its own.

    Raises
    ------
    TomevalError
        The draft cannot be written; or the file is there and is not an earlier output of this kind,
        or would lie inside a run folder.
    """
    if not path.name:  # "." and "/"
        raise TomevalError(f"{path}: cannot be written (is a folder)")
    taken = TomevalError(
        f"{path}: exists, and is not an earlier output of this kind; delete it, or choose another "
        "name"
    )
    target = path if own else Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name}{by}.new")
    try:
        before = "" if own else _there(target, path)
        if before is None:
            raise taken
        target.parent.mkdir(parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)  # it may be a link
        yield draft
        if before and before != _kind(draft):
            raise taken
        os.replace(draft, target)
    except OSError as error:
        raise TomevalError(f"{path}: cannot be written ({error.strerror or error})") from None
    except UnicodeEncodeError as error:
        text = error.object[error.start : error.end]
        raise TomevalError(f"{path}: cannot be written ({text!r} cannot be encoded)") from None
    finally:
        with suppress(OSError):
            draft.unlink()


def _there(target: Path, path: Path) -> str | None:
    """Return the `_kind` of the file that an output would replace; empty if nothing is lost."""
    check_outside(path)
    try:
        status = target.stat()
    except FileNotFoundError:
        return ""
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise TomevalError(f"{path}: cannot be written (is {what})")
    return _kind(target) if status.st_size else ""


def _kind(path: Path) -> str | None:
    """Return what outputs of a kind share: the mark, or the first three columns, keys or words.

    None if a file has neither, so that tomeval did not write it.
    """
    with path.open("rb") as file:
        head = file.read(_SEEN)
        file.seek(max(0, path.stat().st_size - _SEEN))
        tail = file.read()
    for begins, mark in _MARKS.items():
        if head.startswith(begins):
            return begins.decode("latin-1") if mark in head or mark in tail else None
    text = head.decode("utf-8-sig", errors="replace").lstrip()
    names = _KEY.findall(text) if text[:1] in ("[", "{") else re.split(r"[\s,;|]+", text)
    return re.sub(r"\d+", "0", " ".join(names[:3])) or None


def write_text(path: Path, text: str, *, own: bool = False) -> Path:
    """Replace a text file in one step, UTF-8 with plain line ends, and return its path."""
    with replacing(path, own=own) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")
    return path


def check_readable(path: Path) -> None:
    """Refuse a pipe, a device or a socket in place of a file: who reads it may wait for ever."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise TomevalError(f"{path}: cannot be read (is not a regular file)")
