"""Eval logs of tomeval's tasks as run folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tomeval import __version__
from tomeval.core.errors import TomevalError
from tomeval.core.extensions import CommandPart
from tomeval.core.extras import need
from tomeval.core.outcomes import COMPLETE, VOID
from tomeval.core.printing import show, tell
from tomeval.extensions.inspect import episodes
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import Experiment
from tomeval.runs.record import Record
from tomeval.runs.recorded import Recorded, import_games

KEPT = "tomeval"
"""Where logs hold what is tomeval's: in the metadata of the eval and in the store of samples."""

_DAMAGE = (TypeError, ValueError, LookupError, AttributeError, OverflowError)


def import_(
    games: Annotated[Path, typer.Argument(help="An eval log of tomeval's tasks, LOG.eval.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The run folder to make. Default: runs/ and the file's name."),
    ] = None,
) -> None:
    """Make a run folder from an Inspect log of tomeval's tasks."""
    domain, recorded = recorded_log(games)
    folder = out or Path("runs") / games.stem
    import_games(get_domain(domain), lambda: recorded, folder)
    for note in recorded.notes:
        tell(note)
    show(folder)


IMPORT = CommandPart(import_, lambda name: name.endswith(".eval"))


def recorded_log(path: Path) -> tuple[str, Recorded]:
    """Return the domain of an eval log of tomeval's tasks, and its episodes for a run.

    Rows are those that the log holds; measures follow from them anew.

    Raises
    ------
    TomevalError
        The log cannot be read, is of another task or another version of tomeval, or of games,
        partners or prompts other than those that are named here; an episode is damaged.
    """
    log = _read(path)
    about = (log.eval.metadata or {}).get(KEPT)
    if not isinstance(about, Mapping) or not isinstance(about.get("experiment"), Mapping):
        raise TomevalError(f"{path}: is a log of the task {log.eval.task!r}, not of tomeval's own")
    if about.get("version") != __version__:
        raise TomevalError(
            f"{path}: was written by tomeval {about.get('version')!r}, this is {__version__}: "
            "import it with that version"
        )
    model = f"inspect:{log.eval.model}"
    try:
        experiment = episodes.experiment_of(about["experiment"], model)
    except (TomevalError, TypeError, KeyError, AttributeError) as error:
        raise TomevalError(f"{path}: its experiment cannot be read: {error}") from None
    played: dict[tuple[int, int], Record] = {}
    revisions: dict[str, str] = {}
    samples = log.samples or ()
    for sample in samples:
        kept = sample.store.get(KEPT)
        if sample.error is None and kept:
            where = f"{path}: sample {sample.id!r}"
            try:
                number, record = _episode(experiment, kept)
            except TomevalError as error:
                raise TomevalError(f"{where}: {error}") from None
            except _DAMAGE as error:
                raise TomevalError(f"{where}: damaged: {error!r}") from None
            which = number, record.episode
            if which in played:
                raise TomevalError(f"{where}: its episode is in the log twice")
            played[which] = record
            revisions[model] = str(kept["revision"])
    if not played:
        raise TomevalError(f"{path}: holds no episode that was played to its end")
    result = episodes.recorded(experiment, played)._replace(revisions=revisions)
    planned = len(log.eval.dataset.sample_ids or samples)
    if planned > len(played):
        result.notes.append(
            f"{planned - len(played)} of {planned} samples have an error, met a limit or are "
            "missing: left out, as no episode was played"
        )
    return experiment.domain, result


def _read(path: Path) -> Any:
    api = need("inspect_ai.log", "inspect", "logs of inspect_ai")
    if not path.is_file():
        raise TomevalError(f"{path}: no such file")
    try:
        return api.read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:  # noqa: BLE001 (whatever a damaged file leads to)
        said = " ".join(str(error).split())[:200]
        raise TomevalError(f"{path}: cannot be read as a log of inspect_ai: {said}") from None


def _episode(experiment: Experiment, kept: Mapping[str, Any]) -> tuple[int, Record]:
    """Return the cell and an episode, if it can be what a run would have written."""
    number = kept["cell"]
    if type(number) is not int or not 0 <= number < len(experiment.cells):
        raise TomevalError(f"cell {number!r} is not a cell of the experiment")
    if kept["digest"] != episodes.digest(experiment):
        raise TomevalError("was played with games, partners or prompts other than those named")
    record = episodes.unpacked(kept["rows"])
    episode, status = record.episode, record.status
    if type(episode) is not int or not 0 <= episode < 2**31 or status not in (COMPLETE, VOID):
        raise TomevalError(f"episode {episode!r}, {status!r}, is none of a run")
    episodes.measure(experiment, number, record)  # what cannot be stored or read is refused
    return number, record
