"""Lines of a file of trajectories, each checked by itself."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, did_you_mean

NEEDED = ("game", "episode", "step", "seat", "action")
FIELDS = (*NEEDED, "observation", "reward", "player", "players", "rewards", "deal")
"""The fields of a line; docs/arena/trajectories.md says what they mean."""


@dataclass(frozen=True)
class Line:
    """One action of one seat, as the file has it.

    Attributes
    ----------
    number : int
        Of the line, from 1.
    data : mapping
        Its fields under our names.
    """

    number: int
    data: Mapping[str, Any]


def read_lines(
    path: Path, columns: Mapping[str, str]
) -> Iterator[tuple[Line, TomevalError | None]]:
    """Yield the lines under our names, each with what is wrong with it alone."""
    if strangers := [name for name in columns if name not in FIELDS]:
        raise TomevalError(
            f"unknown field {strangers[0]!r}{did_you_mean(strangers[0], FIELDS)}; "
            f"known: {', '.join(FIELDS)}"
        )
    try:
        texts = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise TomevalError(f"{path}: cannot be read ({why})") from None
    for number, text in enumerate(texts, 1):
        if not text.strip():
            continue
        try:
            data = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            why = getattr(error, "msg", "nested too deeply")
            yield Line(number, {}), TomevalError(f"{path}, line {number}: no JSON ({why})")
            continue
        if not isinstance(data, dict):
            yield Line(number, {}), TomevalError(f"{path}, line {number}: no JSON object")
            continue
        named = {
            ours: data[columns.get(ours, ours)]
            for ours in FIELDS
            if columns.get(ours, ours) in data
        }
        line = Line(number, named)
        yield line, _fault(path, line, data, columns)


def match_of(data: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the game and the match of a line; None if they cannot be told."""
    game, episode = data.get("game"), data.get("episode")
    if not isinstance(game, str) or isinstance(episode, bool):
        return None
    return (game, str(episode)) if isinstance(episode, str | int) else None


def _whole(value: Any) -> bool:
    return type(value) is int and value >= 0


def _number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "game": (_text, "an id of TextArena"),
    "episode": (lambda v: isinstance(v, str) or type(v) is int, "a text or a whole number"),
    "step": (_whole, "a whole number from 0"),
    "seat": (_whole, "a whole number from 0"),
    "action": (_text, "a text"),
    "observation": (lambda v: v is None or _text(v), "a text or null"),
    "reward": (lambda v: v is None or _number(v), "a number or null"),
    "player": (_name, "a printable name"),
    "players": (
        lambda v: v is None or (isinstance(v, list) and all(map(_name, v))),
        "a list of printable names by seat, or null",
    ),
    "rewards": (
        lambda v: v is None or (isinstance(v, list) and all(map(_number, v))),
        "a list of numbers by seat, or null",
    ),
    "deal": (lambda v: True, ""),
}


def _fault(
    path: Path, line: Line, data: Mapping[str, Any], columns: Mapping[str, str]
) -> TomevalError | None:
    """Return what is wrong with a line by itself: a field that is missing, or has a wrong value."""
    where = f"{path}, line {line.number}"
    for name in NEEDED:
        if name not in line.data:
            column = columns.get(name, name)
            near = did_you_mean(column, [key for key in data if key not in FIELDS])
            return TomevalError(f"{where}: has no field {column!r}{near}")
    for name, value in line.data.items():
        fits, what = _KINDS[name]
        if not fits(value):
            shown = json.dumps(value)[:60]
            return TomevalError(f"{where}, {columns.get(name, name)}: {shown} is not {what}")
    return None
