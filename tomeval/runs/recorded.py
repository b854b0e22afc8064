"""Games that were played elsewhere, written as a run that every command reads."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.core.files import check_outside
from tomeval.runs.domain import Domain
from tomeval.runs.folder import add_session, locked
from tomeval.runs.record import Record
from tomeval.runs.writing import WritableStore


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
