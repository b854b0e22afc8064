"""Read matches that were played elsewhere from a log of steps: grouped, checked, attributed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.files import check_unpacked
from tomeval.core.outcomes import NOT_ASKED, VALID, VOID
from tomeval.core.resources import SEPARATORS, read_csv
from tomeval.domains.matrix.attribution import ImpossibleError, attribute
from tomeval.domains.matrix.games import MatrixGame, get_game
from tomeval.domains.matrix.log_fields import (
    NUMERIC,
    UNKNOWN,
    WHO_PLAYED,
    CellError,
    Reading,
    action_names,
    check_opens_nothing,
    find_columns,
    index_note,
    meaning,
    read_action,
    read_number,
    read_seat,
    seen_from,
    with_point,
)
from tomeval.domains.matrix.log_matches import INVALID, Log, LogCell, LogStep, Match
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.domains.matrix.partners import PartnerSet
from tomeval.domains.matrix.steps import NONE

_STEP = 600  # bytes of memory that a step takes once it is read, besides its texts


def read_log(path: Path, reading: Reading) -> Log:
    """Read the matches of a log.

    Parameters
    ----------
    path : Path
        A CSV with a row per step, see docs/recorded.md. The steps of a match run 1, 2, ... (or
        0, 1, ...) without a gap, in order; rows of other subjects may stand between them.

    Raises
    ------
    TomevalError
        With file, line, column, value and near match: what cannot be read, but for steps that are
        to be left out with their match; a match that no partner of its set can have played, if it
        is not to be left out; nothing left to score; a file that takes more memory than is allowed,
        see `tomeval.core.files`.
    """
    if path.suffix.lower() in (".json", ".jsonl", ".ndjson", ".parquet"):
        raise TomevalError(
            f"{path}: is not a CSV file; pandas converts it: read_json(FILE), with lines=True for "
            "a row per line, or read_parquet(FILE), then .to_csv(OTHER, index=False)"
        )
    if path.is_file():
        check_unpacked(path.stat().st_size, str(path))
    return _Reader(path, reading).read()


class _Reader:
    def __init__(self, path: Path, reading: Reading) -> None:
        self.path, self.reading = path, reading
        self.table = read_csv(path)
        self.columns = find_columns(path, self.table.columns, reading)
        self.values = {text.casefold(): meant for text, meant in reading.values.items()}
        self.invalid = {text.casefold() for text in reading.invalid}
        self.cells: dict[tuple[str | None, ...], LogCell] = {}
        self.games: dict[str, MatrixGame] = {}
        self.partners: dict[tuple[str, str], PartnerSet | None] = {}
        self.indices: dict[str, dict[int, str]] = {}

    def read(self) -> Log:
        """Read all rows, then find who played."""
        count = unplayed = size = 0
        for line, row in self.table.rows:
            count += 1
            try:
                if isinstance(row, str):
                    raise CellError("", "", row)
                size += _STEP + sum(map(len, row.values()))
                check_unpacked(size, f"{self.path}, line {line:,}")
                cell, match = self._match(row)
            except CellError as error:
                # Never left out: its match, if it was the last step, would seem to be shorter.
                raise TomevalError(f"{self.path}, line {line}: {error}") from None
            match.lines.append(line)
            if match.fault:
                continue
            if match.status == VOID:
                unplayed += 1
                continue
            try:
                self._step(cell, match, row)
            except CellError as error:
                self._leave_out(match, line, error)
        if not count:
            raise TomevalError(f"{self.path}: has a header but no steps")
        left_out = []
        for cell in self.cells.values():
            for match in cell.matches.values():
                if cell.partners is not None and not match.fault:
                    self._attribute(cell.partners, match)
            left_out += [match for match in cell.matches.values() if match.fault]
            cell.matches = {name: one for name, one in cell.matches.items() if not one.fault}
        cells = [cell for cell in self.cells.values() if cell.matches]
        left_out.sort(key=lambda match: match.fault or ())
        said = [index_note(read) for read in self.indices.values()]
        if self.table.separator != ",":
            said.append(f"note: cells are separated by {SEPARATORS[self.table.separator]}")
        log = Log(self.path, count, cells, left_out, unplayed, list(dict.fromkeys(said)))
        if not cells:
            raise TomevalError("\n".join([f"{self.path}: no rows are left", *log.notes()[1:]]))
        return log

    def _leave_out(self, match: Match, line: int, error: CellError) -> None:
        """Note why a match is left out, or raise if nothing is to be left out."""
        if not self.reading.skip_bad:
            raise TomevalError(f"{self.path}, line {line}: {error}") from None
        match.fault = line, str(error)

    # The cells of one row

    def _text(self, row: dict[str, str], name: str) -> str:
        """Return the text of a field; empty if the file does not have it."""
        column = self.columns.of.get(name)
        if column is None:
            return ""
        text = self._meant(row[column], name)
        return with_point(text) if self.table.separator != "," and name in NUMERIC else text

    def _meant(self, raw: str, name: str = "") -> str:
        return meaning(name, raw, self.values)

    def _named(self, row: dict[str, str], name: str) -> str:
        """Return a cell that names a game or a partner; only the user may mean a file by it."""
        text, column = self._text(row, name), self.columns.of[name]
        if row[column].strip().casefold() in self.values:
            return text
        check_opens_nothing(column, text, name)
        return text if ":" in text else text.casefold()  # players of a library have capitals

    def _match(self, row: dict[str, str]) -> tuple[LogCell, Match]:
        """Return the cell and the match that a row belongs to."""
        game, subject = self._game(row), self.path.name
        if self.columns.subject:
            subject = self._meant(row[self.columns.subject])
            if not subject:
                raise CellError(self.columns.subject, "", "is empty, but every row needs a subject")
        said = [self._meant(row[name]) for name in self.columns.condition]
        partners = self._partners(row, game)
        condition = ", ".join(said) if said else None
        key = (subject, condition, game.name, partners.name if partners else None)
        name = self._text(row, "episode")
        if not name:
            raise CellError("", "", "episode is empty")
        cell = self.cells.setdefault(key, LogCell(subject, condition, game, partners))
        participant, seed = (self._text(row, field) for field in WHO_PLAYED)
        match = cell.matches.setdefault(name, Match(name, participant, seed))
        if match is not next(reversed(cell.matches.values())):
            raise CellError("", "", f"rows of episode {name!r} are not contiguous: another began")
        for field, text in zip(WHO_PLAYED, (participant, seed), strict=True):
            if (began := getattr(match, field)) != text:
                column = self.columns.of[field]
                raise CellError(column, text, f"differs from {began!r} at the start of {name!r}")
        return cell, match

    def _game(self, row: dict[str, str]) -> MatrixGame:
        """Return the game of a row, as the subject sees it."""
        of, game = self.columns.of, self.reading.game
        if game is None:
            text = self._named(row, "game")
            try:
                game = self.games[text] = self.games.get(text) or get_game(text)
            except TomevalError as error:
                raise CellError(of["game"], text, f"is not a game: {error}") from None
        return seen_from(game, "seat" in of and read_seat(of["seat"], self._text(row, "seat")))

    def _partners(self, row: dict[str, str], game: MatrixGame) -> PartnerSet | None:
        given = self.reading.partners
        if isinstance(given, PartnerSet):
            if (given.partners[0].n, given.partners[0].m) != (game.n, game.m):
                raise TomevalError(
                    f"partner set {given.name!r} is for another number of actions than {game.name}"
                )
            return given
        text = self._named(row, "partner") if given is None else given
        if (text, game.name) not in self.partners:
            try:
                partners = None if text in ("", UNKNOWN) else get_partner_set(text, game)
            except TomevalError as error:
                if given is not None:
                    raise
                column = self.columns.of["partner"]
                raise CellError(column, text, f"is not a partner: {error}") from None
            self.partners[text, game.name] = partners
        return self.partners[text, game.name]

    # One step

    def _step(self, cell: LogCell, match: Match, row: dict[str, str]) -> None:
        """Add a step to a match."""
        self._check_number(match, self._text(row, "step"))
        own, act = self._action(cell, row, "own_action", "own")
        partner, heard = self._action(cell, row, "partner_action", "partner")
        if heard != VALID:
            raise CellError(self.columns.of["partner_action"], "", "is not an action")
        predicted, predict = NONE, NOT_ASKED
        empty_is_invalid = "" in self.invalid and "predicted_action" in self.columns.of
        if self._text(row, "predicted_action") or empty_is_invalid:
            predicted, predict = self._action(cell, row, "predicted_action", "partner")
        if act == VALID:
            self._check_rewards(cell, row, own, partner)
        else:
            match.status = VOID
        match.steps.append(LogStep(own, partner, predicted, act, predict))

    def _action(self, cell: LogCell, row: dict[str, str], name: str, side: str) -> tuple[int, str]:
        """Return an action and what became of the question."""
        column, text = self.columns.of[name], self._text(row, name)
        if text.casefold() in self.invalid and name != "partner_action":
            return NONE, INVALID
        labels = cell.game.label_set(self.reading.labels) if self.reading.labels else None
        action = read_action(column, text, action_names(cell.game, labels, side))
        label = getattr(labels or cell.game.label_set(), side)[action]
        by_index = text[:1].isdigit() and text.casefold() != label.casefold()
        if by_index and row[column].strip().casefold() not in self.values:
            self.indices.setdefault(cell.game.name, {}).setdefault(action, label)
        return action, VALID

    def _check_number(self, match: Match, text: str) -> None:
        """Raise unless the step follows on."""
        step = read_number(self.columns.of["step"], text)
        done = len(match.steps)
        if done == 0:
            match.first = step
            if step not in (0, 1):
                why = f"episode {match.name!r} starts at step {step}, not 1 (or 0)"
                raise CellError("", "", why)
        elif step != match.first + done:
            last = match.first + done - 1
            why = f"a gap in episode {match.name!r}: step {step} after step {last}"
            raise CellError("", "", why)

    def _check_rewards(self, cell: LogCell, row: dict[str, str], own: int, partner: int) -> None:
        """Raise unless recorded rewards are those of the game; it finds wrong seats and labels."""
        pair: Sequence[Any] = cell.game.payoffs[own, partner].tolist()
        for name, payoff in zip(("own_reward", "partner_reward"), pair, strict=True):
            text = self._text(row, name)
            if not text:
                continue
            try:
                reward = float(text)
            except ValueError:
                reward = math.nan
            if not math.isclose(reward, payoff, rel_tol=1e-9, abs_tol=1e-9):
                labels = cell.game.label_set(self.reading.labels)
                raise CellError(
                    self.columns.of[name],
                    text,
                    f"is not the payoff {payoff:g} of ({labels.own[own]}, "
                    f"{labels.partner[partner]}) in {cell.game.name}",
                )

    # Who played

    def _attribute(self, partners: PartnerSet, match: Match) -> None:
        """Find the partner of a match; leave it out if no partner can have played it."""
        try:
            attributed = attribute(partners.partners, partners.weights, match.moves)
        except ImpossibleError as error:
            action = match.steps[error.step].partner
            why = (
                f"episode {match.name!r}: {partners.name!r} cannot have played action {action} in "
                f"step {error.step + 1} of the episode; was it another partner?"
            )
            self._leave_out(match, match.lines[error.step], CellError("", "", why))
        else:
            match.which = int(attributed.weights.argmax())
            match.states = attributed.states[match.which]
