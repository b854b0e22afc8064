"""Read matches that were played elsewhere from a log of steps: grouped, checked, attributed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import NOT_ASKED, VALID, VOID
from tomeval.domains.matrix.attribution import ImpossibleError, attribute
from tomeval.domains.matrix.games import MatrixGame, get_game
from tomeval.domains.matrix.log_fields import (
    UNKNOWN,
    WHO_PLAYED,
    CellError,
    Columns,
    Reading,
    action_names,
    find_columns,
    game_name,
    partner_spec,
    read_action,
    read_number,
    read_seat,
    seen_from,
)
from tomeval.domains.matrix.log_matches import (
    INVALID,
    CellKey,
    LeftOut,
    Log,
    LogCell,
    LogStep,
    Match,
)
from tomeval.domains.matrix.log_rows import read_table
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.domains.matrix.partners import PartnerSet
from tomeval.domains.matrix.steps import NONE


def read_log(path: Path, reading: Reading) -> Log:
    """Read the matches of a log.

    Parameters
    ----------
    path : Path
        A table as `tomeval.domains.matrix.log_rows.read_table` reads it. The steps of a match run
        1, 2, ... (or 0, 1, ...) without a gap, in order; rows of other subjects may stand between
        them.

    Raises
    ------
    TomevalError
        With file, row, column, value and near match: what cannot be read, if it is not to be left
        out; a match that no partner of its set can have played; nothing left to score.
    """
    return _Reader(path, reading).read()


class _Reader:
    def __init__(self, path: Path, reading: Reading) -> None:
        self.path, self.reading = path, reading
        self.table = read_table(path)
        self.columns: Columns = find_columns(path, self.table.columns, reading)
        self.values = {text.casefold(): meant for text, meant in reading.values.items()}
        self.invalid = {text.casefold() for text in reading.invalid}
        self.cells: dict[CellKey, LogCell] = {}
        self.open: dict[CellKey, Match] = {}
        self.begun: set[tuple[CellKey, str]] = set()
        self.last: Match | None = None  # the match of the row before
        self.suspected: dict[tuple[str, str], int] = {}  # subject and match of a row not placed
        self.bad: dict[int, LeftOut] = {}  # by identity of the match, or a number below 0
        self.games: dict[tuple[str, bool], MatrixGame] = {}
        self.partners: dict[tuple[str, str], PartnerSet | None] = {}
        self.names: dict[tuple[str, str], dict[str, int]] = {}
        self.unplayed = 0

    def read(self) -> Log:
        """Read all rows, then find who played."""
        count = 0
        for number, row in self.table.rows:
            count += 1
            try:
                if isinstance(row, str):
                    raise CellError("", "", row)
                cell, match = self._place(row)
            except CellError as error:
                self._leave_out(None, number, error)
                self._suspect(row, number)
                continue
            match.rows.append(number)
            self.last = match
            if id(match) in self.bad:
                continue
            if match.status == VOID:
                self.unplayed += 1
                continue
            try:
                self._step(cell, match, row)
            except CellError as error:
                self._leave_out(match, number, error)
        if not count:
            raise TomevalError(f"{self.path}: has a header but no steps")
        for cell in self.cells.values():
            for match in cell.matches:
                lost = self.suspected.get((cell.key.subject, match.name))
                if lost is not None:
                    self._lose_step(match, lost)
                if cell.partners is not None and id(match) not in self.bad:
                    self._attribute(cell.partners, match)
        return self._log(count)

    def _log(self, count: int) -> Log:
        kept = []
        left_out = []
        for cell in self.cells.values():
            for match in cell.matches:
                if left := self.bad.get(id(match)):
                    left_out.append(left._replace(rows=len(match.rows)))
            cell.matches = [match for match in cell.matches if id(match) not in self.bad]
            if cell.matches:
                kept.append(cell)
        left_out += [left for key, left in self.bad.items() if key < 0]
        has_condition = bool(self.columns.condition)
        log = Log(
            self.path,
            self.table.word,
            count,
            kept,
            sorted(left_out, key=lambda item: item.row),
            self.unplayed,
            has_condition,
        )
        if not kept:
            raise TomevalError("\n".join([f"{self.path}: nothing is left", *log.lines()]))
        return log

    def _leave_out(self, match: Match | None, number: int, error: CellError) -> None:
        """Note why a match is left out, or raise if nothing is to be left out."""
        if not self.reading.skip_bad:
            raise TomevalError(f"{self.path}, {self.table.word} {number}: {error}") from None
        key = -number if match is None else id(match)
        name = match.name if match else ""
        self.bad[key] = LeftOut(name, 1, number, error.column, error.value, error.why)

    def _suspect(self, row: dict[str, str] | str, number: int) -> None:
        """Remember what match a row that cannot be placed may be a step of.

        Without it the match would seem to be shorter, where it was the last step.
        """
        who = ("", "")
        if not isinstance(row, str):
            column = self.columns.subject
            subject = self._meant(row[column]) if column else self.path.name
            who = (subject, self._text(row, "episode"))
        if all(who):
            self.suspected.setdefault(who, number)
        elif self.last is not None:
            self._lose_step(self.last, number)
        self.last = None

    def _lose_step(self, match: Match, number: int) -> None:
        """Leave out a match one of whose steps may be a row that cannot be read."""
        if id(match) not in self.bad:
            why = f"{self.table.word} {number} cannot be read and may be a step of it"
            self._leave_out(match, match.rows[0], CellError("", "", why))

    # The cells of one row

    def _text(self, row: dict[str, str], name: str) -> str:
        """Return the text of a field; empty if the file does not have it."""
        column = self.columns.of.get(name)
        return "" if column is None else self._meant(row[column])

    def _meant(self, raw: str) -> str:
        text = raw.strip()
        return self.values.get(text.casefold(), text)

    def _given(self, row: dict[str, str], name: str) -> bool:
        """Tell whether the user, not the file, says what a cell stands for; it may name a file."""
        return row[self.columns.of[name]].strip().casefold() in self.values

    def _place(self, row: dict[str, str]) -> tuple[LogCell, Match]:
        """Return the cell and the match that a row belongs to."""
        of, reading = self.columns.of, self.reading
        column_seat = "seat" in of and read_seat(of["seat"], self._text(row, "seat"))
        game = reading.game
        if game is None:
            text = self._text(row, "game")
            game = get_game(text if self._given(row, "game") else game_name(of["game"], text))
        if (game.name, column_seat) not in self.games:
            self.games[game.name, column_seat] = seen_from(game, column_seat)
        game = self.games[game.name, column_seat]
        subject = self.path.name
        if self.columns.subject:
            subject = self._meant(row[self.columns.subject])
            if not subject:
                raise CellError(self.columns.subject, "", "names no subject")
        condition = ", ".join(self._meant(row[name]) for name in self.columns.condition)
        partners = self._partners(row, game)
        key = CellKey(
            subject,
            condition,
            self._text(row, "model"),
            self._text(row, "strategy"),
            game.name,
            partners.name if partners else UNKNOWN,
        )
        name = self._text(row, "episode")
        if not name:
            raise CellError("", "", "episode is empty")
        cell = self.cells.setdefault(key, LogCell(key, game, partners))
        participant, seed = (self._text(row, field) for field in WHO_PLAYED)
        return cell, self._match(cell, Match(name, participant, seed))

    def _partners(self, row: dict[str, str], game: MatrixGame) -> PartnerSet | None:
        given = self.reading.partners
        if isinstance(given, PartnerSet):
            if (given.partners[0].n, given.partners[0].m) != (game.n, game.m):
                raise TomevalError(
                    f"partner set {given.name!r} is for another number of actions than {game.name}"
                )
            return given
        column = self.columns.of.get("partner", "")
        text = self._text(row, "partner") if given is None else given
        if (text, game.name) not in self.partners:
            said = given is not None or self._given(row, "partner")
            spec = text if said else partner_spec(column, text)
            try:
                partners = None if spec == UNKNOWN else get_partner_set(spec, game)
            except TomevalError as error:
                if said:
                    raise
                raise CellError(column, text, f"is no partner: {error}") from None
            self.partners[text, game.name] = partners
        return self.partners[text, game.name]

    def _match(self, cell: LogCell, new: Match) -> Match:
        """Return the match that a row is of: a new one, or the last one of its cell."""
        name = new.name
        last = self.open.get(cell.key)
        if last is not None and last.name == name:
            for field in WHO_PLAYED:
                began, text = getattr(last, field), getattr(new, field)
                if began != text and id(last) not in self.bad:
                    raise CellError(
                        self.columns.of[field], text, f"but match {name!r} began in {began!r}"
                    )
            return last
        if (cell.key, name) in self.begun:
            raise CellError("", "", f"episode {name!r} continues after another one began")
        self.begun.add((cell.key, name))
        self.open[cell.key] = new
        cell.matches.append(new)
        return new

    def _step(self, cell: LogCell, match: Match, row: dict[str, str]) -> None:
        """Add a step to a match."""
        self._check_number(match, self._text(row, "step"))
        own, act = self._action(cell, row, "own_action", "own")
        partner, heard = self._action(cell, row, "partner_action", "partner")
        if heard != VALID:
            raise CellError(self.columns.of["partner_action"], "", "is no move")
        predicted, predict = NONE, NOT_ASKED
        if self._text(row, "predicted_action") or ("" in self.invalid and self._has_predictions):
            predicted, predict = self._action(cell, row, "predicted_action", "partner")
        if act == VALID:
            self._check_rewards(cell, row, own, partner)
        else:
            match.status = VOID
        match.steps.append(LogStep(own, partner, predicted, act, predict))

    @property
    def _has_predictions(self) -> bool:
        return "predicted_action" in self.columns.of

    def _action(self, cell: LogCell, row: dict[str, str], name: str, side: str) -> tuple[int, str]:
        """Return an action and what became of the question."""
        column, text = self.columns.of[name], self._text(row, name)
        if text.casefold() in self.invalid and name != "partner_action":
            return NONE, INVALID
        key = (cell.game.name, side)
        if key not in self.names:
            labels = cell.game.label_set(self.reading.labels) if self.reading.labels else None
            self.names[key] = action_names(cell.game, labels, side)
        return read_action(column, text, self.names[key]), VALID

    def _check_number(self, match: Match, text: str) -> None:
        """Raise unless the step follows on."""
        step = read_number(self.columns.of["step"], text)
        done = len(match.steps)
        if done == 0:
            match.first = step
            if step not in (0, 1):
                raise CellError(
                    "", "", f"episode {match.name!r} starts at step {step}, not 1 (or 0)"
                )
        elif step != match.first + done:
            raise CellError(
                "",
                "",
                f"a gap in episode {match.name!r}: step {step} after step {match.first + done - 1}",
            )

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
            self._leave_out(match, match.rows[error.step], CellError("", "", why))
        else:
            match.which = int(attributed.weights.argmax())
            match.states = attributed.states[match.which]
