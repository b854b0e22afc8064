"""The tables of Decrypto: measures of pairings taken together, with intervals over games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.outcomes import FAILED, VOID
from tomeval.games.decrypto.game import OUTCOMES, UNDECIDED
from tomeval.games.decrypto.measures import (
    AGREEMENT,
    BELIEF_MEASURES,
    BRIER_MEASURES,
    CHANCE,
    MEASURES,
    expects_bad,
    turn_share,
    turns_a_wrong,
)
from tomeval.games.decrypto.played import Played, pool
from tomeval.games.decrypto.results import by_seats, gives_probabilities, has_beliefs
from tomeval.games.decrypto.seats import ENCODER_QUESTIONS, ROLES
from tomeval.runs import tallies
from tomeval.runs.columns import flat
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run
from tomeval.statistics import AUTO, Estimate, estimate
from tomeval.statistics.bounded import FEWEST
from tomeval.statistics.estimates import SEQUENCE, Share, clustered_sums, kind_of

Row = dict[str, Any]

_PREDICTED = ("tom", "predicted", "actual")


def pooled(measure: Measure, played: Played, interval: str = AUTO) -> Estimate:
    """Estimate a measure over games; those that share keywords and codes are one sampling unit.

    Parameters
    ----------
    interval : str
        Of means over games, see `tomeval.statistics.estimate`.

    Returns
    -------
    Estimate
        Shares have Wilson's interval, clustered, but with ``sequence``. Means over games have the
        one that is asked for, linearised as of a ratio of sums if clusters differ in size. NaN
        without a game; the interval is NaN with fewer clusters than
        `tomeval.statistics.bounded.FEWEST`.
    """
    totals, clusters = measure.of(played, ""), played.clusters
    if totals.share and totals.bottom is not None:
        return _percent(
            clustered_sums(totals.top, totals.bottom, clusters, sequence=interval == SEQUENCE)
        )
    values = totals.parts
    has = np.isfinite(values)
    bounds = measure.limits
    return estimate(values[has], interval, clusters=clusters[has], bounds=bounds)


def _percent(share: Share) -> Estimate:
    low, high = 100 * share.low, 100 * share.high
    return Estimate.of(100 * share.share, low, high)


def _columns(played: Played, counts: Row, names: Sequence[str], how: str = AUTO) -> Row:
    """Return counts, and measures with their intervals; means over games also with its kind."""
    row: Row = {}
    mean = ""
    for name in names:
        if name in counts:
            row[name] = counts[name]
            continue
        row |= flat([name], pooled(MEASURES[name], played, how))
        mean = mean if MEASURES[name].unit == "%" else name
    if mean:
        units = len(np.unique(played.clusters))
        row["interval"] = kind_of(how, units) if units >= FEWEST else ""
    return row


TABLES: dict[str, tuple[str, ...]] = {
    "outcomes": (
        *("games", VOID, FAILED, "invalid_rate", "reask_rate", "lenient_rate"),
        *(f"{name}_percent" for name in OUTCOMES),
        *("turns_per_game", "miscommunication_per_turn_percent", "interception_per_turn_percent"),
    ),
    "perspective": (
        *("games", "turns", "probe_invalid_rate"),
        *(f"{what}_{q}_percent" for q in ENCODER_QUESTIONS for what in _PREDICTED),
    ),
    "beliefs": (
        *("games", "probe_invalid_rate", "keywords_right_percent", "turns_a_wrong"),
        *(f"{name}_percent" for name in BELIEF_MEASURES),
    ),
    "functional": (
        *("games", "turns", "own_turns", "value_per_turn", "delta_functional_per_turn"),
        *("predicted_turns", "delta_tom_per_turn", "response_per_turn", "knowingly_bad_percent"),
    ),
    "planted": (
        *("games", "turns", "use_slope", "compliance_right_percent", "compliance_wrong_percent"),
        *("value_per_turn", "delta_functional_per_turn", "delta_statement_per_turn"),
    ),
    "turns": (),
    "replay": (
        *("games", "turns", "invalid_rate", "reask_rate"),
        *(f"{name}_percent" for name in AGREEMENT),
    ),
}
"""The columns of every table: counts and measures; ``turns`` has a row per turn instead."""


def _turn_rows(played: Played) -> list[Row]:
    rows = []
    for number in sorted(set(played.turn.tolist())):
        at = played.turn == number
        row: Row = {"turn": number, "games": int(at.sum())}
        row["chance_percent"] = 100 * CHANCE if number == 1 else float("nan")
        for name, of in (
            ("predicted_eve", "predicted_eve"),
            ("predicted_eve_reminded", "predicted_eve_reminded"),
            ("interception", "interception_per_turn"),
            ("miscommunication", "miscommunication_per_turn"),
        ):
            column = f"{name}_percent"
            row |= flat([column], _percent(turn_share(played, of, at)))
        rows.append(row)
    return rows


def table_rows(what: str, run: Run, by: Sequence[str] = ()) -> list[Row]:
    """Return a table as one dict per row, at full precision; seeds are pooled.

    Parameters
    ----------
    what : {"outcomes", "perspective", "beliefs", "functional", "planted", "turns", "replay"}
        How games ended; Alice's predictions; Eve's beliefs; ΔFunctional and ΔToM; what she makes of
        planted beliefs, of pairings that have them; by turn; replays.
    by : sequence of str
        Roles that tell rows apart, default all; pairings that agree in them are taken together.
    """
    for role in by:
        if role not in ROLES:
            raise unknown("role", role, ROLES)
    roles, how = by or ROLES, run.method(AUTO)
    result = []
    for names, cells in by_seats(run, roles).items():
        head: Row = dict(zip(roles, names, strict=True))
        played = pool([cell.played for cell in cells])
        if what == "turns":
            result += [head | row for row in _turn_rows(played)]
        elif what == "replay" and not played.replayed:
            raise TomevalError("this run replays no recorded games, so there is nothing to compare")
        elif what == "planted" and not played.planted.known.any():
            continue
        else:
            columns = TABLES[what]
            if what == "outcomes" and played.replayed:
                columns += (f"{UNDECIDED}_percent",)
            if what == "perspective" and gives_probabilities(run.store):
                columns += BRIER_MEASURES
            counts = _counts(run, [cell.number for cell in cells], played, what)
            result.append(head | _columns(played, counts, columns, how))
    if what == "planted" and not has_beliefs(run.store):
        raise TomevalError("this run has no planted beliefs")
    return result


def _counts(run: Run, cells: Sequence[int], played: Played, what: str) -> Row:
    """Return the numbers of games and turns, and the shares of invalid moves and probes.

    Of the turns, values are of those with hints of Alice's own, and ΔToM of those of them on which
    every asked prediction could be read.

    Probes are those of the seat that a table is of: Eve's beliefs or Alice's predictions.
    """
    by_status = tallies.episodes(run.store)
    row: Row = {"games": played.games, "turns": len(played.turn)}
    row["own_turns"] = int(played.own.sum())
    row["predicted_turns"] = int(expects_bad(played)[1].sum())
    row["turns_a_wrong"] = turns_a_wrong(played)
    for status in (VOID, FAILED):
        row[status] = sum(by_status.get(cell, {}).get(status, 0) for cell in cells)
    whole = tallies.rates_of(run.store, cells)
    row |= tallies.rates_of(run.store, cells, lambda _, question: question in ROLES)
    row["lenient_rate"] = whole["lenient_rate"]
    seat = "interceptor" if what == "beliefs" else "encoder"
    asked = tallies.rates_of(run.store, cells, lambda whose, question: whose == seat != question)
    row["probe_invalid_rate"] = asked["invalid_rate"]
    return row
