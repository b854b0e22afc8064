"""What to run next on a log that cannot be read as it is: all that is unclear, at once."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tomeval.core.errors import TomevalError
from tomeval.core.text import in_line
from tomeval.games.matrix.foreign import POLICIES, read_any
from tomeval.games.matrix.games import GAMES, MatrixGame, get_game
from tomeval.games.matrix.log_fields import FIELDS, INVALID, REQUIRED, UNKNOWN, WHO, Reading
from tomeval.games.matrix.partner_specs import get_partner_set

CALLED = {
    "episode": "match matchid game gameid episodeid session pair dyad",
    "step": "round roundnumber trial turn period iteration",
    "own_action": "action choice move own me ownchoice ownmove mychoice mymove decision",
    "partner_action": "opponent opponentaction opponentchoice opponentmove other otheraction "
    "otherchoice othermove partnerchoice partnermove their theirs",
    "predicted_action": "guess prediction predicted belief",
    "own_reward": "points reward payoff score earned",
    "partner": "bot strategy opponenttype partnertype policy",
    "subject": "player model agent participant person participantid subjectid playerid who id",
    "condition": "treatment group arm",
}
"""What columns are often called, without signs and capitals."""

_GAMES = {"pd": "IPD", "prisonersdilemma": "IPD", "bos": "IBS", "battleofthesexes": "IBS"}
_MOST = 12  # texts of a field that are named
Table = Sequence[Mapping[str, str]]


def proposal(path: Path, out: Path, reading: Reading) -> str:
    """Return the command to run in place of one that failed, with every option that it lacks.

    Empty if nothing is unclear, or the file is no table. What it guesses, by names of columns and
    beginnings of labels, is for the user to confirm; what it cannot guess stands in capitals.
    """
    for how in (reading, replace(reading, game=reading.game or "IPD")):  # it may tell no game
        try:
            log = read_any(path, how)
            rows = [row for _, row in log.rows]
            break
        except TomevalError:
            rows = []
    if not rows:
        return ""
    columns = {name: name for name in FIELDS if name in log.header} | dict(reading.columns)
    needed, more = list[str](), list[str]()
    every = {_plain(name): name for name in log.header}
    free = {key: name for key, name in every.items() if name not in columns.values()}
    own = {name: free.pop(key) for name in FIELDS if (key := _plain(name)) in free}
    for name in [name for name in FIELDS if name not in columns]:
        if name in ("game", "partner") and getattr(reading, name) is not None:
            continue
        calls = CALLED.get(name, "").split()
        if found := own.get(name) or next((free.pop(one) for one in calls if one in free), ""):
            columns[name] = found
            option = f"--map {shlex.quote(f'{name}={found}')}"
            (needed if name in (*REQUIRED, "game", "partner") else more).append(option)
        elif name == "partner":
            needed.append(f"--partner {UNKNOWN}")
        elif name in REQUIRED:
            needed.append("--map episode=" if name == "episode" else f"--map {name}=COLUMN")
    needed += _values(rows, columns, reading, log.games)
    if not needed or not all(len(one) <= 200 and one.isprintable() for one in needed):
        return ""  # what nobody could type would not run
    who = [next((every[one] for one in CALLED[name].split() if one in every), "") for name in WHO]
    if who[0] and reading.by is None and "subject" not in log.header:
        more.append(f"--by {shlex.quote(','.join(filter(None, who)))}")
    command = [f"tomeval import {shlex.quote(str(path))}", *_given(reading), *needed, *more]
    command += [f"--out {shlex.quote(str(out))}"] * (out != Path("runs", path.stem))
    blank = any(re.search(r"[ =](COLUMN|GAME|ACTION|PARTNER)'?$", option) for option in needed)
    head = "to say all that is unclear, run" + ", with what stands in capitals filled in" * blank
    return f"\n{head}:\n" + " \\\n  ".join(map(in_line, command))


def _values(
    rows: Table, columns: Mapping[str, str], reading: Reading, told: Mapping[str, MatrixGame]
) -> Iterator[str]:
    """Yield options for the game, and for every text that is no game, action or partner."""
    texts = {name: _texts(rows, columns.get(name, ""), reading) for name in FIELDS}
    moves = dict.fromkeys(t for name in FIELDS if name.endswith("action") for t in texts[name])
    names = {name.casefold(): game for name, game in (GAMES | dict(told)).items()}
    if reading.game is not None:
        games = [get_game(reading.game)]
    elif columns.get("game"):
        known = {text: names.get(text.casefold()) for text in texts["game"]}
        meant = {text: GAMES.get(_GAMES.get(_plain(text), "")) for text in known}
        games = [game for text in known if (game := known[text] or meant[text])]
        for text in [text for text in known if not known[text]]:
            yield _value(text, _GAMES.get(_plain(text), "GAME"))
    else:
        games = [game for game in GAMES.values() if all(_label(game, text) for text in moves)]
        yield f"--game {games[0].name if moves and len(games) == 1 else 'GAME'}"
    if len(games) != 1:
        return
    game, unread = games[0], _unread(games[0], moves, reading)
    yield from (_value(text, _label(game, text) or "ACTION") for text in unread[:_MOST])
    if not unread and _turned(game, rows, columns):
        yield from (_value(str(1 - index), game.label_set().own[index]) for index in (1, 0))
    strange = [text for text in texts["partner"] if not _plays(game, text)]
    for text in [] if reading.partner is not None else strange[:_MOST]:
        yield _value(text, POLICIES.get(text.casefold().removeprefix("act_"), "PARTNER"))


def _plain(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()


def _value(text: str, meaning: str) -> str:
    return f"--value {shlex.quote(f'{text}={meaning}')}"


def _texts(rows: Table, column: str, reading: Reading) -> list[str]:
    """Return the texts of a column that are given no meaning."""
    known = {INVALID, UNKNOWN, "", *map(str.casefold, reading.values)}
    texts = dict.fromkeys(row.get(column, "").strip() for row in rows)
    return [text for text in texts if text.casefold() not in known]


def _label(game: MatrixGame, text: str) -> str:
    """Return the label that begins as a text does, if it is the only one."""
    labels = dict.fromkeys([*game.label_set().own, *game.label_set().partner])
    found = [label for label in labels if label.casefold().startswith(text.casefold())]
    return found[0] if len(found) == 1 else ""


def _unread(game: MatrixGame, moves: Iterable[str], reading: Reading) -> list[str]:
    """Return moves that are no labels; numbers too, where one of them is no index: 1 and 2."""
    sets = [game.label_set(reading.labels)] if reading.labels else [*game.labels.values()]
    labels = {label.casefold() for one in sets for label in (*one.own, *one.partner)}
    strange = [text for text in moves if text.casefold() not in labels]
    indices = {str(index) for index in range(max(game.n, game.m))}
    numbers = [text for text in strange if text.removesuffix(".0").isdecimal()]
    fit = all(text.removesuffix(".0") in indices for text in numbers)
    return [text for text in strange if not (fit and text in numbers)]


def _turned(game: MatrixGame, rows: Table, columns: Mapping[str, str]) -> bool:
    """Tell whether rewards fit 0 as the second of two actions and 1 as the first, and not so."""
    names = [columns.get(name, "") for name in ("own_action", "partner_action", "own_reward")]
    told = ([row.get(name, "").strip().replace(",", ".") for name in names] for row in rows)
    paid = [one for one in told if re.fullmatch(r"[01] [01] -?\d+(\.\d+)?", " ".join(one))]
    fits = [
        all(abs(game.own[int(a) ^ k, int(b) ^ k] - float(x)) < 1e-9 for a, b, x in paid)
        for k in (0, 1)
    ]
    return game.payoffs.shape == (2, 2, 2) and fits == [False, True]


def _plays(game: MatrixGame, text: str) -> bool:
    if ".toml" in text.casefold() or "{" in text:  # a log opens no other file
        return False
    try:
        return bool(get_partner_set(text if ":" in text else text.casefold(), game))
    except TomevalError:
        return False


def _given(reading: Reading) -> Iterator[str]:
    """Yield the options that were given."""
    for name in ("game", "partner", "labels"):
        if isinstance(value := getattr(reading, name), str | Path):
            yield f"--{name} {shlex.quote(str(value))}"
    for name, pairs in (("map", reading.columns), ("value", reading.values)):
        yield from (f"--{name} {shlex.quote(f'{key}={value}')}" for key, value in pairs.items())
    if reading.by is not None:
        yield f"--by {shlex.quote(','.join(reading.by))}"
    yield from ["--skip-bad"] * reading.skip_bad
