"""Open embeddings by name or path: shipped ones, and files in GloVe's text format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.files import check_readable
from tomeval.lexicon.embeddings import SHIPPED, Embedding, shipped_embedding
from tomeval.lexicon.words import WordLists, shipped_lists, shipped_vocabulary

MAX_DIMENSIONS = 10_000
_MAX_LINE = 1_000_000  # bytes: far more than `MAX_DIMENSIONS` numbers need


def open_embedding(
    name: str, lists: WordLists | None = None, *, base: Path | None = None
) -> Embedding:
    """Return an embedding that has a vector for every word of the lists.

    Parameters
    ----------
    name : str
        One of `SHIPPED`, or the path of a file in GloVe's text format (``.txt``).
    lists : WordLists, optional
        The words that must have a vector. Default: the shipped lists.
    base : Path, optional
        Folder that relative paths start from.

    Returns
    -------
    Embedding
        Of files, which can be huge, only the words of the lists and of `shipped_vocabulary` that
        they have.

    Raises
    ------
    TomevalError
        Unknown name, unreadable file, or words without a vector, with near matches.
    """
    lists = lists or shipped_lists()
    embedding = _of_name(name, lists, base)
    try:
        embedding.rows(list(dict.fromkeys((*lists.keywords, *lists.hints))))
    except TomevalError as error:
        raise TomevalError(f"{error}; leave them out of the lists, or add vectors") from None
    return embedding


def _of_name(name: str, lists: WordLists, base: Path | None) -> Embedding:
    """Open an embedding that may lack words of the lists."""
    if name in SHIPPED:
        return shipped_embedding(name)
    wanted = tuple(dict.fromkeys((*lists.keywords, *lists.hints, *shipped_vocabulary())))
    path = Path(base or ".", name).expanduser()
    if not path.exists():
        raise TomevalError(
            f"embedding {name!r}: no such file, and not a shipped embedding "
            f"({', '.join(SHIPPED)}){did_you_mean(name, SHIPPED)}"
        )
    return read_embedding_file(path, wanted, name)


def read_embedding_file(path: Path, wanted: Sequence[str], name: str | None = None) -> Embedding:
    """Read a file; of `wanted`, the words that it has."""
    name = name or str(path)
    if path.is_dir() or path.suffix != ".txt":
        raise TomevalError(f"{path}: not an embedding file by its suffix; known: .txt, as GloVe's")
    try:
        vectors = read_text_vectors(path, frozenset(wanted))
    except OSError as error:
        raise TomevalError(f"{path}: cannot be read ({error})") from None
    if not vectors:
        raise TomevalError(f"{path}: has none of the {len(wanted):,} words needed")
    words = [word for word in wanted if word in vectors]
    return Embedding.of(name, words, np.stack([vectors[word] for word in words]))


def read_text_vectors(path: Path, wanted: frozenset[str]) -> dict[str, NDArray[np.float64]]:
    """Read GloVe's text format: a word and its numbers a line, with blanks between.

    A first line of two whole numbers is taken as a header (words, dimensions). Tokens with blanks
    inside, as GloVe 840B has them, are passed over; of a repeated token, the first counts. A line
    with too few fields or, for a wanted word, a malformed number is a `TomevalError`.
    """
    vectors: dict[str, NDArray[np.float64]] = {}
    dimensions: int | None = None
    check_readable(path)
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE), b""), start=1):
            if len(line) == _MAX_LINE:
                raise TomevalError(f"{path}:{number}: a line of {_MAX_LINE:,} bytes or more")
            fields = line.rstrip(b"\r\n ").split(b" ")
            if number == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
                dimensions = _checked_dimensions(path, int(fields[1]))
                continue
            if dimensions is None:
                dimensions = _checked_dimensions(path, len(fields) - 1)
            if len(fields) < dimensions + 1:
                raise TomevalError(
                    f"{path}:{number}: a word and {dimensions} numbers expected, got "
                    f"{len(fields)} fields"
                )
            word = fields[0].decode("utf-8", "replace")
            if len(fields) > dimensions + 1 or word not in wanted or word in vectors:
                continue
            try:
                vectors[word] = np.array([float(field) for field in fields[1:]])
            except ValueError:
                raise TomevalError(f"{path}:{number}: not a number after {word!r}") from None
    return vectors


def _checked_dimensions(path: Path, dimensions: int) -> int:
    if not 1 < dimensions <= MAX_DIMENSIONS:
        raise TomevalError(
            f"{path}: {dimensions} numbers per word; expected from 2 to {MAX_DIMENSIONS:,}"
        )
    return dimensions
