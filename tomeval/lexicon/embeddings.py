"""Word embeddings, as unit vectors on a grid, so that every score is exact.

Two players that score the same words must get the same numbers, whether they play one game or ten
thousand at once. Floating-point sums depend on their order, so vectors are rounded to a grid on
which they do not: components of unit vectors are multiples of 2**-20 (an error of at most 5e-7),
products are then multiples of 2**-40, and sums of them up to 2**13 fit float64 without rounding.
Scores that involve a division are rounded to multiples of 2**-40 too. Sums and differences of
scores are thus exact as well, which the search for the best turn relies on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

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
        scaled = unit(np.where(finite[:, None], values, 0))
        if not (some := scaled.any(axis=1)).all():
            word = words[int(np.argmin(some))]
            raise TomevalError(f"embedding {name!r}: the vector of {word!r} is zero or not finite")
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
        if missing := [word for word in words if word not in self._row]:
            more = f" and {len(missing) - 8:,} more" if len(missing) > 8 else ""
            raise TomevalError(
                f"embedding {self.name!r} has no vector for {len(missing):,} of {len(words):,} "
                f"words: {', '.join(map(repr, missing[:8]))}{more}"
            )
        return np.array([self._row[word] for word in words], np.intp)

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
    needed = list(dict.fromkeys((*lists.keywords, *lists.hints)))
    path = Path(base or ".", name).expanduser()
    if name in SHIPPED:
        embedding = shipped_embedding(name)
    elif path.exists():
        embedding = read_embedding(path, [*needed, *shipped_vocabulary()], name)
    else:
        raise TomevalError(
            f"embedding {name!r}: no such file, and not a shipped embedding "
            f"({', '.join(SHIPPED)}){did_you_mean(name, SHIPPED)}"
        )
    try:
        embedding.rows(needed)
    except TomevalError as error:
        raise TomevalError(f"{error}; leave them out of the lists, or add vectors") from None
    return embedding


def read_embedding(path: Path, wanted: Sequence[str], name: str = "") -> Embedding:
    """Read a file in GloVe's text format, a word and its numbers a line; of `wanted`, what it has.

    A first line of two whole numbers is a header. Tokens with blanks inside, as GloVe 840B has
    them, are passed over; of a repeated token, the first counts. A line with too few fields or, for
    a wanted word, a malformed number is a `TomevalError`.
    """
    if path.is_dir() or path.suffix != ".txt":
        raise TomevalError(f"{path}: not an embedding file by its suffix; known: .txt, as GloVe's")
    needed, vectors, size = frozenset(wanted), dict[str, Any](), 0
    try:
        check_readable(path)
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                word, *numbers = line.rstrip("\r\n ").split(" ")
                if number == 1 and word.isdigit() and len(numbers) == 1 and numbers[0].isdigit():
                    continue
                size = size or len(numbers)
                if len(numbers) < max(2, size):
                    raise TomevalError(f"{path}:{number}: a word and {size} numbers expected")
                if word in needed and word not in vectors and len(numbers) == size:
                    try:
                        vectors[word] = np.array([float(one) for one in numbers])
                    except ValueError:
                        raise TomevalError(f"{path}:{number}: no number after {word!r}") from None
    except OSError as error:
        raise TomevalError(f"{path}: cannot be read ({error})") from None
    if not vectors:
        raise TomevalError(f"{path}: has none of the {len(needed):,} words needed")
    words = [word for word in dict.fromkeys(wanted) if word in vectors]
    return Embedding.of(name or str(path), words, np.stack([vectors[word] for word in words]))
