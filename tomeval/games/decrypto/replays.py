"""Recorded games: one JSON schema, read and written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.core.resources import read_text
from tomeval.games.decrypto.game import (
    Deal,
    Game,
    Rules,
    Turn,
    View,
    as_code,
    clean_hint,
    outcome_of,
)
from tomeval.games.decrypto.seats import ALICE, Probes
from tomeval.games.decrypto.stages import Decrypto
from tomeval.games.game import Action, Ask, Probe, Said
from tomeval.games.played import RECORDED
from tomeval.games.seats import Answer, Seat
from tomeval.lexicon.words import WordLists
from tomeval.runs.experiment import read_table

FORMAT = "tomeval-decrypto-games"
VERSION = 1
MAX_TEXT = 200
"""Longest text of a file: keywords, hints, names."""


def _line(text: str) -> str:
    if len(text) > MAX_TEXT or not text.isprintable():
        raise ValueError(f"must be text on one line, at most {MAX_TEXT} characters, is {text!r}")
    return text


def _word(text: str) -> str:
    if not (cleaned := clean_hint(_line(text))):
        raise ValueError("is empty")
    return cleaned


_Line = Annotated[str, AfterValidator(_line)]
_Word = Annotated[str, AfterValidator(_word)]


class RecordedGame(BaseModel):
    """A game that was played, anywhere.

    It has at least one turn, and none after it was over by its rules. A guess that is no code, or
    empty where nobody guessed, stays as it is and counts as wrong; its outcome is illegal, or
    empty. `name` tells the game from the others of its file, `players` who sat where, `source`
    where it comes from.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    keywords: tuple[_Word, _Word, _Word, _Word]
    turns: Annotated[tuple[Turn, ...], Field(min_length=1)]
    rules: Rules = Rules()
    name: _Line = ""
    players: dict[Literal["encoder", "decoder", "interceptor"], _Line] = {}
    source: _Line = ""

    @field_validator("turns")
    @classmethod
    def _of_codes_and_words(cls, turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
        cleaned = []
        for number, turn in enumerate(turns, 1):
            if as_code(turn.code) is None:
                wrong = f"three different digits from 1 to 4, is {list(turn.code)}"
                raise ValueError(f"turn {number}: code: must be {wrong}")
            for name in ("bob", "eve"):
                if len(guess := getattr(turn, name)) > 3 or not set(guess) <= set(range(1, 10)):
                    wrong = f"at most three digits from 1 to 9, is {list(guess)}"
                    raise ValueError(f"turn {number}: {name}: must be {wrong}")
            one, two, three = map(_word, turn.hints)
            cleaned.append(turn._replace(hints=(one, two, three)))
        return tuple(cleaned)

    @model_validator(mode="after")
    def _of_one_game(self) -> Self:
        if len({word.casefold() for word in self.keywords}) < 4:
            raise ValueError(f"the keywords must differ, are {list(self.keywords)}")
        for count in range(1, len(self.turns)):
            if (ended := outcome_of(self.turns[:count], self.rules)) is not None:
                raise ValueError(f"continues after turn {count}, where its rules end it ({ended})")
        if len({turn.code for turn in self.turns}) < len(self.turns):
            raise ValueError("a code appears twice")
        return self

    def as_json(self) -> dict[str, Any]:
        """Return the game as the schema has it."""
        return {
            "name": self.name,
            "keywords": list(self.keywords),
            "rules": self.rules.model_dump(),
            "players": self.players,
            "source": self.source,
            "turns": [
                {name: list(value) for name, value in turn._asdict().items()} for turn in self.turns
            ],
        }


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    format: Literal["tomeval-decrypto-games"]
    version: Literal[1]
    games: Annotated[list[dict[str, Any]], Field(min_length=1)]


def write_games(path: Path, games: Sequence[RecordedGame]) -> None:
    """Write a file of games, in one step."""
    data = {"format": FORMAT, "version": VERSION, "games": [game.as_json() for game in games]}
    write_text(path, json.dumps(data, ensure_ascii=False, indent=1) + "\n")


def read_games(path: Path) -> list[RecordedGame]:
    """Read a file that `write_games` or another program wrote.

    Raises
    ------
    TomevalError
        Names file, game, turn and field of what is missing, unknown, of the wrong kind or against
        the rules; a game that goes on after its end is against the rules.
    """
    file, games = read_table(_File, read_text(path), str(path)), list[RecordedGame]()
    for number, entry in enumerate(file.games, 1):
        game = read_table(RecordedGame, json.dumps(entry), f"{path}: game {number}")
        if game.name and any(game.name == before.name for before in games):
            raise TomevalError(f"{path}: two games have the name {game.name!r}")
        games.append(game)
    return games


class RecordedSeat(Seat):
    """Answers as recorded."""

    def __init__(self, record: RecordedGame) -> None:
        self.record = record

    async def answer(self, view: View, ask: Ask) -> Answer:
        """Return what the record has for the turn."""
        turn = self.record.turns[len(view.turns)]
        said = (turn.hints, turn.bob, turn.eve)[ask.seat]
        return Answer(said, attempts=0, details={RECORDED: True})


class Replay(Decrypto):
    """A recorded game: every turn is asked about with the past as it was recorded.

    Parameters
    ----------
    record : RecordedGame
    given : bool
        Whether a listener answers as recorded: what was recorded are then the hints that are heard.
    """

    def __init__(self, lists: WordLists, wanted: Probes, record: RecordedGame, given: bool) -> None:
        super().__init__(lists, record.rules, wanted)
        self.record, self.given = record, given

    def deal(self, rng: np.random.Generator) -> Game:
        """Return the game as it was dealt."""
        codes = tuple(turn.code for turn in self.record.turns)
        return Game(Deal(self.record.keywords, codes), self.rules)

    def over(self, turns: Sequence[Turn], rules: Rules) -> bool:
        """Return whether the record is over."""
        return len(turns) >= len(self.record.turns)

    def then(self, state: Game, actions: Mapping[int, Action]) -> Game:
        """Return the game with the hints that are heard; after a turn as recorded, but the last."""
        past = self.record.turns[: len(state.turns) + 1]
        if state.hints is None:
            return replace(state, hints=past[-1].hints if self.given else actions[ALICE])
        if self.over(past, state.rules):
            return super().then(state, actions)
        return replace(state, hints=None, turns=past)

    def probes(self, state: Game, ask: Ask, done: Action, said: Said) -> tuple[Probe, ...]:
        """Return the literal questions; Alice's are of the hints that are heard."""
        if ask.seat == ALICE and done is not None:
            done = self.then(state, {ALICE: done}).hints
        return super().probes(state, ask, done, said)
