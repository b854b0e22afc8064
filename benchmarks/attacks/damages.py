"""How a file of a run is damaged: each function changes its bytes in place.

Each may look at the same file of a run of another seed, and draws where it changes something.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable

import numpy as np

from tomeval.runs.lines import body_of

Rng = np.random.Generator


def _bit(data: bytearray, _: bytes, rng: Rng) -> None:
    data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))


def _block(data: bytearray, _: bytes, rng: Rng) -> None:
    place = int(rng.integers(len(data)))
    size = min(int(rng.integers(1, 600)), len(data) - place)
    data[place : place + size] = rng.bytes(size) if rng.integers(2) else bytes(size)


def _cut(data: bytearray, _: bytes, rng: Rng) -> None:
    del data[int(rng.integers(len(data))) :]


def _cut_at_line(data: bytearray, _: bytes, rng: Rng) -> None:
    del data[data.find(b"\n", int(rng.integers(len(data)))) + 1 :]


def _splice(data: bytearray, _: bytes, rng: Rng) -> None:
    first, second = sorted(int(n) for n in rng.integers(len(data), size=2))
    del data[first:second]


def _exchange(data: bytearray, _: bytes, rng: Rng) -> None:
    size = min(4096, len(data) // 2)
    first = int(rng.integers(len(data) - 2 * size + 1))
    second = int(rng.integers(first + size, len(data) - size + 1))
    one, two = data[first : first + size], data[second : second + size]
    data[first : first + size], data[second : second + size] = two, one


def _shuffled(data: bytearray, _: bytes, rng: Rng) -> None:
    head, *lines = bytes(data).splitlines(keepends=True)
    data[:] = b"".join([head, *(lines[n] for n in rng.permutation(len(lines)))])


def _twice(data: bytearray, _: bytes, rng: Rng) -> None:
    lines = bytes(data).splitlines(keepends=True)
    data += lines[int(rng.integers(len(lines)))]


def _foreign(data: bytearray, other: bytes, rng: Rng) -> None:
    lines = other.splitlines(keepends=True)
    place = data.find(b"\n", int(rng.integers(len(data)))) + 1
    data[place:place] = lines[int(rng.integers(len(lines)))]


def _contradicts(data: bytearray, _: bytes, rng: Rng) -> None:
    """Add an episode a second time with another number in it, and a checksum that is right."""
    lines = bytes(data).splitlines(keepends=True)
    seed = zlib.crc32(lines[0][9:-1])
    line = lines[int(rng.integers(len(lines)))]
    if body_of(line, seed) is not None and b'"own_action":' in line:
        body = line[9:-1].replace(b'"own_action":', b'"own_action":7,"was":', 1)
        data += b"%08x %s\n" % (zlib.crc32(body, seed), body)


def _other_file(data: bytearray, other: bytes, rng: Rng) -> None:
    data[:] = other


Damage = Callable[[bytearray, bytes, Rng], None]
FORGED = "an episode twice that differs"
DAMAGE: dict[str, Damage] = {
    "a bit": _bit,
    "a block": _block,
    "cut off": _cut,
    "cut off at a line": _cut_at_line,
    "a piece is missing": _splice,
    "pieces exchanged": _exchange,
    "lines in another order": _shuffled,
    "a line twice": _twice,
    "a line of another run": _foreign,
    FORGED: _contradicts,
    "the file of another run": _other_file,
}


def wrong_lines(data: bytes) -> list[int]:
    """Return the numbers of the lines that have an end and another checksum, the head aside."""
    lines = re.findall(rb"[^\n]*\n", data)
    seed = zlib.crc32(lines[0][9:-1]) if lines else 0
    return [
        number
        for number, line in enumerate(lines[1:], 2)
        if line[:9] != b"%08x " % zlib.crc32(line[9:-1], seed)
    ]
