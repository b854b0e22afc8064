"""Eval logs that inspect_ai and its viewer read: one ``.eval`` file per cell."""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tomeval import __version__
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE
from tomeval.interchange import common
from tomeval.interchange.common import Episode, Step
from tomeval.runs.results import Run, RunCell
from tomeval.statistics.estimates import estimate

_SCHEMA = 2  # of inspect_ai's logs
_SCORER = "tomeval"
_HEADLINE = "delta_functional_per_step"
_SHORT = 1000  # characters of a sample's input in the list of samples
_WITHIN = (1980, 1, 1, 0, 0, 0)  # date of all members: the same run gives the same file


def export_inspect(run: Run, out: Path) -> list[Path]:
    """Write one eval log per cell and return the files; ``inspect view --log-dir OUT`` shows them.

    Parameters
    ----------
    run : Run
    out : Path
        A folder.

    Notes
    -----
    A cell is an eval: the task is its game against its partners, the solver its subject. An episode
    is a sample: its messages tell every question by what is new in its prompt, every reply, and
    what was played in every step; its scores are the episode's metrics. A void or failed episode is
    a sample with an error and without scores. ``store`` holds the moves as labels. The mean and
    standard error of every metric, over complete episodes, are the eval's results. The viewer has
    no field for whether lower is better; the metadata of every score says it.
    """
    names = common.task_names(run.cells)
    date = common.started(run)
    stamp = date.isoformat(timespec="seconds").replace(":", "-")
    written = []
    for cell in run.cells:
        log_id = common.digest(run.store.meta().get("sha256", ""), cell.number)[:22]
        path = out / f"{stamp}_{names[cell.number].replace('_', '-')}_{log_id}.eval"
        _write(path, run, cell, log_id)
        written.append(path)
    return written


def _write(path: Path, run: Run, cell: RunCell, log_id: str) -> None:
    """Write one log, whole or not at all; samples are written one by one."""
    draft = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as file:
            _add(file, "_journal/start.json", _start(run, cell, log_id))
            summaries = _add_samples(file, run, cell)
            _add(file, "summaries.json", summaries)
            _add(file, "header.json", _header(run, cell, log_id, summaries))
        os.replace(draft, path)
    except OSError as error:
        raise TomevalError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        with suppress(OSError):
            draft.unlink()


def _add(file: zipfile.ZipFile, name: str, data: Any) -> None:
    """Add a member."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    member = zipfile.ZipInfo(name, _WITHIN)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    # Replies may hold half a surrogate pair, which UTF-8 does not have.
    file.writestr(member, text.encode("utf-8", errors="replace"))


def _start(run: Run, cell: RunCell, log_id: str) -> dict[str, Any]:
    """Return what an eval begins with."""
    row, definition = cell.labels_of_row(), cell.definition
    session = next(iter(common.sessions(run)), {})
    task = f"tomeval/{row['game']}"
    spec = {
        "eval_id": log_id,
        "run_id": str(run.store.meta().get("sha256", ""))[:22],
        "created": common.started(run).isoformat(timespec="seconds"),
        "task": task,
        "task_id": log_id,  # the viewer takes logs that share one for retries
        "task_version": __version__,
        "task_display_name": f"{row['game']} ({row['labels']}) against {row['partners']}",
        "task_args": {key: row[key] for key in ("labels", "partners", "horizon")},
        "solver": row["strategy"] or row["subject"],
        "solver_args": definition.get("options", {}),
        "dataset": {
            "name": str(row["partners"]),
            "samples": len(run.store.query(_COUNT, (cell.number,))),
            "sample_ids": [number for (number,) in run.store.query(_COUNT, (cell.number,))],
        },
        "model": row["model"] or f"none/{row['subject']}",
        "model_args": {"revision": common.revisions(run).get(cell.number, "")},
        "config": {"epochs": 1},
        "packages": {str(k): str(v) for k, v in (session.get("versions") or {}).items()},
        "metadata": {"subject": row["subject"], "cell": cell.number, "definition": definition},
        "scorers": [{"name": _SCORER}],
        "headline_metric": {"scorer": _SCORER, "score": _HEADLINE, "metric": "mean"},
    }
    steps = [{"solver": spec["solver"], "params": definition.get("options", {})}]
    return {"version": _SCHEMA, "eval": spec, "plan": {"name": "tomeval", "steps": steps}}


_COUNT = "SELECT episode FROM episodes WHERE cell = ? ORDER BY episode"


def _header(
    run: Run, cell: RunCell, log_id: str, summaries: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return the log without its samples."""
    start = _start(run, cell, log_id)
    created = start["eval"]["created"]
    planned = max(common.planned(run) or 0, len(summaries))
    usage = _usage(run, cell, start["eval"]["model"])
    return {
        "version": _SCHEMA,
        "status": "success" if len(summaries) >= planned else "cancelled",
        "eval": start["eval"],
        "plan": start["plan"],
        "results": {
            "total_samples": planned,
            "completed_samples": cell.played.episodes,
            "scores": _scores(cell, run.metric_names),
            "headline": start["eval"]["headline_metric"],
            "metadata": {"invalid_rate": run.store.invalid_rates().get(cell.number)},
        },
        "stats": {"started_at": created, "completed_at": created, "model_usage": usage},
    }


def _usage(run: Run, cell: RunCell, model: str) -> dict[str, Any]:
    """Return the tokens that a cell took."""
    row = run.store.usage().get(cell.number)
    if row is None:
        return {}
    prompt, completion = int(row["prompt_tokens"]), int(row["completion_tokens"])
    counts = {"input_tokens": prompt, "output_tokens": completion}
    counts |= {"total_tokens": prompt + completion}
    return {model: counts | {"input_tokens_cache_read": int(row["cached_tokens"])}}


def _scores(cell: RunCell, metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Return mean and standard error of every metric that has a value."""
    from tomeval.runs.directions import DIRECTIONS

    values = cell.metrics()
    found = estimate(np.stack([values[name] for name in metrics], axis=1))
    better = {1: "higher", -1: "lower", 0: "neither"}
    scores = []
    for index, name in enumerate(metrics):
        if not math.isfinite(found.mean[index]):
            continue
        numbers = {"mean": float(found.mean[index])}
        if math.isfinite(found.half[index]):
            numbers["stderr"] = float(found.half[index]) / 1.96
        scores.append(
            {
                "name": name,
                "scorer": _SCORER,
                "scored_samples": cell.played.episodes,
                "metrics": {key: {"name": key, "value": v} for key, v in numbers.items()},
                "metadata": {"better": better[DIRECTIONS.get(name, 0)]},
            }
        )
    return scores


def _add_samples(file: zipfile.ZipFile, run: Run, cell: RunCell) -> list[dict[str, Any]]:
    """Add every episode as a sample and return their summaries."""
    metrics = cell.metrics()
    summaries: list[dict[str, Any]] = []
    complete = 0
    for episode in common.episodes(run, cell):
        values: dict[str, float] = {}
        if episode.status == COMPLETE:
            values = {name: float(metrics[name][complete]) for name in run.metric_names}
            complete += 1
        sample = _sample(run, cell, episode, values)
        _add(file, f"samples/{sample['id']}_epoch_1.json", sample)
        kept = ("id", "epoch", "target", "metadata", "scores", "uuid")
        summary = {key: sample[key] for key in kept if key in sample}
        summary |= {"input": sample["input"][:_SHORT], "completed": True}
        summary["message_count"] = len(sample["messages"])
        if "error" in sample:
            summary["error"] = sample["error"]["message"]
        summaries.append(summary)
    return summaries


def _sample(run: Run, cell: RunCell, episode: Episode, values: dict[str, float]) -> dict[str, Any]:
    """Return an episode as a sample."""
    row = cell.labels_of_row()
    first = next((call["prompt_rest"] for _, _, call in episode.calls if "prompt_rest" in call), "")
    where = f"{row['game']} ({row['labels']}), {row['partners']}, T = {row['horizon']}"
    messages = _messages(cell, episode)
    numbers = {name: value for name, value in values.items() if math.isfinite(value)}
    sample: dict[str, Any] = {
        "id": episode.number,
        "epoch": 1,
        "input": first or f"{where}, against {episode.partner}",
        "target": "",
        "messages": messages,
        "output": {"model": row["model"] or f"none/{row['subject']}", "choices": []},
        "scores": {name: {"value": value, "history": []} for name, value in numbers.items()},
        "metadata": {"partner": episode.partner, "status": episode.status, "task": where},
        "store": {
            "own": [step.own for step in episode.steps],
            "partner": [step.partner for step in episode.steps],
            "predicted": [step.predicted for step in episode.steps],
            "reward": [step.reward for step in episode.steps],
        },
        "events": [],
        "model_usage": {},
        "uuid": common.digest(run.store.meta().get("sha256", ""), cell.number, episode.number)[:22],
    }
    if episode.status != COMPLETE:
        last = episode.steps[-1]
        why = f"{episode.status} in step {last.number}: act {last.act_outcome}, "
        why += f"predict {last.predict_outcome}"
        sample["error"] = {"message": why, "traceback": "", "traceback_ansi": ""}
    return sample


def _messages(cell: RunCell, episode: Episode) -> list[dict[str, Any]]:
    """Return an episode as a conversation: questions, replies, and what was played."""
    messages: list[dict[str, Any]] = []
    calls: dict[int, list[tuple[str, dict[str, Any]]]] = {}
    for number, purpose, call in episode.calls:
        calls.setdefault(number, []).append((purpose, call))
    for step in episode.steps:
        for purpose, call in calls.get(step.number, []):
            messages += _call_messages(cell, step, purpose, call)
        messages.append({"role": "user", "content": _played(step)})
    return [
        {"id": f"{episode.number}-{index}", **message} for index, message in enumerate(messages)
    ]


def _call_messages(
    cell: RunCell, step: Step, purpose: str, call: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return a question and its reply."""
    attempt = call.get("attempt", 1)
    title = f"[step {step.number}, {purpose}" + (f", attempt {attempt}]" if attempt > 1 else "]")
    same = call.get("prompt_same", 0)
    again = f"\n[... {same} characters as in the last prompt for this]" if same else ""
    asked = {"role": "user", "content": f"{title}{again}\n{call.get('prompt_rest', '')}"}
    parts: list[dict[str, Any]] = []
    reply, scores = call.get("reply"), call.get("scores")
    if reply is not None:
        if reply.get("reasoning"):
            parts.append({"type": "reasoning", "reasoning": reply["reasoning"]})
        parts.append({"type": "text", "text": reply["text"]})
    if scores is not None:
        pairs = zip(call["labels"], scores["logprobs"], strict=True)
        told = ", ".join(f"{label} {logprob:.4f}" for label, logprob in pairs)
        parts.append({"type": "text", "text": f"[log-probabilities: {told}]"})
    if "error" in call:
        parts.append({"type": "text", "text": f"[no reply: {call['error']}]"})
    model = cell.definition.get("model", "")
    return [asked, {"role": "assistant", "content": parts, "model": model}]


def _played(step: Step) -> str:
    """Return a step's moves in words."""

    def said(label: str | None, outcome: str) -> str:
        if label is None:
            return f"nothing ({outcome.replace('_', ' ')})"
        return label if outcome == "valid" else f"{label} (drawn, the answer was {outcome})"

    reward = "" if step.reward is None else f"; reward {step.reward:g}"
    return (
        f"[step {step.number} played] chose {said(step.own, step.act_outcome)}, predicted "
        f"{said(step.predicted, step.predict_outcome)}; partner chose {step.partner}{reward}"
    )
