"""What the columns of a log of matches mean, and how its cells are read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.outcomes import NOT_ASKED, VALID
from tomeval.core.resources import check_columns
from tomeval.core.text import ascii_signs, excerpt
from tomeval.games.matrix.bounds import given, opened
from tomeval.games.matrix.games import Labels, MatrixGame, get_game, mirrored
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.steps import NONE

REQUIRED = ("episode", "step", "own_action", "partner_action")
WHO_PLAYED = {"participants": "participant", "seeds": "seed"}
"""Who played a match, and what chance it met: what comparisons take as one sampling unit."""

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
        The game of all rows; None: as the column ``game`` says.
    partners : PartnerSet, "unknown" or None
        Who played against all subjects; None: as the column ``partner`` says, where an empty cell
        and ``unknown`` mean that nobody knows.
    labels : str or None
        The label set that actions are written in; None: any of the game's.
    by : tuple of str or None
        Columns that tell rows of tables apart: the first one is the subject, the others together
        are the condition. None: `WHO`, as far as there are such columns.
    skip_bad : bool
        Leave out matches with a step that cannot be read, and tell of them, in place of an error.
    """

    game: MatrixGame | None = None
    partners: PartnerSet | str | None = None
    labels: str | None = None
    by: tuple[str, ...] | None = None
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


def text_of(row: Mapping[str, str], name: str) -> str:
    """Return the text of a cell; empty if the file does not have the column."""
    return row.get(name, "").strip()


class Rows:
    """Reads the cells of a log's rows; what cannot be read is a `CellError`.

    `by` are the columns that tell rows apart (the subject's, may be empty, then the condition's),
    `indices` the games with actions by index.
    """

    def __init__(self, path: Path, header: Sequence[str], reading: Reading) -> None:
        self.reading = reading
        self.indices: dict[MatrixGame, None] = {}
        check_columns(path, header, [*REQUIRED, *(reading.by or ())])
        for name, said in (("game", reading.game), ("partner", reading.partners)):
            if said is None and name not in header:
                raise TomevalError(f"{path}: the {name} is missing; name it with --{name}")
        by = tuple(name for name in WHO if name in header) if reading.by is None else reading.by
        self.by = by if reading.by is not None or "subject" in by else ("", *by)

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
        text = text_of(row, name)
        if ".toml" in text.casefold() or "{" in text:
            raise CellError(name, text, f"is a file or a table: give it with --{name}")
        return text if ":" in text else text.casefold()  # players of a library have capitals

    def game(self, row: dict[str, str]) -> MatrixGame:
        """Return the game of a row, as the subject sees it."""
        game = self.reading.game
        if game is None:
            text = self._named(row, "game")
            try:
                game = get_game(text)
            except TomevalError as error:
                raise CellError("game", text, f"is not a game: {error}") from None
        if "seat" not in row:
            return game
        text = text_of(row, "seat")
        if (column_seat := SEATS.get(text.casefold())) is None:
            why = f"is not a seat{did_you_mean(text, SEATS)}; known: row, column"
            raise CellError("seat", text, why)
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
            raise CellError("partner", text, f"is not a partner: {error}") from None

    def number(self, row: dict[str, str]) -> int:
        """Return the number of a row's step."""
        text = text_of(row, "step")
        try:
            return int(text.removesuffix(".0"))
        except ValueError:
            raise CellError("step", text, "is not a whole number") from None

    def step(self, game: MatrixGame, row: dict[str, str]) -> tuple[int, int, int, str, str]:
        """Return both moves and the prediction, and what became of the subject's questions."""
        own, act = self._action(game, row, "own_action", "own")
        partner, _ = self._action(game, row, "partner_action", "partner")
        predicted, predict = NONE, NOT_ASKED
        if text_of(row, "predicted_action"):
            predicted, predict = self._action(game, row, "predicted_action", "partner")
        if act == VALID:
            self._check_rewards(game, row, own, partner)
        return own, partner, predicted, act, predict

    def _action(
        self, game: MatrixGame, row: dict[str, str], name: str, side: str
    ) -> tuple[int, str]:
        """Return an action and what became of the question."""
        text = text_of(row, name)
        if text.casefold() == INVALID and name != "partner_action":
            return NONE, "unparsable"
        labels = game.label_set(self.reading.labels) if self.reading.labels else None
        action = _read_action(name, text, _action_names(game, labels, side))
        label = getattr(labels or game.label_set(), side)[action]
        if text[:1].isdigit() and text.casefold() != label.casefold():
            self.indices[game] = None
        return action, VALID

    def _check_rewards(self, game: MatrixGame, row: dict[str, str], own: int, partner: int) -> None:
        """Raise unless recorded rewards are those of the game; it finds wrong seats and labels."""
        for side, name in enumerate(("own_reward", "partner_reward")):
            payoff = float(game.payoffs[own, partner, side])
            if not (text := text_of(row, name)):
                continue
            try:
                reward = float(text.replace(",", "."))  # a decimal comma
            except ValueError:
                reward = math.nan
            if not math.isclose(reward, payoff, rel_tol=1e-9, abs_tol=1e-9):
                labels = game.label_set(self.reading.labels)
                pair = f"({labels.own[own]}, {labels.partner[partner]}) in {game.name}"
                why = f"is not the payoff {payoff:g} of {pair}"
                raise CellError(name, text, why)


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
