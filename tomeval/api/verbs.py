"""The verbs of the Python API for every domain: run an experiment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tomeval.api.opened import Run
from tomeval.api.showing import in_notebook, shown_in_notebook
from tomeval.models.served import Budget
from tomeval.play.engines import make_engine
from tomeval.play.live import Live, Progress
from tomeval.play.runner import run_experiment
from tomeval.play.schedule import parse_shard
from tomeval.runs.experiment import Experiment, load_experiment, make_experiment


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
        falls when a cell is stopped. In a notebook, without it, lines below the cell show how it
        goes.

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
    options = {"replicas": replicas, "gpus_per_replica": gpus_per_replica}
    made = make_engine(engine, None if workers == 1 else workers, **options)
    with _watched(progress) as (live, on_steps):
        run_experiment(
            experiment,
            Path(out),
            workers=workers,
            engine=made,
            concurrency=concurrency,
            budget=budget,
            go_on=go_on,
            shard=None if shard is None else parse_shard(shard),
            progress=on_steps,
            live=live,
        )
    return Run(out)


@contextmanager
def _watched(progress: Progress | None) -> Iterator[tuple[Live | None, Progress | None]]:
    """Give who is told how a run goes: the notebook, where no one else asked to be."""
    if progress is None and in_notebook():
        with shown_in_notebook() as shown:
            yield shown
    else:
        yield None, progress
