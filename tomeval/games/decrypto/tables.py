"""The tables of Decrypto: measures of pairings taken together, with intervals over games."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import unknown
from tomeval.core.outcomes import FAILED, VOID
from tomeval.games.decrypto.game import OUTCOMES, UNDECIDED
from tomeval.games.decrypto.measures import (
    BELIEF_MEASURES,
    CHANCE,
    MEASURES,
    expects_bad,
    turns_a_wrong,
)
from tomeval.games.decrypto.results import DecryptoRunCell
from tomeval.games.decrypto.seats import BELIEFS, ENCODER_QUESTIONS, ROLES
from tomeval.games.played import Played
from tomeval.runs import tallies
from tomeval.runs.cell import RunCell
from tomeval.runs.columns import Table, flat, never
from tomeval.runs.measures import Totals
from tomeval.runs.results import Run
from tomeval.statistics import AUTO

Row = dict[str, Any]
Cells = Sequence[RunCell]


class Together(DecryptoRunCell):
    """Pairings that a row of a table takes as one, in all turns or in one of them.

    Games of one seed and number share keywords and codes: they are one sampling unit.
    """

    def __init__(self, cells: Cells, turn: int = 0) -> None:
        first = cells[0]
        super().__init__(first.store, first.number, first.definition)
        self.sequential, self.measures = first.sequential, first.measures
        self.parts = [cell.played for cell in cells]
        if turn:
            self.parts = [in_turn(one, turn) for one in self.parts]
        self.episodes = np.concatenate([cell.episodes for cell in cells])

    @property
    def clusters(self) -> NDArray[Any]:
        """Seed and number of every game."""
        return np.concatenate([one.by_game["cluster"] for one in self.parts])

    def totals(self, name: str, reference: str | None = None) -> Totals:
        """Return a measure by game, one pairing after the other."""
        parts = [self.measures[name].of(one, "") for one in self.parts]
        top, bottom = np.concatenate([part[:2] for part in parts], axis=1)
        return Totals(top, bottom, parts[0].share)


def in_turn(played: Played, turn: int) -> Played:
    """Return games as if they had only one of their turns."""
    among = played["step"] == turn
    return replace(played, steps={name: values[among] for name, values in played.steps.items()})


_COLUMNS: dict[str, tuple[str, ...]] = {
    "outcomes": (
        *("games", VOID, FAILED, "invalid_rate", "reask_rate", "lenient_rate"),
        *(f"{name}_percent" for name in OUTCOMES),
        *("turns_per_game", "miscommunication_per_turn_percent", "interception_per_turn_percent"),
        f"{UNDECIDED}_percent",
    ),
    "perspective": (
        *("games", "turns", "probe_invalid_rate"),
        *(f"{w}_{q}_percent" for q in ENCODER_QUESTIONS for w in ("tom", "predicted", "actual")),
        *(f"brier_{question}" for question in ENCODER_QUESTIONS),
    ),
    "beliefs": (
        *("games", "probe_invalid_rate", "keywords_right_percent", "turns_a_wrong"),
        *(f"{name}_percent" for name in BELIEF_MEASURES),
    ),
    "functional": (
        *("games", "turns", "own_turns", "value_per_turn", "delta_functional_per_turn"),
        *("predicted_turns", "delta_tom_per_turn", "response_per_turn", "knowingly_bad_percent"),
    ),
}
"""The counts and measures of every table but that of turns."""


def _row(columns: Sequence[str], counts: Row, together: Together) -> Row:
    """Return counts, and measures with their intervals; means over games also with its kind."""
    row: Row = {}
    for name in columns:
        if name in counts:
            row[name] = counts[name]
        elif name in together.measures:
            row |= flat([name], together.estimate([name]))
    if any(MEASURES[name].unit != "%" for name in row if name in MEASURES):
        row["interval"] = together.interval_kind(AUTO)
    return row


BY_TURN = {
    "predicted_eve_percent": "predicted_eve_percent",
    "predicted_eve_reminded_percent": "predicted_eve_reminded_percent",
    "interception_percent": "interception_per_turn_percent",
    "miscommunication_percent": "miscommunication_per_turn_percent",
}
"""The measures of the table of turns by column."""


def _turn_rows(cells: Cells) -> Iterator[Row]:
    for number in sorted({turn for cell in cells for turn in cell.played["step"].tolist()}):
        row: Row = {"turn": number}
        row["games"] = sum(int((cell.played["step"] == number).sum()) for cell in cells)
        row["chance_percent"] = 100 * CHANCE if number == 1 else float("nan")
        found = Together(cells, number).estimate([*BY_TURN.values()])
        yield row | flat([*BY_TURN], found)


def table_rows(what: str, run: Run, by: Sequence[str] = ()) -> list[Row]:
    """Return a table as one dict per row, at full precision; seeds are pooled.

    Parameters
    ----------
    what : str
        One of `TABLES`.
    by : sequence of str
        Roles that tell rows apart, default all; pairings that agree in them are taken together.
    """
    for role in by:
        if role not in ROLES:
            raise unknown("role", role, ROLES)
    roles, together = by or ROLES, dict[tuple[Any, ...], list[RunCell]]()
    for cell in run.cells:
        together.setdefault(tuple(cell.columns[role] for role in roles), []).append(cell)
    result: list[Row] = []
    for names, cells in together.items():
        head: Row = dict(zip(roles, names, strict=True))
        if what == "turns":
            result += [head | row for row in _turn_rows(cells)]
        else:
            counts = _counts(run, cells, what)
            result.append(head | _row(_COLUMNS[what], counts, Together(cells)))
    return result


def _counts(run: Run, cells: Cells, what: str) -> Row:
    """Return the numbers of games and turns, and the shares of invalid moves and probes.

    Of the turns, values are of those with hints of Alice's own, and ΔToM of those of them on which
    every asked prediction could be read.

    Probes are those of the seat that a table is of: Eve's beliefs or Alice's predictions.
    """
    by_status, numbers = tallies.episodes(run.store), [cell.number for cell in cells]
    played = [cell.played for cell in cells]
    row: Row = {"games": sum(one.games for one in played)}
    row["turns"] = sum(len(one["step"]) for one in played)
    row["own_turns"] = sum(int(one["own"].sum()) for one in played)
    row["predicted_turns"] = sum(int(expects_bad(one)[1].sum()) for one in played)
    row["turns_a_wrong"] = sum(map(turns_a_wrong, played))
    for status in (VOID, FAILED):
        row[status] = sum(by_status.get(number, {}).get(status, 0) for number in numbers)
    whole = tallies.rates_of(run.store, numbers)
    row |= tallies.rates_of(run.store, numbers, lambda _, question: question in ROLES)
    row["lenient_rate"] = whole["lenient_rate"]
    seat = "interceptor" if what == "beliefs" else "encoder"
    asked = tallies.rates_of(run.store, numbers, lambda whose, question: whose == seat != question)
    row["probe_invalid_rate"] = asked["invalid_rate"]
    return row


def _asks(*probes: str) -> dict[str, Any]:
    """Return what a table says that needs any of some probes."""

    def present(run: Run) -> bool:
        return any(told["probes"].get(name) for _, told in run.store.cells() for name in probes)

    return {"present": present, "needs": f"probes = {{ {', '.join(probes)} }}"}


_ABOUT = {
    "outcomes": "how games ended, by players",
    "perspective": "what encoders expect of the other seats, and how often that is right",
    "beliefs": "what interceptors believe the keywords are, and how often that is right",
    "functional": "what hints were worth, and what better ones would have been",
    "turns": "predictions and outcomes by turn",
}
_NEEDS = {"perspective": _asks(*ENCODER_QUESTIONS), "beliefs": _asks(*BELIEFS)}
TABLES = {
    what: Table(about, partial(table_rows, what), reported=never, **_NEEDS.get(what, {}))
    for what, about in _ABOUT.items()
}
