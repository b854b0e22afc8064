"""Episodes of any domain in the browser: the lines of text that it gives of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tomeval.report.blocks import asset
from tomeval.runs.domain import Line
from tomeval.runs.results import Run, RunCell


class LineBrowser:
    """Packs `Domain.lines` for ``assets/lines.js``; see `tomeval.runs.domain.Browser`."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.script = asset("lines.js")

    def packed(self, cell: RunCell) -> Iterator[dict[str, Any]]:
        """Yield the episodes of a cell."""
        for (episode,) in self._run.store.query(
            "SELECT episode FROM episodes WHERE cell = ? ORDER BY episode", (cell.number,)
        ):
            yield packed_lines(self._run.domain.lines(self._run, cell, episode))

    def summary(self, cell: RunCell) -> dict[str, Any]:
        """Return nothing: the lines say all."""
        return {}


def packed_lines(lines: Iterable[Line]) -> dict[str, Any]:
    """Return lines by where they stand: ``head``, by step in ``steps``, ``tail``.

    Examples
    --------
    >>> packed_lines([Line(0, "a game"), Line(1, "hid 2"), Line(1, "a hit"), Line(-1, "over")])
    {'head': ['a game'], 'steps': {1: ['hid 2', 'a hit']}, 'tail': ['over']}
    """
    head: list[str] = []
    tail: list[str] = []
    steps: dict[int, list[str]] = {}
    for step, text in lines:
        place = head if step == 0 else tail if step < 0 else steps.setdefault(step, [])
        place.append(text)
    return {"head": head, "steps": steps, "tail": tail}
