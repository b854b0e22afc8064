"""Read experiment files, and word what is wrong with them."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.resources import read_toml
from tomeval.domains.matrix.experiment import Experiment
from tomeval.domains.matrix.subject_specs import LLM
from tomeval.models import model_name


def load_experiment(
    path: str | Path,
    overrides: Sequence[str] = (),
    model: str | None = None,
) -> Experiment:
    """Load an experiment file.

    Parameters
    ----------
    path : path of a TOML file
    overrides : sequence of str
        ``key=value`` with a dotted key, such as ``episodes=10`` or ``subjects.0.p=0.5``; the value
        is TOML, or text where it is not.

    model : str, optional
        A model for all language-model subjects, in place of those that the file names.

    Raises
    ------
    TomevalError
        Names the file, the field, the value and the near match.
    """
    path = Path(path)
    data = read_toml(path)
    for override in overrides:
        _override(data, override)
    if model is not None:
        _use_model(data, model)
    experiment = make_experiment(
        data, base=path.parent, where=str(path), one_model=model is not None
    )
    if model is not None and all(cell.setup.kind != LLM for cell in experiment.cells()):
        raise TomevalError(f"{path}: no subject is a language model, so --model replaces nothing")
    return experiment


def make_experiment(
    data: dict[str, Any],
    *,
    base: Path | None = None,
    where: str = "experiment",
    one_model: bool = False,
) -> Experiment:
    """Check a dict with the keys of `Experiment`; relative paths in it start from `base`.

    With `one_model` cells that are all the same count once: one model took the place of several.
    """
    if "players" in data:
        raise TomevalError(f"{where}: is an experiment of Decrypto: use tomeval decrypto run")
    try:
        experiment = Experiment(**data)
    except ValidationError as error:
        raise TomevalError(_explain(error, where)) from None
    experiment._base, experiment._where = base, where
    experiment._one_model = one_model
    experiment.cells()
    return experiment


def _explain(error: ValidationError, where: str) -> str:
    """Word the first problem that pydantic found."""
    problem = error.errors()[0]
    field = ".".join(str(part) for part in problem["loc"] if not _is_type_name(str(part)))
    if problem["type"] == "extra_forbidden":
        return f"{where}: unknown key {field!r}{did_you_mean(field, Experiment.model_fields)}"
    if problem["type"] == "missing":
        return f"{where}: missing key {field!r}"
    value = problem.get("input")
    message = problem["msg"].removeprefix("Value error, ")
    given = "" if problem["type"] == "value_error" else f", is {value!r}"
    return f"{where}: {field}: {message[0].lower() + message[1:]}{given}"


def _is_type_name(part: str) -> bool:
    """Tell the parts of a pydantic location that name a union's member, not a field."""
    return part in ("str", "dict[str,any]") or part.startswith("is-instance")


def _use_model(data: dict[str, Any], model: str) -> None:
    """Put one model in place of all others."""
    model_name(model)
    data["model"] = model
    subjects = data.get("subjects")
    for subject in subjects if isinstance(subjects, list) else [subjects]:
        if isinstance(subject, dict) and "model" in subject:
            del subject["model"]
            subject.setdefault("kind", "llm")


def _override(data: dict[str, Any], text: str) -> None:
    """Apply one ``key=value`` to the raw experiment."""
    key, equals, raw = text.partition("=")
    if not equals or not key.strip():
        raise TomevalError(f"--set {text!r}: write key=value, for example episodes=10")
    try:
        value = tomllib.loads(f"x = {raw}")["x"]
    except tomllib.TOMLDecodeError:
        value = raw.strip()
    target: Any = data
    *parents, last = key.strip().split(".")
    for part in parents:
        target = target[_place(target, part, text)]
    place = _place(target, last, text, new=True)
    target[place] = value


def _place(target: Any, part: str, text: str, *, new: bool = False) -> int | str:
    """Return the index or key that one part of a dotted key names."""
    if isinstance(target, list):
        if not part.isdecimal() or int(part) >= len(target):
            raise TomevalError(f"--set {text!r}: no entry {part!r} in a list of {len(target)}")
        return int(part)
    if not isinstance(target, dict) or (part not in target and not new):
        raise TomevalError(f"--set {text!r}: the experiment has no {part!r}")
    return part
