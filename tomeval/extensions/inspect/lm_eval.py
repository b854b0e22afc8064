"""Results under the keys of the LM Evaluation Harness (lm-eval 0.4)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tomeval import __version__
from tomeval.core.files import write_text
from tomeval.core.outcomes import COMPLETE
from tomeval.extensions.inspect import stored
from tomeval.extensions.inspect.stored import Facts
from tomeval.report import exchange
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run

_FILTER = "none"
_BETTER = {1: True, -1: False, 0: None}


def export_lm_eval(run: Run, out: Path) -> list[Path]:
    """Write the run as lm-eval writes its results, and return the files.

    Every player (with its model) gets a folder in `out` with one ``results_DATE.json``, whose tasks
    are the player's cells, and one ``samples_TASK_DATE.jsonl`` per cell, with a line per complete
    episode.

    Notes
    -----
    ``METRIC,none`` is the mean over complete episodes, ``METRIC_stderr,none`` its standard error
    sd/√n (left out if there is one episode). Measures without a value are left out.
    ``higher_is_better`` is false for regret and null for parts that trade off.
    """
    facts = stored.facts(run)
    groups: dict[str, list[RunCell]] = {}
    for cell in run.cells:
        title = "_".join(filter(None, (stored.model_text(cell), cell.player)))
        groups.setdefault(title, []).append(cell)
    folders = exchange.folder_names(list(groups))
    stamp = facts.started.strftime("%Y-%m-%dT%H-%M-%S.%f")
    written = []
    for title, cells in groups.items():
        folder = out / folders[title]
        data = _results(run, cells, facts)
        text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
        written.append(write_text(folder / f"results_{stamp}.json", text))
        for cell in cells:
            lines = [json.dumps(sample, allow_nan=False) for sample in _samples(run, cell)]
            path = folder / f"samples_{facts.names[cell.number]}_{stamp}.jsonl"
            written.append(write_text(path, "".join(f"{line}\n" for line in lines)))
    return written


def _results(run: Run, cells: Sequence[RunCell], facts: Facts) -> dict[str, Any]:
    """Return one player's results."""
    data: dict[str, Any] = {"results": {}, "group_subtasks": {}, "configs": {}, "versions": {}}
    data |= {"n-shot": {}, "higher_is_better": {}, "n-samples": {}, "task_hashes": {}}
    better = {name: _BETTER[measure.better] for name, measure in run.measures.items()}
    for cell in cells:
        name = facts.names[cell.number]
        data["results"][name] = _metrics(cell, name, facts)
        data["group_subtasks"][name] = []
        data["configs"][name] = {
            "task": name,
            "output_type": "multi_turn_game",
            "metadata": {**cell.columns, "definition": cell.definition},
        }
        data["versions"][name] = __version__
        shown = any("3-shot" in str(word).lower() for word in exchange.players(cell).values())
        data["n-shot"][name] = 3 if shown else 0
        data["higher_is_better"][name] = better | {"invalid_rate": False}
        data["n-samples"][name] = {
            "original": max(run.wanted(cell) or 0, facts.recorded.get(cell.number, 0)),
            "effective": len(cell.episodes),
        }
        data["task_hashes"][name] = stored.digest(cell.definition)
    return data | _about(cells[0], facts)


def _about(cell: RunCell, facts: Facts) -> dict[str, Any]:
    """Return what lm-eval says of a model and of how it was run."""
    model = stored.model_text(cell) or cell.player
    source = model.partition(":")[0] if ":" in model else "tomeval"
    return {
        "config": {
            "model": source,
            "model_args": exchange.players(cell),
            "model_revision": stored.revision_text(cell, facts),
            "batch_size": None,
            "limit": None,
            "random_seed": cell.seed,
        },
        "git_hash": facts.session.get("tomeval_commit"),
        "date": facts.started.timestamp(),
        "model_source": source,
        "model_name": model,
        "model_name_sanitized": exchange.safe(model),
        **dict.fromkeys(("system_instruction", "system_instruction_sha", "fewshot_as_multiturn")),
        **dict.fromkeys(("chat_template", "chat_template_sha")),
        "tomeval_version": __version__,
    }


def _metrics(cell: RunCell, name: str, facts: Facts) -> dict[str, Any]:
    """Return a task's entry of ``results``."""
    row: dict[str, Any] = {"name": name, "alias": exchange.task_text(cell)}
    row["sample_len"] = len(cell.episodes)
    for measure, mean, error in exchange.means(cell):
        row[f"{measure},{_FILTER}"] = mean
        if error is not None:
            row[f"{measure}_stderr,{_FILTER}"] = error
    if cell.number in facts.invalid:
        row[f"invalid_rate,{_FILTER}"] = facts.invalid[cell.number]
    return row


def _samples(run: Run, cell: RunCell) -> list[dict[str, Any]]:
    """Return a line per complete episode: what it drew, what was played, every measure."""
    measured = iter(stored.values(cell))
    lines: list[dict[str, Any]] = []
    for episode in stored.episodes(run, cell):
        if episode.status != COMPLETE:
            continue
        moves = cell.moves(episode.number)
        said = [str(action) for action in moves.pop(next(iter(moves)))]
        doc = {"episode": episode.number, **episode.drawn, "moves": moves}
        prompts = [record.get("prompt_rest", "") for *_, record in episode.calls]
        values = next(measured)
        lines.append(
            {
                "doc_id": episode.number,
                "doc": doc,
                "target": "",
                "arguments": {},
                "resps": [said],
                "filtered_resps": said,
                "filter": _FILTER,
                "metrics": list(values),
                "doc_hash": stored.digest(doc),
                "prompt_hash": stored.digest(prompts),
                "target_hash": stored.digest(""),
                **values,
            }
        )
    return lines
