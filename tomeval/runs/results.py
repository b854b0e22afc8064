"""Read a run folder: the `Run` object, its cells, measures, table and status."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.outcomes import COMPLETE, FAILED, INVALID_REASONS, VOID
from tomeval.runs import tallies
from tomeval.runs.columns import flat
from tomeval.runs.measures import FloatArray, Measure, Totals
from tomeval.runs.store import Store
from tomeval.statistics import RESAMPLES, Estimate, estimate
from tomeval.statistics.shares import share_of_sums

if TYPE_CHECKING:
    import pandas

    from tomeval.runs.domain import Domain

IntArray = NDArray[np.int64]


class Run:
    """A run folder of any domain, read-only.

    Parameters
    ----------
    folder : path
        What `tomeval.run` or ``tomeval run`` wrote.

    Raises
    ------
    TomevalError
        Not a run folder, damaged, or from another version.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.store = Store(self.folder)
        self.domain: Domain = self.store.domain

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
    def name(self) -> str:
        """The experiment's name."""
        return str(self.store.meta().get("name", self.folder.name))

    @cached_property
    def cells(self) -> list[RunCell]:
        """The cells, in the experiment's order."""
        try:
            cells = [self.domain.read(self.store, *cell) for cell in self.store.cells()]
            for cell in cells:
                cell.title, cell.names = _title(cell, cells), self.metric_names
            return cells
        except (AttributeError, KeyError, TypeError) as error:
            raise self.store.damaged(f"a cell's definition: {error!r}") from None

    @cached_property
    def measures(self) -> Mapping[str, Measure]:
        """The measures that this run has data for, in the order of tables."""
        return self.domain.measured(self)

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(self.measures)

    @cached_property
    def headline(self) -> tuple[str, ...]:
        """The measures that are shown first, of those that any cell has a value of."""
        return tuple(
            name
            for name in self.domain.headline
            if name in self.measures
            and any(np.isfinite(cell.totals(name).values).any() for cell in self.cells)
        )

    def rows(
        self, interval: str = "normal", reference: str | None = None, resamples: int = RESAMPLES
    ) -> list[dict[str, Any]]:
        """Return the table, one dict per cell, at full precision.

        Parameters
        ----------
        interval : {"normal", "t", "bca"}
            Of measures that are means over episodes; see `tomeval.statistics.estimate`. BCa is
            stratified by what an episode drew (in matrix games its partner) and weighted by the
            weights of that, its mean too. Shares always have Wilson's interval, see
            `tomeval.statistics.shares.share_of_sums`. Intervals that need not be symmetric, BCa's
            and Wilson's, add the columns ``_ci95_low`` and ``_ci95_high``.
        reference : str, optional
            What regret is measured from, where the domain knows several; overrides the cells' own.
        resamples : int
            Bootstrap resamples.

        Returns
        -------
        list of dict
            The columns of `RunCell.columns`, ``episodes`` (complete ones), ``invalid_rate`` (the
            share of all answers that were invalid, those of voided episodes included) and the
            measures, each followed by the half-width of its 95 % interval. NaN: no data; one
            episode has no interval. ``reference`` (where there are several), ``seed`` and
            ``on_invalid`` come last.
        """
        self.check_reference(reference)
        invalid = tallies.invalid_rates(self.store)
        names = self.metric_names
        result = []
        for cell in self.cells:
            row: dict[str, Any] = dict(cell.columns)
            row["episodes"] = len(cell.episodes)
            row["invalid_rate"] = invalid.get(cell.number, float("nan"))
            shares = [name for name in names if cell.totals(name, reference).share]
            found = cell.estimate(names, interval, reference, resamples)
            row |= flat(names, found, names if interval == "bca" else shares)
            if len(self.domain.references) > 1:
                row["reference"] = reference or cell.reference
            row.update({key: cell.definition[key] for key in ("seed", "on_invalid")})
            result.append(row)
        return result

    def check_reference(self, reference: str | None) -> None:
        """Raise where a reference of regret is none of the domain's."""
        if reference is not None and not any(self.domain.references):
            raise TomevalError(
                f"--reference: the domain {self.domain.name!r} has no references to choose from"
            )
        if reference is not None and reference not in self.domain.references:
            raise unknown("reference", reference, filter(None, self.domain.references))

    def table(self, interval: str = "normal", reference: str | None = None) -> pandas.DataFrame:
        """Return `rows` as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.rows(interval, reference))

    def status(self) -> list[dict[str, Any]]:
        """Return per cell the episodes that are complete, void and failed.

        Where language models were asked, also the model calls, their tokens, and how many answers
        were invalid in each way after all attempts.
        """
        usage = tallies.usage(self.store)
        invalid = tallies.invalid_answers(self.store) if usage else {}
        columns = next(iter(usage.values()), {})
        counts = tallies.episodes(self.store)
        return [
            {
                **cell.columns,
                **{
                    status: counts.get(cell.number, {}).get(status, 0)
                    for status in (COMPLETE, VOID, FAILED)
                },
                **(usage.get(cell.number, dict.fromkeys(columns, 0)) if usage else {}),
                **(invalid.get(cell.number, dict.fromkeys(INVALID_REASONS, 0)) if usage else {}),
            }
            for cell in self.cells
        ]


_FACTS = ("model", "seed", "reference", "on_invalid")


def _title(cell: RunCell, cells: Sequence[RunCell]) -> str:
    """Name a cell's player, with what else tells it from cells of the same task."""
    names = [cell.player]
    same = [other for other in cells if other.player == cell.player]
    said = {*cell.domain.task, *_FACTS}
    for key in cell.domain.by:
        if key not in said and len({other.columns.get(key) for other in same}) > 1:
            names.append(str(cell.columns[key]))
    for key in _FACTS:
        value = cell.facts.get(key, "")
        if value != "" and len({str(other.facts.get(key, "")) for other in cells} - {""}) > 1:
            names.append(str(value) if key == "model" else f"{key} {value}")
    return ", ".join(names)


class RunCell(ABC):
    """One cell of a run: its definition, its complete episodes and its title in plots.

    A domain's own cell says how its arrays are read.

    Attributes
    ----------
    number : int
    definition : dict
    title : str
        What tells it from cells of the same task.
    names : tuple of str
        The measures that the run has data for.
    """

    def __init__(self, store: Store, number: int, definition: dict[str, Any]) -> None:
        self._store = store
        self.domain: Domain = store.domain
        self.number = number
        self.definition = definition
        self.columns: dict[str, str | int] = self.domain.columns(definition)
        self.title = self.player
        self.names = tuple(self.domain.measures)
        self._totals: dict[tuple[str, str], Totals] = {}
        self._estimates: dict[tuple[str, str, int], Estimate] = {}

    # What a domain's own cell answers

    @property
    @abstractmethod
    def played(self) -> Any:
        """The complete episodes, as the domain's measures read them."""

    @property
    def player(self) -> str:
        """Who is measured, in a few words."""
        return str(self.columns[self.domain.by[0]])

    @property
    def is_baseline(self) -> bool:
        """Whether figures draw it as the line that others are seen against."""
        return False

    @property
    def which(self) -> IntArray:
        """What each complete episode drew, such as its partner: strata of the bootstrap, (E,)."""
        return np.zeros(len(self.episodes), dtype=np.int64)

    @property
    def weights(self) -> Mapping[int, float] | None:
        """Share of each value of `which` in what is measured."""
        return None

    @property
    def payoff_range(self) -> float | None:
        """Range of the payoffs, for measures in payoff units; None where there are none."""
        return None

    @property
    def models(self) -> dict[str, str]:
        """Names of the language models that play, by seat; default: that in the column `model`."""
        name = str(self.columns.get("model", ""))
        return {"": name} if name else {}

    def groups(self, drawn: int) -> dict[str, str]:
        """Return what a mixed model takes as a sample of more, coarse first, for one draw.

        `drawn` is a value of `which`. Default: the columns of the task, and what was drawn, where
        it has weights.
        """
        found = {name: str(self.columns[name]) for name in self.domain.task if name in self.columns}
        if self.weights is not None:
            found["draw"] = ", ".join((*found.values(), str(drawn)))
        return found

    def shown_episode(self, typed: Sequence[Any]) -> Sequence[Any]:
        """Return the domain's columns of an episode as exports show them."""
        return typed

    def moves(self, episode: int) -> dict[str, list[Any]]:
        """Return an episode's moves by name, one per step, JSON-ready; the measured player's first.

        Default: the domain's columns of the step table.
        """
        typed = list(self.domain.schema.steps)
        rows = self._store.query(
            f"SELECT {', '.join(typed)} FROM steps WHERE cell = ? AND episode = ? ORDER BY step",
            (self.number, episode),
        )
        return {name: [row[place] for row in rows] for place, name in enumerate(typed)}

    # What follows from it

    @property
    def seed(self) -> int:
        """The cell's seed."""
        return int(self.definition["seed"])

    @property
    def reference(self) -> str:
        """What regret is measured from by default."""
        return str(self.definition.get("reference", self.domain.references[0]))

    @property
    def facts(self) -> dict[str, Any]:
        """The columns, and what else was set for the cell: seed, reference, on_invalid."""
        more = {"seed": self.seed, "on_invalid": self.definition["on_invalid"]}
        return {**self.columns, **more, "reference": self.reference}

    @property
    def task(self) -> dict[str, Any]:
        """What compared cells must agree in."""
        return {name: self.facts[name] for name in self.domain.task}

    @property
    def name(self) -> str:
        """A short text that names the cell."""
        words = [self.player, *(self.columns.get(n) for n in self.domain.task)]
        return ", ".join(str(word) for word in words if isinstance(word, str) and word)

    @cached_property
    def episodes(self) -> IntArray:
        """The numbers of the complete episodes, shape (E,)."""
        rows = self._store.query(
            "SELECT episode FROM episodes WHERE cell = ? AND status = ? ORDER BY episode",
            (self.number, COMPLETE),
        )
        return np.array([number for (number,) in rows], dtype=np.int64)

    def totals(self, name: str, reference: str | None = None) -> Totals:
        """Return a measure by complete episode."""
        key = (name, reference or self.reference)
        if key not in self._totals:
            self._totals[key] = self.domain.measures[name].of(self.played, key[1])
        return self._totals[key]

    def metrics(self, reference: str | None = None) -> dict[str, FloatArray]:
        """Return every measure by complete episode, shape (E,), in its unit."""
        return {name: self.totals(name, reference).values for name in self.names}

    def estimate(
        self,
        names: Sequence[str],
        interval: str = "normal",
        reference: str | None = None,
        resamples: int = RESAMPLES,
    ) -> Estimate:
        """Return measures over the complete episodes with 95 % intervals, in the order of `names`.

        The one place that makes the numbers of tables, figures and reports. All measures are
        estimated together and once: a bootstrap of some of them could differ by rounding.
        """
        key = (interval, reference or self.reference, resamples)
        if key not in self._estimates:
            self._estimates[key] = self._estimate(interval, reference, resamples)
        places = [self.names.index(name) for name in names]
        return Estimate(*(values[places] for values in self._estimates[key]))

    def _estimate(self, interval: str, reference: str | None, resamples: int) -> Estimate:
        """Estimate all measures: those of every episode together, as one sample."""
        found = [self.totals(name, reference) for name in self.names]
        result = Estimate(*(np.full(len(found), np.nan) for _ in range(4)))
        whole = [i for i, totals in enumerate(found) if totals.bottom is None]
        if whole:
            table = np.stack([found[i].top for i in whole], axis=1)
            _fill(result, whole, self.mean(table, interval, resamples))
        for i, totals in enumerate(found):
            if totals.share and totals.bottom is not None:
                _fill(result, [i], share_estimate(totals.top, totals.bottom))
            elif totals.bottom is not None:
                some = totals.bottom > 0
                _fill(result, [i], self.mean(totals.values, interval, resamples, some))
        return result

    def mean(
        self,
        values: FloatArray,
        interval: str = "normal",
        resamples: int = RESAMPLES,
        among: NDArray[np.bool_] | None = None,
    ) -> Estimate:
        """Estimate means over the complete episodes, or over those `among` them.

        Parameters
        ----------
        values : ndarray, shape (E,) or (E, M)
        interval, resamples
            As for `Run.rows`.
        among : ndarray of bool, shape (E,), optional
        """
        strata = self.which
        if among is not None:
            values, strata = values[among], strata[among]
        return estimate(
            values,
            interval,
            strata=strata,
            shares=self.weights,
            rng=np.random.default_rng(self.bootstrap_seed()),
            resamples=resamples,
        )

    def bootstrap_seed(self) -> int:
        """Return a seed that depends on the cell alone: a table comes out the same again."""
        place = (self.columns, self.definition["seed"])
        digest = hashlib.sha256(repr(place).encode()).digest()
        return int.from_bytes(digest[:8], "little")


def share_estimate(hits: FloatArray, items: FloatArray) -> Estimate:
    """Return a share in percent with Wilson's interval; clusters are episodes, each shape (E,)."""
    share = share_of_sums(hits, items)
    low, high = 100 * share.low, 100 * share.high
    return Estimate(*(np.array([x]) for x in (100 * share.share, (high - low) / 2, low, high)))


def _fill(result: Estimate, places: list[int], part: Estimate) -> None:
    for whole, found in zip(result, part, strict=True):
        whole[places] = found


def iterate_export(run: Run, what: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Return column names and rows of ``steps``, ``episodes``, ``answers`` or ``cells``."""
    if what == "steps":
        return run.store.iterate("SELECT * FROM step_records ORDER BY cell, episode, step")
    if what == "answers":
        return run.store.iterate("SELECT * FROM asked ORDER BY cell, episode, step, seat, question")
    if what == "cells":
        rows = run.rows()
        return list(rows[0]), (tuple(row.values()) for row in rows)
    return _episode_rows(run)


def _episode_rows(run: Run) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Return every episode with its measures; those of void episodes are empty."""
    typed = list(run.domain.schema.episodes)
    names = run.metric_names
    columns = ["cell", *run.cells[0].columns, "episode", *typed, "status", "steps", *names]

    def rows() -> Iterator[tuple[Any, ...]]:
        for cell in run.cells:
            values = {name: cell.totals(name).values for name in names}
            index = 0
            own = "".join(f"{name}, " for name in typed)
            for episode, *found, status, steps in run.store.query(
                f"SELECT episode, {own}status, steps FROM episodes WHERE cell = ? ORDER BY episode",
                (cell.number,),
            ):
                said: list[Any] = [None] * len(names)
                if status == COMPLETE:
                    said = [float(values[name][index]) for name in names]
                    index += 1
                found = cell.shown_episode(found)
                yield (cell.number, *cell.columns.values(), episode, *found, status, steps, *said)

    return columns, rows()
