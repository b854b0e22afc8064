"""The rules of Decrypto written a second time, and games to judge by them; nothing of tomeval.

A game is made with its meaning known: every guess is a code or none, however it is then spelt, and
every fault is put in by name. So the referee never reads what the importer reads.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

CODES = list(itertools.permutations((1, 2, 3, 4), 3))
Guess = tuple[int, ...] | None
Turn = tuple[tuple[int, ...], Guess, Guess]
ENDINGS = ("miscommunication", "interception", "both", "survived", "undecided")
COLUMNS = [
    *("game", "keyword_1", "keyword_2", "keyword_3", "keyword_4", "code"),
    *("hint_1", "hint_2", "hint_3", "bob", "eve"),
]

SPELT = (
    "{}{}{}",
    "{}-{}-{}",
    "{}, {}, {}",
    "[{}, {}, {}]",
    "({} {} {})",
    " {}.{}.{} ",
    "{}/{}/{}.",
)
NO_CODES = (
    "1,1,2",
    "7 1 2",
    "",
    "24",
    "2413",
    "no idea",
    "0-1-2",
    "4 4 4",
    "1-2",
    "241?",
    "-",
    "12-3",
)
FAULTS = ("code", "code twice", "no hint", "keywords")


@dataclass
class Row:
    """One turn as it was meant, and as it is written."""

    code: tuple[int, ...]
    bob: Guess
    eve: Guess
    written: dict[str, Any]


@dataclass
class Game:
    """One game: its rows, and in which of them, from 1, something is wrong with it."""

    name: str
    rows: list[Row] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Limits:
    """The rules that may vary."""

    turns: int
    wrong: int
    caught: int


@dataclass
class Verdict:
    """What becomes of a game: how it ended, its turns that count, or the turn that spoils it."""

    ending: str
    turns: int
    spoilt: int = 0


def ending(guesses: Sequence[Turn], limits: Limits) -> tuple[str, int]:
    """Return how a game ends and with which turn, given code and guesses of every turn played."""
    wrong = caught = 0
    for number, (code, bob, eve) in enumerate(guesses, 1):
        wrong += bob != code
        caught += eve == code
        lost = [wrong >= limits.wrong, caught >= limits.caught]
        if any(lost):
            names = {(True, True): "both", (True, False): "miscommunication"}
            return names.get((lost[0], lost[1]), "interception"), number
        if number == limits.turns:
            return "survived", number
    return "undecided", len(guesses)


def judge(game: Game, limits: Limits) -> Verdict:
    """Return what becomes of a recorded game: a fault counts in a turn that is played.

    Other keywords count in any turn, as two games then have one name.
    """
    how, last = ending([(row.code, row.bob, row.eve) for row in game.rows], limits)
    played = [turn for turn in game.faults if turn <= last]
    named = [n for n, row in enumerate(game.rows, 1) if row.written.get("spoilt")]
    if named:
        return Verdict("", 0, min(named))
    return Verdict(how, last, min(played)) if played else Verdict(how, last)


def make_games(rng: random.Random, count: int, faulty: float) -> list[Game]:
    """Return random games: some broken off, some played on past their end, some with a fault."""
    return [_make_game(rng, f"g{number}", faulty) for number in range(count)]


def _make_game(rng: random.Random, name: str, faulty: float) -> Game:
    game = Game(name)
    codes = rng.sample(CODES, rng.randint(1, 12))
    keywords = rng.sample(["river", "violin", "bread", "winter", "engine", "sugar"], 4)
    skill, luck, odd = rng.random(), rng.random() ** 2, rng.choice((0.0, 0.1, 0.5))
    for code in codes:
        bob, eve = (_guess(rng, code, share, odd) for share in (skill, luck))
        written = {
            "game": name,
            "keywords": keywords,
            "code": _spell(rng, code),
            "hints": [f"hint {word}" for word in rng.sample(["one", "two", "six", "ten"], 3)],
            "bob": _spell(rng, bob),
            "eve": _spell(rng, eve),
        }
        game.rows.append(Row(code, bob, eve, written))
    if rng.random() < faulty:
        _spoil(rng, game)
    return game


def _guess(rng: random.Random, code: tuple[int, ...], right: float, odd: float) -> Guess:
    if rng.random() < odd:
        return None
    return code if rng.random() < right else rng.choice(CODES)


def _spell(rng: random.Random, guess: Guess) -> str:
    return rng.choice(NO_CODES) if guess is None else rng.choice(SPELT).format(*guess)


def _spoil(rng: random.Random, game: Game) -> None:
    """Put one fault into a turn; other keywords spoil a game even where they come after its end."""
    fault, turn = rng.choice(FAULTS), rng.randint(1, len(game.rows))
    written = game.rows[turn - 1].written
    if fault == "code":
        written["code"] = rng.choice(NO_CODES)
    elif fault == "no hint":
        written["hints"][rng.randrange(3)] = " "
    elif turn == 1:
        return
    elif fault == "code twice":
        written["code"] = game.rows[rng.randrange(turn - 1)].written["code"]
    else:
        written["keywords"] = [*written["keywords"][:3], "other"]
        written["spoilt"] = True
    game.faults.append(turn)


def written_as(rng: random.Random, games: list[Game], form: str) -> str:
    """Return games as a plain list of turns, those of different games mixed."""
    waiting = [[dict(row.written) for row in game.rows] for game in games]
    rows: list[dict[str, Any]] = []
    first = [turns.pop(0) for turns in waiting]  # games come in their order
    rows += first
    while any(waiting):
        rows.append(rng.choice([turns for turns in waiting if turns]).pop(0))
    for row in rows:
        row.pop("spoilt", None)
    if form == "json":
        return json.dumps([{**row, "bob": _loose(rng, row["bob"])} for row in rows])
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for row in rows:
        fields = [row["game"], *row["keywords"], row["code"], *row["hints"], row["bob"], row["eve"]]
        writer.writerow(fields)
    return file.getvalue()


def _loose(rng: random.Random, text: str) -> Any:
    """Return a guess as JSON may have it too: null, a number, a list."""
    if text == "":
        return rng.choice(("", None))
    if text.isdigit() and rng.random() < 0.5:
        return rng.choice((int(text), [int(c) for c in text])) if text[0] != "0" else text
    return text


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Return the ends of Wilson's 95 % interval of a share."""
    z, p = 1.959963984540054, hits / count
    middle = p + z * z / (2 * count)
    half = z * math.sqrt(p * (1 - p) / count + z * z / (4 * count * count))
    return (middle - half) / (1 + z * z / count), (middle + half) / (1 + z * z / count)
