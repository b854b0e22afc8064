"""The files of a run that hold lines: checked, and where each episode stands in them."""

from __future__ import annotations

import json
import logging
import os
import re
import weakref
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import from_json

from tomeval.core import files
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import FAILED
from tomeval.core.resources import read_text
from tomeval.runs.lines import Line, body_of, read_lines

logger = logging.getLogger(__name__)

EXPERIMENT = files.EXPERIMENT
FORMAT = 9
"""The version of the files."""

RESTORE = "restore the folder from a copy, or play the experiment into another one"

_EPISODE = re.compile(rb'\{"cell":(\d+),"episode":(\d+),"status":"(\w+)","steps":(\d+)[,}]')


class Damaged(TomevalError):
    """Something in a run folder is not what was written."""


class NothingPlayed(TomevalError):
    """A folder's run was stopped before it had begun."""


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


class Place(NamedTuple):
    """Where the line of an episode is, and what an index must know of it."""

    file: int
    offset: int
    size: int
    status: str
    steps: int


class Index:
    """The files ``episodes*.jsonl`` of a run folder, as they are at the first look.

    Parameters
    ----------
    folder : Path
    experiment : mapping
        What the experiment's file says; empty: whatever the heads of the files say.

    Raises
    ------
    TomevalError
        The head of a file is damaged, of another version or of another experiment; or two lines
        disagree about an episode. Any other damaged line is warned of.
    """

    def __init__(self, folder: Path, experiment: Mapping[str, Any]) -> None:
        self.folder = folder
        self._experiment = experiment
        self._files: list[Path] = []
        self._seeds: dict[int, int] = {}
        self._open: dict[int, int] = {}
        weakref.finalize(self, _close, self._open)
        self._index: dict[int, dict[int, Place]] = {}
        self._notes: list[dict[str, Any]] = []
        self._wrong: dict[Path, list[int]] = {}
        try:
            for path in filter(Path.is_file, sorted(self.folder.glob("episodes*.jsonl"))):
                self._read_file(path)
        except TomevalError:
            Index.close(self)
            raise
        for path, lines in self._wrong.items():
            logger.warning(
                "%s: %s not what was written: line %s%s; what stood there counts as not played: "
                "run the same experiment into the folder again to play it",
                *(path, "is" if len(lines) == 1 else "are", ", ".join(map(str, lines[:5]))),
                ", ..." * (len(lines) > 5),
            )

    def _read_file(self, path: Path) -> None:
        number = len(self._files)
        self._files.append(path)
        for line in read_lines(path):
            if line.number == 1:
                self._seeds[number] = self._read_head(path, line)
            elif line.torn:
                pass  # it is being written, or its writer was killed
            elif line.body is None:
                self._wrong.setdefault(path, []).append(line.number)
            elif (head := _EPISODE.match(line.body)) is None:
                self._notes.append(self._decode(path, line.body))
            else:
                place = Place(number, line.offset, len(line.text), head[3].decode(), int(head[4]))
                self._enter(int(head[1]), int(head[2]), place)
        if number not in self._seeds:
            raise Damaged(f"{path}: damaged, as it is empty; {RESTORE}")

    def _read_head(self, path: Path, line: Line) -> int:
        """Check the head of a file; return what its other lines' checksums begin with."""
        if line.body is None:
            raise Damaged(f"{path}: damaged, its first line is not what was written; {RESTORE}")
        head = self._decode(path, line.body)
        if (version := head.get("tomeval")) != FORMAT:
            older = "an earlier" if isinstance(version, int) and version < FORMAT else "another"
            raise TomevalError(
                f"{path}: written by {older} version of tomeval (format {version}, this one has "
                f"{FORMAT}); read it with that version, or play the experiment into another folder"
            )
        known = self._experiment.get("sha256", head.get("experiment"))
        if head.get("experiment") != known:
            raise TomevalError(
                f"{path}: is of the experiment {head.get('name')!r}, and {EXPERIMENT} of another "
                f"one, {self._experiment.get('name')!r}; put back the right one"
            )
        about = {"name": head.get("name"), "domain": head.get("domain"), "sha256": known}
        self._experiment = about | dict(self._experiment)
        return zlib.crc32(line.body)

    def _decode(self, path: Path, body: bytes) -> dict[str, Any]:
        try:
            data = _parse(body)
        except (ValueError, RecursionError) as error:
            raise Damaged(f"{path}: damaged, not readable ({error}); {RESTORE}") from None
        assert isinstance(data, dict), "the form of a line"
        return data

    def _enter(self, cell: int, episode: int, place: Place) -> None:
        """Enter where an episode is; what was over before must be the same."""
        mine = self._index.setdefault(cell, {})
        before = mine.get(episode)
        if before is not None and before.status != FAILED:  # which a later line may replace
            if place.status == FAILED:
                return
            one, other = (_content(self._data(p)) for p in (before, place))
            if one != other:
                where = " and ".join(self._files[p.file].name for p in (before, place))
                raise Damaged(
                    f"{self.folder}: episode {episode} of cell {cell} stands there twice, and "
                    f"differs (in {where}); leave one of the two out"
                )
            return
        mine[episode] = place

    def _data(self, place: Place) -> dict[str, Any]:
        """Return what the line of an episode holds."""
        path, line = self._files[place.file], self._line(place)
        if (body := body_of(line, self._seeds[place.file])) is None:
            raise Damaged(f"{path}: has changed while it was read; {RESTORE}")
        return self._decode(path, body)

    def _line(self, place: Place) -> bytes:
        """Return the line of an episode as it stands there now."""
        try:
            if place.file not in self._open:
                self._open[place.file] = os.open(self._files[place.file], os.O_RDONLY)
            return os.pread(self._open[place.file], place.size, place.offset)
        except OSError as error:
            path = self._files[place.file]
            raise TomevalError(f"{path}: cannot be read ({error.strerror or error})") from None

    def close(self) -> None:
        """Close its files."""
        _close(self._open)

    def damaged(self, why: object) -> Damaged:
        """Return the error for a store whose content cannot be trusted."""
        return Damaged(f"{self.folder}: damaged, not readable as a tomeval run ({why}); {RESTORE}")


def _parse(body: bytes) -> Any:
    """Return the JSON of a line; pydantic's parser takes a quarter of the time of Python's."""
    try:
        return from_json(body)
    except ValueError:  # half a pair of surrogates, or nested deeply
        return json.loads(body)


def _close(files: dict[int, int]) -> None:
    while files:
        os.close(files.popitem()[1])


def _content(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an episode without what its record says of the machine."""
    return {name: value for name, value in data.items() if name not in ("calls", "spent")}
