"""Read an experiment file, or say what a file is that was given as one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.resources import experiment_path, read_toml, shown_path
from tomeval.runs.domain import domain_names, get_domain

_BEGIN = "`tomeval init experiment` writes one to begin with"
_LOGS = (".csv", ".jsonl", ".parquet")


def read_experiment(path: Path) -> dict[str, Any]:
    """Read the raw keys of an experiment file.

    Raises
    ------
    TomevalError
        It is no TOML: the message says which command takes it.
    """
    where = shown_path(path)
    if path.is_dir():
        raise TomevalError(f"{where}: is a folder, not an experiment file; {_BEGIN}")
    if path.suffix in _LOGS and path.is_file():
        raise TomevalError(
            f"{where}: is a table, not an experiment; `tomeval import` makes a run of recorded "
            "games, and `tomeval score` measures them"
        )
    try:
        return read_toml(path)
    except TomevalError as error:
        if not path.is_file():
            raise
        raise TomevalError(f"{error}; experiments are TOML files: {_BEGIN}") from error


def other_kind(data: Mapping[str, Any]) -> str:
    """Return what a file is if a domain knows it as something else than an experiment.

    See `tomeval.runs.capabilities.Describe.other_file`; empty: nothing known.
    """
    if "domain" in data:
        return ""
    return next(
        filter(None, (get_domain(name).describe.other_file(data) for name in domain_names())), ""
    )


def found_experiment(experiment: str | Path) -> Path:
    """Return the path of an experiment, see `experiment_path`.

    Raises
    ------
    TomevalError
        There is none; if the name is that of something else, such as a game, that is said.
    """
    try:
        return experiment_path(experiment)
    except TomevalError as error:
        for domain in map(get_domain, domain_names()):
            for what, rows in domain.describe.lists.items():
                if any(str(experiment) == next(iter(row.values())) for row in rows()):
                    raise TomevalError(
                        f"{experiment}: no such file; `tomeval list {what}` has it, but it is no "
                        f"experiment; {_BEGIN}"
                    ) from None
        raise error from None
