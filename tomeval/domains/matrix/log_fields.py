"""What the columns of a log mean, and how its cells are read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.core.resources import check_columns
from tomeval.core.text import ascii_signs, excerpt
from tomeval.domains.matrix.games import Labels, MatrixGame, mirrored
from tomeval.domains.matrix.partners import PartnerSet

REQUIRED = ("episode", "step", "own_action", "partner_action")
OPTIONAL = ("predicted_action", "game", "partner", "seat", "own_reward", "partner_reward")
WHO_PLAYED = ("participant", "seed")
"""Who played a match, and what chance it met: what comparisons take as one sampling unit."""

FIELDS = (*REQUIRED, *OPTIONAL, *WHO_PLAYED)
WHO = ("subject", "condition")
"""Columns that tell rows of tables apart, if no others are named."""

_ACTIONS = ("own_action", "partner_action", "predicted_action")
NAMING = (*_ACTIONS, "game", "partner", "seat")
"""Fields that hold names, for which a file may have texts of its own."""

NUMERIC = (*_ACTIONS, "step", "own_reward", "partner_reward")
"""Fields that may hold numbers, with decimal commas where no comma separates cells."""

UNKNOWN = "unknown"
SEATS = {"row": False, "1": False, "column": True, "2": True}
"""Words for seats, and whether the subject chooses columns of the payoff table."""

_WHOLE = re.compile(r"([0-9]+)\.0+")
_DECIMAL_COMMA = re.compile(r"([+-]?[0-9]+),([0-9]+)")


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
        What a text of the file stands for, in the fields `NAMING`; an empty one in all fields.
    invalid : tuple of str
        Texts of actions and predictions that are invalid answers.
    skip_bad : bool
        Leave out matches with a step that cannot be read, and tell of them, in place of an error.
    """

    game: MatrixGame | None = None
    partners: PartnerSet | str | None = None
    labels: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    by: tuple[str, ...] | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    invalid: tuple[str, ...] = ()
    skip_bad: bool = False


@dataclass(frozen=True)
class Columns:
    """The columns of a file: by field, and those that name the subject and the condition."""

    of: Mapping[str, str]
    subject: str  # empty: the file's name is the subject
    condition: tuple[str, ...]


def find_columns(path: Path, header: Sequence[str], reading: Reading) -> Columns:
    """Return where each field stands; raise `TomevalError` with the near match for what lacks."""
    for name in reading.columns:
        if name not in FIELDS:
            raise unknown("field", name, FIELDS, "--map")
    named = {name: column for name, column in reading.columns.items() if column}
    dropped = {name for name, column in reading.columns.items() if not column}
    if lacking := [name for name in REQUIRED if name in dropped]:
        raise TomevalError(f"--map: the field {lacking[0]!r} is required: name its column")
    column_of = {name: named.get(name, name) for name in REQUIRED}
    try:
        check_columns(path, header, [*column_of.values(), *named.values(), *(reading.by or ())])
    except TomevalError as error:
        lacking = [name for name, column in column_of.items() if column not in header]
        told = f"; name with --map FIELD=COLUMN: {', '.join(lacking)}" if lacking else ""
        for name, given in (("game", reading.game), ("partner", reading.partners)):
            if lacking and given is None and named.get(name, name) not in header:
                told += f"; and the {name}, with --{name} or --map"
        raise TomevalError(f"{error}{told}") from None
    for name in (*OPTIONAL, *WHO_PLAYED):
        if name in named or (name in header and name not in dropped):
            column_of[name] = named.get(name, name)
    for name, given in (("game", reading.game), ("partner", reading.partners)):
        if given is None and name not in column_of:
            raise TomevalError(
                f"{path}: the {name} is missing: give it with --{name}, or its column with --map "
                f"{name}=COLUMN; the file has: {', '.join(header)}"
            )
        if given is not None and name in named:
            raise TomevalError(f"--{name} and --map {name}=COLUMN cannot be combined")
        if given is not None:
            column_of.pop(name, None)
    by = reading.by
    if by is None:
        by = tuple(name for name in WHO if name in header)
        subject = "subject" if "subject" in by else ""
        return Columns(column_of, subject, tuple(name for name in by if name != subject))
    return Columns(column_of, by[0] if by else "", tuple(by[1:]))


@cache
def seen_from(game: MatrixGame, column_seat: bool) -> MatrixGame:
    """Return a game as the player in a seat sees it.

    The column player's payoffs are transposed, which has a name of its own unless that changes
    nothing.
    """
    if not column_seat:
        return game
    seen = mirrored(game)
    if np.array_equal(seen.payoffs, game.payoffs) and seen.labels == game.labels:
        return game
    name, title = f"{game.name} (column)", f"{game.title}, seen by the column player"
    return replace(seen, name=name, title=title)


@cache
def action_names(game: MatrixGame, labels: Labels | None, side: str) -> dict[str, int]:
    """Return every way to write an action: indices, and labels but for case and kinds of quotes.

    Where a named label set uses numbers as labels, they are labels and indices are not read.
    """
    sets = [labels] if labels else list(game.labels.values())
    count = game.n if side == "own" else game.m
    names = {str(index): index for index in range(count)}
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


def meaning(name: str, raw: str, values: Mapping[str, str]) -> str:
    """Return what the text of a field stands for; `values` have texts regardless of case."""
    text = raw.strip()
    meant = values.get(text.casefold(), text)
    if meant and (name not in NAMING or (name == "seat" and meant.casefold() not in SEATS)):
        return text
    return meant


def with_point(text: str) -> str:
    """Return a number that has a decimal comma with a point, and any other text as it is.

    Examples
    --------
    >>> with_point("-2,50"), with_point("a,b")
    ('-2.50', 'a,b')
    """
    return _DECIMAL_COMMA.sub(r"\1.\2", text) if _DECIMAL_COMMA.fullmatch(text) else text


def in_words(values: Sequence[object]) -> str:
    """Return values as a list in a sentence."""
    *first, last = map(str, values)
    return f"{', '.join(first)} and {last}" if first else last


def index_note(read: Mapping[int, str]) -> str:
    """Return a note on actions, with their labels, that a log has by index.

    Examples
    --------
    >>> index_note({1: "Defect", 0: "Cooperate"}).partition(";")[0]
    "note: actions 0 and 1 were read as Cooperate and Defect, in the game's order"
    """
    indices = sorted(read)
    many, labels = (in_words(part) for part in (indices, [read[index] for index in indices]))
    said = f"actions {many} were read as {labels}, in the game's order"
    return f"note: {said}; --value {indices[-1]}={read[indices[0]]} changes this"


def read_action(column: str, text: str, names: Mapping[str, int]) -> int:
    """Read one action; ``1.0`` is how tables with empty cells write the index 1."""
    folded = ascii_signs(text).casefold()
    action = names.get(folded)
    if action is None and (whole := _WHOLE.fullmatch(folded)):
        action = names.get(whole[1])
    if action is None:
        raise CellError(
            column,
            text,
            f"is neither a label nor an index of the game{did_you_mean(text, names)}; "
            f"known: {', '.join(names)}",
        )
    return action


def read_number(column: str, text: str) -> int:
    """Read a whole number."""
    whole = _WHOLE.fullmatch(text)
    try:
        return int(whole[1] if whole else text)
    except ValueError:
        raise CellError(column, text, "is not a whole number") from None


def read_seat(column: str, text: str) -> bool:
    """Return whether the subject chooses columns."""
    seat = SEATS.get(text.casefold())
    if seat is None:
        near = did_you_mean(text, SEATS)
        raise CellError(column, text, f"is not a seat{near}; known: row, column")
    return seat


def check_opens_nothing(column: str, text: str, field: str) -> None:
    """Raise if a cell names a file, or holds a table, which could name one in another spelling.

    Whoever wrote a log must not choose what is read here.
    """
    if ".toml" in text.casefold() or "{" in text:
        raise CellError(column, text, f"is a file or a table: give it with --{field}")
