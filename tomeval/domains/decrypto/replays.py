"""Recorded games: one JSON schema, and an importer for plain lists of turns."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.files import write_text
from tomeval.core.resources import read_text
from tomeval.domains.decrypto.game import (
    Code,
    Keywords,
    Rules,
    Turn,
    as_code,
    clean_hint,
    outcome_of,
)
from tomeval.domains.decrypto.seats import ROLES

FORMAT = "tomeval-decrypto-games"
VERSION = 1
MAX_TEXT = 200
"""Longest text of a file: keywords, hints, names."""

_GAME_KEYS = ("name", "keywords", "rules", "players", "source", "turns")
_TURN_KEYS = ("code", "hints", "bob", "eve")
COLUMNS = (
    "game", "keyword_1", "keyword_2", "keyword_3", "keyword_4",
    "code", "hint_1", "hint_2", "hint_3", "bob", "eve",
)  # fmt: skip
"""Columns of a plain list of turns."""


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
            "rules": asdict(self.rules),
            "players": self.players,
            "source": self.source,
            "turns": [{key: list(getattr(turn, key)) for key in _TURN_KEYS} for turn in self.turns],
        }


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
    data = _json(path)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise TomevalError(
            f"{path}: is not a file of recorded games (format {FORMAT!r}); "
            "for a plain list of turns see tomeval decrypto import"
        )
    if data.get("version") != VERSION:
        raise TomevalError(f"{path}: version {data.get('version')!r}, this tomeval reads {VERSION}")
    _keys(data, ("format", "version", "games"), f"{path}")
    if not isinstance(data.get("games"), list) or not data["games"]:
        raise TomevalError(f"{path}: 'games' must be a list of at least one game")
    games = [_game(entry, f"{path}: game {i}") for i, entry in enumerate(data["games"], 1)]
    return _named(games, path)


def import_turns(path: Path, rules: Rules | None = None) -> list[RecordedGame]:
    """Read a plain list of turns.

    Parameters
    ----------
    path : Path
        CSV with the columns of `COLUMNS`, or a JSON list of objects with ``game``, ``keywords``,
        ``code``, ``hints``, ``bob`` and ``eve``. Turns stand in order; those of one game share
        ``game`` (which may be left out for a single game) and the keywords. Codes are digits with
        or without signs between them (``2-4-1``, ``241``), in JSON also lists.
    """
    is_json = path.suffix.lower() == ".json"
    rows = list(_json_rows(path) if is_json else _csv_rows(path))
    if not rows:
        raise TomevalError(f"{path}: holds no turn")
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for number, row in enumerate(rows, 1 if is_json else 2):
        where = f"{path}: {'entry' if is_json else 'line'} {number}"
        found.setdefault(str(row.get("game") or "1"), []).append((where, row))
    games = []
    for name, turns in found.items():
        keywords = _keywords(turns[0][1]["keywords"], turns[0][0])
        for where, row in turns:
            if _keywords(row["keywords"], where) != keywords:
                raise TomevalError(f"{where}: game {name!r} has had other keywords before")
        played = tuple(_turn(row, where) for where, row in turns)
        rules = rules or Rules()
        _check_end(played, rules, f"{path}: game {name!r}")
        games.append(RecordedGame(keywords, played, rules, _text(name, "game", f"{path}")))
    return games


def _json(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise TomevalError(f"{path}: not valid JSON: {error}") from None


def _json_rows(path: Path) -> Iterable[dict[str, Any]]:
    data = _json(path)
    if not isinstance(data, list):
        raise TomevalError(f"{path}: must be a JSON list of turns")
    for number, entry in enumerate(data, 1):
        where = f"{path}: entry {number}"
        if not isinstance(entry, dict):
            raise TomevalError(f"{where}: must be an object, is {_shown(entry)}")
        _keys(entry, ("game", "keywords", *_TURN_KEYS), where)
        _need(entry, ("keywords", *_TURN_KEYS), where)
        yield entry


def _csv_rows(path: Path) -> Iterable[dict[str, Any]]:
    try:
        reader = csv.DictReader(io.StringIO(read_text(path)), strict=True)
        names = list(reader.fieldnames or ())
        _keys(dict.fromkeys(names), COLUMNS, f"{path}: columns")
        _need(dict.fromkeys(names), COLUMNS[1:], f"{path}: columns")
        for number, row in enumerate(reader, 2):
            if None in row or None in row.values():
                raise TomevalError(f"{path}: line {number}: needs {len(names)} fields")
            keywords = [row[f"keyword_{i}"] for i in (1, 2, 3, 4)]
            hints = [row[f"hint_{i}"] for i in (1, 2, 3)]
            yield {**row, "keywords": keywords, "hints": hints}
    except csv.Error as error:
        raise TomevalError(f"{path}: not valid CSV: {error}") from None


def _game(entry: Any, where: str) -> RecordedGame:
    """Check one game of a file."""
    if not isinstance(entry, dict):
        raise TomevalError(f"{where}: must be an object, is {_shown(entry)}")
    _keys(entry, _GAME_KEYS, where)
    _need(entry, ("keywords", "turns"), where)
    keywords = _keywords(entry["keywords"], where)
    rules = _rules(entry.get("rules", {}), where)
    players = entry.get("players", {})
    if not isinstance(players, dict):
        raise TomevalError(f"{where}: players must be an object, is {_shown(players)}")
    _keys(players, ROLES, f"{where}: players")
    if not isinstance(entry["turns"], list) or not entry["turns"]:
        raise TomevalError(f"{where}: 'turns' must be a list of at least one turn")
    turns = []
    for number, turn in enumerate(entry["turns"], 1):
        place = f"{where}: turn {number}"
        if not isinstance(turn, dict):
            raise TomevalError(f"{place}: must be an object, is {_shown(turn)}")
        _keys(turn, _TURN_KEYS, place)
        _need(turn, _TURN_KEYS, place)
        turns.append(_turn(turn, place))
    _check_end(tuple(turns), rules, where)
    return RecordedGame(
        keywords,
        tuple(turns),
        rules,
        _text(entry.get("name", ""), "name", where),
        {role: _text(name, role, where) for role, name in players.items()},
        _text(entry.get("source", ""), "source", where),
    )


def _rules(entry: Any, where: str) -> Rules:
    if not isinstance(entry, dict):
        raise TomevalError(f"{where}: rules must be an object, is {_shown(entry)}")
    _keys(entry, tuple(Rules.__dataclass_fields__), f"{where}: rules")
    try:
        return Rules(**entry)
    except TomevalError as error:
        raise TomevalError(f"{where}: {error}") from None


def _turn(entry: dict[str, Any], where: str) -> Turn:
    code, bob, eve = (_code(entry[key], key, where) for key in ("code", "bob", "eve"))
    hints = entry["hints"]
    if not isinstance(hints, list) or len(hints) != 3:
        raise TomevalError(f"{where}: hints must be a list of 3, is {_shown(hints)}")
    one, two, three = (_filled(hint, "a hint", where) for hint in hints)
    return Turn(code, (one, two, three), bob, eve)


def _code(value: Any, what: str, where: str) -> Code:
    if isinstance(value, str) and re.fullmatch(r"\s*[1-4]\D?\s*[1-4]\D?\s*[1-4]\s*", value):
        value = [int(digit) for digit in re.findall(r"\d", value)]
    code = as_code(value)
    if code is None:
        raise TomevalError(
            f"{where}: {what} must be three different digits from 1 to 4, is {_shown(value)}"
        )
    return code


def _keywords(value: Any, where: str) -> Keywords:
    if not isinstance(value, list) or len(value) != 4:
        raise TomevalError(f"{where}: keywords must be a list of 4, is {_shown(value)}")
    one, two, three, four = (_filled(word, "a keyword", where) for word in value)
    if len({word.casefold() for word in (one, two, three, four)}) < 4:
        raise TomevalError(f"{where}: the keywords must differ, are {_shown(value)}")
    return one, two, three, four


def _filled(value: Any, what: str, where: str) -> str:
    text = clean_hint(_text(value, what, where))
    if not text:
        raise TomevalError(f"{where}: {what} is empty")
    return text


def _text(value: Any, what: str, where: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_TEXT or not value.isprintable():
        raise TomevalError(
            f"{where}: {what} must be text on one line, at most {MAX_TEXT} characters, "
            f"is {_shown(value)}"
        )
    return value


def _check_end(turns: tuple[Turn, ...], rules: Rules, where: str) -> None:
    """Refuse turns after the end of a game, and a code that comes twice."""
    for count in range(1, len(turns)):
        ended = outcome_of(turns[:count], rules)
        if ended is not None:
            raise TomevalError(
                f"{where}: goes on after turn {count}, where it ended ({ended}) by its rules"
            )
    if len({turn.code for turn in turns}) < len(turns):
        raise TomevalError(f"{where}: a code comes twice")


def _named(games: list[RecordedGame], path: Path) -> list[RecordedGame]:
    """Refuse two games with one name."""
    names = [game.name for game in games if game.name]
    for name in names:
        if names.count(name) > 1:
            raise TomevalError(f"{path}: two games are called {name!r}")
    return games


def _keys(entry: Iterable[Any], known: Sequence[str], where: str) -> None:
    for key in entry:
        if key not in known:
            raise unknown("key", str(key)[:80], known, where)


def _need(entry: Any, keys: Sequence[str], where: str) -> None:
    for key in keys:
        if key not in entry:
            raise TomevalError(f"{where}: missing {key!r}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
