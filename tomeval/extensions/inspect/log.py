"""Eval logs that inspect_ai and its viewer read: one ``.eval`` file per cell."""

from __future__ import annotations

import itertools
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tomeval import __version__
from tomeval.core.files import replacing
from tomeval.core.outcomes import COMPLETE, NOT_ASKED, VALID
from tomeval.extensions.inspect import stored
from tomeval.extensions.inspect.stored import Episode, Facts
from tomeval.report import exchange
from tomeval.runs.capabilities import Line
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run
from tomeval.strategies.asking import replaced

_SCHEMA = 2  # of inspect_ai's logs
_SCORER = "tomeval"
_SHORT = 1000  # characters of a sample's input in the list of samples
_WITHIN = (1980, 1, 1, 0, 0, 0)  # date of all members: the same run gives the same file
_BETTER = {1: "higher", -1: "lower", 0: "neither"}


def export_inspect(run: Run, out: Path) -> list[Path]:
    """Write one eval log per cell into a folder and return the files.

    ``inspect view --log-dir OUT`` shows them.

    Notes
    -----
    A cell is an eval: its task is what is played, its solver who plays. An episode is a sample: its
    messages give the new part of every prompt, every reply, and what happened in every step, worded
    as in a transcript; its scores are the episode's measures. A void or failed episode is a sample
    with an error and without scores. ``store`` holds the moves. The mean and standard error of
    every measure, over complete episodes, are the eval's results. The viewer has no field for
    whether lower is better; the metadata of every score says it.
    """
    facts = stored.facts(run)
    stamp = facts.started.isoformat(timespec="seconds").replace(":", "-")
    written = []
    for cell in run.cells:
        log_id = stored.digest(facts.sha256, cell.number)[:22]
        path = out / f"{stamp}_{facts.names[cell.number].replace('_', '-')}_{log_id}.eval"
        _write(path, run, cell, _start(run, cell, facts, log_id), facts)
        written.append(path)
    return written


def _write(path: Path, run: Run, cell: RunCell, start: dict[str, Any], facts: Facts) -> None:
    """Write one log; samples are written one by one."""
    numbers = list(run.store.statuses(cell.number))
    start["eval"]["dataset"] |= {"samples": len(numbers), "sample_ids": numbers}
    with replacing(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as file:
        _add(file, "_journal/start.json", start)
        _add(file, "summaries.json", _add_samples(file, run, cell, facts))
        planned = max(run.wanted(cell) or 0, len(numbers))
        _add(file, "header.json", _header(cell, start, facts, len(numbers), planned))


def _add(file: zipfile.ZipFile, name: str, data: Any) -> None:
    """Add a member."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    member = zipfile.ZipInfo(name, _WITHIN)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    # Replies may hold half a surrogate pair, which UTF-8 does not have.
    file.writestr(member, text.encode("utf-8", errors="replace"))


def _model(cell: RunCell) -> str:
    """Return what the viewer shows as the model."""
    return stored.model_text(cell) or f"none/{cell.player}"


def _start(run: Run, cell: RunCell, facts: Facts, log_id: str) -> dict[str, Any]:
    """Return the beginning of an eval; the list of its samples is added later."""
    players, task = exchange.players(cell), cell.shown_task
    headline = (*run.headline, *run.domain.show.headline)[0]
    spec = {
        "eval_id": log_id,
        "run_id": facts.sha256[:22],
        "created": facts.started.isoformat(timespec="seconds"),
        "task": f"tomeval/{next(iter(task.values()), cell.domain.name)}",
        "task_id": log_id,  # the viewer takes logs that share one for retries
        "task_version": __version__,
        "task_display_name": exchange.task_text(cell),
        "task_args": task,
        "solver": cell.player,
        "solver_args": players,
        "dataset": {"name": exchange.task_text(cell)},
        "model": _model(cell),
        "model_args": {"revision": stored.revision_text(cell, facts)},
        "config": {"epochs": 1},
        "packages": {str(k): str(v) for k, v in (facts.session.get("versions") or {}).items()},
        "metadata": {**players, "cell": cell.number, "definition": cell.definition},
        "scorers": [{"name": _SCORER}],
        "headline_metric": {"scorer": _SCORER, "score": headline, "metric": "mean"},
    }
    steps = [{"solver": spec["solver"], "params": players}]
    return {"version": _SCHEMA, "eval": spec, "plan": {"name": "tomeval", "steps": steps}}


def _header(
    cell: RunCell, start: dict[str, Any], facts: Facts, recorded: int, planned: int
) -> dict[str, Any]:
    """Return the log without its samples, of which there are `recorded`."""
    created = start["eval"]["created"]
    return {
        **start,
        "status": "success" if recorded >= planned else "cancelled",
        "results": {
            "total_samples": planned,
            "completed_samples": len(cell.episodes),
            "scores": _scores(cell),
            "headline": start["eval"]["headline_metric"],
            "metadata": {"invalid_rate": facts.invalid.get(cell.number)},
        },
        "stats": {
            "started_at": created,
            "completed_at": created,
            "model_usage": _usage(facts.usage.get(cell.number), start["eval"]["model"]),
        },
    }


def _usage(row: dict[str, float] | None, model: str) -> dict[str, Any]:
    """Return the tokens that a cell took."""
    if row is None:
        return {}
    prompt, completion = int(row["prompt_tokens"]), int(row["completion_tokens"])
    counts = {"input_tokens": prompt, "output_tokens": completion}
    counts |= {"total_tokens": prompt + completion}
    return {model: counts | {"input_tokens_cache_read": int(row["cached_tokens"])}}


def _scores(cell: RunCell) -> list[dict[str, Any]]:
    """Return mean and standard error of every measure that has a value."""
    scores = []
    for name, mean, error in exchange.means(cell):
        numbers = {"mean": mean} if error is None else {"mean": mean, "stderr": error}
        scores.append(
            {
                "name": name,
                "scorer": _SCORER,
                "scored_samples": len(cell.episodes),
                "metrics": {key: {"name": key, "value": v} for key, v in numbers.items()},
                "metadata": {"better": _BETTER[cell.domain.measures[name].better]},
            }
        )
    return scores


def _add_samples(
    file: zipfile.ZipFile, run: Run, cell: RunCell, facts: Facts
) -> list[dict[str, Any]]:
    """Add every episode as a sample and return their summaries."""
    values = iter(stored.values(cell))
    summaries: list[dict[str, Any]] = []
    for episode in stored.episodes(run, cell):
        complete = episode.status == COMPLETE
        lines = list(run.domain.show.lines(run, cell, episode.number))
        sample = _sample(cell, episode, lines, next(values) if complete else {})
        sample["uuid"] = stored.digest(facts.sha256, cell.number, episode.number)[:22]
        if not complete:
            why = reason(run, cell, episode)
            sample["error"] = {"message": why, "traceback": "", "traceback_ansi": ""}
        _add(file, f"samples/{sample['id']}_epoch_1.json", sample)
        kept = ("id", "epoch", "target", "metadata", "scores", "uuid")
        summary = {key: sample[key] for key in kept}
        summary |= {"input": sample["input"][:_SHORT], "completed": True}
        summary["message_count"] = len(sample["messages"])
        if not complete:
            summary["error"] = sample["error"]["message"]
        summaries.append(summary)
    return summaries


def _sample(
    cell: RunCell, episode: Episode, lines: Sequence[Line], values: dict[str, float]
) -> dict[str, Any]:
    """Return an episode as a sample."""
    prompts = (record["prompt_rest"] for *_, record in episode.calls if "prompt_rest" in record)
    head = "\n".join(line.text for line in lines if line.step == 0)
    return {
        "id": episode.number,
        "epoch": 1,
        "input": next(prompts, "") or head,
        "target": "",
        "messages": conversation(cell, episode, lines),
        "output": {"model": _model(cell), "choices": []},
        "scores": {name: {"value": value, "history": []} for name, value in values.items()},
        "metadata": {**episode.drawn, "status": episode.status, "task": exchange.task_text(cell)},
        "store": cell.moves(episode.number),
        "events": [],
        "model_usage": {},
    }


def reason(run: Run, cell: RunCell, episode: Episode) -> str:
    """Return which answers ended an episode."""
    names = ("step", "seat", "question", "outcome")
    rows = run.store.read("asked", names, cell.number, episode.number)
    asked = [row for row in rows if row[-1] not in (VALID, NOT_ASKED)]
    if not asked:
        return episode.status
    last = asked[-1][0]
    told = [f"{seat}, {what}: {outcome}" for step, seat, what, outcome in asked if step == last]
    return f"{episode.status} in step {last}: {'; '.join(told)}"


def conversation(cell: RunCell, episode: Episode, told: Sequence[Line]) -> list[dict[str, Any]]:
    """Return an episode as a conversation: questions, replies, and what happened in every step."""
    several = len({seat for _, seat, _, _ in episode.calls}) > 1
    asked: list[tuple[int, dict[str, Any]]] = []
    for step, seat, form, record in episode.calls:
        purpose = f"{seat}: " * several + str(record.get("purpose", form))
        model = cell.models.get(seat, stored.model_text(cell))
        asked += [(step, m) for m in _call_messages(f"[step {step}, {purpose}", model, record)]
    messages: list[dict[str, Any]] = []
    for step, lines in itertools.groupby(told, key=lambda line: line.step):
        text = "\n".join(line.text for line in lines)
        messages += [message for at, message in asked if step < 0 or at <= step]
        asked = [(at, message) for at, message in asked if 0 <= step < at]
        if step:
            played = f"[step {step} played] " * (step > 0)
            messages.append({"role": "user", "content": played + text})
    messages += [message for _, message in asked]
    return [
        {"id": f"{episode.number}-{index}", **message} for index, message in enumerate(messages)
    ]


def _call_messages(title: str, model: str, call: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a question and its reply."""
    attempt = call.get("attempt", 1)
    title += f", attempt {attempt}]" if attempt > 1 else "]"
    same = call.get("prompt_same", 0)
    again = f"\n[... {same} characters as in the last prompt for this]" if same else ""
    asked = {"role": "user", "content": f"{title}{again}\n{call.get('prompt_rest', '')}"}
    if note := replaced(call):
        asked["content"] += f"\n[{note}]"
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
    return [asked, {"role": "assistant", "content": parts, "model": model}]
