"""What a run says of itself: replies that could not be read, and what it holds and lacks.

A run of which no reply can be read stops after its first questions, before it spends more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE, EMPTY, FAILED, REFUSAL, VALID, VOID
from tomeval.core.printing import wrapped
from tomeval.core.text import both_ends, excerpt, in_line, without_thinking
from tomeval.play.schedule import Job
from tomeval.runs import tallies
from tomeval.runs.notes import (
    copies_notes,
    enforced_notes,
    mass_notes,
    stop_notes,
    unanswered_notes,
)
from tomeval.runs.results import Run
from tomeval.runs.store import Store
from tomeval.strategies.asking import ALLOWANCES

NAMED = 5
"""How many cells are named before "and n more"."""


class Closing(NamedTuple):
    """The lines, and what they amount to.

    `measurable`: whether any episode is complete. `whole`: whether every cell has a complete
    episode and an answer that could be read, no episode failed or is missing, and no cell was
    stopped.
    """

    lines: list[str]
    measurable: bool
    whole: bool


def closing(run: Run) -> Closing:
    """Return what a run holds, over all its sessions."""
    store, stops = run.store, run.store.stops()
    counts = {cell.number: Counter[str]() for cell in run.cells}
    for number, count in tallies.episodes(store).items():
        counts.setdefault(number, Counter()).update(count)
    lacks = {
        cell.number: max(0, (run.wanted(cell) or 0) - counts[cell.number].total())
        for cell in run.cells
    }
    empty = [number for number in lacks if not counts[number][COMPLETE]]
    partly = [number for number in lacks if number in stops and number not in empty]
    unread = [number for number in tallies.unread_cells(store) if number not in empty]
    total, left = sum(counts.values(), Counter[str]()), sum(lacks.values())
    lines = [
        f"episodes: {_counted(total, left)}",
        *(_why_failed(store) if total[FAILED] else ()),
        f"cells: {len(lacks) - len(empty):,} with complete episodes, {len(empty):,} without",
    ]
    nothing = "no answer could be read, so the results say nothing about the player"
    for what, some in (
        (f"no episode is complete in {len(empty):,} cells", empty),
        ("stopped before the end", partly),
        (nothing, unread),
    ):
        if some:
            names = {cell.number: cell.name for cell in run.cells}
            lines.append(f"warning: {what}:")
            for number in some[:NAMED]:
                said = _counted(counts[number], lacks[number])
                why = f"; stopped: {stops[number]}" if number in stops else ""
                lines.append(wrapped(f"cell {number}: {names[number]}: {said}{why}", 2))
            lines += [f"  and {len(some) - NAMED:,} more"] * (len(some) > NAMED)
    if not total[COMPLETE]:
        lines += _to_do(store, empty)
    notes = stop_notes(run) + copies_notes(run) + enforced_notes(run)
    notes += unanswered_notes(run) + mass_notes(run)
    lines += [wrapped(f"note: {note}", 2) for note in notes]
    lines += _used(store)
    whole = not (empty or partly or unread or total[FAILED] or left)
    return Closing(lines, bool(total[COMPLETE]), whole)


def nothing_measured(runs: Sequence[Run]) -> str:
    """Return what runs without a complete episode hold, why, and what may help."""
    lines = []
    for run in runs:
        lines += [f"{run.folder}:"] * (len(runs) > 1)
        lines += [*closing(run).lines, f"next: tomeval transcript {run.folder}"]
    return "\n".join(lines)


def _counted(count: Mapping[str, int], left: int) -> str:
    usual = (COMPLETE, VOID, FAILED)
    more = [status for status in count if status not in usual]
    said = ", ".join(f"{count.get(status, 0):,} {status}" for status in (*usual, *more))
    return said + f"; {left:,} not played" * bool(left)


def _why_failed(store: Store) -> Iterator[str]:
    """Yield the commonest reason why episodes failed."""
    if counts := tallies.failures(store):
        ((what, number),) = counts.most_common(1)
        yield wrapped(
            f"most common reason for failed: {both_ends(what)} ({number:,} of {counts.total():,}); "
            "run the same command again to play them",
            2,
        )


def _to_do(store: Store, cells: Sequence[int]) -> Iterator[str]:
    """Yield what may help to read the first reply that ended an episode of these cells."""
    ends = ((cell, episode) for cell in cells for episode in store.episodes(cell, VOID))
    first = min(ends, default=None)
    if first and (reply := last_unread(store, *first)):
        yield wrapped(f"-> {reply.advice}", 2)


def _used(store: Store) -> Iterator[str]:
    """Yield what was asked of language models, in words."""
    total = Counter[str]()
    for row in tallies.paid(store).values():
        total.update(row)
    if not total:
        return
    cached = total["cached_tokens"]
    encoded = total["prompt_tokens"] - cached
    share = f" ({encoded:,} computed, the rest from the prefix cache)" if cached else ""
    yield wrapped(
        f"{total['calls']:,} model calls: {total['prompt_tokens']:,} prompt tokens{share}; "
        f"{total['completion_tokens']:,} generated"
    )
    if begun := sum(tallies.unfinished(store).values()):
        yield f"  including those of {begun:,} unfinished episodes"


SHOWN = 3
"""How many replies are shown, and how many lines each has at most."""

FIRST = 8
"""How many questions to a model stop a run if none of them could be read."""

FIRST_REPLIES = 5
"""How many replies are told of if none of them could be read, before they stop a run."""


class UnreadError(TomevalError):
    """None of the first questions to a model could be read; what came is kept."""


class Unread(NamedTuple):
    """A reply that could not be read: why, and the model call as the log has it, if there is one.

    Examples
    --------
    >>> call = {"kind": "cot", "sampling": {"max_tokens": 768}, "reply": {"text": "Let me see..."}}
    >>> print(Unread("truncated", call))
    truncated (cot, at most 768 tokens): "Let me see..."
    """

    outcome: str
    call: Mapping[str, Any]

    def __str__(self) -> str:
        limit = self._limit
        parts = [str(self.call.get("kind", ""))]
        if limit:
            parts.append(f"at most {limit:,} tokens")
        about = ", ".join(filter(None, parts))
        fault = self.call.get("fault", "")
        why = f"; {in_line(fault)}" if fault and self.outcome in ("unparsable", "illegal") else ""
        return f"{self.outcome}{f' ({about})' if about else ''}{why}: {said(self.call)}"

    @property
    def _limit(self) -> int:
        """The longest reply that the call asked for; 0 if the log does not say."""
        return int(self.call.get("sampling", {}).get("max_tokens", 0))

    @property
    def advice(self) -> str:
        """What may help to read such replies."""
        kind, now = self.call.get("kind", ""), f" (now {self._limit:,})" * bool(self._limit)
        # Other kinds have no allowance of their own.
        more = f"raise max_tokens{f' of {kind!r} calls' * (kind in ALLOWANCES)}{now}"
        off = "switch thinking off (model option thinking = false)"
        # The cheapest first.
        held = 'set structured = "auto" (model option), take another strategy (such as LM), or '
        held += "{}; look at question and reply (tomeval transcript)"
        reply = self.call.get("reply", {})
        text = reply.get("text", "")
        thinks = reply.get("reasoning") or without_thinking(text) != text
        if self.outcome in ("truncated", EMPTY) and thinks:
            return f"the reply holds only thinking: {more} or its thinking_budget, or {off}"
        return {
            "truncated": "the reply was cut off: " + held.format(more),
            "unparsable": "there is no answer in the form asked for: " + held.format(more),
            "illegal": "the answer is not one of the options: "
            + held.format("reword the question (prompts)"),
            "unlisted": "a label is not among the most likely tokens: raise top_logprobs, or "
            "have answers written (QA)",
            EMPTY: "the reply is empty: look at the question (tomeval transcript), the model's "
            "chat template and stop texts",
            REFUSAL: "the model or its provider declined: reword the question (prompts), or take "
            "another model",
        }.get(self.outcome, "see tomeval transcript")


def said(call: Mapping[str, Any]) -> str:
    r"""Return a call's reply in quotes, cut, without line breaks or control characters.

    Examples
    --------
    >>> print(said({"reply": {"text": "Well.\n\x1b[2J"}}))
    "Well.\n\x1b[2J"
    >>> said({"reply": {"text": "", "reasoning": "Either J or F."}})
    'no text, after 14 characters of thinking'
    """
    reply = call.get("reply", {})
    text, reasoning = reply.get("text", ""), reply.get("reasoning") or ""
    if not reply:
        return f"({both_ends(call.get('error') or 'no reply in the log')})"
    if not text and reasoning:
        return f"no text, after {len(reasoning):,} characters of thinking"
    return f'"{both_ends(text)}"'


def last_unread(store: Store, cell: int, episode: int) -> Unread | None:
    """Return the last reply of a stored episode that is not known to be valid.

    None: the episode is complete, so that no answer ended it.
    """
    if store.status(cell, episode) in (None, COMPLETE):
        return None
    calls = [
        record
        for *_, record in store.calls(cell, episode)
        if ("reply" in record or "outcome" in record) and record.get("outcome") != VALID
    ]
    call = calls[-1] if calls else {}
    return Unread(call.get("outcome") or store.last_unread(cell, episode) or "invalid", call)


def explained(head: str, unread: Sequence[tuple[str, Unread]]) -> str:
    """Return why play stops, what its replies look like, each once, and what may help."""
    replies: dict[str, list[str]] = {}
    for where, one in unread:
        replies.setdefault(str(one), []).append(where)
    lines = [wrapped(head)]
    for text, (where, *others) in list(replies.items())[:SHOWN]:
        more = f" and {len(others)} more" if others else ""
        lines.append(wrapped(f"{where}{more}: {text}", 2, SHOWN))
    remedies = dict.fromkeys(one.advice for _, one in unread)
    return "\n".join([*lines, *(wrapped(f"-> {one}", 2) for one in remedies)])


def unread_yet(model: str, unread: Sequence[tuple[Job, Unread]], name: Callable[[int], str]) -> str:
    """Return what to tell of a model none of whose first replies could be read; else nothing."""
    if len(unread) < FIRST_REPLIES:
        return ""
    head = f"none of the first {len(unread)} replies of {in_line(excerpt(model, 60))} could be read"
    told = [(f"{excerpt(name(cell), 60)}, episode {e}", one) for (cell, e), one in unread]
    return explained(f"{head}; each is asked for again", told)


def stopped_at_first(
    model: str, unread: Sequence[tuple[Job, Unread]], name: Callable[[int], str]
) -> UnreadError:
    """Return the error of a run none of whose first questions to a model could be read.

    The replies are those of the first episodes, in the order of play, whatever came first.
    """

    def place(one: tuple[Job, Unread]) -> tuple[Any, ...]:
        (cell, episode), (_, call) = one
        return episode, cell, call.get("step", 0), str(call.get("purpose", ""))

    first = sorted(unread, key=place)[:FIRST]
    head = f"none of the first {FIRST} answers could be read: the run stops"
    told = [(f"{excerpt(name(cell), 60)}, episode {e}", one) for (cell, e), one in first]
    return UnreadError(
        f"{explained(head, told)}\n  model: {in_line(excerpt(model, 60))}\n"
        "  -> --go-on continues anyway; everything is kept in the run folder"
    )
