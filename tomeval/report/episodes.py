"""What the episode browser reads: a summary of every episode, and the episodes in chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE
from tomeval.report.blocks import (
    Block,
    as_json,
    pack,
    pack_text,
    packed_calls,
    shortened,
)
from tomeval.report.facts import task_text
from tomeval.runs import tallies
from tomeval.runs.capabilities import Line
from tomeval.runs.cell import RunCell
from tomeval.runs.columns import heading
from tomeval.runs.results import Run

CALLS_BY_DEFAULT = 100_000
"""How many model calls a report holds unless the user says otherwise."""

_CHUNK = 400_000  # characters of JSON per chunk, about: opened within milliseconds


class _Row(NamedTuple):
    """An episode in the list; `drawn` is the text of the domain's own column."""

    episode: int
    status: str
    steps: int
    drawn: str


class Episodes:
    """The episodes of a run, packed for the page.

    Parameters
    ----------
    run : Run
    transcripts : int or None
        Number of episodes per cell whose prompts and replies are included, in order of their
        numbers; None: as many as `CALLS_BY_DEFAULT` calls allow, shared evenly among the cells, at
        least one each. The steps of all episodes are always included.
    reference : str, optional
        Overrides the cells' own.
    names : sequence of str, optional
        The measures that the list shows; default: the headline ones.

    Attributes
    ----------
    with_calls, included : int
        Episodes that made model calls, and those of them whose prompts and replies are included.
        Both are known before any chunk is made.
    """

    def __init__(
        self,
        run: Run,
        transcripts: int | None = None,
        reference: str | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self._run, self._reference = run, reference
        self._names = run.headline if names is None else names
        self._rows = {cell.number: self._read(cell) for cell in run.cells}
        self._calls = self._by_row(tallies.calls_by_episode(run.store, self._rows))
        self._invalid = self._by_row(tallies.invalid_by_episode(run.store, self._rows))
        talking = sum(any(counts) for counts in self._calls.values())
        share = CALLS_BY_DEFAULT // max(talking, 1)
        self._chosen = {number: self._choose(number, transcripts, share) for number in self._rows}
        self.with_calls = sum(count > 0 for counts in self._calls.values() for count in counts)
        self.included = sum(len(chosen) for chosen in self._chosen.values())
        self._places: dict[int, list[tuple[int, int]]] = {number: [] for number in self._rows}

    @property
    def total(self) -> int:
        """Number of episodes, of any status."""
        return sum(len(rows) for rows in self._rows.values())

    @property
    def steps(self) -> int:
        """Number of recorded steps."""
        return sum(row.steps for rows in self._rows.values() for row in rows)

    def counts(self, number: int) -> dict[str, int]:
        """Return a cell's episodes by status."""
        return Counter(row.status for row in self._rows[number])

    def blocks(self) -> Iterator[Block]:
        """Yield the chunks ``chunk-0``, ``chunk-1``, ..., then ``index``.

        Only one chunk is in memory at a time. The index refers to the chunks, so it comes last.
        """
        held: list[str] = []
        number = size = 0
        for cell, episode in self._packed():
            self._places[cell].append((number, len(held)))
            held.append(as_json(episode))
            size += len(held[-1])
            if size >= _CHUNK:
                yield pack_text(f"chunk-{number}", f"[{','.join(held)}]")
                number, size, held = number + 1, 0, []
        if held:
            yield pack_text(f"chunk-{number}", f"[{','.join(held)}]")
        yield pack("index", [self.summary(cell) for cell in self._run.cells])

    def _read(self, cell: RunCell) -> list[_Row]:
        """Return the rows of the list."""
        columns = ("episode", "status", "steps", *self._run.domain.read.schema.episodes)
        rows = []
        for row in self._run.store.read("episodes", columns, cell.number):
            episode, status, steps, *own = row
            drawn = cell.shown_episode(own)[0] if own else None
            rows.append(_Row(episode, status, steps, "" if drawn is None else str(drawn)))
        return rows

    def _by_row(self, found: Mapping[tuple[int, int], int]) -> dict[int, list[int]]:
        """Return counts of episodes by cell, in the order of its rows; 0 for what is not there."""
        return {
            number: [found.get((number, row.episode), 0) for row in rows]
            for number, rows in self._rows.items()
        }

    @property
    def drawn(self) -> str:
        """Heading of the domain's own column of an episode; empty if there is none."""
        return heading(next(iter(self._run.domain.read.schema.episodes), ""))

    def _choose(self, number: int, transcripts: int | None, left: int) -> set[int]:
        """Return the episodes of a cell whose calls are included: `left` calls by default."""
        asked = [
            (row.episode, count)
            for row, count in zip(self._rows[number], self._calls[number], strict=True)
            if count
        ]
        if transcripts is not None:
            return {episode for episode, _ in asked[:transcripts]}
        chosen: set[int] = set()
        for episode, count in asked:
            if chosen and count > left:
                break
            chosen.add(episode)
            left -= count
        return chosen

    def one(self, cell: RunCell, number: int) -> dict[str, Any]:
        """Return one episode in short form, with its ``calls``.

        Raises
        ------
        TomevalError
            The cell has no such episode.
        """
        if all(row.episode != number for row in self._rows[cell.number]):
            raise TomevalError(f"cell {cell.number} has no finished episode {number}")
        episode = self._lines(cell, number)
        calls = list(self._run.store.calls(cell.number, number))
        several = len({seat for _, seat, *_ in calls}) > 1
        episode["calls"] = packed_calls(calls, cell.number, several)
        return episode

    def _packed(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (cell, episode in short form) for all episodes, in order."""
        seats = tallies.seats(self._run.store)
        for cell in self._run.cells:
            for row in self._rows[cell.number]:
                episode = self._lines(cell, row.episode)
                if row.episode in self._chosen[cell.number]:
                    calls = self._run.store.calls(cell.number, row.episode)
                    several = seats[cell.number] > 1
                    episode["calls"] = packed_calls(calls, cell.number, several)
                yield cell.number, episode

    def _lines(self, cell: RunCell, episode: int) -> dict[str, Any]:
        """Return one episode without its calls."""
        return packed_lines(self._run.domain.show.lines(self._run, cell, episode))

    def summary(self, cell: RunCell) -> dict[str, Any]:
        """Return what the page knows of a cell before any chunk is opened."""
        rows, counts = self._rows[cell.number], self._calls[cell.number]
        values: dict[str, list[float | None]] = {}
        for name in self._names:
            totals = iter(cell.totals(name, self._reference).values.tolist())
            values[name] = [
                shortened(next(totals)) if row.status == COMPLETE else None for row in rows
            ]
        return {
            **heads(cell),
            "episode": [row.episode for row in rows],
            "drawn": [row.drawn for row in rows],
            "status": [row.status for row in rows],
            "steps": [row.steps for row in rows],
            "invalid": self._invalid[cell.number],
            "calls": counts if any(counts) else [],
            "chunk": [chunk for chunk, _ in self._places[cell.number]],
            "place": [block for _, block in self._places[cell.number]],
            "values": values,
        }


def heads(cell: RunCell) -> dict[str, Any]:
    """Return what names a cell in the list of cells."""
    return {"number": cell.number, "title": cell.title, "task": task_text(cell)}


def packed_lines(lines: Iterable[Line]) -> dict[str, Any]:
    """Return lines by their place: ``head``, by step in ``steps``, ``tail``.

    Examples
    --------
    >>> packed_lines([Line(0, "a game"), Line(1, "hid 2"), Line(1, "a hit"), Line(-1, "over")])
    {'head': ['a game'], 'steps': {1: ['hid 2', 'a hit']}, 'tail': ['over']}
    """
    head: list[str] = []
    tail: list[str] = []
    steps: dict[int, list[str]] = {}
    for step, text, *_ in lines:
        lines_of_step = head if step == 0 else tail if step < 0 else steps.setdefault(step, [])
        lines_of_step.append(text)
    return {"head": head, "steps": steps, "tail": tail}
