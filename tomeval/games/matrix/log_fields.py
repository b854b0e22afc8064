"""What the columns of a log of matches mean, and how its rows are read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.core.outcomes import NOT_ASKED, VALID
from tomeval.core.resources import check_columns
from tomeval.core.text import ascii_signs, excerpt
from tomeval.games.matrix.games import Labels, MatrixGame, get_game, mirrored
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.partners import PartnerSet

REQUIRED = ("episode", "step", "own_action", "partner_action")
NAMING = ("own_action", "partner_action", "predicted_action", "game", "partner")
"""Fields that hold names, for which a file may have texts of its own."""

FIELDS = (*REQUIRED, *NAMING[2:], "seat", "own_reward", "partner_reward", "participant")

WHO = ("subject", "condition")
"""Columns that tell rows of tables apart, if no others are named."""

INVALID, UNREAD = "invalid", "unparsable"
"""The text of a move or prediction that could not be read, and the outcome that stands for it."""

UNKNOWN = "unknown"
SEATS = {"row": False, "1": False, "column": True, "2": True}
"""Words for seats, and whether the subject chooses columns of the payoff table."""


@dataclass(frozen=True)
class Reading:
    """How a log is to be read.

    Attributes
    ----------
    game : MatrixGame, str, Path or None
        The game of all rows; None: as the column of the field ``game`` says.
    partner : PartnerSet, str, Path or None
        Who played against all subjects; None: as the column of the field ``partner`` says. Empty
        cells and ``unknown`` mean that nobody knows.
    labels : str or None
        The label set that actions are written in; None: any of the game's.
    columns : mapping of str to str
        The column of a field, where it has another name. An empty name: the field is not read;
        without ``episode`` a match begins wherever the steps of a cell begin anew.
    by : tuple of str or None
        Columns that tell rows of tables apart: the first one is the subject, the others together
        are the condition. None: `WHO`, as far as there are such columns.
    values : mapping of str to str
        What a text of the file stands for, but in the fields that count steps and name players.
    skip_bad : bool
        Leave out matches with a step that cannot be read, and tell of them, in place of an error.
    """

    game: MatrixGame | str | Path | None = None
    partner: PartnerSet | str | Path | None = None
    labels: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    by: tuple[str, ...] | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    skip_bad: bool = False


def _wrong(column: str, text: str, why: str) -> TomevalError:
    return TomevalError(f"{column} {excerpt(text)!r} {why}")


class Rows:
    """Reads the rows of a log; what cannot be read is a `TomevalError` without its line.

    `columns` has the column of each field that the file has, `by` those that tell rows apart (the
    subject's, may be empty, then the condition's), `indices` the games with actions by index.
    `games` are those that the file itself tells, by name.
    """

    def __init__(
        self,
        path: Path,
        header: Sequence[str],
        reading: Reading,
        games: Mapping[str, MatrixGame] | None = None,
    ) -> None:
        self._games = games or {}
        self._game = None if reading.game is None else get_game(reading.game)
        self._partner, self._set = reading.partner, cache(get_partner_set)
        for name, column in reading.columns.items():
            if name not in FIELDS:
                raise unknown("field", name, FIELDS, "--map")
            if not column and name in REQUIRED[1:]:
                raise TomevalError(f"--map: the field {name!r} is required: name its column")
        columns = {name: name for name in FIELDS if name in header} | dict(reading.columns)
        needed = [name for name in REQUIRED if reading.columns.get(name) != ""]
        for name, said in (("game", reading.game), ("partner", reading.partner)):
            if said is None:
                needed.append(name)
            elif reading.columns.get(name):
                raise TomevalError(f"--{name} and --map {name}=COLUMN cannot be combined")
            else:
                columns[name] = ""
        self.columns = {name: column for name, column in columns.items() if column}
        lacks = [name for name in needed if self.columns.get(name) not in header]
        wanted = [self.columns.get(name, name) for name in needed]
        try:
            check_columns(path, header, [*wanted, *self.columns.values(), *(reading.by or ())])
        except TomevalError as error:
            hint = f"; name with --map FIELD=COLUMN: {', '.join(lacks)}" * bool(lacks)
            hint += "; the game and the partner also with --game and --partner" * bool(lacks)
            raise TomevalError(f"{error}{hint}") from None
        by = tuple(name for name in WHO if name in header) if reading.by is None else reading.by
        self.by = by if reading.by is not None or "subject" in by else ("", *by)
        self._labels = reading.labels
        self._values = {text.casefold(): meant for text, meant in reading.values.items()}
        self.indices: dict[MatrixGame, None] = {}

    def text(self, row: dict[str, str], name: str) -> str:
        """Return the text of a field; empty if the file does not have it."""
        text = row[self.columns[name]].strip() if name in self.columns else ""
        return self._values.get(text.casefold(), text) if name in NAMING else text

    def who(self, row: dict[str, str]) -> list[str]:
        """Return subject and conditions; the subject is empty if the file names no subject."""
        said = [row[name].strip() if name else "" for name in self.by] or [""]
        if self.by and self.by[0] and not said[0]:
            raise _wrong(self.by[0], "", "is empty, but every row needs a subject")
        return said

    def _named(self, row: dict[str, str], name: str) -> str:
        """Return a cell that names a game or a partner.

        Whoever wrote a log must not choose what is read here: only the user may mean a file by it,
        or a table, which could name one in another spelling.
        """
        text, column = self.text(row, name), self.columns[name]
        if row[column].strip().casefold() in self._values:
            return text
        if ".toml" in text.casefold() or "{" in text:
            raise _wrong(column, text, f"is a file or a table: give it with --{name}")
        return text if ":" in text else text.casefold()  # players of a library have capitals

    def game(self, row: dict[str, str]) -> MatrixGame:
        """Return the game of a row, as the subject sees it."""
        game = self._game or self._games.get(self.text(row, "game"))
        if game is None:
            text = self._named(row, "game")
            try:
                game = get_game(text)
            except TomevalError as error:
                raise _wrong(self.columns["game"], text, f"is not a game: {error}") from None
        if "seat" not in self.columns:
            return game
        text = self.text(row, "seat")
        if (column_seat := SEATS.get(text.casefold())) is None:
            why = f"is not a seat{did_you_mean(text, SEATS)}; known: row, column"
            raise _wrong(self.columns["seat"], text, why)
        return _seen_from(game) if column_seat else game

    def partners(self, row: dict[str, str], game: MatrixGame) -> PartnerSet | None:
        """Return the partner set of a row; None: nobody knows."""
        if self._partner is not None:
            return None if self._partner == UNKNOWN else self._set(self._partner, game)
        text = self._named(row, "partner")
        try:
            return None if text in ("", UNKNOWN) else self._set(text, game)
        except TomevalError as error:
            raise _wrong(self.columns["partner"], text, f"is not a partner: {error}") from None

    def number(self, row: dict[str, str]) -> int:
        """Return the number of a row's step."""
        text = self.text(row, "step")
        try:
            return int(text.replace(",", ".").removesuffix(".0"))
        except ValueError:
            raise _wrong(self.columns["step"], text, "is not a whole number") from None

    def step(self, game: MatrixGame, row: dict[str, str]) -> dict[str, Any]:
        """Return both moves, rewards and the prediction, and what became of the questions."""
        own, theirs = (self._action(game, row, f"{who}_action", who) for who in ("own", "partner"))
        predicted, predict = None, NOT_ASKED
        if self.text(row, "predicted_action"):
            predicted = self._action(game, row, "predicted_action", "partner")
            predict = UNREAD if predicted is None else VALID
        rewards = [None, None]
        if own is not None:
            rewards = game.payoffs[own, theirs].tolist()
            self._check_rewards(game, row, own, theirs)
        return {
            **{"own_action": own, "partner_action": theirs, "predicted_action": predicted},
            **dict(zip(("own_reward", "partner_reward"), rewards, strict=True)),
            **{"act_outcome": UNREAD if own is None else VALID, "predict_outcome": predict},
            # A record does not say how often it was asked.
            **dict.fromkeys(("act_attempts", "predict_attempts", "told"), 0),
        }

    def _action(self, game: MatrixGame, row: dict[str, str], name: str, side: str) -> Any:
        """Return the index of an action; None: it could not be read."""
        column, text = self.columns[name], self.text(row, name)
        if text.casefold() == INVALID and name != "partner_action":
            return None
        labels = game.label_set(self._labels) if self._labels else None
        names, folded = _action_names(game, labels, side), ascii_signs(text).casefold()
        # ``1.0`` is how tables with empty cells write the index 1
        action = names.get(folded, names.get(folded.replace(",", ".").removesuffix(".0")))
        if action is None:
            near, known = did_you_mean(text, names), ", ".join(names)
            why = f"is neither a label nor an index of the game{near}; known: {known}"
            raise _wrong(column, text, why)
        label = getattr(labels or game.label_set(), side)[action]
        if row[column].strip()[:1].isdigit() and text.casefold() != label.casefold():
            self.indices[game] = None
        return action

    def _check_rewards(self, game: MatrixGame, row: dict[str, str], own: int, partner: int) -> None:
        """Raise unless recorded rewards are those of the game; it finds wrong seats and labels."""
        for side, name in enumerate(("own_reward", "partner_reward")):
            payoff = float(game.payoffs[own, partner, side])
            if not (text := self.text(row, name)):
                continue
            try:
                reward = float(text.replace(",", "."))  # a decimal comma
            except ValueError:
                reward = math.nan
            if not math.isclose(reward, payoff, rel_tol=1e-9, abs_tol=1e-9):
                labels = game.label_set(self._labels)
                pair = f"({labels.own[own]}, {labels.partner[partner]}) in {game.name}"
                why = f"is not the payoff {payoff:g} of {pair}"
                raise _wrong(self.columns[name], text, why)


@cache
def _seen_from(game: MatrixGame) -> MatrixGame:
    """Return a game as the column player sees it, with a name of its own unless it is the same."""
    seen = mirrored(game)
    if np.array_equal(seen.payoffs, game.payoffs) and seen.labels == game.labels:
        return game
    name, title = f"{game.name} (column)", f"{game.title}, seen by the column player"
    return replace(seen, name=name, title=title)


@cache
def _action_names(game: MatrixGame, labels: Labels | None, side: str) -> dict[str, int]:
    """Return every way to write an action: indices, and labels but for case and kinds of quotes.

    Where a named label set uses numbers as labels, they are labels and indices are not read.
    """
    names = {str(index): index for index in range(game.n if side == "own" else game.m)}
    if labels and any(label in names for label in getattr(labels, side)):
        names = {}
    for label_set in [labels] if labels else game.labels.values():
        for index, label in enumerate(getattr(label_set, side)):
            if names.setdefault(ascii_signs(label).casefold(), index) != index:
                raise TomevalError(
                    f"game {game.name}: {label!r} names different actions in different label sets "
                    "or as an index; choose a label set with --labels"
                )
    return names
