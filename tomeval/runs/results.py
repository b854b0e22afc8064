"""Read a run folder: the `Run` object, its cells, metrics, table and curves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.core.outcomes import COMPLETE, FAILED, INVALID_REASONS, VOID
from tomeval.domains.matrix.conditional import CONDITIONAL_METRICS, conditional_metrics
from tomeval.domains.matrix.games import Labels, MatrixGame
from tomeval.domains.matrix.measures import (
    METRICS,
    FloatArray,
    Played,
    curves,
    episode_metrics,
)
from tomeval.domains.matrix.partners import Partner
from tomeval.runs.store import Store
from tomeval.statistics.estimates import RESAMPLES, Estimate, estimate

if TYPE_CHECKING:
    import pandas

CELL_COLUMNS = (
    "subject",
    "model",
    "strategy",
    "game",
    "labels",
    "partners",
    "horizon",
    "episodes",
    "invalid_rate",
)
"""Leading columns of a table; `measures.METRICS`, each with its ``_ci95``, follow."""


class Run:
    """A run folder, read-only.

    Parameters
    ----------
    folder : path
        What `tomeval.run` or ``tomeval run`` wrote.

    Raises
    ------
    TomevalError
        Not a run folder, damaged, or from a newer version.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.store = Store(self.folder)

    def __enter__(self) -> Run:
        """Return the run."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    @cached_property
    def cells(self) -> list[RunCell]:
        """The cells, in the experiment's order."""
        try:
            cells = [RunCell(self.store, number, data) for number, data in self.store.cells()]
            for cell in cells:
                cell.title = _title(cell, cells)
            return cells
        except (AttributeError, KeyError, TypeError) as error:
            raise self.store.damaged(f"a cell's definition: {error!r}") from None

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The metrics of this run: those of the conditional probe where it was asked."""
        return METRICS + CONDITIONAL_METRICS if self.store.has_reactions else METRICS

    def rows(
        self, interval: str = "normal", reference: str | None = None, resamples: int = RESAMPLES
    ) -> list[dict[str, Any]]:
        """Return the table, one dict per cell, at full precision.

        Parameters
        ----------
        interval : {"normal", "t", "bca"}
            See `tomeval.statistics.estimate`. BCa is stratified by partner and weighted by the
            partners' weights, its mean too; it adds the columns ``_ci95_low`` and ``_ci95_high`` to
            each metric because it need not be symmetric.
        reference : {"horizon", "stationary"}, optional
            Overrides the cells' own.
        resamples : int
            Bootstrap resamples.

        Returns
        -------
        list of dict
            The columns of `CELL_COLUMNS` and the metrics, each followed by the half-width of its
            95 % interval over episodes. NaN: no data; one episode has no interval. ``episodes``
            counts complete ones; ``invalid_rate`` is the share of all answers that were invalid,
            those of voided episodes included. ``reference``, ``seed`` and ``on_invalid`` come last.
        """
        invalid = self.store.invalid_rates()
        names = self.metric_names
        result = []
        for cell in self.cells:
            row = cell.labels_of_row()
            values = cell.metrics(reference)
            table = np.stack([values[name] for name in names], axis=1)
            row["episodes"] = len(table)
            row["invalid_rate"] = invalid.get(cell.number, float("nan"))
            found = estimate(
                table,
                interval,
                strata=cell.which,
                shares=dict(enumerate(cell.definition["partners"]["weights"])),
                rng=np.random.default_rng(cell.bootstrap_seed()),
                resamples=resamples,
            )
            row.update(estimate_columns(found, interval, names))
            row["reference"] = reference or cell.reference
            row.update({key: cell.definition[key] for key in ("seed", "on_invalid")})
            result.append(row)
        return result

    def table(self, interval: str = "normal", reference: str | None = None) -> pandas.DataFrame:
        """Return `rows` as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.rows(interval, reference))

    def status(self) -> list[dict[str, Any]]:
        """Return per cell the episodes that are complete, void and failed.

        Where language models were asked, also the model calls, their tokens, and how many answers
        were invalid in each way after all attempts.
        """
        usage = self.store.usage()
        invalid = self.store.outcomes() if usage else {}
        columns = next(iter(usage.values()), {})
        counts: dict[tuple[int, str], int] = {
            (cell, status): count
            for cell, status, count in self.store.query(
                "SELECT cell, status, COUNT(*) FROM episodes GROUP BY cell, status"
            )
        }
        return [
            {
                **{k: v for k, v in cell.labels_of_row().items() if k in CELL_COLUMNS[:7]},
                "complete": counts.get((cell.number, COMPLETE), 0),
                "void": counts.get((cell.number, VOID), 0),
                "failed": counts.get((cell.number, FAILED), 0),
                **(usage.get(cell.number, dict.fromkeys(columns, 0)) if usage else {}),
                **(invalid.get(cell.number, dict.fromkeys(INVALID_REASONS, 0)) if usage else {}),
            }
            for cell in self.cells
        ]


def _title(cell: RunCell, cells: Sequence[RunCell]) -> str:
    """Name a cell's subject, with what else tells it from cells of the same task."""
    data = cell.definition
    names = [data["subject"]]
    for key in ("model", "seed", "reference", "on_invalid"):
        if data[key] != "" and len({str(other.definition[key]) for other in cells} - {""}) > 1:
            names.append(f"{key} {data[key]}" if key != "model" else data[key])
    return ", ".join(names)


def estimate_columns(
    found: Estimate, interval: str, names: Sequence[str] = METRICS
) -> dict[str, float]:
    """Return the metric columns of one table row."""
    row: dict[str, float] = {}
    for index, name in enumerate(names):
        row[name] = float(found.mean[index])
        row[f"{name}_ci95"] = float(found.half[index])
        if interval == "bca":
            row[f"{name}_ci95_low"] = float(found.low[index])
            row[f"{name}_ci95_high"] = float(found.high[index])
    return row


class RunCell:
    """One cell of a run: its definition, its complete episodes and its title in plots."""

    def __init__(self, store: Store, number: int, definition: dict[str, Any]) -> None:
        self._store = store
        self.number = number
        self.definition = definition
        self.title: str = definition["subject"]
        game, labels = definition["game"], definition["labels"]
        self.labels = Labels(labels["name"], tuple(labels["own"]), tuple(labels["partner"]))
        self.game = MatrixGame(
            game["name"],
            game["payoffs"],
            {self.labels.name: self.labels},
            title=game["title"],
            wording=game["wording"],
            source=game["source"],
        )
        self.partners = [
            Partner(
                table["name"],
                table["emissions"],
                table["next_state"],
                table["start"],
                tuple(table["states"]),
                table["title"],
                table["source"],
            )
            for table in definition["partners"]["tables"]
        ]
        self.reference: str = definition["reference"]

    def labels_of_row(self) -> dict[str, Any]:
        """Return the columns that tell this cell from others."""
        data = self.definition
        return {
            "subject": data["subject"],
            "model": data.get("model", ""),
            "strategy": data.get("strategy", ""),
            "game": data["game"]["name"],
            "labels": data["labels"]["name"],
            "partners": data["partners"]["name"],
            "horizon": data["horizon"],
        }

    @property
    def name(self) -> str:
        """A short text that names the cell."""
        row = self.labels_of_row()
        return ", ".join(str(row[key]) for key in ("subject", "game", "labels", "partners"))

    @cached_property
    def played(self) -> Played:
        """The complete episodes."""
        played = Played(self.game, self.partners, **self._store.played(self.number))
        problem = _contradiction(played)
        if problem:
            raise self._store.damaged(f"cell {self.number}: {problem}")
        return played

    @property
    def which(self) -> np.ndarray[Any, Any]:
        """Partner of each complete episode, shape (E,)."""
        return self.played.which

    def metrics(self, reference: str | None = None) -> dict[str, FloatArray]:
        """Return every metric per complete episode, shape (E,)."""
        played = self.played
        return episode_metrics(played, reference or self.reference) | conditional_metrics(played)

    def curves(self, reference: str | None = None) -> dict[str, FloatArray]:
        """Return every metric by episode and step, shape (E, T)."""
        return curves(self.played, reference or self.reference)

    def bootstrap_seed(self) -> int:
        """Return a seed that depends on the cell alone: a table comes out the same again."""
        place = (self.labels_of_row(), self.definition["seed"])
        digest = hashlib.sha256(repr(place).encode()).digest()
        return int.from_bytes(digest[:8], "little")


def _contradiction(played: Played) -> str:
    """Return what stored episodes of a run cannot be, or an empty string.

    The store keeps no checksums; this finds rows that were damaged without breaking the file.
    """
    game = played.game
    if played.episodes and played.lengths.min() < 1:
        return "an episode without steps"
    for what, values, count in (
        ("partner", played.which, len(played.partners)),
        ("own action", played.own, game.n),
        ("partner's action", played.partner, game.m),
        ("predicted action", played.predicted, game.m),
    ):
        if values is not None and values.size and not 0 <= values.min() <= values.max() < count:
            return f"a {what} is outside 0..{count - 1}"
    if (played.own_reward != game.own[played.own, played.partner]).any():
        return "a reward is not that of its actions"
    return ""


def iterate_export(run: Run, what: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Return column names and rows of ``steps``, ``episodes`` or ``cells``."""
    if what == "steps":
        return run.store.iterate("SELECT * FROM step_records ORDER BY cell, episode, step")
    if what == "cells":
        rows = run.rows()
        return list(rows[0]), (tuple(row.values()) for row in rows)
    return _episode_rows(run)


def _episode_rows(run: Run) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Return every episode with its metrics; those of void episodes are empty."""
    first = run.cells[0].labels_of_row()
    names = run.metric_names
    columns = ["cell", *first, "episode", "partner", "status", "steps", *names]

    def rows() -> Iterator[tuple[Any, ...]]:
        for cell in run.cells:
            metrics = cell.metrics()
            index = 0
            for episode, partner, status, steps in run.store.query(
                "SELECT episode, partner, status, steps FROM episodes WHERE cell = ? "
                "ORDER BY episode",
                (cell.number,),
            ):
                values: list[Any] = [None] * len(names)
                if status == COMPLETE:
                    values = [float(metrics[name][index]) for name in names]
                    index += 1
                place = (cell.number, *cell.labels_of_row().values())
                yield (*place, episode, cell.partners[partner].name, status, steps, *values)

    return columns, rows()
