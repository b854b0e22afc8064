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
    """One match: an episode. `rows` are the numbers of its rows, `name` what the file calls it."""

    name: str
    participant: str = ""  # who played it; empty: the file does not say
    seed: str = ""  # matches of one seed and name met the same chance; empty: nobody says
    steps: list[LogStep] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    first: int = 1  # the number of its first step in the file
    status: str = COMPLETE
    which: int = 0  # the likeliest partner of its set; not read where the partner is unknown
    states: IntArray | None = None  # shape (T,): where that partner stood

    @property
    def moves(self) -> Moves:
        """Actions of both sides."""
        table = np.array([step[:2] for step in self.steps], dtype=np.int64)
        return table[:, 0], table[:, 1]


class CellKey(NamedTuple):
    """What tells cells apart."""

    subject: str
    condition: str
    model: str
    strategy: str
    game: str
    partners: str


@dataclass(eq=False)
class LogCell:
    """The matches of one subject in one task, in the order of the file."""

    key: CellKey
    game: MatrixGame
    partners: PartnerSet | None
    matches: list[Match] = field(default_factory=list)


class LeftOut(NamedTuple):
    """A match, or a row of none, that was left out: how many rows, and the first reason."""

    match: str
    rows: int
    row: int
    column: str
    value: str
    why: str


@dataclass(frozen=True, eq=False)
class Log:
    """A log that was read.

    Attributes
    ----------
    word : str
        What rows are called: "line" or "row".
    rows : int
        How many rows the file has.
    unplayed : int
        Rows after an invalid move, with which a match ends here.
    """

    path: Path
    word: str
    rows: int
    cells: list[LogCell]
    left_out: list[LeftOut]
    unplayed: int
    has_condition: bool

    def lines(self) -> list[str]:
        """Return what was left out and why, in lines for readers; none if nothing was."""
        lines = []
        if self.left_out:
            lost = sum(item.rows for item in self.left_out)
            matches = sum(item.match != "" for item in self.left_out)
            lines.append(
                f"left out: {matches:,} matches, {lost:,} of {self.rows:,} rows of {self.path.name}"
            )
        for match, rows, row, column, value, why in self.left_out:
            what = f"{column} {value!r} {why}" if column else why
            where = f"match {match!r} ({rows} rows)" if match else "row of no match"
            lines.append(f"  {self.word} {row}, {where}: {what}")
        if self.unplayed:
            lines.append(
                f"note: {self.unplayed:,} rows stand after an invalid move, with which a match is "
                "void"
            )
        names: dict[str, set[str]] = {}
        for cell in self.cells:
            names.setdefault(cell.key.subject.casefold(), set()).add(cell.key.subject)
        for alike in names.values():
            if len(alike) > 1:
                said = ", ".join(map(repr, sorted(alike)))
                lines.append(f"note: {said} differ in capitals only, and count as different")
        return lines


def describe(log: Log) -> str:
    """Say in one line what a log holds."""
    matches = Counter(match.status for cell in log.cells for match in cell.matches)
    steps = sum(len(match.steps) for cell in log.cells for match in cell.matches)
    void = f", {matches[VOID]:,} of them void" if matches[VOID] else ""
    return (
        f"{log.path.name}: {sum(matches.values()):,} matches{void}, {steps:,} steps, "
        f"{len(log.cells):,} cells"
    )
