"""What is wrong with an experiment file, in words: it is none, or a key does not fit."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.resources import shown_path
from tomeval.core.text import excerpt
from tomeval.runs.domain import domain_names, get_domain
from tomeval.runs.experiment import Experiment, keys_of

_BEGIN = "`tomeval init experiment` writes one to begin with"
_LOGS = (".csv", ".jsonl")


def not_read(given: str | Path, error: TomevalError) -> TomevalError:
    """Return the error for an experiment that cannot be read: what it is, and what takes it."""
    path, where = Path(given), shown_path(Path(given))
    if path.is_dir():
        return TomevalError(f"{where}: is a folder, not an experiment file; {_BEGIN}")
    if path.suffix in _LOGS and path.is_file():
        return TomevalError(
            f"{where}: is a table, not an experiment; `tomeval import` makes a run from it"
        )
    if path.is_file():
        return TomevalError(f"{error}; experiments are TOML files: {_BEGIN}")
    return error


def other_kind(data: Mapping[str, Any]) -> str:
    """Return what a file is if a domain knows it as something else than an experiment.

    See `tomeval.runs.capabilities.Describe.other_file`; empty: nothing known.
    """
    if "domain" in data:
        return ""
    return next(
        filter(None, (get_domain(name).describe.other_file(data) for name in domain_names())), ""
    )


def explained(
    error: ValidationError,
    keys: type[Experiment],
    tables: Mapping[str, type[BaseModel]],
    where: str,
) -> str:
    """Word one problem that pydantic found: a key of another domain, else the first.

    A missing key comes last, for it may be there under a wrong name.
    """
    problems = sorted(error.errors(), key=lambda problem: problem["type"] == "missing")
    problem = next((p for p in problems if _home(str(p["loc"][-1]), keys, p)), problems[0])
    field = field_of(problem)
    parts = field.split(".")
    inner = ".".join(part for part in parts[:-1] if not part.isdecimal())
    known: type[BaseModel] = tables.get(inner) or (
        tables.get(parts[0], keys) if len(parts) > 1 else keys
    )
    if problem["type"] == "extra_forbidden":
        name = parts[-1]
        home = _home(name, keys, problem)
        if home and not (len(parts) == 1 and repr(name) in _near_inside(name, keys)):
            return (
                f"{where}: {name!r} is a key of the domain {home!r}, but the experiment is of "
                f'{keys.model_fields["domain"].default!r}: write domain = "{home}" or drop the key'
            )
    return worded(problem, field, known, where)


def worded(problem: Mapping[str, Any], field: str, keys: type[BaseModel], where: str) -> str:
    """Word a problem that pydantic found in a field of a table with some keys."""
    if problem["type"] == "extra_forbidden":
        name = field.rpartition(".")[2]
        near, names = did_you_mean(name, keys.model_fields), ", ".join(keys.model_fields)
        if not near and issubclass(keys, Experiment):
            near = _near_inside(name, keys)
        return f"{where}: unknown key {field!r}{near}; known: {names or 'none'}"
    if problem["type"] == "missing":
        return f"{where}: missing key {field!r}"
    if not field:  # found by a check of the whole table
        return f"{where}: {problem['msg'].removeprefix('Value error, ')}"
    message = problem["msg"].removeprefix("Value error, ")
    given = f", is {excerpt(repr(problem.get('input')))}"
    given = "" if problem["type"] == "value_error" else given
    if problem["type"] == "literal_error":
        given += did_you_mean(
            problem["input"], re.findall(r"'([^']*)'", problem["ctx"]["expected"])
        )
    return f"{where}: {field}: {message[0].lower() + message[1:]}{given}"


def _near_inside(name: str, keys: type[Experiment]) -> str:
    """Return the near match of an unknown key among those inside other keys; empty: none."""
    inside = get_domain(keys.model_fields["domain"].default).describe.inside()
    near = difflib.get_close_matches(name, inside, 1, cutoff=0.75)
    return f" (did you mean {near[0]!r} inside {inside[near[0]]!r}?)" if near else ""


def _home(key: str, keys: type[Experiment], problem: Mapping[str, Any]) -> str:
    """Return the other domain that an unknown key belongs to, or an empty text."""
    if problem["type"] != "extra_forbidden" or len(problem["loc"]) > 1:
        return ""
    mine = keys.model_fields["domain"].default
    others = [name for name in domain_names() if name != mine]
    return next((n for n in others if key in keys_of(get_domain(n)).model_fields), "")


def field_of(problem: Mapping[str, Any]) -> str:
    """Return the field of a problem, without the parts that name a union's member."""
    members = ("is-instance", "dict[", "list[", "tuple[")
    parts = [part for part in map(str, problem["loc"]) if part != "str"]
    return ".".join(part for part in parts if not part.startswith(members))
