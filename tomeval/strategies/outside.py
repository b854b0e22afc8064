"""Advice parts from outside."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tomeval.core.errors import TomevalError
from tomeval.core.parts import origin, register
from tomeval.strategies.advice import Advice
from tomeval.strategies.compose import Strategy, all_strategies, parse_strategy
from tomeval.strategies.parts import (
    Part,
    add_part,
    advice_parts,
    forget,
)

_Class = TypeVar("_Class", bound=type[Advice])

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?: [A-Za-z0-9]+)*")


def register_advice(
    name: str, *, about: str = "", templates: str | Path | None = None
) -> Callable[[_Class], _Class]:
    """Register an advice part, a subclass of `Advice`, which goes with every context and answer.

    Parameters
    ----------
    name : str
        As strategies and tables name it: letters, digits and single spaces, such as ``"Rival"``.
        Tables of an experiment write it in small letters with underscores.
    about : str
        What it adds to what a player sees, in a few words, for ``tomeval list strategies``.
    templates : path, optional
        A folder with its templates, ``DOMAIN/advice/NAME.j2``. Their hash is part of runs with
        strategies that have the part, and of no others.

    Raises
    ------
    TomevalError
        The name is taken, cannot be read in a strategy's name, or makes another name ambiguous.
    """

    def add(made: _Class) -> _Class:
        made.about, made.templates = about, None if templates is None else Path(templates)
        take(name, made)
        register("strategies", name, made)
        return made

    return add


def take(name: str, made: type[Advice]) -> None:
    """Enter an advice part that an extension brings."""
    _check_name(name)
    key = name.lower().replace(" ", "_")
    old = advice_parts().get(key)
    if old is not None and origin(old.make or old) != origin(made):
        taken = origin(old.make or old)
        raise TomevalError(f"strategy part {key!r}: the name is taken by {taken}; choose another")
    add_part(
        key,
        Part(
            name,
            made.about or (inspect.getdoc(made) or "").partition("\n")[0].rstrip("."),
            predicts_first=made.predicts_first,
            is_told=made.is_told,
            takes_notes=made.takes_notes,
            calls=made.calls,
            writes=bool(made.calls or made.predicts_first or made.takes_notes),
            make=made,
            templates=made.templates,
        ),
    )
    _check_names(name, key, old)


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise TomevalError(
            f"strategy part {name!r}: a name is letters, digits and single spaces, and begins with "
            "a letter"
        )


def _check_names(name: str, key: str, old: Part | None = None) -> None:
    """Forget a new name again, and raise, if any strategy's name is now read as another one."""
    wrong = [strategy.name for strategy in all_strategies() if _reading(strategy.name) != strategy]
    if wrong:
        forget(key)
        if old is not None:
            add_part(key, old)
        raise TomevalError(
            f"strategy part {name!r}: with this name {wrong[0]!r} could be read in two ways; "
            "choose another"
        )


def _reading(name: str) -> Strategy | None:
    """Return what a name is read as, or None if it cannot be read."""
    try:
        return parse_strategy(name)
    except TomevalError:
        return None
