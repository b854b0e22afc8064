"""Log a run when it was played: curves by episode, and the final table."""

from __future__ import annotations

import importlib
import json
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tomeval.core.credentials import without_credentials
from tomeval.core.errors import installed, missing
from tomeval.core.text import excerpt
from tomeval.models.naming import renamed
from tomeval.play.live import Live
from tomeval.plots.registry import distinct, safe_name
from tomeval.runs.lines import read_experiment
from tomeval.runs.measures import Totals
from tomeval.runs.results import Run

PROJECT = "tomeval"
"""Where runs are logged, unless WANDB_PROJECT or MLFLOW_EXPERIMENT_NAME says otherwise."""


@contextmanager
def logged(name: str, folder: Path, live: Live) -> Iterator[None]:
    """Log the run that plays into a folder inside the block, once it was played or stopped."""
    if not installed(name):
        raise missing(name, name, f"curves by --log {name}")
    try:
        yield
    except KeyboardInterrupt:
        live.closing.append(_logged(name, folder))
        raise
    live.closing.append(_logged(name, folder))


def _logged(name: str, folder: Path) -> str:
    send = {"wandb": _to_wandb, "mlflow": _to_mlflow}[name]
    try:
        with Run(folder) as run:
            said = json.dumps(renamed(read_experiment(folder), run.store.public_names))
            return f"{name}: {send(run, json.loads(without_credentials(said)))}"
    except Exception as error:  # noqa: BLE001 - whatever a client raises, the run is played
        why = without_credentials(str(error)) or type(error).__name__
        return excerpt(f"{name}: not logged ({why}); the run is complete in {folder}", 300)


def curves(run: Run) -> list[dict[str, float]]:
    """Return by episode, from the first, the means so far as ``PLAYER/TASK/MEASURE``."""
    words = run.domain.task_words
    whose = (f"{safe_name(c.title)}/{safe_name(words(c.shown_task))}" for c in run.cells)
    points: list[dict[str, float]] = []
    for cell, key in zip(run.cells, distinct(whose), strict=True):
        for name in run.headline[:2]:  # functional, then literal
            means = _so_far(cell.totals(name)) if name in cell.measures else []
            points += [{} for _ in range(len(points), len(means))]
            for point, mean in zip(points, means, strict=False):
                if math.isfinite(mean):
                    point[f"{key}/{name}"] = float(mean)
    return points


def _so_far(totals: Totals) -> Any:
    values, counts = totals.values, np.isfinite(totals.values).astype(float)
    if totals.bottom is not None and (totals.share or not totals.percent):
        values, counts = (100 if totals.share else 1) * totals.top, totals.bottom
    with np.errstate(invalid="ignore"):
        return np.nancumsum(values) / np.cumsum(counts)


def _to_wandb(run: Run, config: dict[str, Any]) -> str:
    wandb: Any = importlib.import_module("wandb")
    project, quiet = os.environ.get("WANDB_PROJECT") or PROJECT, wandb.Settings(silent=True)
    made = wandb.init(project=project, name=run.name, config=config, settings=quiet)
    for step, values in enumerate(curves(run), 1):
        made.log(values, step=step)
    made.log({"table": wandb.Table(dataframe=pd.DataFrame(run.rows()))})
    made.finish()
    return str(made.url or made.dir)


def _to_mlflow(run: Run, config: dict[str, Any]) -> str:
    client: Any = importlib.import_module("mlflow").MlflowClient()
    metric: Any = importlib.import_module("mlflow.entities").Metric
    title = os.environ.get("MLFLOW_EXPERIMENT_NAME") or PROJECT
    whole = client.get_experiment_by_name(title)
    number = whole.experiment_id if whole else client.create_experiment(title)
    made, now = client.create_run(number, run_name=run.name).info.run_id, int(1000 * time.time())
    client.log_dict(made, config, "experiment.json")
    for step, values in enumerate(curves(run), 1):
        points = [metric(key, value, now, step) for key, value in values.items()]
        for first in range(0, len(points), 1000):  # as many as a request takes
            client.log_batch(made, metrics=points[first : first + 1000])
    client.log_table(made, pd.DataFrame(run.rows()), "table.json")
    client.set_terminated(made)
    return f"run {made}"


to_wandb, to_mlflow = partial(logged, "wandb"), partial(logged, "mlflow")
