"""How likely every hint and guess of a run is under each level of the ladder of recursion.

Each choice is judged with what its seat knew then, see `ladder`. Rationality, alpha,
is open: likelihoods come for a whole grid of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np

from tomeval.core.outcomes import VALID
from tomeval.domains.decrypto.embedding_players import Floats
from tomeval.domains.decrypto.game import (
    CODES,
    Code,
    DecoderView,
    EncoderView,
    Hints,
    InterceptorView,
    Keywords,
    Rules,
    Turn,
)
from tomeval.domains.decrypto.play import RECORD, RECORDED
from tomeval.domains.decrypto.results import DecryptoRunCell
from tomeval.domains.decrypto.seats import ROLES
from tomeval.domains.decrypto.storing import number_code
from tomeval.extensions.levels.ladder import LEVELS, guesses
from tomeval.extensions.levels.likelihoods import Choices, log_likelihoods
from tomeval.extensions.levels.scores import (
    Words,
    listener_knows,
    worths,
)
from tomeval.lexicon.embeddings import Embedding
from tomeval.lexicon.forms import fold
from tomeval.lexicon.words import shipped_lists
from tomeval.runs.results import Run

MOST_TURNS = 1000
"""Turns of a player in a seat that are looked at, which decides how long it takes."""

BANK_KINDS = ("embedding", "rsa", "random")
"""Kinds of player that take their hints from the bank; others may say any word."""


Key = tuple[str, str]
"""Seat and player."""


@dataclass(frozen=True)
class Heard:
    """One finished turn of a complete game, with what was known before.

    Alice's `own` hints need not be those that were heard in a replay; None if they were drawn for
    an invalid answer. A guess of `bob` or `eve` is None if it was drawn.
    """

    deal: str  # the sampling unit: games with this label share keywords and codes
    keywords: Keywords
    rules: Rules
    past: tuple[Turn, ...]  # all guessed rightly, as no level makes use of the guesses
    code: Code
    hints: Hints
    own: Hints | None
    bob: Code | None
    eve: Code | None

    def guess(self, role: str) -> Code | None:
        """Return a listener's guess."""
        return self.bob if role == "decoder" else self.eve


def heard(cell: DecryptoRunCell) -> Iterator[Heard]:
    """Yield the turns of a cell's complete games."""
    rows = cell.turns(
        "episode", "episodes.keywords", "code", "hints", "bob", "eve",
        "encoder_outcome", "decoder_outcome", "interceptor_outcome", "details",
    )  # fmt: skip
    last, past, rules = None, list[Turn](), Rules(**cell.definition["rules"])
    for episode, keywords, code, hints, bob, eve, *outcomes, details in rows:
        told = json.loads(details) if details else {}
        record = told.get(RECORD)
        if episode != last:
            last, past = episode, []
            if record is not None:
                rules = Rules(**record["game"]["rules"])
        said = [outcome in (VALID, RECORDED) for outcome in outcomes]
        there = tuple(json.loads(hints))
        own = tuple(told.get("encoder", {}).get("given", there))
        yield Heard(
            f"{cell.seed} {episode}",
            tuple(json.loads(keywords)),
            rules,
            tuple(past),
            asked := number_code(code),
            cast("Hints", there),
            cast("Hints", own) if said[0] else None,
            number_code(bob) if said[1] else None,
            number_code(eve) if said[2] else None,
        )
        before = there if record is None else tuple(record["hints"])
        # Guesses tell no two pasts apart: what a seat does again after others' guesses is a copy.
        past.append(Turn(asked, cast("Hints", before), asked, asked))


def choices_of(run: Run, embedding: Embedding, most: int = MOST_TURNS) -> dict[Key, Choices]:
    """Return the choices of every player in every seat, in the order of tables.

    In replays, whoever is on the record answers as the player ``record``. Of each player in each
    seat, the first games of every pairing with about `most` turns; copies do not count, see `_new`.
    """
    seats: dict[Key, list[DecryptoRunCell]] = {}
    for role in ROLES:
        for cell in run.cells:
            assert isinstance(cell, DecryptoRunCell)
            seats.setdefault((role, cell.seated[role]), []).append(cell)
    choices = {}
    for (role, player), cells in seats.items():
        mine = choices[role, player] = Choices()
        seen: set[Any] = set()
        turns = [(cell, list(_new(_first(heard(cell), most), cell, role, seen))) for cell in cells]
        scarce = sum(len(of_cell) for _, of_cell in turns) <= most
        for cell, of_cell in turns:
            kept = of_cell if scarce else _first(iter(of_cell), most // len(cells))
            add_choices(mine, cell, role, kept, embedding)
    return choices


def add_choices(
    mine: Choices, cell: DecryptoRunCell, role: str, turns: Iterable[Heard], embedding: Embedding
) -> Choices:
    """Add a seat's choices in some turns of a cell."""
    words = _words(embedding, _kind(cell, role), cell.definition["words"])
    for number, turn in enumerate(turns, max(mine.turns, default=0) + 1):
        for judged in _judged(turn, role, embedding, words):
            if judged is None:
                mine.left_out += 1
                continue
            said, logs, size = judged
            mine.deals.append(turn.deal)
            mine.turns.append(number)
            mine.said.append(said)
            mine.logs.append(logs)
            mine.sizes.append(size)
    return mine


def _new(
    turns: Iterator[Heard], cell: DecryptoRunCell, role: str, seen: set[Any]
) -> Iterator[Heard]:
    """Yield the turns in which a seat does not repeat, draw for draw, what is in `seen`.

    Players without a language model draw alike in every pairing, so in the same situation of the
    same deal they do the same again: a copy, which tells nothing new.
    """
    copies = _kind(cell, role) in BANK_KINDS
    for turn in turns:
        if role == "encoder":
            key: Any = (turn.deal, turn.code, turn.past, turn.own)
        else:
            key = (turn.deal, turn.past, turn.hints, turn.guess(role))
        if not copies or key not in seen:
            seen.add(key)
            yield turn


def _kind(cell: DecryptoRunCell, role: str) -> str:
    return str(cell.definition["players"][role].get("kind", RECORD))


def _first(turns: Iterator[Heard], most: int) -> Iterator[Heard]:
    """Yield the turns of whole games until there are `most` turns, of one game at least."""
    deal = ""
    for count, turn in enumerate(turns):
        if count >= max(most, 1) and turn.deal != deal:
            return
        deal = turn.deal
        yield turn


Judged = tuple[str, Floats, int]
"""What was chosen, its log-likelihoods, and the number of options."""


def _judged(turn: Heard, role: str, embedding: Embedding, words: Words) -> Sequence[Judged | None]:
    """Return what a seat chose in a turn; None for what cannot be judged.

    The Alice that listeners think of draws from the same words as all do.
    """
    if role == "encoder":
        if turn.own is None:
            return []
        if not _knows(embedding, turn.keywords):
            return [None] * 3
        view = EncoderView(turn.keywords, turn.code, turn.past, turn.rules)
        return _hints_of(embedding, view, turn.own, words)
    guess = turn.guess(role)
    if guess is None:
        return []
    heard_by: DecoderView | InterceptorView
    if role == "decoder":
        if not _knows(embedding, turn.keywords):
            return [None]
        heard_by = DecoderView(turn.keywords, turn.past, turn.hints, turn.rules)
    else:
        heard_by = InterceptorView(turn.past, turn.hints, turn.rules)
    levels = _codes_of(embedding, heard_by, words)
    return [(str(guess), log_likelihoods(levels, CODES.index(guess)), len(CODES))]


@lru_cache(maxsize=4096)
def _hints_of(
    embedding: Embedding, view: EncoderView, own: Hints, words: Words
) -> tuple[Judged | None, ...]:
    """Return what Alice's hints are under each level; kept, as she often gives them again."""
    places = _places(words)
    judged: list[Judged | None] = []
    for number, hint in enumerate(own):
        at, given = places.get(fold(hint)), own[:number]
        worth = np.stack([worths(embedding, n, view, given, words) for n in LEVELS])
        legal = np.isfinite(worth[0])
        if at is None or not legal[at]:
            judged.append(None)
        else:
            logs = log_likelihoods(worth[:, legal], int(legal[:at].sum()))
            judged.append((fold(hint), logs, int(legal.sum())))
    return tuple(judged)


@lru_cache(maxsize=4096)
def _codes_of(embedding: Embedding, view: DecoderView | InterceptorView, words: Words) -> Floats:
    """Return the log-probabilities of the codes at each level, shape (3, 24)."""
    known = listener_knows(embedding, view, words)
    return np.stack([guesses(level, *known) for level in LEVELS])


def _words(embedding: Embedding, kind: str, lists: str) -> Words:
    """Return what a player chooses hints from: the bank, or any word that the embedding knows."""
    if kind in BANK_KINDS and lists == _shipped_sha256():
        return shipped_lists().hints
    return embedding.words


@lru_cache(maxsize=1)
def _shipped_sha256() -> str:
    lists = shipped_lists()
    return hashlib.sha256(json.dumps([lists.keywords, lists.hints]).encode()).hexdigest()


@lru_cache(maxsize=64)
def _knows(embedding: Embedding, keywords: Keywords) -> bool:
    return all(embedding.hint_vector(keyword) is not None for keyword in keywords)


@lru_cache(maxsize=8)
def _places(words: Words) -> dict[str, int]:
    by_word: dict[str, int] = {}
    for index, word in enumerate(words):
        by_word.setdefault(fold(word), index)
    return by_word
