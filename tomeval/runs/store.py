"""The store of a run: a folder of JSON lines, one an episode, the same for every kind of game.

===================== ==========================================================================
`EXPERIMENT`          the experiment: its name, its cells, how many episodes a cell has
``episodes*.jsonl``   a head with the experiment's digest; then a line per finished episode, and
                      notes, such as the revision of a model
``calls*.jsonl.gz``   every model call, a gzip member per episode; its line says where it is
``replies/``          a file with the replies of each episode that is not finished
===================== ==========================================================================

A file has one writer (`tomeval.runs.writing`): that of a shard is named for it, such as
``episodes.3-of-16.jsonl``. Readers take all files of the folder. Each line has a checksum
(`tomeval.runs.lines`). Analysis reads nothing else.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import weakref
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE, FAILED, NOT_ASKED, VALID
from tomeval.models.naming import public_names, renamed
from tomeval.runs.domain import Domain, get_domain
from tomeval.runs.lines import (
    EXPERIMENT,
    FORMAT,
    RESTORE,
    Line,
    body_of,
    decode,
    read_calls,
    read_experiment,
    read_lines,
)
from tomeval.runs.record import Record, Spent, total

logger = logging.getLogger(__name__)

KEPT = 200_000
"""Steps of a cell whose records are kept until another cell is read."""

REPLIES = "replies"
"""The folder of kept replies."""


_EPISODE = re.compile(rb'\{"cell":(\d+),"episode":(\d+),"status":"(\w+)","steps":(\d+)[,}]')


class NothingPlayed(TomevalError):
    """A folder's run was stopped before it had begun."""


class Place(NamedTuple):
    """Where the line of an episode is, and what must be known of it at once."""

    file: int
    offset: int
    size: int
    status: str
    steps: int


class Summary(NamedTuple):
    """What a cell's episodes come to.

    Attributes
    ----------
    asked : dict of str to Counter
        How often what was asked, see `Record.counts`, by status of the episode.
    spent : dict of (str, bool) to Spent
        By seat and whether the episode failed.
    """

    asked: dict[str, Counter[tuple[str, str, str, int]]]
    spent: dict[tuple[str, bool], Spent]


def beside(path: Path, name: str, ending: str = "") -> Path:
    """Return the file ``NAME*.jsonl`` of the writer of a file ``episodes*.jsonl``."""
    return path.with_name(f"{name}{path.name.removeprefix('episodes')}{ending}")


def identity_sha256(identity: Mapping[str, Any]) -> str:
    """Return the hash of what makes an experiment itself: its name and its cells."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


class Store:
    """What a run folder holds, open for reading: as it was at the first look.

    Parameters
    ----------
    folder : Path

    Attributes
    ----------
    domain : Domain
    path : Path
        The experiment's file.

    Raises
    ------
    TomevalError
        There is no run; or its experiment or the head of a file is damaged, of another version or
        of another experiment; or two files disagree about an episode. Any other damaged line is
        warned of, and its episode counts as not played.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / EXPERIMENT
        self._open_files(folder)
        if not self._seeds:
            if self.path.exists() or any(folder.glob("run*.lock")):
                raise NothingPlayed(
                    f"{folder}: nothing was played yet, as the run was stopped at its start; run "
                    "the same experiment again"
                )
            held = sorted(path.parent.name for path in folder.glob(f"*/{EXPERIMENT}"))
            then = f"; it holds the runs {', '.join(held)}" if held else ""
            raise TomevalError(f"{folder}: not a run folder (no {EXPERIMENT} in it){then:.400}")
        if "cells" not in self._experiment:
            self.close()
            raise TomevalError(
                f"{self.path}: {'damaged' if self.path.exists() else 'missing'}; run the same "
                "experiment into the folder again to restore it"
            )
        self.domain: Domain = get_domain(str(self._experiment["domain"]), str(self.path))

    def _open_files(self, folder: Path) -> None:
        """Read which lines there are; where the experiment's file says nothing, heads say it."""
        self.folder = folder
        self._experiment = read_experiment(folder)
        self._files: list[Path] = []
        self._seeds: dict[int, int] = {}
        self._open: dict[int, int] = {}
        weakref.finalize(self, _close, self._open)
        self._index: dict[int, dict[int, Place]] = {}
        self._notes: list[dict[str, Any]] = []
        self._wrong: dict[Path, list[int]] = {}
        self._summaries: dict[int, Summary] = {}
        self._recent: tuple[int, list[Record]] | None = None
        self._held: dict[str, frozenset[int]] = {}
        try:
            for path in filter(Path.is_file, sorted(folder.glob("episodes*.jsonl"))):
                self._read_file(path)
        except TomevalError:
            Store.close(self)
            raise
        for path, lines in self._wrong.items():
            logger.warning(
                "%s: is not what was written: line %s%s; what stood there counts as not played: "
                "run the same experiment into the folder again to play it",
                *(path, ", ".join(map(str, lines[:5])), ", ..." * (len(lines) > 5)),
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
                self._notes.append(decode(path, line.body))
            else:
                place = Place(number, line.offset, len(line.text), head[3].decode(), int(head[4]))
                self._enter(int(head[1]), int(head[2]), place)
        if number not in self._seeds:
            raise TomevalError(f"{path}: damaged, as it is empty; {RESTORE}")

    def _read_head(self, path: Path, line: Line) -> int:
        """Check the head of a file; return what its other lines' checksums begin with."""
        if line.body is None:
            raise TomevalError(f"{path}: damaged, its head is not what was written; {RESTORE}")
        head = decode(path, line.body)
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
                raise TomevalError(
                    f"{self.folder}: episode {episode} of cell {cell} stands there twice, and "
                    f"differs (in {where}); leave one of the two out"
                )
            return
        mine[episode] = place

    def _data(self, place: Place) -> dict[str, Any]:
        """Return what the line of an episode holds."""
        path, line = self._files[place.file], self._line(place)
        if (body := body_of(line, self._seeds[place.file])) is None:
            raise TomevalError(f"{path}: has changed while it was read; {RESTORE}")
        return decode(path, body)

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

    def damaged(self, why: object) -> TomevalError:
        """Return the error for a store whose content cannot be trusted."""
        return TomevalError(
            f"{self.folder}: damaged, not readable as a tomeval run ({why}); {RESTORE}"
        )

    # The experiment

    def meta(self) -> dict[str, Any]:
        """Return name, domain and ``sha256`` of the experiment; empty if none was begun."""
        known = {name: self._experiment.get(name) for name in ("name", "domain", "sha256")}
        return known if self._seeds else {}

    def identity(self) -> dict[str, Any]:
        """Return what makes its experiment itself, see `Experiment.identity`."""
        return {name: self._experiment.get(name) for name in ("name", "cells")}

    @cached_property
    def _cells(self) -> list[tuple[int, dict[str, Any]]]:
        cells = self._experiment.get("cells")
        if identity_sha256(self.identity()) != self._experiment.get("sha256"):
            raise self.damaged("its cells differ from those it was started with")
        return list(enumerate(renamed(cells or [], self.public_names)))

    def cells(self) -> list[tuple[int, dict[str, Any]]]:
        """Return number and definition of every cell, with `public_names`; not to be changed."""
        return list(self._cells)

    @cached_property
    def public_names(self) -> dict[str, str]:
        """What is said in place of models' names that hold an address."""
        return public_names(self._experiment.get("cells") or ())

    def planned(self) -> int | None:
        """Return how many episodes a cell is to have."""
        count = self._experiment.get("episodes")
        return count if isinstance(count, int) else None

    def sessions(self) -> list[dict[str, Any]]:
        """Return when, how and with which versions the run was started or resumed, in order."""
        return [note["is"] for note in self._notes if note.get("note") == "session"]

    def revisions(self) -> dict[str, str]:
        """Return the revision of every model that was used, by public name; empty if unknown."""
        known: dict[str, str] = {}
        for note in self._notes:
            if note.get("note") == "revision":
                before = known.get(note["model"], "")
                if before and note["revision"] and note["revision"] != before:
                    raise TomevalError(
                        f"{self.folder}: {note['model']} was used at revision {before} and at "
                        f"{note['revision']}: these episodes are no sample of one player"
                    )
                known[note["model"]] = note["revision"] or before
        return {self.public_names.get(name, name): said for name, said in known.items()}

    def stops(self) -> dict[int, str]:
        """Return why cells were stopped, by number."""
        stops: dict[int, str] = {}
        for note in self._notes:
            if note.get("note") == "stopped":
                stops |= {int(cell): str(reason) for cell, reason in note["cells"].items()}
        return {cell: reason for cell, reason in stops.items() if reason}

    def until(self) -> dict[str, Any]:
        """Return what is known of the condition that the run stops by; empty without a condition.

        ``condition``, and by number ``cells`` with ``episodes``, how many each is to have, and why
        it was ``stopped``; see `tomeval.play.until.Looks`.
        """
        said: list[dict[str, Any]] = [n["is"] for n in self._notes if n.get("note") == "until"]
        return said[-1] if said else {}

    # Which episodes there are

    def statuses(self, cell: int) -> dict[int, str]:
        """Return how the episodes of a cell ended, by episode, in order."""
        mine = self._index.get(cell, {})
        return {episode: mine[episode].status for episode in sorted(mine)}

    def played_cells(self) -> list[int]:
        """Return the cells with any episode, in order."""
        return sorted(self._index)

    def lengths(self, cell: int) -> Iterator[tuple[str, int]]:
        """Yield status and number of steps of each episode of a cell."""
        return ((place.status, place.steps) for place in self._index.get(cell, {}).values())

    def episodes(self, cell: int, status: str = "") -> list[int]:
        """Return the stored episodes of a cell, in order; with a status those that have it."""
        return [e for e, how in self.statuses(cell).items() if status in ("", how)]

    def status(self, cell: int, episode: int) -> str | None:
        """Return how an episode ended; None if it is not stored."""
        place = self._index.get(cell, {}).get(episode)
        return None if place is None else place.status

    def finished(self, cell: int) -> list[int]:
        """Return the episodes of a cell that need not be played, in order; void ones included."""
        return [e for e, how in self.statuses(cell).items() if how != FAILED]

    # What was played

    def record(self, cell: int, episode: int) -> Record:
        """Return an episode."""
        return self._record(self._index[cell][episode])

    def _record(self, place: Place) -> Record:
        schema = self.domain.schema
        try:
            return Record.of_line(self._data(place), schema)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self.damaged(repr(error)) from None

    def records(self, cell: int, complete: bool = False) -> Iterator[Record]:
        """Yield the episodes of a cell, in order; `complete` ones alone if asked for."""
        every: Iterator[Record]
        if self._recent and self._recent[0] == cell:
            every = iter(self._recent[1])
        elif sum(place.steps for place in self._index.get(cell, {}).values()) <= KEPT:
            self._recent = cell, list(self._parsed(cell))
            every = iter(self._recent[1])
        else:
            every = self._parsed(cell)
        return (one for one in every if one.status == COMPLETE) if complete else every

    def _parsed(self, cell: int) -> Iterator[Record]:
        """Yield the episodes of a cell as they are read; with the last its summary is known."""
        known, asked = cell in self._summaries, dict[str, Counter[Any]]()
        spent: dict[tuple[str, bool], list[Any]] = {}
        for _, place in sorted(self._index.get(cell, {}).items()):
            record = self._record(place)
            if not known:
                counts = record.counts(self.domain.schema.asked)
                asked.setdefault(record.status, Counter()).update(counts)
                for seat, parts in record.spent.items():
                    spent.setdefault((seat, record.status == FAILED), []).append(parts)
            yield record
        if not known:
            totals = {key: total(parts) for key, parts in spent.items()}
            self._summaries[cell] = Summary(asked, totals)

    def cells_with(self, text: str) -> frozenset[int]:
        """Return the cells of which a line holds a text, such as ``"reactions":`` for a column.

        It is found without parsing, so that what only some runs have is soon looked up.
        """
        if text not in self._held:
            pattern = text.encode()
            self._held[text] = frozenset(
                cell
                for cell, mine in self._index.items()
                if any(pattern in self._line(place) for place in mine.values())
            )
        return self._held[text]

    def summary(self, cell: int) -> Summary:
        """Return what a cell's episodes come to."""
        if cell not in self._summaries:
            for _ in self.records(cell):
                pass
        return self._summaries[cell]

    def read(
        self,
        table: str,
        names: Sequence[str],
        cell: int,
        episode: int | None = None,
        complete: bool = False,
    ) -> Iterator[tuple[Any, ...]]:
        """Yield columns of a cell's episodes, steps or answers, in order.

        Parameters
        ----------
        table : {"episodes", "steps", "answers", "asked"}
            ``asked`` holds every question, that for a move included, and what became of it.
        names : sequence of str
            Columns; ``details/record/game`` is a value inside one.
        episode : int, optional
            Of this one alone.
        complete : bool
            Of complete episodes alone.
        """
        schema = self.domain.schema
        if episode is None:
            for record in self.records(cell, complete):
                yield from record.rows(table, names, schema)
        elif episode in self._index.get(cell, {}):
            record = self.record(cell, episode)
            if not complete or record.status == COMPLETE:
                yield from record.rows(table, names, schema)

    def last_unread(self, cell: int, episode: int) -> str:
        """Return the outcome of an episode's last answer that is not valid; empty: none."""
        said = self.record(cell, episode).asked(self.domain.schema.asked)
        bad = [(step, outcome) for step, _, _, outcome, _ in said if outcome not in _FINE]
        return max(bad, key=lambda one: one[0])[1] if bad else ""

    def calls(self, cell: int, episode: int) -> Iterator[tuple[int, str, str, dict[str, Any]]]:
        """Yield step, seat, form and record of every model call of an episode, in order."""
        place = self._index.get(cell, {}).get(episode)
        where = self._data(place).get("calls") if place else None
        if place is None or where is None:
            return iter(())
        path = beside(self._files[place.file], "calls", ".gz")
        try:
            return iter(read_calls(path, *where))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise TomevalError(
                f"{path}: damaged, the calls of episode {episode} of cell {cell} are not what was "
                f"written ({error}); {RESTORE}"
            ) from None

    @cached_property
    def replies(self) -> dict[tuple[int, int], dict[tuple[str, str], str]]:
        """The kept replies by episode that is not over, then by seat and request."""
        kept: dict[tuple[int, int], dict[tuple[str, str], str]] = {}
        for key, path in self._reply_files():
            if self.status(*key) in (None, FAILED):
                kept[key] = self._replies_of(path)
        return kept

    def _reply_files(self) -> Iterator[tuple[tuple[int, int], Path]]:
        for path in self.folder.glob(f"{REPLIES}/*.jsonl"):
            if named := re.fullmatch(r"(\d+)-(\d+)", path.stem):
                yield (int(named[1]), int(named[2])), path

    def _replies_of(self, path: Path) -> dict[tuple[str, str], str]:
        mine: dict[tuple[str, str], str] = {}
        for line in read_lines(path, next(iter(self._seeds.values()))):
            if line.body is not None:
                data = decode(path, line.body)
                mine[data["seat"], data["request"]] = data["reply"]
            elif line.text != b"\n" and not line.torn:
                said = "%s: line %d is not what was written; what it kept is asked for again"
                logger.warning(said, path, line.number)
        return mine

    def kept_replies(self, cell: int, episode: int, seat: str) -> dict[str, str]:
        """Return the kept replies to a seat of an unfinished episode, by request."""
        mine = self.replies.get((cell, episode), {})
        return {request: reply for (whose, request), reply in mine.items() if whose == seat}


_FINE = (VALID, NOT_ASKED)


def _close(files: dict[int, int]) -> None:
    while files:
        os.close(files.popitem()[1])


def _content(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an episode without what its record says of the machine."""
    return {name: value for name, value in data.items() if name not in ("calls", "spent")}
