"""Eval logs of tomeval's tasks as run folders: every episode is played again from its replies."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tomeval import __version__
from tomeval.core.errors import TomevalError
from tomeval.core.extensions import CommandPart
from tomeval.core.extras import need
from tomeval.core.printing import show, tell
from tomeval.extensions.inspect import replies, scored
from tomeval.runs.domain import Block, get_domain
from tomeval.runs.experiment import Experiment
from tomeval.runs.runner import Recorded, import_games

KEPT = "tomeval"
"""Where logs hold what is tomeval's: in the metadata of the eval and in the store of samples."""

SCORER = "episode"
_CLOSE = 1e-9  # relative to 1 or the larger number


def import_(
    games: Annotated[Path, typer.Argument(help="An eval log of tomeval's tasks, LOG.eval.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The run folder to make. Default: runs/ and the file's name."),
    ] = None,
) -> None:
    """Make a run folder from an Inspect log of tomeval's tasks, rescored from its replies."""
    domain, recorded = recorded_log(games)
    folder = out or Path("runs") / games.stem
    import_games(get_domain(domain), lambda: recorded, folder)
    for note in recorded.notes:
        tell(note)
    show(folder)


IMPORT = CommandPart(import_, lambda name: name.endswith(".eval"))


def recorded_log(path: Path) -> tuple[str, Recorded]:
    """Return the domain of an eval log of tomeval's tasks, and its episodes for a run.

    Rows follow from the replies: each episode is played again with these, and what the log says it
    scored must be what that gives, to 1e-9.

    Raises
    ------
    TomevalError
        The log cannot be read, is of another task or another version of tomeval, or holds an
        episode that is not what its replies lead to.
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
    if not log.samples:
        raise TomevalError(f"{path}: holds no samples")
    try:
        experiment = replies.experiment_of(about["experiment"], f"inspect:{log.eval.model}")
    except (TomevalError, TypeError, KeyError, AttributeError) as error:
        raise TomevalError(f"{path}: its experiment cannot be read: {error}") from None
    blocks: dict[tuple[int, int], Block] = {}
    revisions, errors = {}, 0
    for sample in log.samples:
        kept = sample.store.get(KEPT)
        if sample.error is not None or not kept:
            errors += 1
            continue
        where = f"{path}: sample {sample.id!r}"
        block = _checked(experiment, sample, kept, where)
        which = (kept["cell"], kept["episode"])
        if which in blocks:
            raise TomevalError(f"{where}: its episode is in the log twice")
        blocks[which] = block
        revisions[f"inspect:{log.eval.model}"] = str(kept["model"]["revision"])
    if not blocks:
        raise TomevalError(f"{path}: holds no episode: all {errors} samples have an error")
    recorded = scored.recorded(experiment, blocks, _until(log))
    if errors:
        some = "1 sample has" if errors == 1 else f"{errors} samples have"
        recorded.notes.append(f"{some} an error or met a limit: left out, as no episode was played")
    stopping = log.results.early_stopping if log.results else None
    absent = len(log.eval.dataset.sample_ids or ()) - len(log.samples)
    absent -= len(stopping.early_stops) if stopping else 0
    if absent > 0:
        recorded.notes.append(f"{absent} of the samples of the eval are missing from the log")
    return experiment.domain, recorded._replace(revisions=revisions)


def _read(path: Path) -> Any:
    api = need("inspect_ai.log", "inspect", "logs of inspect_ai")
    if not path.is_file():
        raise TomevalError(f"{path}: no such file")
    try:
        return api.read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:  # noqa: BLE001 (whatever a damaged file leads to)
        said = " ".join(str(error).split())[:200]
        raise TomevalError(f"{path}: cannot be read as a log of inspect_ai: {said}") from None


def _checked(experiment: Experiment, sample: Any, kept: Any, where: str) -> Block:
    """Return the rows that the replies of a sample lead to, if that is what the log says of it."""
    try:
        if type(kept["cell"]) is not int or not 0 <= kept["cell"] < len(experiment.cells):
            raise TomevalError(f"cell {kept['cell']!r} is not a cell of the experiment")
        if type(kept["episode"]) is not int or kept["episode"] < 0:
            raise TomevalError(f"episode {kept['episode']!r} is not an episode number")
        _check_replies(sample, kept)
        block = asyncio.run(replies.replay(experiment, kept))
        measured = scored.measure(experiment, kept["cell"], block)
    except TomevalError as error:
        raise TomevalError(f"{where}: {error}") from None
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
        raise TomevalError(f"{where}: damaged: {error!r}") from None
    scores = sample.scores or {}
    said = scores[SCORER].value if SCORER in scores else {}
    for name, value in measured.values.items():
        told = said.get(name, "missing") if isinstance(said, Mapping) else "missing"
        if not _same(told, value):
            raise TomevalError(f"{where}: {name} is {told} in the log but {value} by its replies")
    return block


def _same(told: Any, value: float) -> bool:
    told = math.nan if told is None else told  # older versions of inspect_ai write null for NaN
    if not isinstance(told, int | float):
        return False
    if math.isnan(value) or math.isnan(told):
        return math.isnan(value) and math.isnan(told)
    return abs(told - value) <= _CLOSE * max(1.0, abs(told), abs(value))


def _check_replies(sample: Any, kept: Mapping[str, Any]) -> None:
    """Refuse replies that the model did not give, as far as the transcript of the sample says."""
    events = [event for event in sample.events if event.event == "model"]
    given = [event.output.choices[0].message.text for event in events if event.output.choices]
    used = [json.loads(text) for mine in kept["replies"].values() for text in mine.values()]
    for text in sorted((said["text"] for said in used if "text" in said), key=len, reverse=True):
        event = next((one for one in given if one.startswith(text)), None)  # may be cut at a stop
        if event is None:
            raise TomevalError(f"the reply {text[:60]!r} is not in its transcript")
        given.remove(event)


def _until(log: Any) -> Mapping[str, Any]:
    """Return what is known of the condition that an eval stopped by; empty: it had none."""
    stopping = log.results.early_stopping if log.results else None
    return dict(stopping.metadata) if stopping else {}
