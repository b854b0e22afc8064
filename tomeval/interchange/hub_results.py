"""Evaluation entries for model pages of the Hugging Face Hub."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.interchange import common
from tomeval.interchange.hub import check_repo, needs_hub
from tomeval.report.tables import HEADINGS
from tomeval.runs.results import Run, RunCell

REPORTED = ("tom_percent", "delta_functional_per_step")
"""The metrics that a model page shows."""

_DECIMALS = 4


def export_hub(run: Run, out: Path, repo: str | None) -> list[Path]:
    """Write the entries of every model in both formats that the Hub knows; return the files.

    Parameters
    ----------
    run : Run
    out : Path
        A folder. Every model gets a folder in it: ``.eval_results/tomeval_STRATEGY.yaml``, one per
        strategy, to be put into the model's repository as they are; and ``model-index.yaml``, the
        older form, whose content belongs into the front matter of the model's README.
    repo : str
        The dataset on the Hub that holds the run, ``OWNER/NAME``; every entry refers to it.

    Raises
    ------
    TomevalError
        No such option, no language model in the run, or huggingface-hub is missing.
    """
    if repo is None:
        raise TomevalError(
            "--format hub needs --repo OWNER/NAME: the dataset that holds the run, see tomeval push"
        )
    check_repo(repo)
    models: dict[str, list[RunCell]] = {}
    for cell in run.cells:
        if cell.definition.get("model") and cell.played.episodes:
            models.setdefault(cell.definition["model"], []).append(cell)
    if not models:
        raise TomevalError(
            f"{run.folder}: no language model has a complete episode: no model page to report to"
        )
    needs_hub()
    folders = common.folder_names([_model_name(model) for model in models])
    names = common.task_names(run.cells)
    written = []
    for model, cells in models.items():
        folder = out / folders[_model_name(model)]
        strategies = list(dict.fromkeys(cell.definition["subject"] for cell in cells))
        files = common.folder_names(strategies)
        for strategy in strategies:
            mine = [cell for cell in cells if cell.definition["subject"] == strategy]
            text = _entries(run, mine, names, repo)
            path = folder / ".eval_results" / f"tomeval_{files[strategy]}.yaml"
            written.append(common.write_text(path, text))
        text = _model_index(_model_name(model), cells, names, repo)
        written.append(common.write_text(folder / "model-index.yaml", text))
    return written


def _model_name(model: str) -> str:
    """Return a model's name without the backend, revision and address in front of and behind it."""
    return model.partition(":")[2].partition("@")[0] or model


def _url(repo: str) -> str:
    return f"https://huggingface.co/datasets/{repo}"


def _values(cell: RunCell) -> dict[str, float]:
    """Return the reported metrics' means over complete episodes."""
    metrics = cell.metrics()
    found = {name: float(metrics[name].mean()) for name in REPORTED}
    return {name: round(v, _DECIMALS) for name, v in found.items() if math.isfinite(v)}


def _entries(run: Run, cells: list[RunCell], names: dict[int, str], repo: str) -> str:
    """Return one strategy's entries in the form of ``.eval_results``."""
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    entries = [
        EvalResultEntry(
            dataset_id=repo,
            task_id=f"{names[cell.number]}_{metric}",
            value=value,
            date=common.started(run).isoformat(timespec="seconds"),
            source_url=_url(repo),
            source_name="tomeval run",
            notes=_notes(cell),
        )
        for cell in cells
        for metric, value in _values(cell).items()
    ]
    text: str = yaml.safe_dump(
        eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True
    )
    return text


def _notes(cell: RunCell) -> str:
    """Return what was measured and how, in a line."""
    row = cell.labels_of_row()
    return (
        f"{row['subject']}; {row['game']} ({row['labels']}) against {row['partners']}, "
        f"T = {row['horizon']}, {cell.played.episodes} episodes"
    )


def _model_index(name: str, cells: list[RunCell], names: dict[int, str], repo: str) -> str:
    """Return the older form of a model card's entries."""
    import yaml
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    results: list[Any] = [
        EvalResult(
            task_type="other",
            task_name="Theory of mind in repeated games",
            dataset_type=repo,
            dataset_name=_notes(cell),
            dataset_config=f"{names[cell.number]}_{common.safe(cell.definition['subject'])}",
            metric_type=metric,
            metric_name=HEADINGS.get(metric, metric),
            metric_value=value,
            source_name="tomeval run",
            source_url=_url(repo),
        )
        for cell in cells
        for metric, value in _values(cell).items()
    ]
    data = {"model-index": eval_results_to_model_index(name, results)}
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    return text
