"""Score a recorded game from anywhere: a CSV of steps against a named partner."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.resources import read_text
from tomeval.domains.matrix.games import Labels, MatrixGame
from tomeval.domains.matrix.measures import METRICS, episode_metrics
from tomeval.domains.matrix.partners import Partner, PartnerSet
from tomeval.domains.matrix.played import Played
from tomeval.runs.columns import flat
from tomeval.statistics.estimates import estimate

COLUMNS = ("episode", "step", "own_action", "partner_action")
UNKNOWN = "unknown"

Episode = list[tuple[int, int, int | None]]  # own, partner, predicted


def score(
    path: str | Path,
    game: MatrixGame,
    partners: PartnerSet | None,
    *,
    labels: Labels | None = None,
    reference: str = "horizon",
    interval: str = "normal",
) -> dict[str, Any]:
    """Score the episodes of a CSV file as if tomeval had played them.

    Parameters
    ----------
    path : path
        A CSV with a header and the columns ``episode``, ``step``, ``own_action``,
        ``partner_action`` and optionally ``predicted_action``; other columns are not read. Actions
        are labels of any of the game's label sets, or indices from 0. Every episode's steps run
        1, 2, ... (or 0, 1, ...) without a gap, in order.
    partners : PartnerSet or None
        Who was played against; of a set, each episode must fit exactly one partner. None if it
        is unknown: then only reward and ToM % are given.
    labels : Labels, optional
        The label set to read; default: all of the game's.
    reference, interval
        As for `tomeval.Run.rows`. Each episode's optimum is that of its own length.

    Returns
    -------
    dict
        One table row, its columns as in `tomeval.Run.rows`; ``horizon`` is empty if lengths
        differ.

    Raises
    ------
    TomevalError
        A missing column, an unknown label, a gap in the steps, a move the partner cannot make:
        with file and line.
    """
    path = Path(path)
    episodes = _read(path, game, labels)
    which = [_identify(path, name, steps, partners) for name, steps in episodes.items()]
    played = _as_played(list(episodes.values()), game, partners, which)
    values = episode_metrics(played, reference)
    found = estimate(
        np.stack([values[name] for name in METRICS], axis=1),
        interval,
        strata=which,
        rng=np.random.default_rng(0),
    )
    row: dict[str, Any] = {
        "subject": path.name,
        "model": "",
        "strategy": "",
        "game": game.name,
        "labels": labels.name if labels else "",
        "partners": partners.name if partners else UNKNOWN,
        "horizon": int(played.lengths[0]) if len(set(played.lengths.tolist())) == 1 else None,
        "episodes": len(episodes),
        "invalid_rate": 0.0,
        "reask_rate": float("nan"),  # a record does not say how often anything was asked
    }
    return (
        row | flat(METRICS, found, METRICS if interval == "bca" else ()) | {"reference": reference}
    )


def _as_played(
    episodes: Sequence[Episode], game: MatrixGame, partners: PartnerSet | None, which: Sequence[int]
) -> Played:
    """Lay episodes end to end; `which` partner each was played against."""
    tables: Sequence[Partner] = partners.partners if partners else ()
    flat = np.array([step[:2] for steps in episodes for step in steps], dtype=np.int64)
    predicted = [step[2] for steps in episodes for step in steps]
    return Played(
        game,
        tables,
        np.array(which, dtype=np.int64),
        np.array([len(steps) for steps in episodes], dtype=np.int64),
        flat[:, 0],
        flat[:, 1],
        None if predicted[0] is None else np.array(predicted, dtype=np.int64),
        game.own[flat[:, 0], flat[:, 1]],
    )


def csv_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and fields of a CSV file's rows; its header must hold `columns`."""
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        header = [name.strip() for name in reader.fieldnames or []]
        reader.fieldnames = header
        for column in columns:
            if column not in header:
                raise TomevalError(
                    f"{path}: missing column {column!r}{did_you_mean(column, header)}; "
                    f"it has: {', '.join(header) or 'none'}"
                )
        if len(set(header)) < len(header):
            raise TomevalError(f"{path}: a column name appears twice: {', '.join(header)}")
        for row in reader:
            if None in row or None in row.values():
                where = f"{path}, line {reader.line_num}"
                raise TomevalError(f"{where}: has another number of fields than the header")
            yield reader.line_num, row
    except csv.Error as error:
        raise TomevalError(f"{path}, line {reader.line_num}: not valid CSV: {error}") from None


def _read(path: Path, game: MatrixGame, labels: Labels | None) -> dict[str, Episode]:
    """Return the steps of every episode, in order of appearance."""
    own, partner = _names(game, labels, "own"), _names(game, labels, "partner")
    episodes: dict[str, Episode] = {}
    first: dict[str, int] = {}
    last = None
    for line, row in csv_rows(path, COLUMNS):
        where = f"{path}, line {line}"
        name = row["episode"].strip()
        if not name:
            raise TomevalError(f"{where}: episode is empty")
        if name != last and name in episodes:
            raise TomevalError(f"{where}: episode {name!r} continues after another one began")
        last = name
        steps = episodes.setdefault(name, [])
        _check_step(where, name, row["step"], len(steps), first)
        a = _action(where, "own_action", row["own_action"], own)
        b = _action(where, "partner_action", row["partner_action"], partner)
        said = row.get("predicted_action")
        guess = None if said is None else _action(where, "predicted_action", said, partner)
        steps.append((a, b, guess))
    if not episodes:
        raise TomevalError(f"{path}: has a header but no steps")
    return episodes


def _check_step(where: str, episode: str, text: str, done: int, first: dict[str, int]) -> None:
    """Raise unless the step follows on."""
    try:
        step = int(text)
    except ValueError:
        raise TomevalError(f"{where}: step {text!r} is not a whole number") from None
    if done == 0:
        first[episode] = step
        if step not in (0, 1):
            raise TomevalError(f"{where}: episode {episode!r} starts at step {step}, not 1 (or 0)")
    elif step != first[episode] + done:
        raise TomevalError(
            f"{where}: a gap in episode {episode!r}: step {step} "
            f"after step {first[episode] + done - 1}"
        )


def _names(game: MatrixGame, labels: Labels | None, side: str) -> dict[str, int]:
    """Return every way to write an action: indices, and labels without regard to case.

    Where a named label set uses numbers as labels, they are labels and indices are not read.
    """
    sets = [labels] if labels else list(game.labels.values())
    count = game.n if side == "own" else game.m
    names = {str(index): index for index in range(count)}
    if labels and any(label in names for label in getattr(labels, side)):
        names = {}
    for label_set in sets:
        for index, label in enumerate(getattr(label_set, side)):
            known = names.setdefault(label.casefold(), index)
            if known != index:
                raise TomevalError(
                    f"game {game.name}: {label!r} names different actions in different label sets "
                    "or as an index; choose a label set with --labels"
                )
    return names


def _action(where: str, column: str, text: str, names: dict[str, int]) -> int:
    """Read one action."""
    found = names.get(text.strip().casefold())
    if found is None:
        raise TomevalError(
            f"{where}: {column} {text!r} is neither a label nor an index of the game"
            f"{did_you_mean(text, names)}; known: {', '.join(names)}"
        )
    return found


def _identify(path: Path, name: str, steps: Episode, partners: PartnerSet | None) -> int:
    """Return which partner of the set can have played an episode."""
    if partners is None:
        return -1
    own = np.array([step[0] for step in steps])
    theirs = np.array([step[1] for step in steps])
    failures = [first_impossible(partner, own, theirs) for partner in partners.partners]
    fitting = [index for index, failure in enumerate(failures) if failure is None]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = ", ".join(partners.partners[index].name for index in fitting)
        raise TomevalError(
            f"{path}: episode {name!r} fits several partners of {partners.name!r} ({names}); "
            "score it against one of them"
        )
    step = max(failure for failure in failures if failure is not None)
    raise TomevalError(
        f"{path}: episode {name!r}: {partners.name!r} cannot have played action {theirs[step]} "
        f"in step {step + 1} of the episode; was it another partner?"
    )


def first_impossible(
    partner: Partner, own: NDArray[np.int64], theirs: NDArray[np.int64]
) -> int | None:
    """Return the first step (from 0) whose partner action has probability 0, or None."""
    state = partner.start
    for step, (a, b) in enumerate(zip(own, theirs, strict=True)):
        if partner.emissions[state, b] == 0:
            return step
        state = int(partner.next_state[state, a, b])
    return None
