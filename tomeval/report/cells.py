"""The cells of a table as text: numbers below each other by their point, and as short as can be."""

from __future__ import annotations

import re

from tomeval.core.numbers import MISSING

VALUE = re.compile(r"(-?\d+(\.\d+)?)(?:( ± |±| \[)(\S.*))?")
"""A number, perhaps with its interval, as a cell."""


def aligned(body: list[list[str]]) -> list[list[str]]:
    """Return cells in which numbers with as many decimals stand below each other by their point."""
    columns = [_column(list(column)) for column in zip(*body, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _column(texts: list[str]) -> list[str]:
    """Return one column, aligned if it holds nothing but such numbers, with or without ±."""
    values = [VALUE.fullmatch(text) for text in texts]
    parts = [part for part in values if part is not None]
    words = [text for text, part in zip(texts, values, strict=True) if part is None]
    words = [text for text in words if text not in ("", MISSING) and text[0] not in "<>"]
    if len({len(part[2] or "") for part in parts}) != 1 or words:
        return texts
    if not any(part[2] or part[3] for part in parts):  # counts
        return texts
    pairs = list(zip(texts, values, strict=True))
    room = max(len(text if part is None else part[1]) for text, part in pairs)
    half = max((len(part[4]) for part in parts if part[3] == " ± "), default=0)
    return [
        text.rjust(room)
        if part is None or part[3] is None
        else part[1].rjust(room) + part[3] + part[4].rjust(half * (part[3] == " ± "))
        for text, part in pairs
    ]


def tightened(body: list[list[str]]) -> list[list[str]]:
    """Return cells without the blanks around ``±`` and in brackets."""
    return [[_tight(text) for text in row] for row in body]


def _tight(text: str) -> str:
    text = re.sub(r"(?<=\d) ± +(?=\d)", "±", text)
    return re.sub(r"(?<=\d) \[(\S+), (\S+)\]$", r" [\1,\2]", text)
