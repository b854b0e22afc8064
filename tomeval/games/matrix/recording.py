"""A log of matches that were played elsewhere as a run: rows checked, partners found, stored."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.outcomes import COMPLETE, VOID
from tomeval.core.resources import read_csv
from tomeval.games.matrix.experiment import game_data, labels_data, partners_data
from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.log_fields import UNKNOWN, WHO_PLAYED, CellError, Reading, Rows
from tomeval.games.matrix.optima import REFERENCES
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.played import ImpossibleError, attribute
from tomeval.games.matrix.steps import NONE
from tomeval.games.matrix.storing import RECORDED
from tomeval.report.facts import counted
from tomeval.runs.domain import get_domain
from tomeval.runs.record import Record
from tomeval.runs.recorded import Recorded, import_games

_Row = tuple[int, dict[str, str]]


@dataclass(eq=False)
class _Cell:
    """The rows of one subject in one task, with their lines, by match, and what they became."""

    definition: dict[str, Any]
    game: MatrixGame
    partners: PartnerSet | None
    rows: dict[str, list[_Row]] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)


def import_matches(
    path: Path, out: Path, reading: Reading, reference: str = "horizon"
) -> list[str]:
    """Make a run of the matches of a log in the folder `out`, which must not exist.

    Parameters
    ----------
    path : Path
        A CSV with a row per step, see docs/recorded.md. The steps of a match run 1, 2, ... (or
        0, 1, ...) without a gap, in order; other matches' rows may stand between them.
    reference : str
        What ΔFunctional is measured from.

    Returns
    -------
    list of str
        Lines for the user: what was read, and what was left out.

    Raises
    ------
    TomevalError
        With file, line, column, value and near match: what cannot be read, but for steps that are
        to be left out with their match; a match that no partner of its set can have played, if it
        is not to be left out; nothing left to score; a file that takes more memory than is allowed,
        see `tomeval.core.files`.
    """
    if reference not in REFERENCES:
        raise unknown("reference", reference, REFERENCES)

    def read() -> Recorded:
        if path.suffix.lower() in (".json", ".jsonl", ".ndjson", ".parquet"):
            raise TomevalError(
                f"{path}: is not a CSV file; pandas converts it: read_json(FILE), with lines=True "
                "for a row per line, or read_parquet(FILE), then .to_csv(OTHER, index=False)"
            )
        return _Reader(path, reading).read(reference)

    return import_games(get_domain("matrix"), read, out).notes


class _Reader:
    def __init__(self, path: Path, reading: Reading) -> None:
        self.path, self.reading = path, reading
        self.table = read_csv(path)
        self.fields = Rows(path, self.table.columns, reading)
        self.line = 0

    def read(self, reference: str) -> Recorded:
        """Read all matches as cells."""
        cells = dict[tuple[Any, ...], _Cell]()
        for line, row in self.table.rows:
            self.line = line
            try:
                if isinstance(row, str):
                    raise CellError("", "", row)
                self._place(row, cells)
            except CellError as error:
                # Never left out: its match, if it was the last step, would seem to be shorter.
                raise TomevalError(f"{self.path}, line {self.line}: {error}") from None
        if not cells:
            raise TomevalError(f"{self.path}: has a header but no steps")
        left_out: list[tuple[int, str]] = []
        for cell in cells.values():
            for name in list(cell.rows):
                try:
                    self._match(cell, name)
                except CellError as error:
                    if not self.reading.skip_bad:
                        raise TomevalError(f"{self.path}, line {self.line}: {error}") from None
                    many = counted(len(cell.rows.pop(name)), "row")
                    left_out.append((self.line, f"match {name!r} ({many}): {error}"))
        return self._recorded([cell for cell in cells.values() if cell.rows], left_out, reference)

    def _place(self, row: dict[str, str], cells: dict[tuple[Any, ...], _Cell]) -> None:
        """Put a row to its match."""
        subject, *conditions = self.fields.who(row)
        game = self.fields.game(row)
        partners = self.fields.partners(row, game)
        if not (name := self.fields.text(row, "episode")):
            raise CellError("", "", "episode is empty")
        key = (subject, *conditions, game.name, partners.name if partners else None)
        if key not in cells:
            definition = _definition(subject or self.path.name, game, partners, self.reading.labels)
            if conditions:
                definition["condition"] = ", ".join(conditions)
            cells[key] = _Cell(definition, game, partners)
        cells[key].rows.setdefault(name, []).append((self.line, row))

    # Matches

    def _match(self, cell: _Cell, name: str) -> None:
        """Add a match to the episodes of its cell; it is void from an invalid move on."""
        steps: list[tuple[Any, ...]] = []
        rows, first, status = cell.rows[name], 0, COMPLETE
        for number, (self.line, row) in enumerate(rows):
            step = self.fields.number(row)
            first = step if number == 0 else first
            if first not in (0, 1):
                raise CellError("", "", f"episode {name!r} starts at step {step}, not 1 (or 0)")
            if step != first + number:
                why = f"a gap in episode {name!r}: step {step} after step {first + number - 1}"
                raise CellError("", "", why)
            for who in WHO_PLAYED:
                if self.fields.text(row, who) != (began := self.fields.text(rows[0][1], who)):
                    why = f"differs from {began!r} at the start of {name!r}"
                    raise CellError(self.fields.columns[who], self.fields.text(row, who), why)
            steps.append(self.fields.step(cell.game, row))
            if steps[-1][0] == NONE:
                status = VOID
                break
        which, states = 0, [NONE] * len(steps)
        if cell.partners is not None:
            moves = np.array([step[:2] for step in steps], dtype=np.int64)
            try:
                posterior = attribute(
                    cell.partners.partners, cell.partners.weights, (moves[:, 0], moves[:, 1])
                )
            except ImpossibleError as error:
                self.line = rows[error.step][0]
                raise CellError("", "", _impossible(name, cell, steps, error.step)) from None
            which = int(posterior.weights.argmax())
            states = posterior.states[which].tolist()
        columns = _columns(cell.game, steps, states)
        own = {"partner": which}
        cell.records.append(Record(len(cell.records), status, len(steps), own, columns))

    # The run

    def _recorded(
        self, cells: list[_Cell], left_out: list[tuple[int, str]], reference: str
    ) -> Recorded:
        """Return the cells of a run, and lines on what was read and left out."""
        episodes = [record for cell in cells for record in cell.records]
        void = sum(record.status == VOID for record in episodes)
        matches = counted(len(episodes), "match", "matches") + f", {void:,} of them void" * (
            void > 0
        )
        steps = counted(sum(record.steps for record in episodes), "step")
        notes = [f"{self.path.name}: {matches}, {steps}, {counted(len(cells), 'cell')}"]
        if left_out:
            notes.append(f"left out: {counted(len(left_out), 'match', 'matches')}")
            notes += [f"  line {line}, {why}" for line, why in sorted(left_out)]
        for game in self.fields.indices:
            names = enumerate(game.label_set(self.reading.labels).own)
            said = ", ".join(f"{index}={label}" for index, label in names)
            notes.append(f"note: actions of {game.name} by index were read as {said}; see --value")
        if not cells:
            raise TomevalError("\n".join([f"{self.path}: no rows are left", *notes[1:]]))
        longest: dict[tuple[str, str], int] = {}
        for cell in cells:
            task = (cell.game.name, cell.definition["partners"]["name"])
            lengths = [record.steps for record in cell.records]
            longest[task] = max(longest.get(task, 0), *lengths)
        source = {
            "file": self.path.name,
            "sha256": hashlib.sha256(self.path.read_bytes()).hexdigest(),
        }
        made = []
        for cell in cells:
            cell.definition["matches"] = list(cell.rows)
            for name, column in zip(("participants", "seeds"), WHO_PLAYED, strict=True):
                texts = [self.fields.text(rows[0][1], column) for rows in cell.rows.values()]
                if all(texts):
                    cell.definition[name] = texts
            task = (cell.game.name, cell.definition["partners"]["name"])
            same = {"horizon": longest[task], "seed": 0, "reference": reference}
            same |= {"on_invalid": "void", "source": source}
            made.append((cell.definition | same, cell.records))
        return Recorded(made, notes)


def _impossible(name: str, cell: _Cell, steps: list[tuple[Any, ...]], at: int) -> str:
    assert cell.partners is not None
    return (
        f"episode {name!r}: {cell.partners.name!r} cannot have played action {steps[at][1]} in "
        f"step {at + 1} of the episode; was it another partner?"
    )


def _definition(
    subject: str, game: MatrixGame, partners: PartnerSet | None, labels: str | None
) -> dict[str, Any]:
    """Return what a cell is, complete enough to be measured again."""
    nobody = {"name": UNKNOWN, "weights": [], "tables": []}
    return {
        **{"subject": subject, "kind": RECORDED},
        **dict.fromkeys(("model", "strategy", "templates"), ""),
        "options": {},
        "game": game_data(game),
        "labels": labels_data(game.label_set(labels)),
        "partners": partners_data(partners) if partners else nobody,
    }


def _columns(
    game: MatrixGame, steps: list[tuple[Any, ...]], states: list[int]
) -> dict[str, list[Any]]:
    """Return the steps of a match, in the columns of `tomeval.games.matrix.storing.SCHEMA`."""
    own, partner, predicted, act, predict = map(list, zip(*steps, strict=True))
    unplayed = [None, None]
    rewards = [
        unplayed if mine == NONE else game.payoffs[mine, theirs].tolist()
        for mine, theirs in zip(own, partner, strict=True)
    ]
    return {
        "partner_state": states,
        "own_action": [None if action == NONE else action for action in own],
        "partner_action": partner,
        "own_reward": [reward[0] for reward in rewards],
        "partner_reward": [reward[1] for reward in rewards],
        "predicted_action": [None if action == NONE else action for action in predicted],
        "act_outcome": act,
        "predict_outcome": predict,
        # A record does not say how often it was asked.
        **{name: [0] * len(steps) for name in ("act_attempts", "predict_attempts", "told")},
    }
