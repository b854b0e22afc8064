"""The parameters of Codenames, its board, a game at one moment, and what a seat may know of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from tomeval.games.game import Event, Public, View

if TYPE_CHECKING:
    from tomeval.games.codenames.rules import Codenames

CLUE, GUESS, PASS = "clue", "guess", "pass"
SEATS = ("red spymaster", "red operative", "blue spymaster", "blue operative")
ENDINGS = {
    "found": "a team found its last word",
    "given_away": "a team uncovered the other team's last word",
    "assassin": "a team uncovered the assassin",
    "limit": "the last turn was over; more words found win",
    "forfeit": "a broken rule cost a team the game",
}


class CodenamesRules(BaseModel):
    """The parameters of Codenames.

    Attributes
    ----------
    red, blue, neutral, assassin : int
        Words of each colour; red begins.
    turns : int
        The most decisions of a game: clues, guesses and passes.
    number : int
        The highest number of a clue.
    words, bank : str
        Files of board words and of clues for scripted players, one word a line; empty: the shipped
        ones. Relative paths start at the working directory.
    rules : str
        ``own``, or ``textarena-0.7.4``, which repeats that program's behaviour: see
        docs/arena/codenames.md.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    red: int = Field(9, ge=1)
    blue: int = Field(8, ge=1)
    neutral: int = Field(7, ge=0)
    assassin: int = Field(1, ge=0, le=1)
    turns: int = Field(80, ge=1)
    number: int = Field(9, ge=1)
    words: str = ""
    bank: str = ""
    rules: Literal["own", "textarena-0.7.4"] = "own"


RED, BLUE, NEUTRAL, ASSASSIN = range(4)
COLOURS = ("red", "blue", "neutral", "assassin")
"""Colours by number; the first two are also the numbers of the teams."""


@lru_cache(maxsize=65536)
def members(mask: int) -> tuple[int, ...]:
    """Return the places of a mask's bits, lowest first.

    Examples
    --------
    >>> members(0b1101)
    (0, 2, 3)
    """
    return tuple(place for place in range(mask.bit_length()) if mask >> place & 1)


@dataclass(frozen=True)
class Board:
    """Words in the order of the table, and their colours, by number.

    Examples
    --------
    >>> board = Board(("sea", "oak", "tax"), (RED, BLUE, ASSASSIN))
    >>> board.masks, board.full, board.place["tax"]
    ((1, 2, 0, 4), 7, 2)
    """

    words: tuple[str, ...]
    key: tuple[int, ...]

    @cached_property
    def _hash(self) -> int:
        return hash((self.words, self.key))

    def __hash__(self) -> int:
        # Kept, since states are looked up by it all the time.
        return self._hash

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """The places of each colour, as bits."""
        masks = [0] * len(COLOURS)
        for place, colour in enumerate(self.key):
            masks[colour] |= 1 << place
        return tuple(masks)

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Where each word lies."""
        return {word: place for place, word in enumerate(self.words)}

    @property
    def full(self) -> int:
        """The mask of all words."""
        return (1 << len(self.words)) - 1

    def named(self, mask: int) -> tuple[str, ...]:
        """Return the words of a mask, in the order of the table."""
        return tuple(self.words[place] for place in members(mask))


class State(NamedTuple):
    """A game at one moment."""

    board: Board
    covered: int  # the words that lie face down, as bits
    seat: int  # whose decision is due
    # What the operative of this seat's team has heard; None: a clue is due.
    clue: tuple[str, int] | None
    left: int  # guesses that are left to the operative
    used: int  # decisions made
    round: int  # clues asked for, in both teams
    ending: str  # how the game ended, one of `ENDINGS`; empty while it goes on
    winner: int | None  # the team that won; None: nobody, or nobody yet
    log: tuple[Event, ...]


def team(seat: int) -> int:
    """Return a seat's team."""
    return seat // 2


class CodenamesView(View[State]):
    """What a seat may know: spymasters see the key, operatives do not."""

    __slots__ = ()
    game: Codenames

    mask = Public[int]("covered")
    """The covered words, as bits."""
    clue = Public[tuple[str, int] | None]()
    """The clue that is being guessed; None while one is due."""
    guesses = Public[int]("left")
    """Guesses that are left to the operative."""

    @property
    def team(self) -> str:
        """The colour of the own team."""
        return COLOURS[self.seat // 2]

    @property
    def foe(self) -> str:
        """The colour of the other team."""
        return COLOURS[1 - self.seat // 2]

    @property
    def spymaster(self) -> bool:
        """Whether the seat is a spymaster's."""
        return self.seat % 2 == 0

    @property
    def words(self) -> tuple[str, ...]:
        """All words of the board."""
        return self._state.board.words

    @property
    def covered(self) -> tuple[str, ...]:
        """The words that are still covered, in the order of the table."""
        return self._state.board.named(self._state.covered)

    @property
    def found(self) -> Mapping[str, str]:
        """The words that are uncovered, with their colours."""
        board = self._state.board
        gone = board.full & ~self._state.covered
        return {word: COLOURS[board.key[board.place[word]]] for word in board.named(gone)}

    @property
    def key(self) -> Mapping[str, str] | None:
        """The colour of every word, for spymasters; None for operatives."""
        if not self.spymaster:
            return None
        board = self._state.board
        return {word: COLOURS[c] for word, c in zip(board.words, board.key, strict=True)}

    @property
    def own(self) -> tuple[str, ...]:
        """The own team's covered words, for spymasters; empty for operatives."""
        if not self.spymaster:
            return ()
        board = self._state.board
        return board.named(self._state.covered & board.masks[self.seat // 2])

    @property
    def masks(self) -> tuple[int, ...] | None:
        """The covered words of each colour as bits, for spymasters; None for operatives."""
        if not self.spymaster:
            return None
        return tuple(mask & self._state.covered for mask in self._state.board.masks)

    @property
    def left(self) -> Mapping[str, int]:
        """How many words of each colour are covered; everybody can count them."""
        covered, masks = self._state.covered, self._state.board.masks
        pairs = zip(COLOURS, masks, strict=True)
        return {colour: (covered & mask).bit_count() for colour, mask in pairs}

    @property
    def guessed(self) -> int:
        """Guesses that the operative has made for this clue, all of them right."""
        return 0 if self._state.clue is None else self._state.clue[1] + 1 - self._state.left
