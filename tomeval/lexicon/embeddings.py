"""Word embeddings, as unit vectors on a grid, so that every score is exact.

Two players that score the same words must get the same numbers, whether they play one game or ten
thousand at once. Floating-point sums depend on their order, so vectors are rounded to a grid on
which they do not: components of unit vectors are multiples of 2**-20 (an error of at most 5e-7),
products are then multiples of 2**-40, and sums of them up to 2**13 fit float64 without rounding.
Scores that involve a division are rounded to multiples of 2**-40 too. Sums and differences of
scores are thus exact as well, which the search for the best turn relies on.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.core.files import check_readable
from tomeval.lexicon.words import (
    DATA,
    WordLists,
    fold,
    hint_words,
    shipped_lists,
    shipped_vocabulary,
    stems,
)

SHIPPED = {
    "minilm": "all-MiniLM-L6-v2, a sentence encoder, on single words; 128 principal components",
    "wordnet": "latent semantic analysis of WordNet's glosses and relations; 128 dimensions",
}
"""The embeddings that ship with tomeval, and what they are."""

_VECTOR_GRID = 2.0**20
SCORE_GRID = 2.0**40
"""Every score is a multiple of one over this."""


def on_score_grid(scores: ArrayLike) -> NDArray[np.float64]:
    """Return scores rounded to multiples of 2**-40."""
    return np.asarray(np.rint(np.asarray(scores, float) * SCORE_GRID) / SCORE_GRID)


def unit(vectors: ArrayLike) -> NDArray[np.float64]:
    """Return vectors, shape (..., d), scaled to length 1 and rounded to multiples of 2**-20.

    A zero vector stays zero.
    """
    values = np.asarray(vectors).astype(float)
    # from the largest component, so that neither huge nor tiny values leave the range of floats
    largest = np.abs(values).max(axis=-1, keepdims=True, initial=0.0)
    values = np.divide(values, largest, out=np.zeros_like(values), where=largest > 0)
    length = np.sqrt((values * values).sum(axis=-1, keepdims=True))
    values = np.divide(values, length, out=np.zeros_like(values), where=length > 0)
    return np.asarray(np.rint(values * _VECTOR_GRID) / _VECTOR_GRID)


@dataclass(frozen=True, eq=False)
class Embedding:
    """Words, each once, and their unit vectors on the grid (see `unit`), (words, dimensions).

    Examples
    --------
    >>> embedding = Embedding.of("toy", ["cat", "dog", "tax"], [[1, 0], [0.6, 0.8], [0, 2]])
    >>> embedding.vectors[2]
    array([0., 1.])
    >>> embedding.rows(["dog", "cat"])
    array([1, 0])
    """

    name: str
    words: tuple[str, ...]
    vectors: NDArray[np.float64]

    @classmethod
    def of(cls, name: str, words: Sequence[str], vectors: ArrayLike) -> Embedding:
        """Check words and vectors of any length, and put them onto the grid."""
        values = np.asarray(vectors)
        if values.ndim != 2 or values.shape[0] != len(words) or not words:
            raise TomevalError(
                f"embedding {name!r}: {len(words)} words need as many rows, got shape "
                f"{values.shape}"
            )
        if len(set(words)) != len(words):
            raise TomevalError(f"embedding {name!r}: a word appears twice")
        finite = np.isfinite(values).all(axis=1)
        if not finite.all():
            word = words[int(np.argmin(finite))]
            raise TomevalError(f"embedding {name!r}: the vector of {word!r} is not finite")
        scaled = unit(values)
        zero = ~scaled.any(axis=1)
        if zero.any():
            word = words[int(np.argmax(zero))]
            raise TomevalError(f"embedding {name!r}: the vector of {word!r} is zero")
        return cls(name, tuple(words), scaled)

    @cached_property
    def _row(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    @cached_property
    def _folded(self) -> dict[str, int]:
        rows: dict[str, int] = {}
        for row, word in enumerate(self.words):
            rows.setdefault(fold(word), row)
        return rows

    def rows(self, words: Sequence[str]) -> NDArray[np.intp]:
        """Return the rows of words, exactly as written; a `TomevalError` names missing ones."""
        missing = [word for word in words if word not in self._row]
        if missing:
            raise self._lacks(missing, len(words))
        return np.array([self._row[word] for word in words], np.intp)

    def _lacks(self, missing: list[str], total: int) -> TomevalError:
        shown = []
        for word in missing[:8]:
            near = difflib.get_close_matches(word, self._row, n=1, cutoff=0.75)
            shown.append(f"{word!r}" + (f" (nearest: {near[0]!r})" if near else ""))
        more = f" and {len(missing) - 8:,} more" if len(missing) > 8 else ""
        return TomevalError(
            f"embedding {self.name!r} has no vector for {len(missing):,} of {total:,} words: "
            f"{', '.join(shown)}{more}"
        )

    def hint_vector(self, hint: str) -> NDArray[np.float64] | None:
        """Return the vector of any hint, or None if it knows none of its words.

        The hint is looked up as it stands, then without case and accents; else it is the mean of
        its words, each by itself or by its first known stem in the alphabet (``dances`` by
        ``dance``).

        Examples
        --------
        >>> embedding = Embedding.of("toy", ["cat", "dog"], [[1, 0], [0, 1]])
        >>> embedding.hint_vector("Cats").tolist(), embedding.hint_vector("newt") is None
        ([1.0, 0.0], True)
        """
        row = self._row.get(hint)
        if row is None:
            row = self._folded.get(fold(hint))
        if row is not None:
            return np.asarray(self.vectors[row])
        of_stems = []
        for word in hint_words(hint):
            known = (stem for stem in (word, *sorted(stems(word))) if stem in self._folded)
            stem = next(known, None)
            if stem is not None:
                of_stems.append(self.vectors[self._folded[stem]])
        if not of_stems:
            return None
        mean = unit(np.sum(of_stems, axis=0))
        return mean if mean.any() else None


@cache
def shipped_embedding(name: str) -> Embedding:
    """Return one of `SHIPPED`.

    Examples
    --------
    >>> shipped_embedding("wordnet").vectors.shape
    (10500, 128)
    """
    if name not in SHIPPED:
        raise unknown("embedding", name, SHIPPED)
    with np.load(DATA / f"{name}.npz", allow_pickle=False) as file:
        words = bytes(file["words"]).decode().split("\n")
        return Embedding.of(name, words, file["vectors"])


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
