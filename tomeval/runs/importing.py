"""Make a run folder of games that were played elsewhere."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.runs.domain import Block, Domain
from tomeval.runs.folder import add_session, begin_or_resume, locked
from tomeval.runs.store import Store


class Recorded(NamedTuple):
    """Games that were played elsewhere, read for a run.

    Attributes
    ----------
    cells : list of (dict, Block)
        The definition of every cell, as `Cell.definition` has it, and its episodes.
    notes : list of str
        What was read and left out, in lines for the user.
    """

    cells: list[tuple[dict[str, Any], Block]]
    notes: list[str]


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
    if out.exists():
        raise TomevalError(f"{out}: exists already; choose another folder with --out")
    found = read()
    identity = {"name": out.name, "cells": [definition for definition, _ in found.cells]}
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        try:
            _write(domain, draft, identity, found)
            os.rename(draft, out)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise TomevalError(f"{out}: cannot be made ({error.strerror or error})") from None
    return found


def _write(domain: Domain, folder: Path, identity: dict[str, Any], found: Recorded) -> None:
    """Write the run."""
    with locked(folder):
        store = Store(folder, domain)
        try:
            begin_or_resume(store, folder, identity, 0)  # nothing remains to be played
            add_session(folder, 0)
            for number, (_, block) in enumerate(found.cells):
                store.add(number, block)
        finally:
            store.close()
