"""A run's folder: made or checked, held, found by its name, or written from games played elsewhere.

One process at a time writes a run folder, or a part of it: by a lock of the file system. Whether
a lock reaches other hosts depends on how a file system is mounted, and nothing tells; so
`tomeval.runs.lines.Appended` also notices when a file grows that it alone should write.
"""

from __future__ import annotations

import atexit
import difflib
import fcntl
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.core.files import check_outside
from tomeval.core.parts import named as named_parts
from tomeval.core.parts import part
from tomeval.core.resources import shipped_experiments
from tomeval.runs.domain import Domain
from tomeval.runs.lines import EXPERIMENT
from tomeval.runs.record import Record
from tomeval.runs.writing import WritableStore

DECIDING = ("tomeval", "numpy", "scipy", "nashpy", "torch", "transformers")
"""The libraries that can decide a number."""


def make_folder(folder: Path) -> None:
    """Make a run folder, or check that an existing one may be used."""
    if re.fullmatch(r"[A-Za-z][\w+.-]+:", folder.parts[0] if folder.parts else ""):
        raise TomevalError(
            f"{folder}: is an address, not a folder; play into a folder on this machine and copy "
            "it there, see docs/scaling.md"
        )
    check_outside(folder)
    if folder.exists() and not folder.is_dir():
        raise TomevalError(f"{folder}: is a file, not a run folder")
    if folder.is_dir() and not (folder / EXPERIMENT).exists():
        # A run that was killed at its very start leaves some of these files.
        names = {path.name for path in folder.iterdir()}
        others = [name for name in names if not _OURS.fullmatch(name)]
        if others:
            raise TomevalError(
                f"{folder}: is not empty and not a run folder (it holds {sorted(others)[0]!r}); "
                "choose another folder with --out"
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TomevalError(f"{folder}: cannot be created ({error.strerror})") from None


_OURS = re.compile(r"\.?(experiment|run|episodes|calls|replies)\b[\w.-]*")
"""Names of files of a run."""


@contextmanager
def locked(folder: Path, part: str = "") -> Iterator[None]:
    """Hold a run folder, or a part of it, inside the block.

    Parts, such as ``.3-of-16``, are held beside each other, but not beside the whole.

    Raises
    ------
    TomevalError
        Another process holds it, it cannot be written, or its file system has no locks.
    """
    own = folder / f"run{part}.lock"
    file = _take(own)
    try:
        for other in folder.glob("run*.lock"):
            if other != own and (not part or other.name == "run.lock"):
                _release(_take(other))
        os.ftruncate(file, 0)
        os.write(file, f"process {os.getpid()} on {platform.node()}".encode())
        yield
    finally:
        _release(file)


def _take(path: Path) -> int:
    """Return the open file, locked."""
    folder = path.parent
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise TomevalError(f"{folder}: cannot be written ({error.strerror or error})") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        who = path.read_text(encoding="utf-8", errors="replace")
        raise TomevalError(
            f"{folder}: another process is running in this folder{f' ({who})' if who else ''}; "
            "wait for it, stop it, or choose another folder with --out"
        ) from None
    except OSError as error:
        os.close(file)
        raise TomevalError(
            f"{folder}: the file system has no locks ({error.strerror or error}), so that two "
            "processes could write there at once; play on another disk with --out, and copy the "
            "folder when it is done"
        ) from None
    return file


def _release(file: int) -> None:
    with suppress(OSError):
        # Closing is not enough where a forked process has the file too.
        fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)


def located(folder: Path) -> Path:
    """Return the folder of a run: the path itself, or a copy of the shipped run of that name.

    A path that exists is never a name. Copies are made once, and live as long as the process.

    Raises
    ------
    TomevalError
        There is no such folder, or it is a file: says what may have been meant, and what takes it.
    """
    if folder.is_dir():
        return folder
    name, alone = folder.name, len(folder.parts) == 1
    if folder.exists():
        then = f"; `{_TAKES[folder.suffix]} {folder}` takes it" if folder.suffix in _TAKES else ""
        if (folder.parent / EXPERIMENT).exists():
            then = f"; name its folder: {folder.parent}"
        raise TomevalError(f"{folder}: is a file, not a run folder{then}")
    if alone and part("runs", name) is not None:
        return _copy(name)
    beside = [path.parent for path in folder.parent.glob(f"*/{EXPERIMENT}")]
    beside += [path.parent for path in Path("runs").glob(f"*/{EXPERIMENT}")]
    names = {path.name: str(path) for path in beside}
    names |= {one: f"the run {one!r}" for one in named_parts("runs") if alone}
    shipped = alone and name in shipped_experiments()
    then = f"`tomeval run {name if shipped else 'EXPERIMENT'}` makes one, under runs/"
    if near := difflib.get_close_matches(name, names, 1, cutoff=0.7):
        then = f"did you mean {names[near[0]]}?"
    raise TomevalError(f"{folder}: not a run folder (no such folder); {then}")


_TAKES = {".toml": "tomeval run", ".csv": "tomeval import", ".jsonl": "tomeval import"}
"""What takes a file that is no run folder, by how its name ends."""


@cache
def _copy(name: str) -> Path:
    copies = tempfile.mkdtemp(prefix="tomeval-")
    atexit.register(shutil.rmtree, copies, ignore_errors=True)
    part("runs", name)(Path(copies) / name)
    return Path(copies) / name


def add_session(store: WritableStore, stop_after_voids: int, episodes: int | None = None) -> None:
    """Note when and with which versions the run was started or resumed.

    And how many `episodes` a cell was to have, if it is played here: see `raised`.
    """
    installed = versions()
    session = {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": installed.pop("python"),
        "versions": installed,
        "stop_after_voids": stop_after_voids,
        **({"part": store.part} if store.part else {}),
        **({} if episodes is None else {"episodes": episodes}),
    }
    store.note({"note": "session", "is": session})


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that can decide a number."""
    known = {"python": platform.python_version()}
    for name in DECIDING:
        with suppress(metadata.PackageNotFoundError):
            known[name] = metadata.version(name)
    return known


def raised(sessions: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    """Return the numbers of episodes that a cell was to have, if a later session raised them.

    Whoever raised them could have looked at the run before; empty: nobody did. Parts of an
    experiment are played beside each other, so that each is looked at alone.
    """
    by_part: dict[str, list[int]] = {}
    for session in sessions:
        if "episodes" in session:
            by_part.setdefault(session.get("part", ""), []).append(session["episodes"])
    for counts in by_part.values():
        if any(later > earlier for earlier, later in pairwise(counts)):
            return tuple(number for number, _ in groupby(counts))
    return ()


class Recorded(NamedTuple):
    """Games that were played elsewhere, read for a run.

    Attributes
    ----------
    cells : list of (dict, list of Record)
        The definition of every cell, as `Cell.definition` has it, and its episodes.
    notes : list of str
        What was read and left out, in lines for the user.
    revisions : mapping of str to str
        The revision of every language model that is known, by its name.
    until : mapping
        The condition that they were stopped by, see `tomeval.runs.store.Store.until`.
    """

    cells: list[tuple[dict[str, Any], list[Record]]]
    notes: list[str]
    revisions: Mapping[str, str] = {}
    until: Mapping[str, Any] = {}


def import_games(domain: Domain, read: Callable[[], Recorded], out: Path) -> Recorded:
    """Read recorded games and write them as a run, which every command then reads.

    Parameters
    ----------
    read : callable
        Returns the games; it is called if the folder does not exist yet.
    out : Path
        The run folder, which must not exist. It appears when it is complete.

    Raises
    ------
    TomevalError
        The games cannot be read, or the folder exists or cannot be made.
    """
    check_outside(out)
    if out.exists():
        raise TomevalError(f"{out}: already exists; choose another folder with --out")
    recorded = read()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        try:
            with locked(draft):
                write_games(domain, draft, recorded, out.name)
            os.rename(draft, out)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise TomevalError(f"{out}: cannot be created ({error.strerror or error})") from None
    return recorded


def write_games(domain: Domain, folder: Path, recorded: Recorded, name: str = "") -> None:
    """Write recorded games into an empty folder, as a run of this name."""
    identity = {"name": name, "cells": [definition for definition, _ in recorded.cells]}
    store = WritableStore(folder, domain)
    try:
        store.begin(identity, 0)  # nothing remains to be played
        add_session(store, 0)
        for model, revision in recorded.revisions.items():
            store.check_revision(model, revision)
        for number, (_, records) in enumerate(recorded.cells):
            store.add(number, records)
        store.note_until(recorded.until)
    finally:
        store.close()
