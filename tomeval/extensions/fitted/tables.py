"""Both seats of every pairing: who was measured against whom, with the fit of the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tomeval.domains.matrix.measures import episode_metrics
from tomeval.domains.matrix.played import FloatArray, Played
from tomeval.domains.matrix.results import MatrixRunCell, matrix_cells
from tomeval.domains.matrix.storing import PARTNER, SEAT
from tomeval.extensions.fitted.measures import Fit, fits, fitted_values
from tomeval.runs.columns import Table, fixed, flat
from tomeval.runs.results import Run
from tomeval.runs.tallies import pooled
from tomeval.statistics import Estimate

REGRETS = {"regret_fitted": "regret", "regret_least": "least", "regret_most": "most"}
"""The estimate of regret and its limits: columns of the table, and what a `Fit` calls them."""

MEASURED = (
    "tom_percent",
    "delta_tom_best_response_per_step",
    "delta_tom_misprediction_per_step",
    "stepwise_regret_per_step",
    "reward_per_step",
)
"""Measures that need no model of the other player; those of predictions where it predicted."""

GAIN = "gain_per_step"


@dataclass(frozen=True, eq=False)
class Side:
    """One seat of a cell.

    Attributes
    ----------
    who, other : str
        The player, and the one it met.
    played : Played
        The complete episodes as this player sees them.
    """

    cell: MatrixRunCell
    seat: str
    who: str
    other: str
    played: Played

    @cached_property
    def fits(self) -> Sequence[Fit]:
        """What was fitted to the other; one for each partner of a set."""
        return list(fits(self.played).values())

    @cached_property
    def values(self) -> dict[str, FloatArray]:
        """Columns of the table by complete episode, shape (E,)."""
        parts = {**REGRETS, GAIN: "gain"}
        values = {name: fitted_values(self.played, part) for name, part in parts.items()}
        measures = episode_metrics(self.played)
        return values | {name: measures[name] for name in MEASURED}

    def estimate(self, names: Sequence[str]) -> Estimate:
        """Return means of `values` with 95 % intervals."""
        return self.cell.mean(np.stack([self.values[name] for name in names], axis=1))

    @property
    def why(self) -> str:
        """Why there is no estimate; empty if there is one."""
        reasons = dict.fromkeys(one.why for one in self.fits if one.why)
        return "; ".join(reasons) or ("" if self.fits else "no complete episode")

    def row(self, run: Run) -> dict[str, Any]:
        """Return the row of the table."""
        columns = self.cell.columns
        fitted = [one for one in self.fits if one.memory >= 0]
        memories = sorted({one.memory for one in fitted})
        seen = 100 * float(np.mean([one.seen for one in fitted])) if fitted else np.nan
        first = [*REGRETS, "tom_percent"]
        rest = [name for name in MEASURED if name not in first]
        row: dict[str, Any] = {
            "player": self.who,
            "seat": self.seat,
            "against": self.other,
            **{name: columns[name] for name in ("game", "labels", "horizon")},
            "episodes": self.played.episodes,
            "invalid_rate": pooled(run.store, [self.cell.number], f"seat = '{self.seat}'")[
                "invalid_rate"
            ],
            "memory": ", ".join(map(str, memories)),
        }
        row |= flat([GAIN], self.estimate([GAIN]))
        row["contexts_seen_percent"] = seen
        row |= flat(first, self.estimate(first))
        if self.cell.partners:
            known = ("delta_functional_per_step",)
            row |= flat(known, self.cell.estimate(known))
        return row | flat(rest, self.estimate(rest))


def sides(run: Run) -> Iterator[Side]:
    """Yield the seats of a run that are measured: the second one where a player sits in it."""
    for cell in matrix_cells(run):
        columns, other = cell.columns, cell.partner_player
        model = f" ({columns['model']})" if columns["model"] else ""
        condition = f", {columns['condition']}" if columns.get("condition") else ""
        who = f"{columns['subject']}{model}{condition}"
        yield Side(cell, SEAT, who, str(columns["partners"]), cell.played)
        if other is not None:
            yield Side(cell, PARTNER, str(columns["partners"]), who, cell.other_played)


def fitted_rows(run: Run) -> list[dict[str, Any]]:
    """Return a row for each seat that is measured.

    Columns: who met whom; ``memory`` of the machine that was fitted to the other, its ``gain`` in
    held-out log-likelihood over memory 0 (nats per step), and the share of contexts that were seen;
    the estimate of regret and between what it lies (`tomeval.extensions.fitted.measures`);
    ΔFunctional/T where the other is a table; and the measures that need no model of the other.
    """
    rows = [side.row(run) for side in sides(run)]
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name, float("nan")) for name in names} for row in rows]


def fitted_notes(run: Run) -> list[str]:
    """Say what the columns are, and why estimates are missing."""
    notes = [
        "regret fitted is an estimate: regret per step against the best reply to the machine of "
        "short memory that fits the other best (memory: how many joint moves it knows; gain: "
        "its held-out log-likelihood per step over memory 0, in nats). regret least and most: the "
        "same if the other did the worst or the best for the player within exact limits of what "
        "the games leave open. The range from the low end of the least to the high end of the most "
        "is one of 95 %; where an estimate would hang on what was seen too seldom, it stands alone."
    ]
    reasons: dict[str, list[str]] = {}
    for side in sides(run):
        if side.why:
            game = side.cell.game.name
            reasons.setdefault(side.why.partition(";")[0], []).append(
                f"{side.who} against {side.other} in {game}"
            )
    for why, who in reasons.items():
        more = f" and {len(who) - 3} more" if len(who) > 3 else ""
        notes.append(f"no estimate for {', '.join(who[:3])}{more}: {why}")
    return notes


TABLES: Mapping[str, Table] = {
    "fitted": Table(
        "fitted partners: both seats of every pairing, regret against the best reply to a fit",
        fixed(fitted_rows),
        notes=fitted_notes,
    ),
}
