"""Logs of matches that were played elsewhere: scored, or checked and stored as a run."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tomeval.api.opened import Run
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE, VOID
from tomeval.core.text import excerpt
from tomeval.games.matrix.experiment import game_data, partners_data
from tomeval.games.matrix.foreign import Log, read_any
from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.log_fields import UNKNOWN, Reading, Rows
from tomeval.games.matrix.optima import REFERENCES
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.proposing import proposal
from tomeval.games.matrix.rules import NONE
from tomeval.games.matrix.storing import RECORDED
from tomeval.report.facts import counted
from tomeval.runs.domain import get_domain
from tomeval.runs.folder import Recorded, import_games
from tomeval.runs.record import Record

logger = logging.getLogger(__name__)

_Row = tuple[int, dict[str, str]]


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
    notes = import_matches(Path(path), Path(out), Reading(game, partner, **how))
    for line in notes[1:]:  # the first one counts matches
        logger.warning(line)
    return Run(out)


def import_matches(path: Path, out: Path, reading: Reading) -> list[str]:
    """Make a run of the matches of a log in the folder `out`, which must not exist.

    Parameters
    ----------
    path : Path
        A log in any format that `read_any` knows. The steps of a match run 1, 2, ... (or 0, 1,
        ...) without a gap, in order; other matches' rows may stand between them.

    Returns
    -------
    list of str
        Lines for the user: what was read, and what was left out.

    Raises
    ------
    TomevalError
        With file, line, column, value and near match: what cannot be read, but for steps that are
        to be left out with their match; a match that no partner of its set can have played, if it
        is not to be left out; nothing left to score.
    """

    def read() -> Recorded:
        return _Reader(path, reading, read_any(path, reading)).read()

    try:
        return import_games(get_domain("matrix"), read, out).notes
    except TomevalError as error:
        if not out.exists():
            error.args = (f"{error}{proposal(path, out, reading)}",)
        raise


@dataclass(eq=False)
class _Cell:
    """The rows of one subject in one task, with their lines, by match, and what they became."""

    definition: dict[str, Any]
    game: MatrixGame
    partners: PartnerSet | None
    rows: dict[str, list[_Row]] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)


class _Reader:
    def __init__(self, path: Path, reading: Reading, log: Log) -> None:
        self.path, self.reading, self.log = path, reading, log
        self.fields = Rows(path, log.header, reading, log.games)
        self.counted: dict[tuple[Any, ...], tuple[int, int]] = {}  # matches and steps, by cell
        self.line = 0

    @contextmanager
    def _at_line(self) -> Iterator[None]:
        try:
            yield
        except TomevalError as error:
            raise TomevalError(f"{self.path}, {self.log.place(self.line)}: {error}") from None

    def read(self) -> Recorded:
        """Read all matches as cells."""
        cells = dict[tuple[Any, ...], _Cell]()
        for line, row in self.log.rows:
            self.line = line
            # Never left out: its match, if it was the last step, would seem to be shorter.
            with self._at_line():
                self._place(row, cells)
        if not cells:
            raise TomevalError(f"{self.path}: has a header but no steps")
        left_out: list[tuple[int, str]] = []
        for cell in cells.values():
            for name in list(cell.rows):
                with self._at_line():
                    try:
                        self._match(cell, name)
                    except TomevalError as error:
                        if not self.reading.skip_bad:
                            raise
                        many = counted(len(cell.rows.pop(name)), "row")
                        left_out.append((self.line, f"match {excerpt(name)!r} ({many}): {error}"))
        kept = [cell for cell in cells.values() if cell.rows]
        notes = self._notes([record for cell in kept for record in cell.records], left_out)
        if not kept:
            raise TomevalError("\n".join([f"{self.path}: no rows are left", *notes[1:]]))
        return Recorded(self._definitions(kept), notes)

    def _place(self, row: dict[str, str], cells: dict[tuple[Any, ...], _Cell]) -> None:
        """Put a row to its match."""
        subject, *conditions = self.fields.who(row)
        game = self.fields.game(row)
        partners = self.fields.partners(row, game)
        key = (subject, *conditions, game.name, partners.name if partners else None)
        name = self.fields.text(row, "episode") or self._count(key, row)
        if key not in cells:
            nobody = {"name": UNKNOWN, "weights": [], "tables": []}
            definition = {
                **{"subject": subject or self.path.name, "kind": RECORDED},
                **dict.fromkeys(("model", "strategy", "templates"), ""),
                "options": {},
                "game": game_data(game),
                "labels": asdict(game.label_set(self.reading.labels)),
                "partners": partners_data(partners) if partners else nobody,
            }
            if conditions:
                definition["condition"] = ", ".join(conditions)
            cells[key] = _Cell(definition, game, partners)
        cells[key].rows.setdefault(name, []).append((self.line, row))

    def _count(self, key: tuple[Any, ...], row: dict[str, str]) -> str:
        """Return the number of a cell's match, for a log without: steps begin anew in each."""
        if "episode" in self.fields.columns:
            raise TomevalError("episode is empty")
        step, (count, last) = self.fields.number(row), self.counted.get(key, (0, 0))
        count += not count or (step != last + 1 and step in (0, 1))
        self.counted[key] = count, step
        return str(count)

    def _match(self, cell: _Cell, name: str) -> None:
        """Add a match to the episodes of its cell; it is void from an invalid move on."""
        steps: list[dict[str, Any]] = []
        rows, first, status = cell.rows[name], self.fields.number(cell.rows[name][0][1]), COMPLETE
        for number, (self.line, row) in enumerate(rows):
            step = self.fields.number(row)
            if first not in (0, 1):
                raise TomevalError(f"episode {excerpt(name)!r} starts at step {step}, not 1 (or 0)")
            if step != first + number:
                before = first + number - 1
                raise TomevalError(
                    f"a gap in episode {excerpt(name)!r}: step {step} after step {before}"
                )
            steps.append(self.fields.step(cell.game, row))
            if steps[-1]["own_action"] is None:
                status = VOID
                break
        columns = {column: [step[column] for step in steps] for column in steps[0]}
        which, columns["partner_state"] = 0, [NONE] * len(steps)
        if cell.partners is not None:
            moves = columns["own_action"], columns["partner_action"]
            found = self._partner_of(cell.partners, f"episode {excerpt(name)!r}", rows, *moves)
            which, columns["partner_state"] = found
        met = {"partner": which}
        cell.records.append(Record(len(cell.records), status, len(steps), met, columns))

    def _partner_of(
        self,
        partners: PartnerSet,
        episode: str,
        rows: list[_Row],
        own: Sequence[int | None],
        theirs: Sequence[int],
    ) -> tuple[int, list[int]]:
        """Return which partner of a set fits a match, and its states; exactly one must."""
        every = [fitting(partner, own, theirs) for partner in partners.partners]
        longest = max(map(len, every))
        if longest < len(theirs):
            self.line = rows[longest][0]
            raise TomevalError(
                f"{episode}: {partners.name!r} cannot have played action {theirs[longest]} in "
                f"step {longest + 1} of the episode; was it another partner?"
            )
        fit = [index for index, one in enumerate(every) if len(one) == longest]
        if len(fit) > 1:
            names = ", ".join(partners.partners[index].name for index in fit)
            raise TomevalError(
                f"{episode} fits several partners ({names}): name the one it was in a column "
                "partner"
            )
        return fit[0], every[fit[0]]

    def _notes(self, episodes: list[Record], left_out: list[tuple[int, str]]) -> list[str]:
        """Return lines on what was read and left out."""
        void = sum(record.status == VOID for record in episodes)
        matches = counted(len(episodes), "match", "matches")
        matches += f", {void:,} of them void" if void else ""
        steps = counted(sum(record.steps for record in episodes), "step")
        notes = [f"{self.path.name}: {matches}, {steps}", *self.log.notes]
        if left_out:
            notes.append(f"left out: {counted(len(left_out), 'match', 'matches')}")
            notes += [f"  {self.log.place(line)}, {why}" for line, why in sorted(left_out)]
        for game in self.fields.indices:
            names = enumerate(game.label_set(self.reading.labels).own)
            said = ", ".join(f"{index}={label}" for index, label in names)
            notes.append(f"note: actions of {game.name} by index were read as {said}")
        return notes

    def _definitions(self, cells: list[_Cell]) -> list[tuple[dict[str, Any], list[Record]]]:
        """Return cells with what is only known of all: T is the longest match of a task."""
        tasks = [(cell.game.name, cell.definition["partners"]["name"]) for cell in cells]
        longest: dict[tuple[str, str], int] = {}
        for task, cell in zip(tasks, cells, strict=True):
            longest[task] = max(longest.get(task, 0), *(one.steps for one in cell.records))
        digest = hashlib.sha256(self.path.read_bytes()).hexdigest()
        made = []
        for task, cell in zip(tasks, cells, strict=True):
            more: dict[str, Any] = {"matches": list(cell.rows)}
            people = [self.fields.text(rows[0][1], "participant") for rows in cell.rows.values()]
            if all(people):
                more["participants"] = people
            more |= {"horizon": longest[task], "seed": 0, "reference": REFERENCES[0]}
            more |= {"on_invalid": "void", "source": {"file": self.path.name, "sha256": digest}}
            made.append((cell.definition | more, cell.records))
        return made


def fitting(partner: Partner, own: Sequence[int | None], theirs: Sequence[int]) -> list[int]:
    """Return a partner's states in the steps of a match, up to the first that it cannot have made.

    Where it fits there are as many as steps. A match ends where the subject made no move, None.

    Examples
    --------
    Against a subject that defects, tit for tat defects from the second step on:

    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner
    >>> partner = get_partner("tit_for_tat", get_game("IPD"))
    >>> fitting(partner, [1, 1], [0, 1]), fitting(partner, [1, 1], [0, 0])
    ([0, 2], [0])
    """
    state, states = partner.start, []
    for a, b in zip(own, theirs, strict=True):
        if partner.emissions[state, b] == 0:
            break
        states.append(state)
        if a is not None:
            state = int(partner.next_state[state, a, b])
    return states
