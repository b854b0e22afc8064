"""What a log of recorded matches holds once it is read: cells, matches, and what was left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tomeval.core.outcomes import COMPLETE, VOID
from tomeval.domains.matrix.attribution import Moves
from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.partners import PartnerSet
from tomeval.domains.matrix.played import IntArray

INVALID = "unparsable"
"""The outcome of an answer that a log calls invalid; it does not say in which way."""


class LogStep(NamedTuple):
    """One step: actions by index, -1 where there is none, and what became of the questions."""

    own: int
    partner: int
    predicted: int
    act: str
    predict: str


@dataclass(eq=False)
class Match:
    """One match: an episode. `lines` are those of its rows, `name` what the file calls it."""

    name: str
    participant: str  # who played it; empty: the file does not say
    seed: str  # matches of one seed and name met the same chance; empty: nobody says
    steps: list[LogStep] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    first: int = 1  # the number of its first step in the file
    status: str = COMPLETE
    which: int = 0  # the likeliest partner of its set; not read where the partner is unknown
    states: IntArray | None = None  # shape (T,): where that partner stood
    fault: tuple[int, str] | None = None  # the line and the reason for which it is left out

    @property
    def moves(self) -> Moves:
        """Actions of both sides."""
        table = np.array([step[:2] for step in self.steps], dtype=np.int64)
        return table[:, 0], table[:, 1]


@dataclass(eq=False)
class LogCell:
    """The matches of one subject in one task, by name, in the order of the file."""

    subject: str
    condition: str | None  # None: the log has no conditions
    game: MatrixGame
    partners: PartnerSet | None  # None: unknown
    matches: dict[str, Match] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Log:
    """A log that was read: what is left of it, and what was left out.

    `rows` is how many the file has, `unplayed` how many of them stand after an invalid move, `said`
    notes on how the file was read.
    """

    path: Path
    rows: int
    cells: list[LogCell]
    left_out: list[Match]
    unplayed: int
    said: list[str]

    def notes(self) -> list[str]:
        """Return what the log holds, in one line, and lines on what was left out and why."""
        matches = Counter(match.status for cell in self.cells for match in cell.matches.values())
        steps = sum(len(match.steps) for cell in self.cells for match in cell.matches.values())
        void = f", {matches[VOID]:,} of them void" if matches[VOID] else ""
        notes = [
            f"{self.path.name}: {counted(matches.total(), 'match', 'es')}{void}, "
            f"{counted(steps, 'step')}, {counted(len(self.cells), 'cell')}"
        ]
        if self.left_out:
            lost = sum(len(match.lines) for match in self.left_out)
            notes.append(
                f"left out: {counted(len(self.left_out), 'match', 'es')}, {lost:,} of "
                f"{counted(self.rows, 'row')} of {self.path.name}"
            )
        for match in self.left_out:
            assert match.fault is not None
            line, why = match.fault
            rows = counted(len(match.lines), "row")
            notes.append(f"  line {line}, match {match.name!r} ({rows}): {why}")
        if self.unplayed:
            notes.append(
                f"note: {counted(self.unplayed, 'row')} after an invalid move ignored: the match "
                "is void from there"
            )
        return notes + self.said


def counted(count: int, noun: str, plural: str = "s") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "match", "es"), counted(2, "match", "es")
    ('1 match', '2 matches')
    """
    return f"{count:,} {noun}{plural * (count != 1)}"
