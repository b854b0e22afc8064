"""Several runs of one domain as one, for readers who work in Python."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tomeval.api.opened import Names, Run, listed, table_of
from tomeval.core.errors import TomevalError
from tomeval.report.views import Asked
from tomeval.runs.results import joined
from tomeval.statistics import AUTO

if TYPE_CHECKING:
    import pandas

    from tomeval.api.showing import Figures
    from tomeval.api.table import Table


class Runs:
    """Several run folders of one domain, read together: their steps, one table, one figure.

    Parameters
    ----------
    folders : sequence of path
        At least two.
    where
        See `tomeval.Run`; they hold for every run.

    Attributes
    ----------
    runs : list of Run
        Each by itself. Closing the whole closes them.

    Raises
    ------
    TomevalError
        See `tomeval.Run`; runs of different domains; a run that is named twice.
    """

    def __init__(self, folders: list[str | Path], where: Names = ()) -> None:
        with ExitStack() as unless_opened:
            self.runs = [unless_opened.enter_context(Run(one, where)) for one in folders]
            self._whole = joined(self.runs)
            self._opened = unless_opened.pop_all()

    def __enter__(self) -> Self:
        """Return the runs."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all."""
        self.close()

    def close(self) -> None:
        """Close all runs; they cannot be read any more."""
        self._opened.close()

    def _check_open(self) -> None:
        if any(run.closed for run in self.runs):
            raise TomevalError("these runs are closed; tomeval.open(...) opens them again")

    def steps(self) -> pandas.DataFrame:
        """Return every step of all runs, see `Run.steps`; the first column is the ``run``.

        Cells are numbered within their run. A column that a run lacks is missing in its rows.
        """
        import pandas

        self._check_open()
        frames = [run.steps() for run in self.runs]
        for run, frame in zip(self.runs, frames, strict=True):
            frame.insert(0, "run", pandas.Series([run.folder.name] * len(frame), dtype="string"))
        return pandas.concat(frames, ignore_index=True)

    def table(
        self,
        metrics: Names = (),
        *,
        interval: str = AUTO,
        reference: str | None = None,
    ) -> Table:
        """Return one row per cell of all runs, see `Run.table`; the column ``run`` says whose."""
        self._check_open()
        asked = Asked(tuple(listed(metrics)), interval=interval, reference=reference)
        return table_of(self.runs, asked)

    def plot(self, *, only: Names = (), every: bool = False, **options: Any) -> Figures:
        """Draw figures of all runs together; `options` are those of `tomeval.plots.Options`."""
        from tomeval.api.showing import Figures
        from tomeval.plots import Options, draw

        self._check_open()
        return Figures(draw(self._whole, listed(only), Options(**options), every))

    def __repr__(self) -> str:
        """Name the runs."""
        return f"Runs({', '.join(repr(str(run.folder)) for run in self.runs)})"


def open(*folders: str | Path, where: Names = ()) -> Run | Runs:
    """Open one run, or several of one domain to be read together.

    Parameters
    ----------
    folders : path
        Run folders, or names of runs that ship.
    where
        See `tomeval.Run`.

    Returns
    -------
    Run or Runs
        `Run` of one folder; of several `Runs`, with `table`, `steps` and `plot` of all of them.
        Either is a context manager; closing it closes all.

    Raises
    ------
    TomevalError
        No folder; runs of different domains; see `tomeval.Run`.

    Examples
    --------
    >>> import tempfile, tomeval
    >>> experiment = {"games": "RPS", "subjects": ["rmax", "random"], "episodes": 5, "horizon": 9}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for seed in (0, 1):
    ...         tomeval.run({**experiment, "seed": seed}, f"{folder}/{seed}").close()
    ...     with tomeval.open(f"{folder}/0", f"{folder}/1") as runs:
    ...         table, steps = runs.table("regret"), runs.steps()
    >>> sorted(set(table["run"])), len(steps) == len(table) * 5 * 9
    (['0', '1'], True)
    """
    if not folders:
        raise TomevalError("tomeval.open: name a run folder, or several")
    if len(folders) == 1:
        return Run(folders[0], where)
    return Runs(list(folders), where)
