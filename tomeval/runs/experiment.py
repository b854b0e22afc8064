"""Experiments of any domain: their shared keys, read from a file or a dict and checked."""

from __future__ import annotations

import copy
import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
)

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.outcomes import ON_INVALID
from tomeval.core.resources import experiment_path, read_toml, shown_path
from tomeval.core.text import check_text, excerpt
from tomeval.models import model_name
from tomeval.models.naming import PACE, drawn_with, short_file_name
from tomeval.runs.domain import Cell, Domain, get_domain

DEFAULT_DOMAIN = "matrix"
_LONGEST_NAME = 200


class Experiment(BaseModel):
    """What to measure: the keys that every domain shares; each domain adds its own.

    Parameters
    ----------
    domain : str
        The kind of game.
    name : str
        What the run is called; its default folder is ``runs/NAME``, and ``runs/NAME-MODEL`` where
        ``--model`` names another model than the experiment.
    seed : int or list
        What everything that is drawn derives from.
    episodes : int
        Episodes per cell.
    on_invalid : {"void", "random"} or list
        What an invalid answer does: end the episode and leave it out of all measures; or draw a
        uniformly random legal action in its place. A backend error never becomes an action: the
        episode has failed, and is played again when the run is resumed.
    until : str
        The condition that a run stops by, such as ``"width(regret) < 0.1"``; `episodes` are then
        the first batch. Empty: every cell has `episodes`. See `tomeval.play.until`.
    max_episodes : int, optional
        With `until`: the most episodes of a cell. Default: ten times `episodes`.
    stop_after_voids : int
        After this many void episodes in a row a cell of language models stops for this session; 0:
        never. Not part of what the experiment is: it may change when the run is resumed.

    Raises
    ------
    TomevalError
        From `load_experiment` and `make_experiment`: what is wrong, where, and the near match.
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, arbitrary_types_allowed=True, ignored_types=(cached_property,)
    )

    domain: str = DEFAULT_DOMAIN
    name: str = "experiment"
    episodes: int = Field(default=30, ge=1, le=10**7)
    seed: list[int] = [0]
    on_invalid: list[str] = ["void"]
    until: str = ""
    max_episodes: int | None = Field(default=None, ge=1, le=10**7)
    stop_after_voids: int = Field(default=5, ge=0)
    POLICIES: ClassVar[Sequence[str]] = ON_INVALID
    """What `on_invalid` may say."""
    REFERENCES: ClassVar[Sequence[str]] = ("",)
    """What regret can be measured from, the default first."""

    _base: Path | None = None
    _where: str = "experiment"
    _one_model: bool = False
    _models_instead: list[str] = []

    @field_validator("name")
    @classmethod
    def _of_a_folder(cls, value: str) -> str:
        fits = 0 < len(value.encode(errors="replace")) <= _LONGEST_NAME
        if not fits or re.search(r"[/\s]", value.replace(" ", "")) or not value.strip(" ."):
            raise ValueError(
                f"must be the name of a folder (at most {_LONGEST_NAME} bytes, no / and no line "
                f"break), is {excerpt(value)!r}"
            )
        return value

    @field_validator("seed", "on_invalid", mode="before")
    @classmethod
    def _axis(cls, value: Any) -> Any:
        return axis(value)

    @field_validator("seed")
    @classmethod
    def _storable(cls, value: list[int]) -> list[int]:
        for item in value:
            if not -(2**63) <= item < 2**63:
                raise ValueError(f"must fit into 64 bits, is {item}")
        return value

    @field_validator("on_invalid")
    @classmethod
    def _known_policy(cls, value: list[str]) -> list[str]:
        return among("policy", value, cls.POLICIES)

    @property
    def folder_name(self) -> str:
        """The name of its default run folder; another model than its own has one of its own."""
        models = self._models_instead
        return f"{self.name}-{short_file_name(models)}" if models else self.name

    @property
    def base(self) -> Path | None:
        """Folder that relative paths start from."""
        return self._base

    @property
    def where(self) -> str:
        """What errors call it: its file."""
        return self._where

    @cached_property
    def cells(self) -> Sequence[Cell]:
        """The cells of the grid, expanded and checked once."""
        cells = self.expand()
        if not cells:
            raise TomevalError(f"{self._where}: has no cells to play")
        kept: dict[tuple[str, ...], Cell] = {}
        for cell in cells:
            other = kept.setdefault(cell.key, cell)
            # If one model replaces several, what was asked of each of them is asked once.
            same = self._one_model and other.definition == cell.definition
            if other is not cell and not same:
                words = ", ".join(filter(None, cell.key))
                raise TomevalError(f"{self._where}: the same cell appears twice: {words}")
        return list(kept.values())

    def expand(self) -> Sequence[Cell]:
        """Return the cells of the grid; every kind of game has its own."""
        raise NotImplementedError

    @property
    def per_cell(self) -> int:
        """How many episodes a cell is to have."""
        return self.episodes

    @property
    def apart(self) -> set[int]:
        """The cells whose number of episodes is another one: their own."""
        return {
            n for n, cell in enumerate(self.cells) if (cell.wanted(0), cell.wanted(1)) != (0, 1)
        }

    @classmethod
    def use_model(cls, data: dict[str, Any], model: str) -> None:
        """Put one model in place of all that an experiment's raw data name."""
        data["model"] = model

    @classmethod
    def tables(cls) -> dict[str, type[BaseModel]]:
        """Return the models of keys that are tables, to word errors inside them.

        Tables inside of tables, or of lists of them, have dotted names.
        """
        return {}

    def cannot_tell(self) -> list[str]:
        """Return sentences on what measures cannot tell of its cells."""
        return []

    def identity(self) -> dict[str, Any]:
        """Return what makes this experiment itself.

        That is all but `episodes`, which may grow later, and the pace and price of models.
        """
        data = {"name": self.name, "cells": [cell.definition for cell in self.cells]}
        return dict(_at_any_pace(json.loads(json.dumps(data))))


def _at_any_pace(data: dict[str, Any]) -> dict[str, Any]:
    """Return definitions without the options of models that may change within a run."""
    changed: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            is_model = name == "model" and "name" in value
            changed[name] = drawn_with(value, PACE) if is_model else _at_any_pace(value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            changed[name] = [_at_any_pace(one) for one in value]
        else:
            changed[name] = value
    return changed


def combinations(entry: Mapping[str, Any]) -> list[tuple[dict[str, Any], set[str]]]:
    """Return every combination of the lists of a table, and the keys that tell them apart.

    Raises
    ------
    TomevalError
        A list is empty.
    """
    axes = {key: value if isinstance(value, list) else [value] for key, value in entry.items()}
    for key, values in axes.items():
        if not values:
            raise TomevalError(f"{key} is an empty list")
    swept = {key for key, values in axes.items() if len(values) > 1}
    every = itertools.product(*axes.values())
    return [(dict(zip(axes, one, strict=True)), swept) for one in every]


def axis(value: Any) -> Any:
    """Return a key that is an axis of the grid as a list."""
    value = list(value) if isinstance(value, list | tuple) else [value]
    if not value:
        raise ValueError("must not be empty")
    if len(set(map(repr, value))) < len(value):
        raise ValueError("contains a value twice")
    return value


def among(what: str, values: list[str], known: Sequence[str]) -> list[str]:
    """Check names inside a validator."""
    for value in values:
        if value not in known:
            near, names = did_you_mean(value, known), ", ".join(known)
            raise ValueError(f"unknown {what} {value!r}{near}; it is one of: {names}")
    return values


@contextmanager
def located(where: str) -> Iterator[None]:
    """Put the place before the message of a `TomevalError` that is raised inside."""
    try:
        yield
    except TomevalError as error:
        raise TomevalError(f"{where}: {error}") from None


def load_experiment(
    path: str | Path,
    overrides: Sequence[str] = (),
    model: str | Sequence[str] | None = None,
    stand_in: str = "",
) -> Experiment:
    """Load an experiment file, or a shipped one by name.

    Parameters
    ----------
    path : path of a TOML file
    overrides : sequence of str
        ``key=value`` with a dotted key, such as ``episodes=10`` or ``subjects.0.p=0.5``; a value
        that is not TOML is text.
    model : str or sequence of str, optional
        Replaces the models of all language-model players; several are an axis, as the key
        `model`. Against a frozen pool, of those measured.
    stand_in : str, optional
        The model of players for which none is named, where none is asked.

    Raises
    ------
    TomevalError
        Names the file, the field, the value and the near match.
    """
    try:
        path = experiment_path(path)
        where, data = shown_path(path), read_toml(path)
    except TomevalError as error:
        from tomeval.runs.faults import not_read

        raise not_read(path, error) from None
    domain = _domain_of(data, where)
    tables = domain.experiment.tables()
    for override in overrides:
        override_key(data, override, tables)
    given = [model] if isinstance(model, str) else list(model or ())
    unchanged = copy.deepcopy(data)
    for name in given:
        model_name(name)
        domain.experiment.use_model(data, name)
    if stand_in and "model" not in data and "model" in domain.experiment.model_fields:
        data["model"] = stand_in
    if len(given) > 1:
        data["model"] = given
    base, one_model = path.parent, bool(given)
    experiment = make_experiment(data, base=base, where=where, one_model=one_model)
    experiment._models_instead = given if data != unchanged else []
    if given and not any(cell.models for cell in experiment.cells):
        raise TomevalError(f"{where}: no player is a language model, so --model replaces nothing")
    return experiment


def make_experiment(
    data: dict[str, Any],
    *,
    base: Path | None = None,
    where: str = "experiment",
    one_model: bool = False,
) -> Experiment:
    """Check a dict with the keys of a domain's experiment; relative paths start from `base`.

    With `one_model`, which replaced several models, identical cells count once.
    """
    check_text(data, where)
    domain = _domain_of(data, where)
    keys = domain.experiment
    try:
        experiment = keys(**data)
    except ValidationError as error:
        from tomeval.runs.faults import explained

        raise TomevalError(explained(error, keys, keys.tables(), where)) from None
    experiment._base, experiment._where, experiment._one_model = base, where, one_model
    _ = experiment.cells
    return experiment


def _domain_of(data: dict[str, Any], where: str) -> Domain:
    return get_domain(data.get("domain", DEFAULT_DOMAIN), f"{where}: domain")


T = TypeVar("T")


def read_table(keys: type[T], data: Mapping[str, Any] | str, where: str) -> T:
    """Check a table whose keys depend on what it says, such as the parameters of a game; or JSON.

    `keys` is a model or a dataclass of pydantic's kind.

    Raises
    ------
    TomevalError
        `where`, the key, the value and the near match.
    """
    try:
        table = TypeAdapter(keys)
        return table.validate_json(data) if isinstance(data, str) else table.validate_python(data)
    except ValidationError as error:
        from tomeval.runs.faults import field_of, worded

        problem = min(error.errors(), key=lambda p: p["type"] == "missing")  # or misspelt
        raise TomevalError(worded(problem, field_of(problem), keys, where)) from None


def override_key(
    data: dict[str, Any], text: str, tables: dict[str, type[BaseModel]] | None = None
) -> None:
    """Apply one ``key=value`` to the raw experiment, in which `tables` may be missing."""
    key, equals, raw = text.partition("=")
    if not equals or not key.strip():
        raise TomevalError(f"--set {text!r}: write key=value, for example episodes=10")
    try:
        value = tomllib.loads(f"x = {raw}")["x"]
    except (ValueError, RecursionError):  # also a number with thousands of digits
        value = raw.strip()
    target: Any = data
    *parents, last = key.strip().split(".")
    if parents and parents[0] in (tables or {}):
        data.setdefault(parents[0], {})
    for step in parents:
        target = target[_place(target, step, text)]
    target[_place(target, last, text, new=True)] = value


def _place(target: Any, part: str, text: str, *, new: bool = False) -> int | str:
    """Return the index or key that one part of a dotted key names."""
    if isinstance(target, list):
        if not part.isdecimal() or int(part) >= len(target):
            raise TomevalError(f"--set {text!r}: no entry {part!r} in a list of {len(target)}")
        return int(part)
    if not isinstance(target, dict) or (part not in target and not new):
        raise TomevalError(f"--set {text!r}: the experiment has no {part!r}")
    return part
