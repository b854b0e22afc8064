"""Parts of the page: compressed JSON that the reader's browser opens when needed, and assets."""

from __future__ import annotations

import base64
import json
import math
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError


class Block(NamedTuple):
    """A block: the `name` by which the page asks for it, and its `text`, base64 of zlib of JSON.

    Base64 has no character that HTML reads as markup, so nothing that a model has written can end
    the element that holds the block.
    """

    name: str
    text: str


def pack(name: str, data: Any) -> Block:
    """Return JSON-ready data as a block.

    Raises
    ------
    TomevalError
        A number that is not finite, which JSON does not have.

    Examples
    --------
    >>> unpack(pack("greeting", {"text": "</script>"}))
    {'text': '</script>'}
    """
    try:
        return pack_text(name, as_json(data))
    except ValueError as error:
        raise TomevalError(f"block {name} of the report: {error}") from None


def as_json(data: Any) -> str:
    """Return data as JSON in ASCII, without spaces; ValueError for numbers that are not finite."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def pack_text(name: str, text: str) -> Block:
    """Return JSON in ASCII as a block."""
    return Block(name, base64.b64encode(zlib.compress(text.encode("ascii"), 6)).decode("ascii"))


def unpack(block: Block) -> Any:
    """Return a block's data."""
    return json.loads(zlib.decompress(base64.b64decode(block.text)))


def asset(name: str) -> str:
    """Return a style sheet or script of the page."""
    return (Path(__file__).parent / "assets" / name).read_text(encoding="utf-8")


def shortened(value: float | None, digits: int = 6) -> float | None:
    """Return a number to `digits` significant digits, for display; None if it is not finite.

    Examples
    --------
    >>> shortened(2 / 3), shortened(float("nan"))
    (0.666667, None)
    """
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
