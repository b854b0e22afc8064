"""Packed texts: what they are made of, that they come back, and what is refused."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tomeval.runs import schema
from tomeval.runs.schema import Unpackable, pack, unpack, unpacked

VOCABULARY = Path(schema.__file__).with_name("vocabulary_1.txt").read_text("utf-8").strip()


def deflated(data: bytes) -> bytes:
    """Compress as `pack` must, with a machine of its own."""
    machine = zlib.compressobj(
        9, zlib.DEFLATED, -14, 9, zlib.Z_DEFAULT_STRATEGY, VOCABULARY.encode()
    )
    return b"\1" + machine.compress(data) + machine.flush()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_comes_back(text) -> None:
    packed = pack(text)
    assert unpack(packed) == text
    assert len(packed) <= len(text.encode()) + 1


def test_what_another_machine_packed_is_read() -> None:
    text = '{"purpose": "predict", "reply": "Über"}' * 50
    assert unpack(deflated(text.encode())) == text
    assert unpack(b"\0" + text.encode()) == text


def test_the_vocabulary_never_changes() -> None:
    # Every packed text in every store refers to it: if it has to be better, it is another form.
    digest = hashlib.sha256(VOCABULARY.encode()).hexdigest()
    assert digest == "7f2e840113d9d62a59a0707c81b8fd64a7f83e541d4204ccb07124c3054713bb"


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (b"\7abc", "unknown form"), (b"", "unknown form"), (b"\0\xff", "cannot be read"),
        (b"\1\xff\xff\xff", "cannot be read"), (deflated(b"a" * 5000)[:-3], "cut off"),
    ],
)  # fmt: skip
def test_what_cannot_have_been_packed_is_refused(packed, why) -> None:
    with pytest.raises(Unpackable, match=why):
        unpack(packed)


def test_a_small_packed_text_cannot_fill_the_memory() -> None:
    bomb = deflated(b"a" * (schema.MOST + 1))
    assert len(bomb) < schema.MOST / 500
    with pytest.raises(Unpackable, match="more than 67,108,864 bytes"):
        unpack(bomb)
    assert len(unpack(deflated(b"a" * schema.MOST))) == schema.MOST


def test_sqlite_reads_texts_packed_or_not() -> None:
    db = sqlite3.connect(":memory:")
    db.create_function("unpacked", 1, unpacked)
    values = (pack("packed"), "plain", None, 3)
    assert db.execute(
        "SELECT unpacked(?), unpacked(?), unpacked(?), unpacked(?)", values
    ).fetchone() == ("packed", "plain", None, 3)
    db.close()
