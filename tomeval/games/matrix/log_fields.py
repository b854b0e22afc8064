"""What the columns of a log of matches mean, and how its cells are read."""

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
from tomeval.games.matrix.bounds import given, opened
from tomeval.games.matrix.games import Labels, MatrixGame, get_game, mirrored
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.steps import NONE

REQUIRED = ("episode", "step", "own_action", "partner_action")
WHO_PLAYED = ("participant", "seed")
"""Who played a match, and what chance it met: what comparisons take as one sampling unit."""

_REWARDS = ("own_reward", "partner_reward")
FIELDS = (*REQUIRED, "predicted_action", "game", "partner", "seat", *_REWARDS, *WHO_PLAYED)
NAMING = ("own_action", "partner_action", "predicted_action", "game", "partner")
"""Fields that hold names, for which a file may have texts of its own."""

WHO = ("subject", "condition")
"""Columns that tell rows of tables apart, if no others are named."""

INVALID = "invalid"
"""The text of a move or prediction that could not be read; the log does not say in which way."""

UNKNOWN = "unknown"
SEATS = {"row": False, "1": False, "column": True, "2": True}
"""Words for seats, and whether the subject chooses columns of the payoff table."""


class CellError(Exception):
    """A cell that cannot be read: its column, its text and what is wrong with it."""

    def __init__(self, column: str, value: str, why: str) -> None:
        super().__init__(f"{column} {excerpt(value)!r} {why}" if column else why)


@dataclass(frozen=True)
class Reading:
    """How a log is to be read.

    Attributes
    ----------
    game : MatrixGame or None
        The game of all rows; None: as the column of the field ``game`` says.
    partners : PartnerSet, "unknown" or None
        Who played against all subjects; None: as the column of the field ``partner`` says, where an
        empty cell and ``unknown`` mean that nobody knows.
    labels : str or None
        The label set that actions are written in; None: any of the game's.
    columns : mapping of str to str
        The column of a field, where it has another name. An empty name: the field is not read.
    by : tuple of str or None
        Columns that tell rows of tables apart: the first one is the subject, the others together
        are the condition. None: `WHO`, as far as there are such columns.
    values : mapping of str to str
        What a text of the file stands for, but in the fields that count steps and name players.
    skip_bad : bool
        Leave out matches with a step that cannot be read, and tell of them, in place of an error.
    """

    game: MatrixGame | None = None
    partners: PartnerSet | str | None = None
    labels: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    by: tuple[str, ...] | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    skip_bad: bool = False

    @classmethod
    def of(
        cls,
        game: str | Path | MatrixGame | None,
        partner: str | Path | PartnerSet | None,
        **how: Any,
    ) -> Reading:
        """Return how a log is read; parameters as for `tomeval.import_log`."""
        found = None if game is None else opened(game, "single_action")[0]
        met = None if partner is None else given("partner", partner, PartnerSet)
        return cls(found, met, **how)


def _find_columns(
    path: Path, header: Sequence[str], reading: Reading
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the column of each field that the file has, and those that tell rows apart.

    Raises
    ------
    TomevalError
        With what lacks: a column that is named or needed (with the near match), the game or the
        partner; or both are given and named as a column.
    """
    for name, column in reading.columns.items():
        if name not in FIELDS:
            raise unknown("field", name, FIELDS, "--map")
        if not column and name in REQUIRED:
            raise TomevalError(f"--map: the field {name!r} is required: name its column")
    columns = {name: name for name in FIELDS if name in header or name in REQUIRED}
    columns = {name: column for name, column in (columns | {**reading.columns}).items() if column}
    lacks = [name for name in REQUIRED if columns[name] not in header]
    for name, said in (("game", reading.game), ("partner", reading.partners)):
        if said is not None and reading.columns.get(name):
            raise TomevalError(f"--{name} and --map {name}=COLUMN cannot be combined")
        if said is not None:
            columns.pop(name, None)
        elif name not in columns:
            lacks.append(name)
    hint = f"; name with --map FIELD=COLUMN: {', '.join(lacks)}" if lacks else ""
    hint += "; the game and the partner also with --game and --partner" if lacks else ""
    try:
        check_columns(path, header, [*columns.values(), *(reading.by or ())])
    except TomevalError as error:
        raise TomevalError(f"{error}{hint}") from None
    if lacks:
        raise TomevalError(f"{path}: the {lacks[0]} is missing{hint}")
    by = tuple(name for name in WHO if name in header) if reading.by is None else reading.by
    return columns, by if reading.by is not None or "subject" in by else ("", *by)


class Rows:
    """Reads the cells of a log's rows; what cannot be read is a `CellError`.

    `columns` has the column of each field that the file has, `by` those that tell rows apart (the
    subject's, may be empty, then the condition's), `indices` the games with actions by index.
    """

    def __init__(self, path: Path, header: Sequence[str], reading: Reading) -> None:
        self.reading = reading
        self.columns, self.by = _find_columns(path, header, reading)
        self._values = {text.casefold(): meant for text, meant in reading.values.items()}
        self.indices: dict[MatrixGame, None] = {}

    def text(self, row: dict[str, str], name: str) -> str:
        """Return the text of a field; empty if the file does not have it."""
        column = self.columns.get(name)
        text = "" if column is None else row[column].strip()
        return self._values.get(text.casefold(), text) if name in NAMING else text

    def who(self, row: dict[str, str]) -> list[str]:
        """Return subject and conditions; the subject is empty where the file has none."""
        said = [row[name].strip() if name else "" for name in self.by] or [""]
        if self.by and self.by[0] and not said[0]:
            raise CellError(self.by[0], "", "is empty, but every row needs a subject")
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
            raise CellError(column, text, f"is a file or a table: give it with --{name}")
        return text if ":" in text else text.casefold()  # players of a library have capitals

    def game(self, row: dict[str, str]) -> MatrixGame:
        """Return the game of a row, as the subject sees it."""
        game = self.reading.game
        if game is None:
            text = self._named(row, "game")
            try:
                game = get_game(text)
            except TomevalError as error:
                raise CellError(self.columns["game"], text, f"is not a game: {error}") from None
        if "seat" not in self.columns:
            return game
        text = self.text(row, "seat")
        if (column_seat := SEATS.get(text.casefold())) is None:
            why = f"is not a seat{did_you_mean(text, SEATS)}; known: row, column"
            raise CellError(self.columns["seat"], text, why)
        return _seen_from(game) if column_seat else game

    def partners(self, row: dict[str, str], game: MatrixGame) -> PartnerSet | None:
        """Return the partner set of a row; None: nobody knows."""
        given = self.reading.partners
        if isinstance(given, PartnerSet):
            if (given.partners[0].n, given.partners[0].m) != (game.n, game.m):
                raise TomevalError(
                    f"partner set {given.name!r} is for another number of actions than {game.name}"
                )
            return given
        text = self._named(row, "partner") if given is None else given
        try:
            return None if text in ("", UNKNOWN) else get_partner_set(text, game)
        except TomevalError as error:
            if given is not None:
                raise
            column = self.columns["partner"]
            raise CellError(column, text, f"is not a partner: {error}") from None

    def number(self, row: dict[str, str]) -> int:
        """Return the number of a row's step."""
        text = self.text(row, "step")
        try:
            return int(text.removesuffix(".0"))
        except ValueError:
            raise CellError(self.columns["step"], text, "is not a whole number") from None

    def step(self, game: MatrixGame, row: dict[str, str]) -> tuple[int, int, int, str, str]:
        """Return both moves and the prediction, and what became of the subject's questions."""
        own, act = self._action(game, row, "own_action", "own")
        partner, _ = self._action(game, row, "partner_action", "partner")
        predicted, predict = NONE, NOT_ASKED
        if self.text(row, "predicted_action"):
            predicted, predict = self._action(game, row, "predicted_action", "partner")
        if act == VALID:
            self._check_rewards(game, row, own, partner)
        return own, partner, predicted, act, predict

    def _action(
        self, game: MatrixGame, row: dict[str, str], name: str, side: str
    ) -> tuple[int, str]:
        """Return an action and what became of the question."""
        column, text = self.columns[name], self.text(row, name)
        if text.casefold() == INVALID and name != "partner_action":
            return NONE, "unparsable"
        labels = game.label_set(self.reading.labels) if self.reading.labels else None
        action = _read_action(column, text, _action_names(game, labels, side))
        label = getattr(labels or game.label_set(), side)[action]
        if row[column].strip()[:1].isdigit() and text.casefold() != label.casefold():
            self.indices[game] = None
        return action, VALID

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
                labels = game.label_set(self.reading.labels)
                pair = f"({labels.own[own]}, {labels.partner[partner]}) in {game.name}"
                why = f"is not the payoff {payoff:g} of {pair}"
                raise CellError(self.columns[name], text, why)


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
    sets = [labels] if labels else list(game.labels.values())
    names = {str(index): index for index in range(game.n if side == "own" else game.m)}
    if labels and any(label in names for label in getattr(labels, side)):
        names = {}
    for label_set in sets:
        for index, label in enumerate(getattr(label_set, side)):
            known = names.setdefault(ascii_signs(label).casefold(), index)
            if known != index:
                raise TomevalError(
                    f"game {game.name}: {label!r} names different actions in different label sets "
                    "or as an index; choose a label set with --labels"
                )
    return names


def _read_action(column: str, text: str, names: Mapping[str, int]) -> int:
    """Read one action; ``1.0`` is how tables with empty cells write the index 1."""
    folded = ascii_signs(text).casefold()
    action = names.get(folded, names.get(folded.removesuffix(".0")))
    if action is None:
        near, known = did_you_mean(text, names), ", ".join(names)
        why = f"is neither a label nor an index of the game{near}; known: {known}"
        raise CellError(column, text, why)
    return action
