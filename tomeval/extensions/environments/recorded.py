"""The games before and after the training of docs/environments.md, as runs that ship.

Played by ``experiments/pocket/train_on_regret.py``; of `tomeval export --what steps`, the moves and
predictions.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tomeval.domains.matrix.log_fields import Reading
from tomeval.domains.matrix.recording import import_matches


def _make(name: str, out: Path) -> None:
    """Make a run in the folder `out`."""
    log = Path(__file__).with_name(f"{name}.csv")
    import_matches(log, out, Reading(labels="neutral"))


before, after = partial(_make, "before"), partial(_make, "after")
