"""A run for those who work in Python: played, then read as tables, comparisons, figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tomeval.api.showing import Compared, Figures, Text, table_text, watched
from tomeval.comparing.comparison import compare as compare_runs
from tomeval.core.outcomes import COMPLETE
from tomeval.core.text import in_line
from tomeval.models.served import Budget
from tomeval.play.engines import make_engine
from tomeval.play.live import Progress
from tomeval.play.runner import run_experiment
from tomeval.play.schedule import parse_shard
from tomeval.report.exporting import framed
from tomeval.report.transcripts import transcript_lines
from tomeval.report.views import Asked, cells_view, chosen_rows, rows_of
from tomeval.runs import results, tallies
from tomeval.runs.experiment import Experiment, load_experiment, make_experiment
from tomeval.runs.selection import choose_measures
from tomeval.statistics import AUTO

if TYPE_CHECKING:
    import pandas

Names = str | Sequence[str]
"""One name, or several."""


def listed(names: Names) -> list[str]:
    """Return one or several names as a list."""
    return [names] if isinstance(names, str) else list(names)


class Run(results.Run):
    """A run folder of any domain, read-only.

    Its text, as of ``print(run)``, is what ``tomeval table`` prints.

    Parameters
    ----------
    folder : path
    where : str or sequence of str
        Conditions that cells must meet, such as ``"game=RPS,IPD"`` or ``["strategy!=CoT*",
        "model=pocket"]``; the run is then as if it had no other cells. Default: all cells.

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
    ...     steps = run.select("game=IPD").steps()
    ...     table = run.select("subject=random").table("regret")
    >>> len(steps), str(steps["predicted_action"].dtype)
    (4000, 'Int64')
    >>> table[["game", "delta_functional_per_step"]].round(1).values.tolist()
    [['RPS', 1.0], ['IPD', 1.9]]
    """

    def __init__(self, folder: str | Path, where: Names = ()) -> None:
        super().__init__(folder, listed(where))

    def select(self, *where: str) -> Run:
        """Return the run of the cells that also meet some conditions."""
        return Run(self.folder, [*map(str, self._where), *where])

    def steps(self) -> pandas.DataFrame:
        """Return every step, one row each; the columns are those of ``tomeval export``.

        Columns of whole numbers are of the type ``Int64``, which knows missing values, texts
        ``string`` and the rest ``float64``, as a column without any value.
        """
        return framed(*results.iterate_export(self, "steps"))

    def episodes(self) -> pandas.DataFrame:
        """Return every episode with its measures, NaN where it is void; types as of `steps`."""
        return framed(*results.iterate_export(self, "episodes"))

    def answers(self) -> pandas.DataFrame:
        """Return what became of every question; types as of `steps`."""
        return framed(*results.iterate_export(self, "answers"))

    def table(
        self,
        metrics: Names = (),
        *,
        interval: str = AUTO,
        reference: str | None = None,
        published: bool = False,
        against: str | Path | None = None,
        as_model: str | None = None,
    ) -> pandas.DataFrame:
        """Return one row per cell: `rows` with types as of `steps`.

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
        given = (False, interval, reference, published, against, as_model)
        asked = Asked(tuple(listed(metrics)), *given)
        self.check_reference(reference)
        rows, asked, _ = rows_of([self], asked, data=not metrics)
        kept = chosen_rows(rows, self.measures, asked)
        names = list(kept[0]) if kept else []
        return framed(names, (tuple(row.values()) for row in kept))

    def text(self, metrics: Names = (), **options: Any) -> Text:
        """Return what ``tomeval table`` prints, with its notes; options are those of `table`."""
        asked = Asked(tuple(listed(metrics)))._replace(**options)
        self.check_reference(asked.reference)
        view = cells_view([self], asked, in_line)
        return table_text([], view.grids, view.notes)

    def __str__(self) -> str:
        """Return the text of the run's table."""
        return self.text()

    def compare(
        self,
        by: str | None = None,
        baseline: str | None = None,
        *,
        metrics: Names | None = None,
        **options: Any,
    ) -> Compared:
        """Compare every level with a baseline on the episodes that both played to the end.

        Parameters and errors are those of `tomeval.compare`; metrics also by heading, by default
        those of ``tomeval compare``: the scores, or all if there are none.

        Returns
        -------
        Compared
            A `tomeval.comparing.result.Comparison` whose text is the table of ``tomeval compare``.
        """
        names = choose_measures(self.measures, listed(metrics)) if metrics else self.scores or None
        return Compared.of(compare_runs(self, by, baseline, metrics=names, **options))

    def plot(
        self,
        *,
        only: Names = (),
        every: bool = False,
        metrics: Names = (),
        **options: Any,
    ) -> Figures:
        """Draw figures; a notebook shows them with their captions.

        Parameters
        ----------
        only : str or sequence of str
            Names of figures, see docs/figures.md. Default: the few that
            ``tomeval plot`` draws.
        every : bool
            Draw all that the run supports.
        metrics : str or sequence of str
            Draw these measures, in figures that can choose.
        **options
            Further fields of `tomeval.plots.Options`, such as ``by`` and ``column``.

        Returns
        -------
        Figures
            matplotlib figures by the names of their files.
        """
        from tomeval.plots import Options, draw

        names = tuple(choose_measures(self.measures, listed(metrics)))
        return Figures(draw(self, listed(only), Options(metrics=names, **options), every))

    def report(self, out: str | Path = "report.html", **options: Any) -> Path:
        """Write the report, one HTML file, and return its path.

        Options are those of `tomeval.report.page.write_report`.
        """
        from tomeval.report.page import write_report

        return write_report(self, Path(out), **options)

    def transcript(self, cell: int | None = None, episode: int = 0, *, calls: bool = True) -> Text:
        """Return an episode as a reader wants it: moves, and what was asked and said.

        Parameters
        ----------
        cell : int, optional
            Its number in the run. Default: the first.
        episode : int
        calls : bool
            Whether to show what models read and wrote.
        """
        number = self.cells[0].number if cell is None else cell
        return Text("\n".join(transcript_lines(self, number, episode, calls)))

    def __repr__(self) -> str:
        """Describe the run in a line."""
        counts = tallies.episodes(self.store)
        complete = sum(counts.get(cell.number, {}).get(COMPLETE, 0) for cell in self.cells)
        where = f", where {' and '.join(map(str, self._where))}" if self._where else ""
        return (
            f"Run({str(self.folder)!r}: {self.name}, {self.domain.name}, {len(self.cells)} cells"
            f"{where}, {complete:,} complete episodes)"
        )


def run(
    experiment: Experiment | dict[str, Any] | str | Path,
    out: str | Path,
    *,
    workers: int = 1,
    engine: str | None = None,
    replicas: int | None = None,
    gpus_per_replica: float | None = None,
    concurrency: int = 32,
    budget: Budget | None = None,
    go_on: bool = False,
    shard: str | None = None,
    progress: Progress | None = None,
) -> Run:
    """Run an experiment of any domain into a folder, or resume or extend it; return the results.

    Parameters
    ----------
    experiment : Experiment, dict or path
        A dict has the keys of an experiment file, `domain` among them; a path names such a file.
    out : path
        The run folder.
    workers : int
        Processes, for cells that ask no model; the rows do not depend on it.
    engine : str, optional
        Play all but served models on replicas in place of this process: ``"ray"``, on the cluster
        that runs here or else on this machine, or ``"ray:HOST:PORT"``. Rows do not depend on it.
    replicas : int, optional
        With an engine: how many play at a time; default: 1.
    gpus_per_replica : float, optional
        With an engine: GPUs of each, a whole number or a share of one; default: 0, they see none.
    concurrency : int
        Episodes with language models played at a time; with an engine, on each replica.
    budget : Budget, optional
        `tomeval.models.served.Budget`: caps on the calls and tokens of served models.
    go_on : bool
        Continue even if none of a model's first 8 answers could be read.
    shard : str, optional
        Play only one of several parts of the experiment, such as ``"3/16"``.
    progress : callable, optional
        Called with (steps done, steps in all), which count earlier sessions too. The second number
        falls when a cell is stopped. In a notebook, without it, a bar below the cell shows it.

    Raises
    ------
    TomevalError
        What is wrong with the experiment or the folder, or with the first replies of a model, see
        `tomeval.play.closing.UnreadError`.

    Examples
    --------
    >>> import tempfile, tomeval
    >>> experiment = {"games": "RPS", "subjects": ["best_response", "random"], "episodes": 20}
    >>> with tempfile.TemporaryDirectory() as folder, tomeval.run(experiment, folder) as result:
    ...     rows = result.rows()
    >>> [row["subject"] for row in rows], rows[0]["delta_functional_per_step"]
    (['best_response', 'random'], 0.0)
    """
    if isinstance(experiment, str | Path):
        experiment = load_experiment(experiment)
    elif isinstance(experiment, dict):
        experiment = make_experiment(experiment)
    with watched(progress) as (live, on_steps):
        run_experiment(
            experiment,
            Path(out),
            workers=workers,
            engine=make_engine(
                engine,
                None if workers == 1 else workers,
                replicas=replicas,
                gpus_per_replica=gpus_per_replica,
            ),
            concurrency=concurrency,
            budget=budget,
            go_on=go_on,
            shard=None if shard is None else parse_shard(shard),
            progress=on_steps,
            live=live,
        )
    return Run(out)
