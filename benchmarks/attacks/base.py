"""What an attack reports: one row for each kind of thing that was tried.

Every attack is a module with a docstring and a function ``play(size, seed, work)``: a share of full
size (1 for the page, less for a try), a seed and an empty folder. It returns its rows.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tomeval.runs.store import NothingPlayed, Store


@dataclass(frozen=True)
class Row:
    """One kind of attack, and what became of it.

    `tried` counts attempts. `lost` counts those with a wrong number, a lost reply, a traceback or
    silence; after the others everything was right: equal rows, an answer that was read as meant, or
    one clear error where none can be given. `told` is the longest time until the user was told, in
    seconds; None where nobody waits.
    """

    case: str
    tried: int
    lost: int
    told: float | None = None
    note: str = ""

    @property
    def survived(self) -> int:
        """How many attempts did no harm."""
        return self.tried - self.lost

    def shown(self) -> dict[str, Any]:
        """Return the row of a table."""
        counts = {"tried": self.tried, "survived": self.survived, "lost": self.lost}
        return {"case": self.case, **counts, "told after, s": self.told, "note": self.note}


def judged(case: str, attempts: Sequence[str], told: float | None = None, note: str = "") -> Row:
    """Return the row of some attempts: what went wrong in each, empty if nothing did."""
    wrong = [" ".join(attempt.split()).replace("|", "/") for attempt in attempts if attempt]
    for attempt in filter(None, attempts):
        print(f"{case}: {attempt}", file=sys.stderr, flush=True)
    return Row(case, len(attempts), len(wrong), told, note or "; ".join(wrong[:3])[:240])


def scaled(count: float, size: float) -> int:
    """Return a number of attempts at this share of full size, at least one."""
    return max(1, round(count * size))


def contents(folder: Path, calls: bool = False) -> dict[tuple[int, int], str]:
    """Return what a run holds of each episode, by cell and number, as a text; `calls` too.

    Without what differs from run to run: what calls took. Empty if nothing was played.
    """
    try:
        store = Store(folder)
    except NothingPlayed:
        return {}
    try:
        held = {}
        for cell in store.played_cells():
            for episode in store.episodes(cell):
                text = repr(vars(store.record(cell, episode)) | {"spent": None})
                if calls:
                    text += json.dumps([_timeless(*one) for one in store.calls(cell, episode)])
                held[cell, episode] = text
        return held
    finally:
        store.close()


def _timeless(step: int, seat: str, form: str, record: dict[str, Any]) -> list[Any]:
    for part in ("reply", "scores"):
        record.get(part, {}).pop("latency", None)
    return [step, seat, form, record]
