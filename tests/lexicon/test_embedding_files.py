from __future__ import annotations

import struct

import numpy as np
import pytest

from tomeval.core.errors import TomevalError
from tomeval.lexicon.embedding_files import open_embedding, read_embedding_file
from tomeval.lexicon.embeddings import Embedding, shipped_embedding, unit
from tomeval.lexicon.words import WordLists

LISTS = WordLists(("river", "violin", "bread", "winter"), ("bank", "string", "loaf", "snow"))
WORDS = (*LISTS.keywords, *LISTS.hints)
VECTORS = np.random.default_rng(5).normal(size=(8, 6)).astype(np.float32)


def text_of(words=WORDS, vectors=VECTORS) -> str:
    rows = (" ".join([word, *map(str, row)]) for word, row in zip(words, vectors, strict=True))
    return "\n".join(rows) + "\n"


def binary_of(words=WORDS, vectors=VECTORS, count=None, newline=b"\n") -> bytes:
    head = f"{len(words) if count is None else count} {vectors.shape[1]}\n".encode()
    records = (
        word.encode() + b" " + struct.pack(f"<{len(row)}f", *row) + newline
        for word, row in zip(words, vectors, strict=True)
    )
    return head + b"".join(records)


def check(embedding: Embedding) -> None:
    assert embedding.words == WORDS
    assert np.array_equal(embedding.vectors, unit(VECTORS))


@pytest.mark.parametrize("header", ["", "8 6\n"])
def test_text(tmp_path, header) -> None:
    # GloVe 840B has tokens with blanks inside; words that nobody wants may be broken
    text = header + text_of() + "at name@domain.com " + " ".join("123456") + "\nzzz a b c d e f\n"
    (tmp_path / "glove.txt").write_text(text)
    check(open_embedding("glove.txt", LISTS, base=tmp_path))


@pytest.mark.parametrize("newline", [b"", b"\n"])
def test_word2vec(tmp_path, newline) -> None:
    path = tmp_path / "w2v.bin"
    path.write_bytes(binary_of(newline=newline))
    check(open_embedding(str(path), LISTS))


def test_word2vec_across_chunks(tmp_path) -> None:
    """More than one read of 4 MiB; vectors full of bytes that look like blanks and line ends."""
    count = 20_000
    words = [*WORDS, *(f"other{i}" for i in range(count))]
    odd = np.frombuffer(b"  \n " * 60 * count, "<f4").reshape(count, 60)
    vectors = np.vstack([np.tile(VECTORS, 10), odd])
    path = tmp_path / "w2v.bin"
    path.write_bytes(binary_of(words, vectors))
    found = open_embedding(str(path), LISTS)
    assert np.array_equal(found.vectors, unit(np.tile(VECTORS, 10)))


def test_shipped_by_name() -> None:
    assert open_embedding("minilm") is shipped_embedding("minilm")


def test_unknown_name() -> None:
    with pytest.raises(TomevalError, match=r"'minilmm': no such file.*did you mean 'minilm'"):
        open_embedding("minilmm")


def test_missing_words_are_named(tmp_path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text(text_of(WORDS[:-1], VECTORS[:-1]) + "snows 1 2 3 4 5 6\n")
    with pytest.raises(TomevalError, match=r"no vector for 1 of 8 words: 'snow'"):
        open_embedding(str(path), LISTS)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"river 1 2 3\nviolin 1 2\n", r"a.txt:2: a word and 3 numbers expected"),
        ("a.txt", b"river 1 2 3\nviolin 1 x 3\n", r"a.txt:2: not a number after 'violin'"),
        ("a.txt", b"", r"a.txt: has none of"),
        ("a.txt", b"river nan 1\n", r"'river' is not finite"),
        ("a.txt.gz", b"", r"a.txt.gz: not an embedding file by its suffix"),
        ("a.bin", b"hello world\n", r"a.bin: no word2vec header"),
        ("a.bin", b"2 999999\n", r"a.bin: 999999 numbers per word"),
        ("a.bin", binary_of(count=9), r"ends after 8 of the 9 words"),
        ("a.bin", binary_of(count=7), r"continues after the 7 words"),
        ("a.bin", binary_of()[:-5], r"ends after 7 of the 8 words"),
        ("a.bin", b"1 6\n" + b"x" * 9_000, r"ends after 0 of the 1 words"),
    ],
)
def test_faulty_files(tmp_path, name, data, message) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(TomevalError, match=message):
        read_embedding_file(tmp_path / name, WORDS)
