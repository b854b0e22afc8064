"""What exports for other tools share: names of cells and folders."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tomeval.plots.output import distinct
from tomeval.runs.cell import RunCell
from tomeval.runs.columns import HEADINGS


def players(cell: RunCell) -> dict[str, str | int]:
    """Return the columns that say who is measured."""
    task = cell.shown_task
    return {name: value for name, value in cell.columns.items() if name not in task}


def task_names(cells: Sequence[RunCell]) -> dict[int, str]:
    """Return a name per cell that tells its task from others and is safe in a file name.

    Seed, reference and policy are part of it if the run has several; names that are still the same
    for two cells of the same players get a number.
    """
    settings = ("seed", "reference", "on_invalid")
    vary = [key for key in settings if len({str(cell.facts[key]) for cell in cells}) > 1]
    names: dict[int, str] = {}
    taken: Counter[tuple[str, str]] = Counter()
    for cell in cells:
        parts = [
            value if isinstance(value, str) else f"{HEADINGS.get(name, name)}{value}"
            for name, value in cell.shown_task.items()
        ]
        parts += [f"{key}-{cell.facts[key]}" for key in vary]
        name = safe("_".join(filter(None, parts)) or cell.domain.name)
        key = (repr(players(cell)), name)
        taken[key] += 1
        names[cell.number] = name if taken[key] == 1 else f"{name}_{taken[key]}"
    return names


def safe(text: str) -> str:
    """Return at most 100 letters, digits, points, hyphens and underscores for a text.

    Examples
    --------
    >>> safe("S2A + CoT"), safe("hf:Org/Model@main")
    ('S2A-CoT', 'hf-Org-Model-main')
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:100].rstrip("-.") or "unnamed"


def folder_names(texts: Sequence[str]) -> dict[str, str]:
    """Return a safe name per text, each different even if the case of letters is ignored."""
    different = list(dict.fromkeys(texts))
    return dict(zip(different, distinct(map(safe, different)), strict=True))
