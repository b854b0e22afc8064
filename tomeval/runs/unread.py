"""A run of which no reply can be read stops after its first questions, before it spends more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.text import excerpt, in_line, wrapped
from tomeval.runs.replies import Unread, advice
from tomeval.runs.schedule import Job

FIRST = 8
"""How many questions to a model stop a run if none of them could be read."""

_REPLIES, _REMEDIES, _LINES = 3, 2, (3, 4)
"""How many replies and remedies the screen holds, and of how many lines each is at most."""


class UnreadError(TomevalError):
    """None of the first questions to a model could be read; what came is kept."""


class FirstQuestions:
    """The questions to a model that could not be read after all attempts, as long as none could."""

    def __init__(self) -> None:
        self._unread: list[tuple[Job, Unread]] = []

    def __len__(self) -> int:
        return len(self._unread)

    def add(self, job: Job, outcome: str, call: Mapping[str, Any]) -> None:
        """Note a question of an episode."""
        self._unread.append((job, Unread(outcome, call)))

    def screen(self, model: str, name: Callable[[int], str]) -> str:
        """Return what is told of them: replies and remedies, in 24 lines of 80 columns at most.

        The replies are those of the first episodes, in the order of play, whatever came first.
        """

        def place(one: tuple[Job, Unread]) -> tuple[Any, ...]:
            (cell, episode), (_, call) = one
            return episode, cell, call.get("step", 0), str(call.get("purpose", ""))

        first = sorted(self._unread, key=place)[:FIRST]
        replies: dict[str, list[Job]] = {}
        for job, unread in first:
            replies.setdefault(str(unread), []).append(job)
        lines = [
            f"none of the first {FIRST} answers could be read: the run stops",
            f"  model: {in_line(excerpt(model, 60))}",
        ]
        for text, (job, *others) in list(replies.items())[:_REPLIES]:
            more = f" and {len(others)} more" if others else ""
            where = f"{excerpt(name(job[0]), 60)}, episode {job[1]}{more}"
            lines.append(wrapped(f"{where}: {text}", 2, _LINES[0]))
        for remedy in list(dict.fromkeys(advice(unread) for _, unread in first))[:_REMEDIES]:
            lines.append(wrapped(f"-> {remedy}", 2, _LINES[1]))
        lines.append("  -> --go-on continues anyway; everything is kept in the run folder")
        return "\n".join(lines)
