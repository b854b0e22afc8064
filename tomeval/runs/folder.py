"""A run's folder: made or checked, locked, begun or resumed, with a list of its sessions."""

from __future__ import annotations

import atexit
import difflib
import json
import logging
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import filelock

from tomeval.core.errors import TomevalError
from tomeval.core.extensions import named as named_parts
from tomeval.core.extensions import part
from tomeval.core.files import check_outside, write_text
from tomeval.core.resources import shipped_experiments
from tomeval.runs.holder import HOLDER, LOCK, has_locks, holder_of, named, of_part
from tomeval.runs.index import EXPERIMENT
from tomeval.runs.signed import read_signed, signed
from tomeval.runs.store import identity_sha256
from tomeval.runs.writing import WritableStore

logger = logging.getLogger(__name__)

DECIDING = ("tomeval", "numpy", "scipy", "nashpy", "torch", "transformers")
"""The libraries that can decide a number."""

SESSIONS = "sessions.json"
EPISODES = "episodes"
"""The key of sessions for how many episodes a cell was to have."""
LIMIT = "limit"
"""The key of `EXPERIMENT` for the most episodes of any cell, where a run was limited."""


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


_OURS = re.compile(r"\.?(experiment|sessions|run|episodes|calls|replies)\b[\w.-]*")
"""Names of files of a run."""


def located(folder: Path) -> Path:
    """Return the folder of a run: the path itself, or a copy of the shipped run of that name.

    A path that exists is never a name. Copies are made once, and live as long as the process.

    Raises
    ------
    TomevalError
        There is no such folder, or it is a file: says what may have been meant, and what takes it.
    """
    if folder.exists():
        if folder.is_file():
            raise _a_file(folder)
        return folder
    if len(folder.parts) == 1 and part("runs", folder.name) is not None:
        return _copy(folder.name)
    raise _missing(folder)


def _a_file(path: Path) -> TomevalError:
    """Return the error for a file given as a run folder: what it is, and what takes it."""
    if (path.parent / EXPERIMENT).exists():
        said = f"is a file of a run, not a run folder; name its folder: {path.parent}"
    elif path.suffix == ".toml":
        said = f"is a TOML file, not a run folder; `tomeval run {path}` plays an experiment"
    elif path.suffix in (".csv", ".jsonl"):
        said = f"is a table, not a run folder; `tomeval import {path}` imports its games"
    else:
        said = "is a file, not a run folder"
    return TomevalError(f"{path}: {said}")


def _missing(folder: Path) -> TomevalError:
    """Return the error for a missing run folder, with what may have been meant."""
    name, said = folder.name, "not a run folder (no such folder)"
    played, alone = Path("runs") / name, len(folder.parts) == 1
    if alone and (played / EXPERIMENT).exists():
        return TomevalError(f"{folder}: {said}; did you mean {played}?")
    if alone and name in shipped_experiments():
        return TomevalError(
            f"{folder}: is an experiment, not a run folder; `tomeval run {name}` plays it, then "
            f"name {played}"
        )
    beside = [path.parent for path in folder.parent.glob(f"*/{EXPERIMENT}")]
    beside += [path.parent for path in Path("runs").glob(f"*/{EXPERIMENT}")]
    names = {path.name: str(path) for path in beside}
    names |= {one: f"the run {one!r}" for one in named_parts("runs") if alone}
    if near := difflib.get_close_matches(name, names, 1, cutoff=0.7):
        return TomevalError(f"{folder}: {said}; did you mean {names[near[0]]}?")
    return TomevalError(f"{folder}: {said}; `tomeval run EXPERIMENT` makes one, under runs/")


@cache
def _copy(name: str) -> Path:
    copies = tempfile.mkdtemp(prefix="tomeval-")
    atexit.register(shutil.rmtree, copies, ignore_errors=True)
    part("runs", name)(Path(copies) / name)
    return Path(copies) / name


@contextmanager
def locked(folder: Path, part: str = "") -> Iterator[None]:
    """Hold a run folder, or a part of it; refuse a second process and one that cannot be written.

    Parts, such as ``.3-of-16``, are held beside each other, but not beside the whole.
    """
    try:
        with _system_lock(folder / of_part(LOCK, part)) as locks, named(folder, part, locks):
            for other in _parts(folder):
                if "" in (part, other) and other != part and holder_of(folder, other).there:
                    raise _busy(folder, other)
            yield
    except filelock.Timeout:
        raise _busy(folder, part) from None
    except OSError as error:
        raise TomevalError(f"{folder}: cannot be written ({error.strerror or error})") from None


def _parts(folder: Path) -> list[str]:
    """Return the parts of a folder that processes have held; empty: the whole."""
    stem, ending = HOLDER.split(".")
    names = (path.name for path in folder.glob(f"{stem}*.{ending}"))
    return [name.removeprefix(stem).removesuffix(f".{ending}") for name in names]


def _busy(folder: Path, part: str) -> TomevalError:
    who = holder_of(folder, part).who
    return TomevalError(
        f"{folder}: another process is running in this folder{f' ({who})' if who else ''}; wait "
        "for it, stop it, or choose another folder with --out"
    )


@contextmanager
def _system_lock(path: Path) -> Iterator[bool]:
    """Hold a file by a lock of the system, where there are such locks; yield whether there are."""
    if not has_locks(path):
        logger.warning(
            "%s: the file system has no locks; only %s keeps other processes out", path, HOLDER
        )
        yield False
        return
    with filelock.FileLock(path, timeout=0):
        yield True


def begin_or_resume(
    store: WritableStore,
    folder: Path,
    identity: dict[str, Any],
    wanted: int,
    apart: Container[int] = (),
    limit: int | None = None,
) -> int:
    """Begin a new store, or check that it holds the same experiment; write `EXPERIMENT`.

    Returns how many episodes a cell is to have: `wanted`, or more if the folder holds more. A
    `limit` cuts both what is wanted and the cells' own numbers, and never what the folder holds.

    `identity` is `Experiment.identity`, `wanted` the number of episodes that a cell is to have, and
    `apart` are the cells that have other numbers, see `Experiment.apart`.
    """
    sha256 = identity_sha256(identity)
    if store.meta().get("sha256", sha256) != sha256:
        words = differing_words(store.identity(), identity)
        raise TomevalError(
            f"{folder}: holds another experiment ({words}); nothing was changed. "
            "Choose another folder with --out"
        )
    before = planned(folder) or 0
    finished = store.most_finished().items()
    counts = {n: last + 1 if store.part else count for n, (count, last) in finished}
    most = max([limited(wanted, limit), *(count for n, count in counts.items() if n not in apart)])
    most = max(most, before) if store.part else most
    limit = limit and max([limit, *counts.values()])
    # First the file: no store stands without the one that says which experiment it is of.
    write_experiment(folder, store.domain.name, identity, most, limit)
    store.begin(identity, sha256)
    return most


def limited(episodes: int, limit: int | None) -> int:
    """Return a number of episodes, at most `limit`."""
    return episodes if limit is None else min(episodes, limit)


def write_experiment(
    folder: Path,
    domain: str,
    identity: Mapping[str, Any],
    episodes: int | None,
    limit: int | None = None,
) -> None:
    """Write `EXPERIMENT`: its hash, for stores to be held to, and how many episodes a cell has.

    With a limit, no cell is to have more, also none with a number of its own.
    """
    path = folder / EXPERIMENT
    before = read_signed(path)
    if path.exists() and not isinstance(before, dict):
        logger.warning("%s: was damaged; it is written again", path)
    about = {"sha256": identity_sha256(identity), "domain": domain, "episodes": episodes}
    about |= {} if limit is None else {LIMIT: limit}
    whole = signed({**about, **identity})
    if before != whole:  # to lay out thousands of cells takes seconds
        write_text(path, json.dumps(whole, indent=1), own=True)


def planned(folder: Path, key: str = "episodes") -> int | None:
    """Return how many episodes a cell is to have, or its `LIMIT`; None if it does not say."""
    experiment = read_json(folder / EXPERIMENT)
    count = experiment.get(key) if isinstance(experiment, dict) else None
    return count if isinstance(count, int) else None


def read_list(path: Path) -> list[Any]:
    """Return a list that a run keeps beside its store; empty without the file.

    A damaged file is put aside, with a warning, so that a new one can be begun.
    """
    if not path.exists():
        return []
    kept = read_signed(path)
    if isinstance(kept, list):
        return kept
    aside = path.with_name(f"{path.name}.damaged")
    path.replace(aside)
    logger.warning("%s: damaged; it is kept as %s, and a new one is started", path, aside.name)
    return []


def read_json(path: Path) -> Any:
    """Return what a JSON file of a run holds; None without it or, with a warning, if damaged."""
    data = read_signed(path)
    if data is None and path.exists():
        logger.warning("%s: damaged; it is ignored", path)
    return data


def add_session(
    folder: Path, stop_after_voids: int, part: str = "", episodes: int | None = None
) -> None:
    """Note when, with which versions and from which commit the run was started or resumed.

    And how many `episodes` a cell was to have, if it is played here: see `raised`. Every part has
    a file of its own.
    """
    path = folder / of_part(SESSIONS, part)
    sessions = read_list(path)
    session = {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "versions": _installed(),
        "tomeval_commit": _commit(Path(__file__).parents[1]),
        "working_folder_commit": _commit(Path()),
        "stop_after_voids": stop_after_voids,
        **({} if episodes is None else {EPISODES: episodes}),
    }
    write_text(path, json.dumps([*sessions, signed(session)], indent=1), own=True)


def sessions_of(folder: Path) -> list[list[dict[str, Any]]]:
    """Return the sessions of a run folder, a list for each of its parts."""
    lists = map(read_json, sorted(folder.glob(SESSIONS.replace(".", "*."))))
    return [sessions for sessions in lists if isinstance(sessions, list)]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that can decide a number."""
    return {"python": platform.python_version(), **_installed()}


def _installed() -> dict[str, str]:
    known = {}
    for name in DECIDING:
        with suppress(metadata.PackageNotFoundError):
            known[name] = metadata.version(name)
    return known


def raised(folder: Path) -> tuple[int, ...]:
    """Return the numbers of episodes that a cell was to have, if a later session raised them.

    Whoever raised them could have looked at the run before; empty: nobody did. Parts of an
    experiment are played beside each other, so that each is looked at alone.
    """
    for sessions in sessions_of(folder):
        counts = [one[EPISODES] for one in sessions if isinstance(one.get(EPISODES), int)]
        if any(later > earlier for earlier, later in pairwise(counts)):
            return tuple(number for number, _ in groupby(counts))
    return ()


def differing_words(old: Any, new: Any, where: str = "") -> str:
    """Say in a few words where two JSON values first differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(k for k in new if k not in old)]:
            if old.get(key) != new.get(key):
                return differing_words(old.get(key), new.get(key), f"{where}.{key}".lstrip("."))
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return f"{len(old)} {where} there, {len(new)} here"
        for index, (a, b) in enumerate(zip(old, new, strict=True)):
            if a != b:
                return differing_words(a, b, f"{where}[{index}]")
    return f"{where} is {json.dumps(old)} there, {json.dumps(new)} here"


def _commit(folder: Path) -> str | None:
    """Return the git commit of a folder, with ``-dirty`` if files differ; None outside git."""
    command = ["git", "-C", str(folder), "describe", "--always", "--abbrev=40", "--dirty"]
    try:
        done = subprocess.run(
            [*command, "--exclude=*"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
