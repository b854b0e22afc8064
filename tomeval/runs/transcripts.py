"""An episode as a reader wants it: moves, questions and replies; prompts by what is new."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.runs.results import Run


def transcript_lines(run: Run, cell: int, episode: int) -> Iterator[str]:
    """Yield the lines of one episode.

    Prompts are told by their difference: what a prompt shares with the last one for the same
    purpose is named by its length, the rest is printed.

    Raises
    ------
    TomevalError
        No such cell or episode.
    """
    if not 0 <= cell < len(run.cells):
        raise TomevalError(f"{run.folder}: no cell {cell}, there are {len(run.cells)}")
    found = run.store.query(
        "SELECT partner, status, steps FROM episodes WHERE cell = ? AND episode = ?",
        (cell, episode),
    )
    if not found:
        raise TomevalError(f"{run.folder}: cell {cell} has no episode {episode}")
    partner, status, steps = found[0]
    which = run.cells[cell]
    yield f"{which.name}; episode {episode} against {which.partners[partner].name}: "
    yield f"{status}, {steps} steps"
    calls = _calls(run, cell, episode)
    rows = run.store.query(
        "SELECT step, own_action, partner_action, predicted_action, own_reward, act_outcome, "
        "predict_outcome FROM steps WHERE cell = ? AND episode = ? ORDER BY step",
        (cell, episode),
    )
    for step, own, theirs, predicted, reward, act, predict in rows:
        labels = which.labels
        yield ""
        yield (
            f"== step {step}: chose {_label(labels.own, own, act)}, "
            f"predicted {_label(labels.partner, predicted, predict)}; "
            f"partner chose {labels.partner[theirs]}"
            + (f"; reward {reward:g}" if reward is not None else "")
        )
        for call in calls.get(step, []):
            yield from _call_lines(call)


def _calls(run: Run, cell: int, episode: int) -> dict[int, list[dict[str, Any]]]:
    """Return the episode's calls by step."""
    calls: dict[int, list[dict[str, Any]]] = {}
    for step, form, record in run.store.query(
        "SELECT step, form, record FROM calls WHERE cell = ? AND episode = ? ORDER BY call",
        (cell, episode),
    ):
        calls.setdefault(step, []).append({"purpose": form, **json.loads(record)})
    return calls


def _label(labels: tuple[str, ...], action: int | None, outcome: str) -> str:
    """Name an action, or say why there is none or what it stands for."""
    if action is None:
        return f"nothing ({outcome.replace('_', ' ')})"
    return labels[action] if outcome == "valid" else f"{labels[action]} (drawn, {outcome})"


def _call_lines(call: dict[str, Any]) -> Iterator[str]:
    """Yield one call."""
    attempt = call.get("attempt", 1)
    yield f"-- {call['purpose']}" + (f", attempt {attempt}" if attempt > 1 else "")
    if "prompt_rest" in call:
        same = call["prompt_same"]
        if same:
            yield f"   > [... {same} characters as before]"
        for line in call["prompt_rest"].splitlines():
            yield f"   > {line}"
    reply, scores = call.get("reply"), call.get("scores")
    if reply is not None:
        if reply.get("reasoning"):
            yield from (f"   ({line})" for line in reply["reasoning"].splitlines())
        yield from (f"   {line}" for line in reply["text"].splitlines())
        outcome = f", {call['outcome']}" if "outcome" in call else ""
        yield f"   [{reply['finish']}{outcome}]"
    if scores is not None:
        pairs = zip(call["labels"], scores["logprobs"], strict=True)
        told = ", ".join(f"{label} {logprob:.3f}" for label, logprob in pairs)
        yield f"   log-probabilities: {told} (mass {scores['mass']:.3f}, {scores['method']})"
    if "error" in call:
        yield f"   error: {call['error']}"
