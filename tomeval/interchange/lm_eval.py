"""Results under the keys of the LM Evaluation Harness (lm-eval 0.4)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tomeval import __version__
from tomeval.core.outcomes import COMPLETE
from tomeval.interchange import common
from tomeval.runs.directions import DIRECTIONS
from tomeval.runs.results import Run, RunCell
from tomeval.statistics.estimates import estimate

_FILTER = "none"
_BETTER = {1: True, -1: False, 0: None}


def export_lm_eval(run: Run, out: Path) -> list[Path]:
    """Write the run as lm-eval writes its results, and return the files.

    Parameters
    ----------
    run : Run
    out : Path
        A folder. Every subject (with its model) gets a folder in it with one
        ``results_DATE.json``, whose tasks are the subject's cells, and one
        ``samples_TASK_DATE.jsonl`` per cell, with a line per complete episode.

    Notes
    -----
    ``METRIC,none`` is the mean over complete episodes, ``METRIC_stderr,none`` its standard error
    sd/√n (left out where there is one episode). Metrics without a value are left out.
    ``higher_is_better`` is false for regret and null for parts that trade off.
    """
    names = common.task_names(run.cells)
    groups: dict[tuple[str, str], list[RunCell]] = {}
    for cell in run.cells:
        row = cell.labels_of_row()
        groups.setdefault((row["subject"], row["model"]), []).append(cell)
    titles = {key: "_".join(filter(None, key[::-1])) for key in groups}
    folders = common.folder_names(list(titles.values()))
    date = common.started(run)
    stamp = date.strftime("%Y-%m-%dT%H-%M-%S.%f")
    written = []
    for key, cells in groups.items():
        folder = out / folders[titles[key]]
        data = _results(run, cells, names)
        text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
        written.append(common.write_text(folder / f"results_{stamp}.json", text))
        for cell in cells:
            lines = [json.dumps(sample, allow_nan=False) for sample in _samples(run, cell)]
            path = folder / f"samples_{names[cell.number]}_{stamp}.jsonl"
            written.append(common.write_text(path, "".join(f"{line}\n" for line in lines)))
    return written


def _results(run: Run, cells: Sequence[RunCell], names: dict[int, str]) -> dict[str, Any]:
    """Return one subject's results."""
    first = cells[0].definition
    model = first.get("model", "") or first["subject"]
    invalid = run.store.invalid_rates()
    data: dict[str, Any] = {"results": {}, "group_subtasks": {}, "configs": {}, "versions": {}}
    data |= {"n-shot": {}, "higher_is_better": {}, "n-samples": {}, "task_hashes": {}}
    for cell in cells:
        name, row = names[cell.number], cell.labels_of_row()
        count = _recorded(run, cell)
        data["results"][name] = _metrics(cell, run.metric_names, name, invalid)
        data["group_subtasks"][name] = []
        data["configs"][name] = {
            "task": name,
            "output_type": "multi_turn_game",
            "metadata": {**row, "definition": cell.definition},
        }
        data["versions"][name] = __version__
        data["n-shot"][name] = 3 if "3-shot" in str(row["strategy"]).lower() else 0
        better = {metric: _BETTER[DIRECTIONS.get(metric, 0)] for metric in run.metric_names}
        data["higher_is_better"][name] = better | {"invalid_rate": False}
        data["n-samples"][name] = {
            "original": max(common.planned(run) or 0, count),
            "effective": cell.played.episodes,
        }
        data["task_hashes"][name] = common.digest(cell.definition)
    session = next(iter(common.sessions(run)), {})
    data["config"] = {
        "model": first.get("kind", ""),
        "model_args": first.get("options", {}),
        "model_revision": common.revisions(run).get(cells[0].number, ""),
        "batch_size": None,
        "limit": None,
        "random_seed": first["seed"],
    }
    return data | {
        "git_hash": session.get("tomeval_commit"),
        "date": common.started(run).timestamp(),
        "model_source": model.partition(":")[0] if ":" in model else "tomeval",
        "model_name": model,
        "model_name_sanitized": common.safe(model),
        "system_instruction": None,
        "system_instruction_sha": None,
        "fewshot_as_multiturn": None,
        "chat_template": None,
        "chat_template_sha": None,
        "tomeval_version": __version__,
    }


def _recorded(run: Run, cell: RunCell) -> int:
    """Return how many episodes of a cell are stored, of any status."""
    sql = "SELECT COUNT(*) FROM episodes WHERE cell = ?"
    return int(run.store.query(sql, (cell.number,))[0][0])


def _metrics(
    cell: RunCell, metrics: Sequence[str], name: str, invalid: dict[int, float]
) -> dict[str, Any]:
    """Return a task's entry of ``results``."""
    row: dict[str, Any] = {
        "name": name,
        "alias": f"{cell.game.name} against {cell.definition['partners']['name']}",
        "sample_len": cell.played.episodes,
    }
    values = cell.metrics()
    found = estimate(np.stack([values[metric] for metric in metrics], axis=1))
    for index, metric in enumerate(metrics):
        if math.isfinite(found.mean[index]):
            row[f"{metric},{_FILTER}"] = float(found.mean[index])
        if math.isfinite(found.half[index]):
            row[f"{metric}_stderr,{_FILTER}"] = float(found.half[index]) / 1.96
    if cell.number in invalid:
        row[f"invalid_rate,{_FILTER}"] = invalid[cell.number]
    return row


def _samples(run: Run, cell: RunCell) -> list[dict[str, Any]]:
    """Return a line per complete episode: who was met, what was played, every metric."""
    metrics = cell.metrics()
    lines: list[dict[str, Any]] = []
    for episode in common.episodes(run, cell):
        if episode.status != COMPLETE:
            continue
        doc = {
            "episode": episode.number,
            "partner": episode.partner,
            "partner_actions": [step.partner for step in episode.steps],
            "predictions": [step.predicted for step in episode.steps],
        }
        values = {name: float(column[len(lines)]) for name, column in metrics.items()}
        values = {name: value for name, value in values.items() if math.isfinite(value)}
        actions = [str(step.own) for step in episode.steps]
        lines.append(
            {
                "doc_id": episode.number,
                "doc": doc,
                "target": "",
                "arguments": {},
                "resps": [actions],
                "filtered_resps": actions,
                "filter": _FILTER,
                "metrics": list(values),
                "doc_hash": common.digest(doc),
                "prompt_hash": common.digest(
                    [call.get("prompt_rest", "") for _, _, call in episode.calls]
                ),
                "target_hash": common.digest(""),
                **values,
            }
        )
    return lines
