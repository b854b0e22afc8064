"""What Python makes of recorded matrix games: scores, and runs."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

from tomeval.api.opened import Run
from tomeval.games.matrix.bounds import given, opened
from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.log_fields import Reading
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.recording import import_matches
from tomeval.statistics import AUTO

logger = logging.getLogger(__name__)


def score(
    path: str | Path,
    game: str | Path | MatrixGame | None = None,
    partner: str | Path | PartnerSet | None = None,
    *,
    reference: str = "horizon",
    interval: str = AUTO,
    **how: Any,
) -> list[dict[str, Any]]:
    """Score recorded matches: the rows of `Run.rows` of what `import_log` makes, which is not kept.

    Parameters
    ----------
    reference, interval : str
        As for `Run.rows`.
    path, game, partner, how
        As for `import_log`.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        import_log(path, Path(folder) / "run", game, partner, **how) as run,
    ):
        return run.rows(interval, reference)


def import_log(
    path: str | Path,
    out: str | Path,
    game: str | Path | MatrixGame | None = None,
    partner: str | Path | PartnerSet | None = None,
    **how: Any,
) -> Run:
    """Make a run of recorded matches in the folder `out`; what was left out is logged as a warning.

    Parameters
    ----------
    path : path
        The log, one row per step, see docs/recorded.md.
    game : str, Path or MatrixGame, optional
        A game's name, its file, or the game; default: as the column ``game`` says.
    partner : str, Path or PartnerSet, optional
        The same of a partner or a set; default: as the column ``partner`` says. ``"unknown"`` gives
        what needs no partner's table, and regret in hindsight.
    how
        ``labels``, ``columns``, ``by``, ``values`` and ``skip_bad``, see
        `tomeval.games.matrix.log_fields.Reading`.

    Raises
    ------
    TomevalError
        As for `tomeval.games.matrix.recording.import_matches`; or the folder exists.
    """
    notes = import_matches(Path(path), Path(out), log_reading(game, partner, **how))
    for line in notes[1:]:  # the first one counts matches
        logger.warning(line)
    return Run(out)


def log_reading(
    game: str | Path | MatrixGame | None, partner: str | Path | PartnerSet | None, **how: Any
) -> Reading:
    """Return how a log is read; parameters as for `import_log`."""
    if game is not None:
        game, _ = opened(game, "single_action")
    return Reading(
        game, partner if partner is None else given("partner", partner, PartnerSet), **how
    )
