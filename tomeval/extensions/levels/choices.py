"""How likely every hint and guess of a run is under each level of the ladder of recursion.

Each choice is judged with what its seat knew then, see `rsa`. Levels share the `Ladder`'s
constants; rationality, alpha, is open: likelihoods come for a whole grid of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tomeval.core.outcomes import VALID
from tomeval.domains.decrypto.embedding_players import Floats
from tomeval.domains.decrypto.game import (
    CODES,
    Code,
    DecoderView,
    EncoderView,
    Guess,
    Hints,
    InterceptorView,
    Keywords,
    NoCode,
    Rules,
    Turn,
)
from tomeval.domains.decrypto.play import RECORD, RECORDED
from tomeval.domains.decrypto.results import DecryptoRunCell
from tomeval.domains.decrypto.seats import ROLES
from tomeval.domains.decrypto.storing import number_code, number_guess
from tomeval.extensions.levels.ladder import LEVELS, Ladder, guesses
from tomeval.extensions.levels.seats import (
    Words,
    decoder_knows,
    interceptor_knows,
    worths,
)
from tomeval.lexicon.embeddings import Embedding
from tomeval.lexicon.forms import fold
from tomeval.lexicon.words import shipped_lists
from tomeval.runs.results import Run

ALPHAS: Floats = 2.0 ** np.arange(-3.0, 6.5, 0.5)
"""Rationalities that likelihoods are computed at, 1/8 to 64."""

MOST_TURNS = 1000
"""Turns of a player in a seat that are looked at, which decides how long it takes."""

BANK_KINDS = ("embedding", "rsa", "random")
"""Kinds of player that take their hints from the bank; others may say any word."""


@dataclass(frozen=True)
class Heard:
    """One finished turn of a complete game, with what was known before.

    Attributes
    ----------
    deal : str
        The sampling unit: games with this label share keywords and codes.
    own : tuple of str or None
        Alice's own hints, which in a replay need not be those that were heard; None if they were
        drawn for an invalid answer.
    bob, eve : Code or None
        None if a guess was drawn or is no code.
    past : tuple of Turn
        Without the guesses, which no level makes use of.
    """

    deal: str
    keywords: Keywords
    rules: Rules
    past: tuple[Turn, ...]
    code: Code
    hints: Hints
    own: Hints | None
    bob: Code | None
    eve: Code | None

    def guess(self, role: str) -> Code | None:
        """Return a listener's guess."""
        return self.bob if role == "decoder" else self.eve


@dataclass
class Choices:
    """What one player chose in one seat, and how likely that was.

    One entry per hint of Alice, or guess of a listener; N of them.

    Attributes
    ----------
    deals : list of str
        The sampling unit of each.
    turns : list of int
        Choices of one turn share a number.
    logs : list of ndarray, shape (3, alphas)
        Log-probability in nats at each level and each of `ALPHAS`.
    sizes : list of int
        How many options there were.
    said : list of str
        What was chosen.
    left_out : int
        Choices that no level can make: hints that are no word of the vocabulary, such as two
        words, or a form of a keyword; choices in games whose keywords the embedding lacks.
    """

    deals: list[str] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    logs: list[Floats] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    left_out: int = 0

    def add(self, turn: Heard, number: int, said: str, logs: Floats, size: int) -> None:
        """Add a choice, given its log-likelihoods and the number of options."""
        self.deals.append(turn.deal)
        self.turns.append(number)
        self.said.append(said)
        self.sizes.append(size)
        self.logs.append(logs)


Key = tuple[str, str]
"""Seat and player."""


def log_likelihoods(values: Floats, chosen: int) -> Floats:
    """Return the log-probability of an option by level and alpha, shape (3, alphas).

    Parameters
    ----------
    values : ndarray, shape (3, options)
        Worths of the options, in nats at an alpha of 1.

    Examples
    --------
    >>> at_one = log_likelihoods(np.log([[0.5, 0.25, 0.25]] * 3), 1)[0, ALPHAS == 1]
    >>> np.exp(at_one).round(6).tolist()
    [0.25]
    """
    below = values - values.max(axis=1, keepdims=True)
    totals = np.empty((len(values), len(ALPHAS)))
    for first in range(2):  # every second alpha is twice the one before: squares, not exponentials
        powers = np.exp(ALPHAS[first] * below)
        for place in range(first, len(ALPHAS), 2):
            totals[:, place] = powers.sum(axis=1)
            powers *= powers
    return np.asarray(ALPHAS * below[:, chosen, None] - np.log(totals))


def choices_of(
    run: Run, embedding: Embedding, ladder: Ladder | None = None, most: int = MOST_TURNS
) -> dict[Key, Choices]:
    """Return the choices of every player in every seat, in the order of tables.

    In replays, whoever is on the record answers as the player ``record``.

    Parameters
    ----------
    most : int
        Of each player in each seat, the first games of every pairing with about this many turns.
        Copies do not count, see `_new`.
    """
    ladder = ladder or Ladder()
    seats: dict[Key, list[DecryptoRunCell]] = {}
    for role in ROLES:
        for cell in run.cells:
            assert isinstance(cell, DecryptoRunCell)
            seats.setdefault((role, cell.seated[role]), []).append(cell)
    found = {}
    for (role, player), cells in seats.items():
        mine = found[role, player] = Choices()
        seen: set[Any] = set()
        turns = [(cell, list(_new(_first(heard(cell), most), cell, role, seen))) for cell in cells]
        scarce = sum(len(of_cell) for _, of_cell in turns) <= most
        for cell, of_cell in turns:
            kept = of_cell if scarce else _first(iter(of_cell), most // len(cells))
            _add(mine, cell, role, kept, embedding, ladder)
    return found


def choices_of_cell(
    cell: DecryptoRunCell, role: str, embedding: Embedding, ladder: Ladder | None = None
) -> Choices:
    """Return all choices of one seat of a cell."""
    found = Choices()
    _add(found, cell, role, heard(cell), embedding, ladder or Ladder())
    return found


def _add(
    mine: Choices,
    cell: DecryptoRunCell,
    role: str,
    turns: Iterable[Heard],
    embedding: Embedding,
    ladder: Ladder,
) -> None:
    """Add a seat's choices in some turns of a cell."""
    words = _words(embedding, _kind(cell, role), cell.definition["words"])
    add = _add_hints if role == "encoder" else partial(_add_guess, role)
    for number, turn in enumerate(turns, max(mine.turns, default=0) + 1):
        add(mine, turn, number, embedding, ladder, words)


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


def _add_hints(
    mine: Choices, turn: Heard, number: int, embedding: Embedding, ladder: Ladder, words: Words
) -> None:
    """Add Alice's hints of a turn."""
    if turn.own is None:
        return
    if not _knows(embedding, turn.keywords):
        mine.left_out += 3
        return
    view = EncoderView(turn.keywords, turn.code, turn.past, turn.rules)
    judged = _hints_of(embedding, ladder, view, turn.own, words)
    for hint, likely in zip(turn.own, judged, strict=True):
        if likely is None:
            mine.left_out += 1
        else:
            mine.add(turn, number, fold(hint), *likely)


def _add_guess(
    role: str,
    mine: Choices,
    turn: Heard,
    number: int,
    embedding: Embedding,
    ladder: Ladder,
    words: Words,
) -> None:
    """Add Bob's or Eve's guess; the Alice that they think of draws from the same words as all."""
    guess = turn.guess(role)
    if guess is None:
        return
    view: DecoderView | InterceptorView = InterceptorView(turn.past, turn.hints, turn.rules)
    if role == "decoder":
        if not _knows(embedding, turn.keywords):
            mine.left_out += 1
            return
        view = DecoderView(turn.keywords, turn.past, turn.hints, turn.rules)
    logs = log_likelihoods(_codes_of(embedding, ladder, view, words), CODES.index(guess))
    mine.add(turn, number, str(guess), logs, len(CODES))


@lru_cache(maxsize=4096)
def _hints_of(
    embedding: Embedding, ladder: Ladder, view: EncoderView, own: Hints, words: Words
) -> tuple[tuple[Floats, int] | None, ...]:
    """Return for each hint its log-likelihoods and the number of options; None: cannot be judged.

    Kept, as an Alice often gives the same hints in several pairings.
    """
    places = _places(words)
    found: list[tuple[Floats, int] | None] = []
    for place, hint in enumerate(own):
        at, given = places.get(fold(hint)), own[:place]
        levels = (worths(embedding, ladder, level, view, given, words) for level in LEVELS)
        worth = np.stack(list(levels))
        legal = np.isfinite(worth[0])
        if at is None or not legal[at]:
            found.append(None)
        else:
            logs = log_likelihoods(worth[:, legal], int(legal[:at].sum()))
            found.append((logs, int(legal.sum())))
    return tuple(found)


@lru_cache(maxsize=4096)
def _codes_of(
    embedding: Embedding, ladder: Ladder, view: DecoderView | InterceptorView, words: Words
) -> Floats:
    """Return the log-probabilities of the codes at each level, shape (3, 24)."""
    if isinstance(view, DecoderView):
        known = decoder_knows(embedding, view, words)
    else:
        known = interceptor_knows(embedding, view, words)
    return np.stack([guesses(ladder, level, *known) for level in LEVELS])


def heard(cell: DecryptoRunCell) -> Iterator[Heard]:
    """Yield the turns of a cell's complete games."""
    rows = cell.turns(
        "episode", "keywords", "code", "hints", "bob", "eve", "encoder_outcome", "decoder_outcome",
        "interceptor_outcome", "details",
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
        there = _hints(json.loads(hints))
        own = _hints(told.get("encoder", {}).get("given", there))
        guessed = (number_guess(bob), number_guess(eve))
        yield Heard(
            f"{cell.seed} {episode}",
            tuple(json.loads(keywords)),
            rules,
            tuple(past),
            number_code(code),
            there,
            own if said[0] else None,
            _code(guessed[0]) if said[1] else None,
            _code(guessed[1]) if said[2] else None,
        )
        before = there if record is None else _hints(record["hints"])
        past.append(Turn(number_code(code), before, NoCode(), NoCode()))


def _hints(said: Any) -> Hints:
    one, two, three = said
    return one, two, three


def _code(guess: Guess) -> Code | None:
    return None if isinstance(guess, NoCode) else guess


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
    found: dict[str, int] = {}
    for place, word in enumerate(words):
        found.setdefault(fold(word), place)
    return found
