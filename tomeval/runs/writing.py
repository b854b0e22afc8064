"""Write the store of a run: one process appends to files of its own (`tomeval.runs.store`)."""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.files import replacing
from tomeval.core.outcomes import FAILED
from tomeval.runs.domain import Domain
from tomeval.runs.lines import (
    EXPERIMENT,
    FORMAT,
    Appended,
    cannot_write,
    encode,
    pack_calls,
    read_lines,
    signed,
)
from tomeval.runs.record import Record
from tomeval.runs.store import REPLIES, Place, Store, beside, identity_sha256

logger = logging.getLogger(__name__)


class WritableStore(Store):
    """The store of a run, open for writing; `begin` comes first.

    Parameters
    ----------
    folder : Path
        Held by this process, see `tomeval.runs.folder.locked`.
    domain : Domain
        Of the run; its files are made if there are none.
    part : str
        What the names of its files end with, such as ``.3-of-16``; empty: it plays all.

    Raises
    ------
    TomevalError
        As for `Store`, but for a missing or damaged experiment; or the files cannot be written.
    """

    def __init__(self, folder: Path, domain: Domain, part: str = "") -> None:
        self.part, self.domain = part, domain
        self.path = folder / f"episodes{part}.jsonl"
        _repair(self.path)
        self._open_files(folder)
        if self.path not in self._files:
            self._files.append(self.path)
        self._own = self._files.index(self.path)
        self._opened: list[Appended] = []

    def begin(self, identity: Mapping[str, Any], wanted: int, apart: Container[int] = ()) -> int:
        """Begin it, or check that it holds the same experiment; write the experiment's file.

        Parameters
        ----------
        identity : mapping
            See `tomeval.runs.experiment.Experiment.identity`.
        wanted : int
            How many episodes a cell is to have.
        apart : container of int
            Cells that have other numbers, see `tomeval.runs.experiment.Experiment.apart`.

        Returns
        -------
        int
            How many episodes a cell is to have: `wanted`, or more if the folder holds more.
        """
        sha256 = identity_sha256(identity)
        if self.meta().get("sha256", sha256) != sha256:
            raise TomevalError(
                f"{self.folder}: holds another experiment "
                f"({differing_words(self.identity(), identity)}); nothing was changed. Choose "
                "another folder with --out"
            )
        done = {n: of for n in self.played_cells() if n not in apart and (of := self.finished(n))}
        most = max([wanted, *(of[-1] + 1 if self.part else len(of) for of in done.values())])
        most = max(most, self.planned() or 0) if self.part else most
        # First the experiment: no store stands without the file that says which one it is of.
        about = {"sha256": sha256, "domain": self.domain.name, "episodes": most}
        self._write_experiment(signed({**about, **identity}))
        if self._own not in self._seeds:
            head = {"tomeval": FORMAT, "experiment": sha256, "name": identity["name"]}
            line = encode(head | {"domain": self.domain.name})
            with replacing(self.path, own=True) as draft:
                draft.write_bytes(line)
            self._seeds[self._own] = zlib.crc32(line[9:-1])
        self._file = Appended(self.path)
        self._log = Appended(beside(self.path, "calls", ".gz"))
        self._opened = [self._file, self._log]
        for key, path in self._reply_files():
            if self.status(*key) not in (None, FAILED):  # is over; another part may play others
                path.unlink(missing_ok=True)
        return most

    def _write_experiment(self, whole: dict[str, Any]) -> None:
        path = self.folder / EXPERIMENT
        if self._experiment != whole:  # to lay out thousands of cells takes seconds
            if path.exists() and "cells" not in self._experiment:
                logger.warning("%s: was damaged; it is written again", path)
            with replacing(path, own=True, by=self.part) as draft:  # parts may write it at once
                draft.write_text(json.dumps(whole, indent=1), encoding="utf-8", newline="\n")
            self._experiment = whole
            for name in ("_cells", "public_names"):
                self.__dict__.pop(name, None)

    def close(self) -> None:
        """Close its files."""
        super().close()
        for file in self._opened:
            file.close()
        with suppress(OSError):  # unless it holds replies
            (self.folder / REPLIES).rmdir()

    def add(self, cell: int, records: Sequence[Record]) -> None:
        """Write finished episodes of a cell, in place of earlier, failed attempts at them."""
        lines, places, start = [], [], self._file.size
        for record in records:
            data = record.line(cell)
            if record.calls:
                member = pack_calls(cell, record.episode, record.calls)
                where = self._log.append(member)
                data["calls"] = [where, len(member), f"{zlib.crc32(member):08x}"]
            line = encode(data, self._seeds[self._own])
            place = Place(self._own, start, len(line), record.status, record.steps)
            places.append((record.episode, place))
            lines.append(line)
            start += len(line)
        self._file.append(b"".join(lines))
        for episode, place in places:
            # The replies to a failed episode serve the next attempt.
            if place.status != FAILED and self.replies.pop((cell, episode), {}):
                self._kept(cell, episode).unlink(missing_ok=True)
            self._index.setdefault(cell, {})[episode] = place
        self._summaries.pop(cell, None)
        self._recent = None
        self._held.clear()

    def check_revision(self, model: str, revision: str) -> None:
        """Note the revision of a model; refuse another one, unless the first was unknown."""
        before = self.revisions().get(self.public_names.get(model, model))
        if before not in (None, "", revision):
            raise TomevalError(
                f"{self.folder}: {model} was used at revision {before}, but is now "
                f"{revision or 'of unknown revision'}; use another folder"
            )
        if before != revision:
            self.note({"note": "revision", "model": model, "revision": revision})

    def note_stops(self, reasons: Mapping[int, str]) -> None:
        """Keep why cells play no more for now; an empty reason: the cell is tried again."""
        before = self.stops()
        changed = {cell: why for cell, why in reasons.items() if why != before.get(cell, "")}
        if changed:
            self.note({"note": "stopped", "cells": {str(c): why for c, why in changed.items()}})

    def note_until(self, said: Mapping[str, Any]) -> None:
        """Keep what is known of the condition that a run stops by; empty without a condition."""
        if said != self.until():
            self.note({"note": "until", "is": dict(said)})

    def note(self, note: dict[str, Any]) -> None:
        """Keep something that is said of the run, with its kind under the key ``note``."""
        self._file.append(encode(note, self._seeds[self._own]))
        self._notes.append(note)

    def keep_reply(self, cell: int, episode: int, seat: str, request: str, reply: str) -> None:
        """Keep a reply of an episode that is not finished, so that it is never asked for again."""
        self.replies.setdefault((cell, episode), {})[seat, request] = reply
        data = {"seat": seat, "request": request, "reply": reply}
        line = encode(data, self._seeds[self._own])
        path = self._kept(cell, episode)
        try:
            while True:
                path.parent.mkdir(exist_ok=True)
                with suppress(FileNotFoundError), path.open("ab") as file:  # another part ended
                    file.write(b"\n" + line)  # what was cut off before it ends there
                    return
        except OSError as error:
            raise cannot_write(path, error) from None

    def _kept(self, cell: int, episode: int) -> Path:
        """Return the file of the replies of an episode."""
        return self.folder / REPLIES / f"{cell}-{episode}.jsonl"


def _repair(path: Path) -> None:
    """Write a file without lines that are not what was written, which are kept beside it."""
    lines = read_lines(path) if path.exists() else ()
    wrong = [line for line in lines if line.body is None]
    if not wrong or wrong[0].number == 1:
        return
    if bad := b"".join(line.text for line in wrong if not line.torn):
        aside = Appended(path.with_name(f"{path.name}.damaged"))
        aside.append(bad)
        aside.close()
        logger.warning("%s: its damaged lines are kept as %s", path, aside.path.name)
    if wrong[-1].torn:
        logger.warning("%s: ends within a line, whose episode is played again", path)
    with replacing(path, own=True) as draft, draft.open("wb") as file:
        file.writelines(line.text for line in read_lines(path) if line.body is not None)


def differing_words(old: Any, new: Any, where: str = "") -> str:
    """Return in a few words where two JSON values first differ."""
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
