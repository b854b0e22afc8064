"""A run for readers who work in Python: typed tables, comparisons, figures, transcripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tomeval.api.showing import Compared, Figures, Transcript, run_html
from tomeval.comparing.comparison import compare as compare_runs
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE
from tomeval.core.text import in_line
from tomeval.report.exporting import kinds_of
from tomeval.report.transcripts import transcript_lines
from tomeval.report.views import Asked, cells_view, chosen_rows, rows_of
from tomeval.runs import results, tallies
from tomeval.runs.selection import choose_measures
from tomeval.statistics import AUTO

if TYPE_CHECKING:
    import pandas

    from tomeval.api.table import Table

Names = str | Sequence[str]
"""One name, or several."""


def listed(names: Names) -> list[str]:
    """Return one or several names as a list."""
    return [names] if isinstance(names, str) else list(names)


class Run(results.Run):
    """A run folder of any domain, read-only.

    A `where` of any method is one or several conditions that cells must meet, such as
    ``"game=RPS,IPD"`` or ``["strategy!=CoT*", "model=pocket"]``; default: all cells of this run.

    Parameters
    ----------
    folder : path
    where : str or sequence of str
        Conditions; the run is then as if it had no other cells. Default: all cells.

    Raises
    ------
    TomevalError
        Not a run folder, damaged, or of another version; conditions that name an unknown column or
        value, or that no cell meets.

    Examples
    --------
    >>> import tempfile, tomeval
    >>> experiment = {"games": ["RPS", "IPD"], "subjects": ["rmax", "random"], "episodes": 20}
    >>> with tempfile.TemporaryDirectory() as folder, tomeval.run(experiment, folder) as run:
    ...     steps = run.steps(where="game=IPD")
    ...     table = run.table("regret", where="subject=random")
    >>> len(steps), str(steps["predicted_action"].dtype)
    (4000, 'Int64')
    >>> table[["game", "delta_functional_per_step"]].round(1).values.tolist()
    [['RPS', 1.0], ['IPD', 1.9]]
    """

    def __init__(self, folder: str | Path, where: Names = ()) -> None:
        self.closed = False
        super().__init__(folder, listed(where))

    def close(self) -> None:
        """Close the run; it cannot be read any more."""
        super().close()
        self.closed = True

    @contextmanager
    def _chosen(self, where: Names) -> Iterator[Run]:
        """Give the run of the cells that also meet `where`."""
        if self.closed:
            again = f"tomeval.Run({str(self.folder)!r})"
            raise TomevalError(f"{self.folder}: this run is closed; {again} opens it again")
        if not where:
            yield self
            return
        conditions = [*map(str, self._where), *listed(where)]
        with Run(self.folder, conditions) as chosen:
            yield chosen

    def steps(self, where: Names = ()) -> pandas.DataFrame:
        """Return every step, one row each; the columns are those of ``tomeval export``.

        Columns of whole numbers are of the type ``Int64``, which knows missing values, texts
        ``string`` and the rest ``float64``; the types do not depend on the values.
        """
        with self._chosen(where) as run:
            return exported(run, "steps")

    def episodes(self, where: Names = ()) -> pandas.DataFrame:
        """Return every episode with its measures, NaN where it is void; types as of `steps`."""
        with self._chosen(where) as run:
            return exported(run, "episodes")

    def answers(self, where: Names = ()) -> pandas.DataFrame:
        """Return what became of every question; types as of `steps`."""
        with self._chosen(where) as run:
            return exported(run, "answers")

    def table(
        self,
        metrics: Names = (),
        *,
        where: Names = (),
        interval: str = AUTO,
        reference: str | None = None,
        published: bool = False,
        against: str | Path | None = None,
        as_model: str | None = None,
    ) -> Table:
        """Return one row per cell: `rows` with types as of `steps`.

        The result is a DataFrame; its text is what ``tomeval table`` prints with the same options.

        Parameters
        ----------
        metrics : str or sequence of str
            Measures to keep, by name, heading or a word such as ``"regret"``, with the columns that
            tell rows apart. Default: all.
        interval, reference
            See `rows`.
        published : bool
            Have the measures, names and order of the paper's tables.
        against : path, optional
            Have published numbers beside the run's: a CSV, or one that ships by its name, such as
            ``"reported_results"``.
        as_model : str, optional
            With `against`: the published model to show beside the run's.
        """
        names = tuple(listed(metrics))
        given = (False, interval, reference, published, against, as_model)
        with self._chosen(where) as run:
            return table_of([run], Asked(names, *given))

    def compare(
        self,
        by: str | None = None,
        baseline: str | None = None,
        *,
        metrics: Names | None = None,
        where: Names = (),
        **options: Any,
    ) -> Compared:
        """Compare every level with a baseline on the episodes that both played to the end.

        Parameters and errors are those of `tomeval.compare`; metrics also by heading.

        Returns
        -------
        Compared
            A `tomeval.comparing.result.Comparison` whose text is the table of ``tomeval compare``;
            of many metrics those that are shown first, so that it fits a screen.
        """
        with self._chosen(where) as run:
            names = choose_measures(run.measures, listed(metrics)) if metrics else None
            comparison = compare_runs(run, by, baseline, metrics=names, **options)
            return Compared.of(comparison, run.scores or run.headline)

    def plot(
        self,
        out: str | Path | None = None,
        *,
        only: Names = (),
        every: bool = False,
        where: Names = (),
        metrics: Names = (),
        by: str | None = None,
        column: str = "screen",
        interval: str = AUTO,
        reference: str | None = None,
        window: int = 5,
    ) -> Figures:
        """Draw figures; a notebook shows them with their captions.

        Parameters
        ----------
        out : path, optional
            A folder that they are written into too, as PNG, with their captions.
        only : str or sequence of str
            Names of figures or of their files, see docs/figures.md. Default: the few that
            ``tomeval plot`` draws.
        every : bool
            Draw all that the run supports.
        metrics : str or sequence of str
            Draw these measures, in figures that can choose.
        by, column, interval, reference, window
            See `tomeval.plots.Options`.

        Returns
        -------
        Figures
            matplotlib figures by the names of their files.
        """
        from tomeval.plots import Options, draw, figures_of, save
        from tomeval.plots.output import write_captions

        with self._chosen(where) as run:
            if out in figures_of(run):
                raise TomevalError(f"{out!r} names a figure, not a folder: plot(only={out!r})")
            names = tuple(choose_measures(run.measures, listed(metrics)))
            options = Options(column, interval, reference, by, names, window)
            drawings = draw(run, listed(only), options, every)
            if out is not None:
                save(drawings, Path(out))
                write_captions(drawings, Path(out), ["png"])
            return Figures(drawings)

    def report(self, out: str | Path = "report.html", *, where: Names = (), **options: Any) -> Path:
        """Write the report, one HTML file, and return its path.

        Options are those of `tomeval.report.ReportOptions`.
        """
        from tomeval.report import ReportOptions, write_report

        with self._chosen(where) as run:
            return write_report(run, Path(out), ReportOptions(**options))

    def transcript(
        self, cell: int | None = None, episode: int = 0, *, where: Names = (), calls: bool = True
    ) -> Transcript:
        """Return an episode as a reader wants it: moves, and what was asked and said.

        Parameters
        ----------
        cell : int, optional
            Its number in the run. Default: the first that meets `where`.
        episode : int
        calls : bool
            Whether to show what models read and wrote.
        """
        with self._chosen(where) as run:
            known = [one.number for one in run.cells]
        number = known[0] if cell is None else cell
        if number not in known:
            raise TomevalError(f"{self.folder}: no cell {number} among the chosen ones: {known}")
        with results.Run(self.folder) as whole:
            return Transcript("\n".join(transcript_lines(whole, number, episode, calls)))

    def __repr__(self) -> str:
        """Describe the run in a line."""
        if self.closed:
            return f"Run({str(self.folder)!r}, closed)"
        counts = tallies.episodes(self.store)
        complete = sum(counts.get(cell.number, {}).get(COMPLETE, 0) for cell in self.cells)
        where = f", where {' and '.join(map(str, self._where))}" if self._where else ""
        return (
            f"Run({str(self.folder)!r}: {self.name}, {self.domain.name}, {len(self.cells)} cells"
            f"{where}, {complete:,} complete episodes)"
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the same line, and the measures that are shown first."""
        return run_html(None if self.closed else self, repr(self))


_TYPES: dict[str, Any] = {"INTEGER": "Int64", "REAL": "float64", "TEXT": "string"}


def table_of(runs: Sequence[Run], asked: Asked) -> Table:
    """Return the table of one run's cells, or of several runs' together; see `Run.table`."""
    from tomeval.api.table import Table

    for run in runs:
        run.check_reference(asked.reference)
    whole = results.joined(runs)
    rows, asked, notes = rows_of(runs, asked, data=not asked.metrics)
    view = cells_view(runs, asked, in_line, rows)
    kept = chosen_rows(rows, whole.measures, asked)
    names = list(kept[0]) if kept else []
    frame = framed(whole, "cells", names, (tuple(row.values()) for row in kept))
    return Table.of(frame, view.grids, list(dict.fromkeys([*notes, *view.notes])))


def exported(run: results.Run, what: str) -> pandas.DataFrame:
    """Return a table of ``tomeval export``: ``steps``, ``episodes`` or ``answers``."""
    return framed(run, what, *results.iterate_export(run, what))


def framed(
    run: results.Run, what: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> pandas.DataFrame:
    """Return rows as a DataFrame, with the types that these columns have in `run`."""
    import pandas

    columns_of = [list(values) for values in zip(*rows, strict=True)] or [[] for _ in columns]
    arrays = {}
    for name, kind, values in zip(columns, kinds_of(run, what, columns), columns_of, strict=True):
        if kind == "TEXT":
            values = [value if value is None else str(value) for value in values]
        arrays[name] = pandas.array(values, dtype=_TYPES[kind])
    return pandas.DataFrame(arrays)
