"""What is wrong with an experiment file, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.resources import shown_path
from tomeval.core.text import excerpt
from tomeval.models.local.load import LocalOptions
from tomeval.models.served import OpenAIOptions
from tomeval.runs.domain import domain_names, get_domain
from tomeval.runs.experiment import Experiment
from tomeval.strategies.options import ModelOptions

OF_PLAYERS = {option.name for option in fields(ModelOptions)}
_OF_MODELS = {*LocalOptions.model_fields, *OpenAIOptions.model_fields}


def misplaced(key: str, mine: str) -> str:
    """Return where a key belongs that no experiment of the domain `mine` has; empty: nowhere."""
    if key in OF_PLAYERS:
        return (
            f"{key!r} is an option of a player: write it into the player's own table, beside its "
            "strategy"
        )
    if key in _OF_MODELS:
        return f'{key!r} is an option of a model: write model = {{ name = "NAME", {key} = ... }}'
    for name in domain_names():
        if name != mine and key in get_domain(name).experiment.model_fields:
            return (
                f"{key!r} is a key of the domain {name!r}, but the experiment is of {mine!r}: "
                f'write domain = "{name}" or drop the key'
            )
    return ""


def not_read(given: str | Path, error: TomevalError) -> TomevalError:
    """Return the error for an experiment that cannot be read: what it is, and what takes it."""
    path = Path(given)
    begin = "`tomeval init experiment` writes one"
    if path.is_dir():
        return TomevalError(f"{shown_path(path)}: is a folder, not an experiment file; {begin}")
    if path.suffix in (".csv", ".jsonl"):
        begin = "`tomeval import` makes a run from a table"
    return TomevalError(f"{error}; experiments are TOML files: {begin}") if path.exists() else error


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
    for problem in problems:
        top = problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1
        mine = keys.model_fields["domain"].default
        if top and (said := misplaced(str(problem["loc"][0]), mine)):
            return f"{where}: {said}"
    field = field_of(problems[0])
    parts = field.split(".")
    inner = ".".join(part for part in parts[:-1] if not part.isdecimal())
    outer = tables.get(parts[0], keys) if len(parts) > 1 else keys
    return worded(problems[0], field, tables.get(inner) or outer, where)


def worded(problem: Mapping[str, Any], field: str, keys: Any, where: str) -> str:
    """Word a problem that pydantic found in a field of a table, given its model or dataclass."""
    field = re.sub(r"\.(\d+)\b", r"[\1]", field)
    if problem["type"] == "extra_forbidden":
        name = field.rpartition(".")[2]
        near, names = did_you_mean(name, keys.model_fields), ", ".join(keys.model_fields)
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


def field_of(problem: Mapping[str, Any]) -> str:
    """Return the field of a problem, without the parts that name a union's member."""
    members = ("is-instance", "dict[", "list[", "tuple[")
    parts = [part for part in map(str, problem["loc"]) if part != "str"]
    return ".".join(part for part in parts if not part.startswith(members))
