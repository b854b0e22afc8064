"""The shipped logs as runs: models against known policies, against each other, and people.

Built by ``experiments/build_known_models.py``; see NOTICE.txt beside this file for their origin.
Beside them runs that were played here, of a small model that people know.
"""

from __future__ import annotations

import logging
import shutil
from functools import partial
from pathlib import Path

from tomeval.games.matrix.imports.log_fields import Reading
from tomeval.games.matrix.imports.recording import import_matches

logger = logging.getLogger(__name__)


def _make(name: str, out: Path) -> None:
    """Make a run in the folder `out`; a match that its policy cannot have played is left out."""
    labels = None if name == "known_people" else "neutral"  # models chose between J and F
    log = Path(__file__).with_name(f"{name}.csv")
    notes = import_matches(log, out, Reading(labels=labels, skip_bad=True))
    for line in notes[1:]:  # the first one counts matches
        if "by index" not in line:  # as the shipped logs have them on purpose
            logger.warning(line)


NAMES = ("known_models", "known_reactive", "known_columns", "known_pairs", "known_people")
known_models, known_reactive, known_columns, known_pairs, known_people = (
    partial(_make, name) for name in NAMES
)


def _unpack(name: str, out: Path) -> None:
    """Unpack the run of ``experiments/NAME.toml`` into the folder `out`."""
    shutil.unpack_archive(Path(__file__).with_name(f"{name}.zip"), out)


PLAYED = ("smollm2", "smollm2_reasoning")
smollm2, smollm2_reasoning = (partial(_unpack, name) for name in PLAYED)
