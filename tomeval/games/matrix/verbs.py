"""What Python reads of recorded matrix games: scores, runs made of them, what can be attained."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

from tomeval.api.opened import Run
from tomeval.core.errors import TomevalError
from tomeval.games.matrix.bounds import Bounds
from tomeval.games.matrix.bounds import bounds as _bounds
from tomeval.games.matrix.games import MatrixGame, get_game
from tomeval.games.matrix.log_fields import Reading
from tomeval.games.matrix.partner_specs import get_partner_set
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
    interval : str
        As for `Run.rows`.
    path, game, partner, reference, how
        As for `import_log`.
    """
    with tempfile.TemporaryDirectory() as folder:
        run = import_log(path, Path(folder) / "run", game, partner, reference=reference, **how)
        with run:
            return run.rows(interval)


def import_log(
    path: str | Path,
    out: str | Path,
    game: str | Path | MatrixGame | None = None,
    partner: str | Path | PartnerSet | None = None,
    *,
    reference: str = "horizon",
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
    reference : str
        What ΔFunctional is measured from. Each match's optimum is that of its own length.
    how
        ``labels``, ``columns``, ``by``, ``values`` and ``skip_bad``, see
        `tomeval.games.matrix.log_fields.Reading`.

    Raises
    ------
    TomevalError
        As for `tomeval.games.matrix.recording.import_matches`; or the folder exists.
    """
    notes = import_matches(Path(path), Path(out), log_reading(game, partner, **how), reference)
    for line in notes[1:]:  # the first one counts matches
        logger.warning(line)
    return Run(out)


def log_reading(
    game: str | Path | MatrixGame | None, partner: str | Path | PartnerSet | None, **how: Any
) -> Reading:
    """Return how a log is read; parameters as for `import_log`."""
    read_game = None if game is None else _game(game)
    return Reading(read_game, _given("partner", partner, PartnerSet), **how)


def _game(given: str | Path | MatrixGame) -> MatrixGame:
    named = _given("game", given, MatrixGame)
    return get_game(named) if isinstance(named, str) else named


def _given(what: str, given: Any, kind: type) -> Any:
    """Return a name or the path of a file as text, and nothing or an object of `kind` as it is."""
    if isinstance(given, str | Path):
        return str(given)
    if given is not None and not isinstance(given, kind):
        raise TomevalError(f"{what} must be a name, a file or a {kind.__name__}, is {given!r}")
    return given


def bounds(
    game: str | Path | MatrixGame,
    partners: str | Path | PartnerSet,
    horizon: int = 100,
    reference: str = "horizon",
) -> list[Bounds]:
    """Return what is attainable against each partner of a set; see `bounds.bounds`.

    Examples
    --------
    >>> import tomeval
    >>> [round(row.regret_max, 2) for row in tomeval.bounds("IPD", "single_action")]
    [2.0, 5.0]
    """
    opened = _game(game)
    named = _given("partners", partners, PartnerSet)
    sets = get_partner_set(named, opened) if isinstance(named, str) else named
    return _bounds(opened, sets, horizon, reference)
