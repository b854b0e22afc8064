from __future__ import annotations

import numpy as np
import pytest

from tomeval.core.errors import TomevalError
from tomeval.lexicon.embedding_files import open_embedding, read_embedding_file
from tomeval.lexicon.embeddings import Embedding, unit
from tomeval.lexicon.words import WordLists

LISTS = WordLists(("river", "violin", "bread", "winter"), ("bank", "string", "loaf", "snow"))
WORDS = (*LISTS.keywords, *LISTS.hints)
VECTORS = np.random.default_rng(5).normal(size=(8, 6)).astype(np.float32)


def text_of(words=WORDS, vectors=VECTORS) -> str:
    rows = (" ".join([word, *map(str, row)]) for word, row in zip(words, vectors, strict=True))
    return "\n".join(rows) + "\n"


def check(embedding: Embedding) -> None:
    assert embedding.words == WORDS
    assert np.array_equal(embedding.vectors, unit(VECTORS))


@pytest.mark.parametrize("header", ["", "8 6\n"])
def test_text(tmp_path, header) -> None:
    # GloVe 840B has tokens with blanks inside; words that nobody wants may be broken
    text = header + text_of() + "at name@domain.com " + " ".join("123456") + "\nzzz a b c d e f\n"
    (tmp_path / "glove.txt").write_text(text)
    check(open_embedding("glove.txt", LISTS, base=tmp_path))


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
        ("a.bin", b"", r"a.bin: not an embedding file by its suffix"),
        ("a.txt", b"2 999999\n", r"a.txt: 999999 numbers per word"),
    ],
)
def test_faulty_files(tmp_path, name, data, message) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(TomevalError, match=message):
        read_embedding_file(tmp_path / name, WORDS)
