"""Recorded games: one JSON schema, read and written."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    model_validator,
)
from pydantic_core.core_schema import no_info_after_validator_function

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.files import write_text
from tomeval.core.resources import read_text
from tomeval.games.decrypto.game import (
    Code,
    Rules,
    Turn,
    as_code,
    clean_hint,
    outcome_of,
)
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


def _code(value: Any) -> Code:
    if (code := as_code(value)) is None:
        raise ValueError(f"must be three different digits from 1 to 4, is {str(value)[:80]}")
    return code


_Line = Annotated[str, AfterValidator(_line)]
_Word = Annotated[str, AfterValidator(_word)]
_Code = Annotated[Any, BeforeValidator(_code)]
_List = Field(strict=False)  # of JSON, for a tuple


class _Turn(NamedTuple):
    code: _Code
    hints: Annotated[tuple[_Word, _Word, _Word], _List]
    bob: _Code
    eve: _Code


def _as_turn(_: Any, schema: Callable[[Any], Any]) -> Any:
    return no_info_after_validator_function(lambda read: Turn(*read), schema(_Turn))


class RecordedGame(BaseModel):
    """A game that was played, anywhere.

    It has at least one turn, and none after it was over by its rules. `name` tells it from the
    others of its file, `players` who sat where, `source` where it comes from.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    keywords: Annotated[tuple[_Word, _Word, _Word, _Word], _List]
    turns: Annotated[
        tuple[Annotated[Turn, GetPydanticSchema(_as_turn)], ...], Field(min_length=1, strict=False)
    ]
    rules: Rules = Rules()
    name: _Line = ""
    players: dict[Literal["encoder", "decoder", "interceptor"], _Line] = {}
    source: _Line = ""

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

    @property
    def outcome(self) -> str | None:
        """How it ended; None if it was broken off."""
        return outcome_of(self.turns, self.rules)

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
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise TomevalError(f"{path}: not valid JSON: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise TomevalError(
            f"{path}: is not a file of recorded games (format {FORMAT!r}), see docs/decrypto.md"
        )
    if data.get("version") != VERSION:
        raise TomevalError(f"{path}: version {data.get('version')!r}; this tomeval reads {VERSION}")
    known = ("format", "version", "games")
    if odd := [key for key in data if key not in known]:
        raise unknown("key", odd[0], known, str(path))
    if not isinstance(data.get("games"), list) or not data["games"]:
        raise TomevalError(f"{path}: 'games' must be a list of at least one game")
    games: list[RecordedGame] = []
    for number, entry in enumerate(data["games"], 1):
        where = f"{path}: game {number}"
        if not isinstance(entry, dict):
            raise TomevalError(f"{where}: must be an object")
        game = read_table(RecordedGame, entry, where)
        if game.name and any(game.name == before.name for before in games):
            raise TomevalError(f"{path}: two games have the name {game.name!r}")
        games.append(game)
    return games
