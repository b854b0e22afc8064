"""Keys of tables of games: one object per key checks a value and describes it in the schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, NamedTuple, TypeVar

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.matrix.games import check_keys
from tomeval.runs.file_schema import Json

MOST_SEED = 2**32 - 1


class Key(NamedTuple):
    """What a key takes: `check` returns a value, given where it stands and what was given."""

    check: Callable[[str, Any], Any]
    schema: Json


def whole(low: int, high: int) -> Key:
    """Return the key of a whole number within limits."""

    def check(where: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise TomevalError(f"{where} must be a whole number from {low} to {high}, is {value!r}")
        return value

    return Key(check, {"type": "integer", "minimum": low, "maximum": high})


def switch() -> Key:
    """Return the key of a truth value."""

    def check(where: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise TomevalError(f"{where} must be true or false, is {value!r}")
        return value

    return Key(check, {"type": "boolean"})


def span(low: float, high: float, numbers: type | tuple[type, ...] = (int, float)) -> Key:
    """Return the key of two numbers, the least and the most."""
    what = "whole numbers" if numbers is int else "numbers"

    def check(where: str, value: Any) -> tuple[float, float]:
        two = isinstance(value, list) and len(value) == 2
        two = two and all(isinstance(v, numbers) and not isinstance(v, bool) for v in value)
        if not two or not low <= value[0] <= value[1] <= high:
            raise TomevalError(
                f"{where} must be two {what} [LEAST, MOST] from {low:g} to {high:g}, is {value!r}"
            )
        return value[0], value[1]

    kind = "integer" if numbers is int else "number"
    return Key(check, {"type": "array", "items": {"type": kind}, "minItems": 2, "maxItems": 2})


def names(known: tuple[str, ...] = (), each: Callable[[str], Any] = str) -> Key:
    """Return the key of one name or several, no two alike: of `known`, or what `each` lets pass."""

    def check(where: str, value: Any) -> tuple[str, ...]:
        listed = value if isinstance(value, list) else [value]
        if not listed:
            raise TomevalError(f"{where} is an empty list")
        for name in listed:
            if not isinstance(name, str):
                raise TomevalError(f"{where} must be names, is {value!r}")
            if known and name not in known:
                start, _, key = where.rpartition(": ")
                raise unknown(key, name, known, start)
        # what they mean must differ, not how they are written
        if len({each(name) for name in listed}) < len(listed):
            raise TomevalError(f"{where} has duplicates: {', '.join(listed)}")
        return tuple(listed)

    return Key(check, {"type": "string"})


_Of = TypeVar("_Of")


def read_table(of: type[_Of], keys: Mapping[str, Key], spec: Any, where: str, example: str) -> _Of:
    """Return a table of an experiment as the dataclass of its keys.

    Raises
    ------
    TomevalError
        It is no table, or a key is unknown, missing or out of range.
    """
    if not isinstance(spec, dict):
        raise TomevalError(f"{where} must be a table such as {{ {example} }}")
    check_keys(where, spec, list(keys), required(of))
    return of(**{key: keys[key].check(f"{where}: {key}", value) for key, value in spec.items()})


def required(of: type) -> list[str]:
    """Return the fields of a dataclass that have no default."""
    return [one.name for one in fields(of) if one.default is MISSING]
