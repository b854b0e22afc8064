"""Recorded games: one JSON schema, read and written, its fields checked one by one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.files import write_text
from tomeval.core.resources import read_text
from tomeval.games.decrypto.game import (
    Code,
    Keywords,
    Rules,
    Turn,
    clean_hint,
    outcome_of,
    read_code,
)
from tomeval.games.decrypto.seats import ROLES
from tomeval.runs.experiment import read_table

FORMAT = "tomeval-decrypto-games"
VERSION = 1
_GAME_KEYS = ("name", "keywords", "rules", "players", "source", "turns")
_TURN_KEYS = ("code", "hints", "bob", "eve")
MAX_TEXT = 200
"""Longest text of a file: keywords, hints, names."""


@dataclass(frozen=True)
class RecordedGame:
    """A game that was played, anywhere.

    It has at least one turn, and none after it was over by its rules. `name` tells it from the
    others of its file, `players` who sat where, `source` where it comes from.
    """

    keywords: Keywords
    turns: tuple[Turn, ...]
    rules: Rules = field(default_factory=Rules)
    name: str = ""
    players: dict[str, str] = field(default_factory=dict)
    source: str = ""

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
            "turns": [turn_json(turn) for turn in self.turns],
        }


def turn_json(turn: Turn) -> dict[str, Any]:
    """Return a turn as the schema has it."""
    return {name: list(value) for name, value in turn._asdict().items()}


def write_games(path: Path, games: Sequence[RecordedGame]) -> None:
    """Write a file of games, in one step."""
    head = f'{{"format": {json.dumps(FORMAT)}, "version": {VERSION}, "games": ['
    write_text(path, head + "\n" + ",\n".join(map(_game_text, games)) + "\n]}\n")


def _game_text(game: RecordedGame) -> str:
    """Return a game as JSON with a turn a line."""
    data = game.as_json()
    turns = data.pop("turns")
    lines = [f"  {json.dumps(key)}: {json.dumps(data[key], ensure_ascii=False)}," for key in data]
    rows = ",\n".join(f"   {json.dumps(turn, ensure_ascii=False)}" for turn in turns)
    return "\n".join([" {", *lines, '  "turns": [', rows, "  ]", " }"])


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
    _object_of(data, ("format", "version", "games"), f"{path}")
    if not isinstance(data.get("games"), list) or not data["games"]:
        raise TomevalError(f"{path}: 'games' must be a list of at least one game")
    games = [game_of(entry, f"{path}: game {i}") for i, entry in enumerate(data["games"], 1)]
    names = Counter(game.name for game in games if game.name)
    if twice := [name for name, count in names.items() if count > 1]:
        raise TomevalError(f"{path}: two games have the name {twice[0]!r}")
    return games


def game_of(entry: Any, where: str) -> RecordedGame:
    """Return one game of a file, checked."""
    _object_of(entry, _GAME_KEYS, where, ("keywords", "turns"))
    one, two, three, four = _list_of(entry["keywords"], 4, "keywords", where)
    if len({word.casefold() for word in (one, two, three, four)}) < 4:
        raise TomevalError(f"{where}: the keywords must differ, are {_show(entry['keywords'])}")
    said = _object_of(entry.get("rules", {}), [*Rules.model_fields], f"{where}: rules")
    rules = read_table(Rules, said, f"{where}: rules")
    players = _object_of(entry.get("players", {}), ROLES, f"{where}: players")
    if not isinstance(entry["turns"], list) or not entry["turns"]:
        raise TomevalError(f"{where}: 'turns' must be a list of at least one turn")
    turns = [_turn(turn, f"{where}: turn {n}") for n, turn in enumerate(entry["turns"], 1)]
    _check_end(tuple(turns), rules, where)
    return RecordedGame(
        (one, two, three, four),
        tuple(turns),
        rules,
        _text_of(entry.get("name", ""), "name", where),
        {role: _text_of(name, role, where) for role, name in players.items()},
        _text_of(entry.get("source", ""), "source", where),
    )


def _turn(entry: Any, where: str) -> Turn:
    _object_of(entry, _TURN_KEYS, where, _TURN_KEYS)
    code, bob, eve = (_code_of(entry[name], f"{where}: {name}") for name in ("code", "bob", "eve"))
    one, two, three = _list_of(entry["hints"], 3, "hints", where)
    return Turn(code, (one, two, three), bob, eve)


def _code_of(value: Any, what: str) -> Code:
    code = read_code(value)
    if code is None:
        raise TomevalError(f"{what} must be three different digits from 1 to 4, is {_show(value)}")
    return code


def _check_end(turns: tuple[Turn, ...], rules: Rules, where: str) -> None:
    """Refuse turns after the end of a game, and a code that comes twice."""
    for count in range(1, len(turns)):
        ended = outcome_of(turns[:count], rules)
        if ended is not None:
            raise TomevalError(
                f"{where}: continues after turn {count}, where its rules end it ({ended})"
            )
    if len({turn.code for turn in turns}) < len(turns):
        raise TomevalError(f"{where}: a code appears twice")


def _text_of(value: Any, what: str, where: str) -> str:
    """Return a short text on one line."""
    if not isinstance(value, str) or len(value) > MAX_TEXT or not value.isprintable():
        raise TomevalError(
            f"{where}: {what} must be text on one line, at most {MAX_TEXT} characters, "
            f"is {_show(value)}"
        )
    return value


def _object_of(
    value: Any, known: Sequence[str], where: str, needed: Sequence[str] = ()
) -> dict[str, Any]:
    """Return an object whose keys are known, with all that are needed."""
    if not isinstance(value, dict):
        raise TomevalError(f"{where}: must be an object, is {_show(value)}")
    for key in value:
        if key not in known:
            raise unknown("key", str(key)[:80], known, where)
    for key in needed:
        if key not in value:
            raise TomevalError(f"{where}: missing {key!r}")
    return value


def _list_of(value: Any, size: int, what: str, where: str) -> list[str]:
    """Return some filled texts, `what` in the plural."""
    if not isinstance(value, list) or len(value) != size:
        raise TomevalError(f"{where}: {what} must be a list of {size}, is {_show(value)}")
    texts = [clean_hint(_text_of(text, f"a {what[:-1]}", where)) for text in value]
    if not all(texts):
        raise TomevalError(f"{where}: a {what[:-1]} is empty")
    return texts


def _show(value: Any) -> str:
    """Return a value as messages show it."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
