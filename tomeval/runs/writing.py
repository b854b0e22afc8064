"""Write the store of a run: one process appends to files of its own (`tomeval.runs.store`)."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.files import replacing
from tomeval.runs.calls import pack_calls
from tomeval.runs.domain import Domain
from tomeval.runs.index import FORMAT, NOT_OVER, Place
from tomeval.runs.lines import Appended, Line, encode, end_of_lines, read_lines
from tomeval.runs.record import Record
from tomeval.runs.signed import read_signed
from tomeval.runs.store import REPLY, Store

logger = logging.getLogger(__name__)

SPARE = 1 << 24
"""Bytes of replies to episodes that are over, beyond which a file of replies is written anew."""


class WritableStore(Store):
    """The store of a run, open for writing.

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

    changing = True

    def __init__(self, folder: Path, domain: Domain, part: str = "") -> None:
        self.folder, self.part, self.domain = folder, part, domain
        self.path = folder / f"episodes{part}.jsonl"
        self._torn_at: int | None = None
        experiment = read_signed(folder / "experiment.json")
        self._open_files(folder, experiment)
        said = self._experiment.get("domain", domain.name)
        if said != domain.name:
            raise TomevalError(
                f"{folder}: holds a run of the domain {said!r}, but the experiment is of "
                f"{domain.name!r}; nothing was changed. Choose another folder with --out"
            )
        if self.path in self._wrong:
            self._put_aside(self._wrong[self.path])
        if self.path not in self._files:
            self._files.append(self.path)
        self._own = self._files.index(self.path)
        if self._own not in self._seeds:
            self._refuse_lost(part)
        self._file, self._log, self._kept = (
            Appended(self.path.with_name(f"{name}{part}.jsonl{ending}"))
            for name, ending in (("episodes", ""), ("calls", ".gz"), ("replies", ""))
        )
        if self._torn_at is not None:
            self._file.cut(self._torn_at)
        self._kept.cut(end_of_lines(self._kept.path))
        self._stale = self._kept.size

    def _torn(self, path: Path, line: Line) -> None:
        if path == self.path:
            logger.warning("%s: ends within a line, whose episode is played again", path)
            self._torn_at = line.offset

    def _put_aside(self, lines: Sequence[Line]) -> None:
        """Write the file without lines that are not what was written, which are kept beside it."""
        data = self.path.read_bytes()
        aside = Appended(self.path.with_name(f"{self.path.name}.damaged"))
        aside.append(b"".join(data[line.offset : line.offset + line.size] for line in lines))
        aside.close()
        start, kept = 0, []
        for line in lines:
            kept.append(data[start : line.offset])
            start = line.offset + line.size
        with replacing(self.path, own=True) as draft:
            draft.write_bytes(b"".join([*kept, data[start:]]))
        logger.warning("%s: these lines are kept as %s", self.path, aside.path.name)
        super().close()
        self._open_files(self.folder, self._experiment)

    def close(self) -> None:
        """Close its files; what was kept for unfinished episodes goes if there are none."""
        super().close()
        if not self._has_unfinished():
            self._kept.cut(0)
        for file in (self._file, self._log, self._kept):
            file.close()
            if not file.size:
                file.path.unlink(missing_ok=True)

    def _has_unfinished(self) -> bool:
        """Tell whether the own file has replies of an episode that is not over."""
        lines = read_lines(self._kept.path, self._seeds.get(self._own, 1))
        heads = (REPLY.match(line.body) for line in lines if line.body)
        return any((int(head[1]), int(head[2])) in self.replies for head in heads if head)

    def begin(self, identity: Mapping[str, Any], sha256: str) -> None:
        """Begin the file of this process, if it is not begun, once the experiment's file stands."""
        self._experiment = {"sha256": sha256, "domain": self.domain.name, **identity}
        self.__dict__.pop("_cells", None)
        if self._own not in self._seeds:
            head = {"tomeval": FORMAT, "experiment": sha256, "name": identity["name"]}
            line = encode(head | {"domain": self.domain.name})
            self._file.cut(0)
            self._file.append(line)
            self._seeds[self._own] = zlib.crc32(line[9:-1])

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
            self._index.setdefault(cell, {})[episode] = place
            # The replies to a failed episode serve the next attempt.
            if place.status not in NOT_OVER:
                self.replies.pop((cell, episode), None)
        self._summaries.pop(cell, None)
        self._recent = None
        self._held.clear()
        if not self.replies and self._kept.size:
            self._kept.cut(0)

    def check_revision(self, model: str, revision: str) -> None:
        """Note the revision of a model; refuse another one, unless the first was unknown."""
        before = self.revisions().get(model)
        if before not in (None, "", revision):
            raise TomevalError(
                f"{self.folder}: {model} was used at revision {before}, but is now "
                f"{revision or 'of unknown revision'}; use another folder"
            )
        if before != revision:
            self._note({"note": "revision", "model": model, "revision": revision})

    def note_stops(self, reasons: Mapping[int, str]) -> None:
        """Keep why cells play no more for now; an empty reason: the cell is tried again."""
        before = self.stops()
        changed = {cell: why for cell, why in reasons.items() if why != before.get(cell, "")}
        if changed:
            self._note({"note": "stopped", "cells": {str(c): why for c, why in changed.items()}})

    def note_until(self, said: Mapping[str, Any]) -> None:
        """Keep what is known of the condition that a run stops by; empty: it has none."""
        if said != self.until():
            self._note({"note": "until", "is": dict(said)})

    def _note(self, note: dict[str, Any]) -> None:
        self._file.append(encode(note, self._seeds[self._own]))
        self._notes.append(note)

    def keep_reply(self, cell: int, episode: int, seat: str, request: str, reply: str) -> None:
        """Keep a reply of an episode that is not finished, so that it is never asked for again."""
        self.replies.setdefault((cell, episode), {})[seat, request] = reply
        data = {"cell": cell, "episode": episode, "seat": seat, "request": request, "reply": reply}
        self._kept.append(encode(data, self._seeds[self._own]))
        if self._kept.size > self._stale + SPARE:
            self._write_replies()

    def _write_replies(self) -> None:
        """Write the file of replies anew, with those of unfinished episodes alone."""
        lines = [
            encode(dict(zip(_KEPT, (*key, *which, reply), strict=True)), self._seeds[self._own])
            for key, mine in self.replies.items()
            for which, reply in mine.items()
        ]
        with replacing(self._kept.path, own=True) as draft:
            draft.write_bytes(b"".join(lines))
        self._kept.close()
        self._kept = Appended(self._kept.path)
        self._stale = self._kept.size


_KEPT = ("cell", "episode", "seat", "request", "reply")
