"""From documents to arrays: tokens, positions, who sees whom, and what is taught where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from documents import Branch, Document
from numpy.typing import NDArray

# What a taught token weighs. A scored label is one token, a summary a hundred of them: without
# weights the model would hardly be taught the former.
WEIGHTS = {
    "text": 0.1,  # any token of the transcript that is no label
    "own": 0.3,  # the own label in the transcript
    "partner": 1.0,  # the partner's label there
    "lm": 5.0,  # a scored label
    "qa": 2.0,  # tokens of replies
    "cot": 1.0,
    "written": 0.5,  # of summaries, lessons, plans
}
# Where own labels are no continuation but the lesson.
OWN_TAUGHT = {"own": 1.0, "text": 0.02}
KINDS = tuple(WEIGHTS)
HEAD = "<|im_start|>user\n"
TURN = "<|im_end|>\n<|im_start|>assistant\n"
END = "<|im_end|>"


@dataclass(frozen=True)
class Encoded:
    """One document of L tokens.

    Attributes
    ----------
    ids, positions : ndarray of int, shape (L,)
    sees_root : ndarray of int, shape (L,)
        How many of the root's tokens a token sees, itself included where it is one of them.
    begins : ndarray of int, shape (L,)
        Index of the first token of a token's own branch; L for tokens of the root.
    places, taught : ndarray of int, shape (K,)
        The token `taught` is to follow the token at `places`.
    weights : ndarray, shape (K,)
    kinds : ndarray of int, shape (K,)
        Index into `KINDS`.
    """

    ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    sees_root: NDArray[np.int64]
    begins: NDArray[np.int64]
    places: NDArray[np.int64]
    taught: NDArray[np.int64]
    weights: NDArray[np.float32]
    kinds: NDArray[np.int64]


@dataclass(frozen=True)
class Row:
    """Documents side by side in one row of L tokens; none sees another."""

    documents: list[Encoded]

    @property
    def length(self) -> int:
        """Number of tokens."""
        return sum(len(document.ids) for document in self.documents)

    def mask(self, size: int) -> NDArray[np.bool_]:
        """Return which token (row) sees which (column), shape (size, size); padding sees itself."""
        whole = np.eye(size, dtype=bool)
        at = 0
        for document in self.documents:
            length = len(document.ids)
            rows, columns = np.ogrid[:length, :length]
            seen = columns < document.sees_root[:, None]
            seen |= (columns >= document.begins[:, None]) & (columns <= rows)
            whole[at : at + length, at : at + length] = seen
            at += length
        return whole

    def join(self, name: str, shifted: bool = False) -> NDArray[np.int64]:
        """Return an array of all documents; `shifted` ones count tokens from the row's start."""
        arrays, at = [], 0
        for document in self.documents:
            arrays.append(getattr(document, name) + (at if shifted else 0))
            at += len(document.ids)
        return np.concatenate(arrays)


def pack(documents: list[Encoded], length: int) -> list[Row]:
    """Put documents into rows of at most `length` tokens, or one document."""
    rows: list[Row] = []
    for document in sorted(documents, key=lambda document: -len(document.ids)):
        room = (row for row in rows if row.length + len(document.ids) <= length)
        row = next(room, None)
        if row is None:
            rows.append(Row([document]))
        else:
            row.documents.append(document)
    return rows


def thin(document: Document, tokens: int, tokenizer: Any, rng: np.random.Generator) -> Document:
    """Return a document with as many of its questions, drawn at random, as fit into `tokens`."""
    kept: list[Branch] = []
    for index in rng.permutation(len(document.branches)):
        branch = document.branches[index]
        tokens -= len(_tokens(tokenizer, branch.question + branch.prefill + branch.answer)[0]) + 6
        if tokens < 0 and kept:
            break
        kept.append(branch)
    return Document(document.text, document.names, document.labels, kept)


def encode(document: Document, tokenizer: Any, weights: dict[str, float] = WEIGHTS) -> Encoded:
    """Tokenise a document with its branches."""
    ids, spans = _tokens(tokenizer, HEAD + document.text)
    size, starts = len(ids), [start for start, _ in spans]
    lessons = [(place, ids[place + 1], KINDS[0]) for place in range(size - 1)]
    for label in document.labels:
        first = _boundary(starts, len(HEAD) + label.start)
        taught, _ = _tokens(tokenizer, label.taught)
        kind = "own" if label.own else "partner"
        for offset, token in enumerate(taught):
            lessons[first + offset - 1] = (first + offset - 1, token, kind)
            if ids[first + offset] != token:
                break  # what follows another label's beginning is not taught
    positions, sees, begins = list(range(size)), list(range(1, size + 1)), [-1] * size
    for branch in document.branches:
        after = _boundary([*starts, len(HEAD) + len(document.text)], len(HEAD) + branch.offset)
        ending = "" if branch.kind.endswith(" lm") else END
        begin = branch.question + TURN + branch.prefill
        more, where = _tokens(tokenizer, begin + branch.answer + ending)
        first = _boundary([start for start, _ in where], len(begin))
        last = branch.kind.split()[-1]
        kind = last if last in WEIGHTS else "written"
        at = len(ids)
        lessons += [(at + i - 1, more[i], kind) for i in range(first, len(more))]
        ids += more
        positions += range(after, after + len(more))
        sees += [after] * len(more)
        begins += [at] * len(more)
    places, taught_ids, kinds = zip(*lessons, strict=True)
    return Encoded(
        np.array(ids),
        np.array(positions),
        np.array(sees),
        np.array([len(ids) if begin < 0 else begin for begin in begins]),
        np.array(places),
        np.array(taught_ids),
        np.array([weights[kind] for kind in kinds], np.float32),
        np.array([KINDS.index(kind) for kind in kinds]),
    )


def _tokens(tokenizer: Any, text: str) -> tuple[list[int], list[tuple[int, int]]]:
    found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    return list(found["input_ids"]), list(found["offset_mapping"])


def _boundary(starts: list[int], place: int) -> int:
    """Return the token that starts at a character; a token across it would be a leak."""
    index = int(np.searchsorted(starts, place))
    if index >= len(starts) or starts[index] != place:
        raise ValueError(f"no token starts at character {place}")
    return index
