"""Logs of matches that were played elsewhere: scored, or checked and stored as a run."""

from __future__ import annotations

import hashlib
import logging
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tomeval.api.opened import Run
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE, VOID
from tomeval.core.resources import read_csv
from tomeval.games.matrix.experiment import game_data, partners_data
from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.log_fields import UNKNOWN, WHO_PLAYED, CellError, Reading, Rows
from tomeval.games.matrix.optima import REFERENCES
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.played import fitting
from tomeval.games.matrix.steps import NONE
from tomeval.games.matrix.storing import RECORDED
from tomeval.report.facts import counted
from tomeval.runs.domain import get_domain
from tomeval.runs.folder import Recorded, import_games
from tomeval.runs.record import Record
from tomeval.statistics import AUTO

logger = logging.getLogger(__name__)

_Row = tuple[int, dict[str, str]]


@dataclass(eq=False)
class _Cell:
    """The rows of one subject in one task, with their lines, by match, and what they became."""

    definition: dict[str, Any]
    game: MatrixGame
    partners: PartnerSet | None
    rows: dict[str, list[_Row]] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)

    @property
    def task(self) -> tuple[str, str]:
        """Game and partners, whose longest match is the horizon."""
        return self.game.name, self.definition["partners"]["name"]


def score(
    path: str | Path,
    game: str | Path | MatrixGame | None = None,
    partner: str | Path | PartnerSet | None = None,
    *,
    reference: str = "horizon",
    interval: str = AUTO,
    **how: Any,
) -> list[dict[str, Any]]:
    """Score recorded matches: the rows of `Run.rows` of what `import_log` makes, which is not kept.

    Parameters
    ----------
    reference, interval : str
        As for `Run.rows`.
    path, game, partner, how
        As for `import_log`.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        import_log(path, Path(folder) / "run", game, partner, **how) as run,
    ):
        return run.rows(interval, reference)


def import_log(
    path: str | Path,
    out: str | Path,
    game: str | Path | MatrixGame | None = None,
    partner: str | Path | PartnerSet | None = None,
    **how: Any,
) -> Run:
    """Make a run of recorded matches in the folder `out`; what was left out is logged as a warning.

    Parameters
    ----------
    path : path
        The log, one row per step, see docs/recorded.md.
    game : str, Path or MatrixGame, optional
        A game's name, its file, or the game; default: as the column ``game`` says.
    partner : str, Path or PartnerSet, optional
        The same of a partner or a set; default: as the column ``partner`` says. ``"unknown"`` gives
        what needs no partner's table, and regret in hindsight.
    how
        ``labels``, ``columns``, ``by``, ``values`` and ``skip_bad``, see
        `tomeval.games.matrix.log_fields.Reading`.

    Raises
    ------
    TomevalError
        As for `import_matches`; or the folder exists.
    """
    notes = import_matches(Path(path), Path(out), Reading.of(game, partner, **how))
    for line in notes[1:]:  # the first one counts matches
        logger.warning(line)
    return Run(out)


def import_matches(path: Path, out: Path, reading: Reading) -> list[str]:
    """Make a run of the matches of a log in the folder `out`, which must not exist.

    Parameters
    ----------
    path : Path
        A CSV with a row per step, see docs/recorded.md. The steps of a match run 1, 2, ... (or
        0, 1, ...) without a gap, in order; other matches' rows may stand between them.

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
    return import_games(get_domain("matrix"), lambda: _Reader(path, reading).read(), out).notes


class _Reader:
    def __init__(self, path: Path, reading: Reading) -> None:
        if path.suffix.lower() in (".json", ".jsonl", ".ndjson", ".parquet"):
            raise TomevalError(
                f"{path}: is not a CSV file; pandas converts it: read_json(FILE), with lines=True "
                "for a row per line, or read_parquet(FILE), then .to_csv(OTHER, index=False)"
            )
        self.path, self.reading = path, reading
        self.table = read_csv(path)
        self.fields = Rows(path, self.table.columns, reading)
        self.line = 0

    def read(self) -> Recorded:
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
        return self._recorded([cell for cell in cells.values() if cell.rows], left_out)

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
            own, theirs = [step[0] for step in steps], [step[1] for step in steps]
            every = [fitting(partner, own, theirs) for partner in cell.partners.partners]
            longest = max(map(len, every))
            if longest < len(steps):
                self.line = rows[longest][0]
                why = f"{cell.partners.name!r} cannot have played action {steps[longest][1]}"
                why += f" in step {longest + 1} of the episode; was it another partner?"
                raise CellError("", "", f"episode {name!r}: {why}")
            fit = [index for index, one in enumerate(every) if len(one) == longest]
            if len(fit) > 1:
                names = ", ".join(cell.partners.partners[index].name for index in fit)
                why = f"episode {name!r} fits several partners ({names}): name the one it was"
                raise CellError("", "", f"{why} in a column partner")
            which, states = fit[0], every[fit[0]]
        columns = _columns(cell.game, steps, states)
        met = {"partner": which}
        cell.records.append(Record(len(cell.records), status, len(steps), met, columns))

    def _recorded(self, cells: list[_Cell], left_out: list[tuple[int, str]]) -> Recorded:
        """Return the cells of a run, and lines on what was read and left out."""
        episodes = [record for cell in cells for record in cell.records]
        void = sum(record.status == VOID for record in episodes)
        matches = counted(len(episodes), "match", "matches")
        matches += f", {void:,} of them void" if void else ""
        steps = counted(sum(record.steps for record in episodes), "step")
        notes = [f"{self.path.name}: {matches}, {steps}, {counted(len(cells), 'cell')}"]
        if left_out:
            notes.append(f"left out: {counted(len(left_out), 'match', 'matches')}")
            notes += [f"  line {line}, {why}" for line, why in sorted(left_out)]
        for game in self.fields.indices:
            names = enumerate(game.label_set(self.reading.labels).own)
            said = ", ".join(f"{index}={label}" for index, label in names)
            notes.append(f"note: actions of {game.name} by index were read as {said}")
        if not cells:
            raise TomevalError("\n".join([f"{self.path}: no rows are left", *notes[1:]]))
        longest: dict[tuple[str, str], int] = {}
        for cell in cells:
            lengths = [record.steps for record in cell.records]
            longest[cell.task] = max(longest.get(cell.task, 0), *lengths)
        digest = hashlib.sha256(self.path.read_bytes()).hexdigest()
        source = {"file": self.path.name, "sha256": digest}
        made = []
        for cell in cells:
            cell.definition["matches"] = list(cell.rows)
            for name, column in zip(("participants", "seeds"), WHO_PLAYED, strict=True):
                texts = [self.fields.text(rows[0][1], column) for rows in cell.rows.values()]
                if all(texts):
                    cell.definition[name] = texts
            same = {"horizon": longest[cell.task], "seed": 0, "reference": REFERENCES[0]}
            same |= {"on_invalid": "void", "source": source}
            made.append((cell.definition | same, cell.records))
        return Recorded(made, notes)


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
        "labels": asdict(game.label_set(labels)),
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
