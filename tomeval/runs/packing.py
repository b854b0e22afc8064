"""Texts of the store as compressed bytes: records of model calls, and kept replies.

The first byte says how the rest is to be read, so that a later tomeval can pack otherwise and still
read what is there. Packed texts come from files that others wrote: none is unpacked beyond `MOST`,
or given to those who read it if its JSON is nested deeper than that can be.
"""

from __future__ import annotations

import json
import zlib
from functools import cache
from pathlib import Path
from typing import Any

from tomeval.core.resources import read_text

MOST = 1 << 26
"""Bytes that a text may have; far above any prompt, and no more than one can be read."""

_BRACKETS = 300
"""With fewer no text is nested too deeply."""

_PLAIN, _DEFLATED = b"\0", b"\1"
_WINDOW, _MEMORY, _LEVEL = -14, 6, 6
"""Of `zlib`: 16 kB hold the vocabulary and a record, and a small state is soon copied."""


class Unpackable(ValueError):
    """Bytes that `pack` cannot have made."""


def pack(text: str) -> bytes:
    r"""Return a text as bytes, the smaller of plain and compressed.

    Examples
    --------
    >>> pack("J")
    b'\x00J'
    >>> record = '{"purpose": "act", "kind": "qa", "step": 1, "prompt_same": 0}'
    >>> len(record), len(pack(record)) < 30, unpack(pack(record)) == record
    (61, True, True)
    """
    data = text.encode()
    machine = _deflating().copy()
    packed = machine.compress(data) + machine.flush()
    return _DEFLATED + packed if len(packed) < len(data) else _PLAIN + data


def unpack(packed: bytes) -> str:
    """Return the text that was packed.

    Raises
    ------
    Unpackable
        An unknown first byte, damaged bytes, more than `MOST` bytes of text, or JSON that is nested
        too deeply.
    """
    text = _unpack(packed)
    if text.count("[") + text.count("{") > _BRACKETS:
        try:
            json.loads(text)
        except RecursionError:
            raise Unpackable("a packed text is nested too deeply") from None
        except ValueError:  # for those who read it
            pass
    return text


def _unpack(packed: bytes) -> str:
    form, rest = packed[:1], packed[1:]
    try:
        if form == _PLAIN:
            return rest.decode()
        if form != _DEFLATED:
            raise Unpackable(f"a packed text of the unknown form {form!r}")
        machine = _inflating().copy()
        data: bytes = machine.decompress(rest, MOST + 1)
        if len(data) > MOST:
            raise Unpackable(f"a packed text has more than {MOST:,} bytes")
        if not machine.eof:
            raise Unpackable("a packed text is cut off")
        return data.decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise Unpackable(f"a packed text cannot be read: {error}") from None


def pack_json(data: Any) -> bytes:
    """Return JSON-ready data packed."""
    return pack(json.dumps(data))


def unpacked(value: Any) -> Any:
    """Return what the SQL function ``unpacked`` does: text of packed bytes, all else as it is."""
    return unpack(value) if isinstance(value, bytes) else value


def readable(value: Any) -> Any:
    """Return what the SQL function ``readable`` does: JSON that SQLite reads, of what is packed.

    Python writes numbers that JSON does not have, such as the log-probability of a label that
    cannot be said: they become null.
    """
    text = unpacked(value)
    if isinstance(text, str) and ("Infinity" in text or "NaN" in text):
        for word in ("-Infinity", "Infinity", "NaN"):
            text = text.replace(word, "null")
    return text


@cache
def _vocabulary() -> bytes:
    """Return what records are made of, the commonest last: `zlib` refers to it from the start.

    Stores hold no copy of it: not a byte of the file may ever change. A better one is another form.
    """
    return read_text(Path(__file__).with_name("vocabulary_1.txt")).strip().encode()


@cache
def _deflating() -> Any:
    """Return the machine that packs, in its first state: copying it is faster than making one."""
    return zlib.compressobj(
        _LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, zlib.Z_DEFAULT_STRATEGY, _vocabulary()
    )


@cache
def _inflating() -> Any:
    """Return the machine that unpacks, in its first state."""
    return zlib.decompressobj(_WINDOW, _vocabulary())
