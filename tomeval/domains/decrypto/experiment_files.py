"""Read Decrypto experiment files, and word what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.resources import experiment_path, read_toml
from tomeval.domains.decrypto.experiment import Experiment, PairingTable, ProbesTable, RulesTable
from tomeval.domains.decrypto.game import Rules
from tomeval.runs.experiment import _override


def load_experiment(path: str | Path, overrides: Sequence[str] = ()) -> Experiment:
    """Load an experiment file, or a shipped one by name.

    Parameters
    ----------
    path : path of a TOML file
    overrides : sequence of str
        ``key=value`` with a dotted key, such as ``games=10`` or ``players.a.k=64``.
    """
    path = experiment_path(path)
    data = read_toml(path)
    if overrides:  # tables that a file may leave out can still be reached
        data = {"rules": {}, "probes": {}, **data}
    for override in overrides:
        _override(data, override)
    return make_experiment(data, base=path.parent, where=str(path))


def make_experiment(
    data: dict[str, Any], *, base: Path | None = None, where: str = "experiment"
) -> Experiment:
    """Check a dict with the keys of `Experiment`; relative paths in it start from `base`."""
    if "horizon" in data or "partners" in data or "subjects" in data:
        raise TomevalError(f"{where}: is an experiment of matrix games: use tomeval run")
    try:
        experiment = Experiment(**data)
    except ValidationError as error:
        raise TomevalError(_explain(error, where)) from None
    experiment._base, experiment._where = base, where
    try:
        Rules(**experiment.rules.model_dump())
    except TomevalError as error:
        raise TomevalError(f"{where}: {error}") from None
    if not experiment.cells:
        raise TomevalError(f"{where}: has no pairing")
    _ = experiment.lists
    return experiment


_TABLES: dict[str, type[BaseModel]] = {
    "rules": RulesTable,
    "probes": ProbesTable,
    "pairings": PairingTable,
}


def _explain(error: ValidationError, where: str) -> str:
    """Word the first problem that pydantic found."""
    problem = error.errors()[0]
    parts = [str(part) for part in problem["loc"] if not str(part).startswith(("str", "dict["))]
    field = ".".join(parts)
    if problem["type"] == "extra_forbidden":
        known = _TABLES.get(parts[0], Experiment) if len(parts) > 1 else Experiment
        fields = known.model_fields
        return (
            f"{where}: unknown key {field!r}{did_you_mean(parts[-1], fields)}; "
            f"known: {', '.join(fields)}"
        )
    if problem["type"] == "missing":
        return f"{where}: missing key {field!r}"
    message = problem["msg"].removeprefix("Value error, ")
    given = "" if problem["type"] == "value_error" else f", is {problem.get('input')!r}"
    return f"{where}: {field}: {message[0].lower() + message[1:]}{given}"
