"""Read a run folder: the `Run` object, its table, its status and its export."""

from __future__ import annotations

import copy
import itertools
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.once import Holding
from tomeval.core.outcomes import COMPLETE, FAILED, INVALID_REASONS, VOID
from tomeval.runs import tallies
from tomeval.runs.analyses import analyses_of, known_measures, known_tables
from tomeval.runs.cell import JUDGED, RunCell
from tomeval.runs.columns import (
    ANSWER,
    OF_CELLS,
    PROMPTED,
    REASK,
    SETTINGS,
    filled,
    flat,
    in_order,
)
from tomeval.runs.folder import located, raised
from tomeval.runs.measures import SCORES, Measure
from tomeval.runs.record import ASKED
from tomeval.runs.selection import parse_where, select
from tomeval.runs.store import Store
from tomeval.statistics import AUTO
from tomeval.statistics.estimates import SEQUENCE

logger = logging.getLogger(__name__)

STOPPED = "stopped"
"""The column that says why a cell of a run with a condition got no more episodes."""

WANTED = "wanted"
"""The column of a status with the number of episodes that a cell is to have."""

if TYPE_CHECKING:
    from tomeval.runs.columns import Table
    from tomeval.runs.domain import Domain


class Run:
    """A run folder of any domain, read-only.

    Parameters
    ----------
    folder : path
    where : sequence of str
        Conditions that its cells must meet, see `tomeval.runs.selection.WHERE`; the run is then as
        if it had no other cells. Default: all.

    Raises
    ------
    TomevalError
        Not a run folder, damaged, or of another version; from `cells` conditions that name an
        unknown column or value, or that no cell meets.
    """

    def __init__(self, folder: str | Path, where: Sequence[str] = ()) -> None:
        self.folder = located(Path(folder))
        self.where = tuple(where)
        self._where = parse_where(where) if where else []
        self.store = Store(self.folder)
        self.domain: Domain = self.store.domain

    def __enter__(self) -> Self:
        """Return the run."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def part(self, cells: Sequence[RunCell]) -> Run:
        """Return the run with some of its cells only; it shares the store and is not closed."""
        part = copy.copy(self)
        for name in ("cells", "measures", "headline", "scores", "tables", "added_figures"):
            part.__dict__.pop(name, None)
        part.__dict__["cells"] = list(cells)
        return part

    @cached_property
    def name(self) -> str:
        """The experiment's name."""
        return str(self.store.meta().get("name", self.folder.name))

    @cached_property
    def cells(self) -> list[RunCell]:
        """The cells, in the experiment's order."""
        try:
            cells = [
                self.domain.run_cell(self.store, number, definition)
                for number, definition in self.store.cells()
            ]
            cells = select(cells, self._where) if self._where else cells
            holding = Holding()
            for cell, title in zip(cells, _titles(cells), strict=True):
                cell.title, cell.measures, cell.holding = title, self.measures, holding
                cell.sequential = self.sequential
            return cells
        except (AttributeError, KeyError, TypeError) as error:
            raise self.store.damaged(f"a cell's definition: {error!r}") from None

    @cached_property
    def raised(self) -> tuple[int, ...]:
        """The numbers of episodes that cells were to have, if they were raised after a session."""
        return raised(self.store.sessions())

    @cached_property
    def sequential(self) -> bool:
        """Whether its number of episodes could depend on what they showed.

        It stops by a condition, or was extended after a session. Intervals are then sequences, see
        `tomeval.statistics.sequences`, unless another kind is asked for.
        """
        return bool(self.raised or self.until)

    def method(self, interval: str) -> str:
        """Return how intervals are made where `interval` is asked for; see `RunCell.method`."""
        looked = interval == AUTO and any(cell.sequential for cell in self.cells)
        return SEQUENCE if looked else interval

    def wanted(self, cell: RunCell) -> int | None:
        """Return how many episodes of a cell the folder is to hold; None if it does not say."""
        planned = self.until.get("cells", {}).get(str(cell.number), {}).get("episodes")
        planned = planned or self.store.planned()
        return cell.wanted(planned) if planned else None

    @cached_property
    def until(self) -> Mapping[str, Any]:
        """The condition that it stops by, with what is known of it; empty without a condition."""
        return self.store.until()

    def stopped(self, cell: RunCell) -> str:
        """Return why a cell got no more episodes; empty without a condition, or if it goes on."""
        return str(self.until.get("cells", {}).get(str(cell.number), {}).get("stopped", ""))

    @cached_property
    def measures(self) -> Mapping[str, Measure]:
        """The measures that this run has data for, in the order of tables."""
        return known_measures(self.domain, self)

    @cached_property
    def tables(self) -> Mapping[str, Table]:
        """The tables besides that of cells that this run has data for, by name."""
        known = known_tables(self.domain, self.store)
        return {name: table for name, table in known.items() if table.present(self)}

    def table_of(self, name: str) -> Table:
        """Return one of `tables` by name.

        Raises
        ------
        TomevalError
            There is no such table, or this run has no data for it.
        """
        if name in self.tables:
            return self.tables[name]
        known = known_tables(self.domain)
        table = known.get(name)
        if table is None:
            raise unknown("table", name, dict.fromkeys(("cells", *self.tables, *known)))
        if table.asked and table.present(self):
            return table
        why = f", which needs {table.needs}" if table.needs else ""
        raise TomevalError(f"--what {name}: {self.folder} has no data for this table{why}")

    @cached_property
    def added_figures(self) -> Mapping[str, Any]:
        """What draws each figure that extensions bring this run; one of a table if it is there."""
        return {
            name: draw
            for analysis in analyses_of(self.domain, self.store).values()
            for name, draw in analysis.figures.items()
            if name not in analysis.tables or name in self.tables
        }

    @cached_property
    def headline(self) -> tuple[str, ...]:
        """The domain's first measures that have a value in any cell; if none has, others."""
        shown = tuple(name for name in self.domain.headline if self._has(name))
        return shown or tuple(islice(filter(self._has, self.measures), _FIRST))

    @cached_property
    def scores(self) -> tuple[str, ...]:
        """Those of `SCORES` that have a value in any cell."""
        return tuple(name for name in SCORES if self._has(name))

    @property
    def shown(self) -> tuple[str, ...]:
        """The measures of comparisons and reports unless others are asked for: scores first."""
        return (*self.scores, *self.headline)

    def _has(self, name: str) -> bool:
        return name in self.measures and any(
            np.isfinite(cell.totals(name).values).any() for cell in self.cells
        )

    def rows(
        self,
        interval: str = AUTO,
        reference: str | None = None,
        names: Sequence[str] | None = None,
    ) -> list[dict[str, Any]]:
        """Return the table, one dict per cell, at full precision.

        Parameters
        ----------
        interval : {"auto", "normal", "t", "sequence"}
            Of means over episodes, see `tomeval.statistics.estimate`. ``auto`` is Student's t below
            30 sampling units and the normal form from there on; both end at the measure's bounds,
            see `tomeval.statistics.bounded.score_ends`. Of a run that is `sequential` it is
            ``sequence``. Shares of items have Wilson's interval, but with ``sequence``, see
            `tomeval.statistics.estimates.clustered_share`.
        reference : str, optional
            What regret is measured from, if the domain knows several; overrides the cells' own.
        names : sequence of str, optional
            Only these measures, in the run's order, and nothing of what is attainable: no other is
            computed. Default: all.

        Returns
        -------
        list of dict
            The columns of `RunCell.columns`, ``episodes`` (complete ones), ``invalid_rate`` (the
            share of all answers, or of `Schema.own_seat`'s, that were invalid, those of voided
            episodes included), ``reask_rate`` (the share for which the question was asked more
            than once), ``lenient_rate`` (the share that was read although it was not in the
            exact form asked for), and the measures, each followed by half the width of its 95 %
            interval (``_ci95``) and both ends (``_ci95_low``, ``_ci95_high``).
            NaN: no data, or too few sampling units, see `tomeval.statistics.bounded.FEWEST`. Then,
            if chance limits what can be attained in any cell, `RunCell.attainable`. With all
            measures `OF_CELLS`, of a run with strategies, and ``answer`` (`Verdict.answer`).
            ``reference`` (if there are several), ``interval`` (the kind, see
            `RunCell.interval_kind`), ``seed``, ``on_invalid`` and, of a run with a condition,
            ``stopped`` (why there are no more episodes) come last.
        """
        self.check_reference(reference)
        shown = [n for n in self.measures if names is None or n in names]
        answer = self.domain.verdict.answer
        more = prompted_columns(self.cells)
        result, ends, limits = [], [], []
        for cell in self.cells:  # each once: a large run holds few cells at a time
            row: dict[str, Any] = dict(cell.columns)
            row["episodes"] = len(cell.episodes)
            estimates = flat(shown, cell.estimate(shown, interval, reference))
            row |= tallies.rates_of(self.store, [cell.number])
            row |= estimates
            end: dict[str, Any] = {}
            if names is None:
                end |= {OF_CELLS[name]: cell.prompted[name] for name in more}
                end |= {ANSWER: answer(cell, interval)} if self.scores else {}
            if len(self.domain.experiment.REFERENCES) > 1:
                end["reference"] = reference or cell.reference
            end["interval"] = cell.interval_kind(interval)
            end |= {key: cell.definition[key] for key in SETTINGS}
            if self.until:
                end[STOPPED] = self.stopped(cell)
            result.append(row)
            ends.append(end)
            limits.append(cell.attainable if names is None else {})
        limited = dict.fromkeys((name for each in limits for name in each), float("nan"))
        return [
            {**row, **limited, **limit, **end}
            for row, limit, end in zip(result, limits, ends, strict=True)
        ]

    def check_reference(self, reference: str | None) -> None:
        """Raise if the domain does not know a reference of regret."""
        known = list(filter(None, self.domain.experiment.REFERENCES))
        if reference is not None and not known:
            raise TomevalError(
                f"--reference: the domain {self.domain.name!r} has no references to choose from"
            )
        if reference is not None and reference not in known:
            raise unknown("reference", reference, known)

    def status(self) -> list[dict[str, Any]]:
        """Return per cell its number and the episodes that are complete, wanted, void and failed.

        Cells that were not begun are there too. ``wanted`` is how many the experiment asks for,
        None where it does not say, as of games that were recorded elsewhere.
        If language models were asked, also the episodes that are ``unfinished`` (begun, and broken
        off or still under way), the model calls and their tokens, those of unfinished episodes
        included, how many answers were invalid in each way after all attempts, and the
        ``reask_rate``, see `rows`.
        """
        store = self.store
        usage, unfinished = tallies.paid(store), tallies.unfinished(store)
        invalid = tallies.invalid_answers(store) if usage else {}
        none_asked = dict.fromkeys((name for row in usage.values() for name in row), 0)
        counts = tallies.episodes(store)
        other = {status for count in counts.values() for status in count}
        statuses = (VOID, FAILED, *sorted(other - {COMPLETE, VOID, FAILED}))
        rows = []
        for cell in self.cells:
            number = cell.number
            row: dict[str, Any] = {"cell": number, **cell.columns, COMPLETE: 0}
            row[WANTED] = None if cell.recorded else self.wanted(cell)
            row |= dict.fromkeys(statuses, 0) | counts.get(number, {})
            if self.until:
                row[STOPPED] = self.stopped(cell)
            if usage:
                row["unfinished"] = unfinished.get(number, 0)
                row |= usage.get(number, none_asked)
                row |= invalid.get(number, dict.fromkeys(INVALID_REASONS, 0))
                rates = tallies.rates_of(store, [number])
                row[REASK.name] = rates[REASK.name]
            rows.append(row)
        return rows


def joined(runs: Sequence[Run]) -> Run:
    """Return the cells of several runs of one domain as those of one; of one run itself.

    A player who has the same name in the same task of several runs is told apart by its run's. The
    measures are those of all runs; what else is asked of the store is the first run's.
    """
    first = runs[0]
    if len(runs) == 1:
        return first
    seen: dict[tuple[str, str], set[int]] = {}
    for number, run in enumerate(runs):
        for cell in run.cells:
            seen.setdefault((str(cell.shown_task), cell.title), set()).add(number)
    for run in runs:
        for cell in run.cells:
            if len(seen[str(cell.shown_task), cell.title]) > 1:
                cell.title = f"{cell.title}, {run.folder.name}"
    whole = first.part([cell for run in runs for cell in run.cells])
    known = {name: measure for run in runs for name, measure in run.measures.items()}
    names = in_order(run.measures for run in runs)
    whole.__dict__["measures"] = {name: known[name] for name in names}
    whole.__dict__["added_figures"] = {}  # extensions' read the store of one run
    return whole


def joined_rows(
    runs: Sequence[Run], names: Sequence[str] | None, interval: str, reference: str | None
) -> list[dict[str, Any]]:
    """Return `Run.rows` of one run or several, with these measures only, as far as a run has them.

    Of several they name their run, and have the columns of all, blank where a run has no such one.
    """
    of_runs = []
    for run in runs:
        own = None if names is None else [name for name in names if name in run.measures]
        rows = run.rows(interval, reference, names=own)
        if len(runs) == 1:
            return rows
        for row in rows:
            first = next(iter(row))
            of_runs.append({first: row[first], "run": run.folder.name, **row})
    return filled(of_runs)


_FIRST = 4  # so many other measures are shown where those of the headline have no value
_FACTS = ("model", "seed", "reference", "on_invalid")


def _titles(cells: Sequence[RunCell]) -> Iterator[str]:
    """Yield each cell's player, with whatever else tells it from cells of the same task."""
    told: dict[str, dict[str, set[Any]]] = {}
    facts: dict[str, set[str]] = {key: set() for key in _FACTS}
    for cell in cells:
        mine = told.setdefault(cell.player, {key: set() for key in cell.domain.by})
        for key in mine:
            mine[key].add(cell.columns.get(key))
        known = cell.facts
        for key in _FACTS:
            facts[key].add(str(known.get(key, "")))
    for cell in cells:
        said, names, known = {*cell.domain.task, *_FACTS}, [cell.player], cell.facts
        for key, values in told[cell.player].items():
            if key not in said and len(values) > 1:
                names.append(str(cell.columns[key]))
        for key in _FACTS:
            value = known.get(key, "")
            if value != "" and len(facts[key] - {""}) > 1:
                names.append(str(value) if key == "model" else f"{key} {value}")
        yield ", ".join(names)


def prompted_columns(cells: Sequence[RunCell]) -> list[str]:
    """Return which of `PROMPTED` exports add to the columns of cells; none without any strategy."""
    if not any(cell.prompted["strategy"] for cell in cells):
        return []
    return [name for name in PROMPTED if not any(name in cell.columns for cell in cells)]


def iterate_export(run: Run, what: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Return column names and rows of a table.

    `what` is ``steps``, ``episodes``, ``answers`` or ``cells``.
    """
    rows = iter(run.rows()) if what == "cells" else _ROWS[what](run)
    first = next(rows, None)
    every = itertools.chain(filter(None, [first]), rows)
    columns = list(first or ("cell", "episode", "step", "status"))
    return columns, (tuple(map(_plain, row.values())) for row in every)


def _plain(value: Any) -> Any:
    """Return a value as a table has it: no list or object, and 0 or 1 for a truth."""
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return int(value) if isinstance(value, bool) else value


def _step_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Yield every step as it is stored, how its cell is asked, and its `RunCell.judged`."""
    known = run.cells[0].judged() if run.cells else {}
    names, asked = [name for name in JUDGED if name in known], prompted_columns(run.cells)
    for cell in run.cells:
        how, judged = {name: cell.prompted[name] for name in asked}, cell.judged()
        worth = zip(*(judged[name] for name in names), strict=True)
        for row in cell.step_rows():
            over = names and row["status"] == COMPLETE
            own = next(worth) if over else (None,) * len(names)
            yield row | how | dict(zip(names, own, strict=True))


def _asked_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Yield every question and what became of it."""
    names = ("episode", *ASKED)
    for cell in run.cells:
        for row in run.store.read("asked", names, cell.number):
            yield {"cell": cell.number, **dict(zip(names, row, strict=True))}


def _episode_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Yield every episode with its measures, which are empty for void ones.

    Recorded ones have the name that their log gives them as ``match``.
    """
    typed, names = run.domain.schema.episodes, list(run.measures)
    asked = prompted_columns(run.cells)
    for cell in run.cells:
        values = {name: cell.totals(name).values.tolist() for name in names}
        about = {"cell": cell.number, **cell.columns}
        about |= {key: cell.definition[key] for key in SETTINGS}
        how, done = {name: cell.prompted[name] for name in asked}, 0
        columns = ("episode", *typed, "status", "steps")
        for episode, *own, status, steps in run.store.read("episodes", columns, cell.number):
            row = {**about, "episode": episode}
            # A measure says the same of complete episodes.
            shown = cell.shown_episode(episode, own).items()
            row |= {name: value for name, value in shown if name not in names}
            row |= {"status": status, "steps": steps}
            over = status == COMPLETE
            row |= {name: values[name][done] if over else None for name in names}
            done += over
            yield row | how


_ROWS = {"steps": _step_rows, "episodes": _episode_rows, "answers": _asked_rows}
