"""Games that were played elsewhere, as JSON lines: read, and checked before any rule."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.resources import read_text
from tomeval.domains.arena.games import textarena_kind
from tomeval.domains.arena.kinds import Kind
from tomeval.domains.arena.wording import Wording


def _printable(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise ValueError
    return name


Name = Annotated[str, AfterValidator(_printable)]


class Fields(BaseModel):
    """The fields of a line; docs/arena/trajectories.md says what they mean."""

    model_config = ConfigDict(strict=True)
    game: str = Field(description="an id of TextArena")
    episode: str | int = Field(description="a text or a whole number")
    step: int = Field(ge=0, description="a whole number from 0")
    seat: int = Field(ge=0, description="a whole number from 0")
    action: str = Field(description="a text")
    observation: str | None = Field(None, description="a text or null")
    reward: FiniteFloat | None = Field(None, description="a number or null")
    rewards: list[FiniteFloat] | None = Field(
        None, description="a list of numbers by seat, or null"
    )
    player: Name | None = Field(None, description="a printable name or null")
    players: list[Name] | None = Field(
        None, description="a list of printable names by seat, or null"
    )
    deal: Any = None


FIELDS = tuple(Fields.model_fields)


@dataclass(frozen=True)
class Line:
    """One action of one seat: where it stands in which file, and its fields under our names."""

    file: Path
    number: int
    data: Fields

    def wrong(self, name: str, what: str) -> TomevalError:
        """Return the error for a field."""
        return TomevalError(f"{self.file}, line {self.number}, {name}: {what}")


@dataclass(frozen=True)
class Match:
    """One game of the file.

    Attributes
    ----------
    name : str
    game : str
        TextArena's id without additions.
    kind : Kind
        Our game.
    wording : Wording
        How its players write.
    raw : bool
        Whether TextArena's wrappers were left out.
    seats : int
    players : tuple of str
        By seat.
    rewards : tuple of float
        By seat; NaN where the file does not say.
    deal
        As the file gives it, or None.
    lines : list of Line
    """

    name: str
    game: str
    kind: Kind
    wording: Wording
    raw: bool
    seats: int
    players: tuple[str, ...]
    rewards: tuple[float, ...]
    deal: Any
    lines: list[Line]


@dataclass(frozen=True)
class Left:
    """A match, or rows whose match cannot be told, that was left out, and why."""

    name: str
    rows: int
    why: str


def read_trajectories(
    path: Path, *, columns: Mapping[str, str] | None = None, skip_bad: bool = False
) -> tuple[list[Match], list[Left]]:
    """Read a file of trajectories.

    Parameters
    ----------
    columns : mapping, optional
        The file's own names of our fields.
    skip_bad : bool
        Leave out matches that cannot be read, with their first fault, instead of stopping there.

    Raises
    ------
    TomevalError
        The file cannot be read, or the first fault that it has: file, line, field, value.
    """
    matches: list[Match] = []
    left: list[Left] = []
    games: dict[tuple[Any, str], list[Line | TomevalError]] = {}
    for key, line in _read_lines(path, columns or {}):
        if isinstance(line, TomevalError) and not skip_bad:
            raise line
        if key is None:
            left.append(Left("", 1, str(line)))
        else:
            games.setdefault(key, []).append(line)
    for (_, name), lines in games.items():
        try:
            matches.append(_match([_sound(line) for line in lines]))
        except TomevalError as error:
            if not skip_bad:
                raise
            left.append(Left(name, len(lines), str(error)))
    if not matches and not left:
        raise TomevalError(f"{path}: the file is empty")
    return matches, left


def _sound(line: Line | TomevalError) -> Line:
    if isinstance(line, TomevalError):
        raise line
    return line


def _read_lines(
    path: Path, columns: Mapping[str, str]
) -> Iterator[tuple[tuple[Any, str] | None, Line | TomevalError]]:
    """Yield what game each line is of, None where it does not say; and the line, or its fault."""
    if strangers := [name for name in columns if name not in FIELDS]:
        near = did_you_mean(strangers[0], FIELDS)
        raise TomevalError(f"unknown field {strangers[0]!r}{near}; known: {', '.join(FIELDS)}")
    texts = read_text(path).split("\n")
    theirs = {ours: columns.get(ours, ours) for ours in FIELDS}
    for number, text in enumerate(texts, 1):
        if not text.strip():
            continue
        where = f"{path}, line {number}"
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            why = getattr(error, "msg", "nested too deeply")
            yield None, TomevalError(f"{where}: not valid JSON ({why})")
            continue
        if not isinstance(data, dict):
            yield None, TomevalError(f"{where}: not a JSON object")
            continue
        named = {ours: data[name] for ours, name in theirs.items() if name in data}
        game, episode = named.get("game"), named.get("episode")
        told = isinstance(game, str) and (isinstance(episode, str) or type(episode) is int)
        try:
            line: Line | TomevalError = Line(path, number, Fields(**named))
        except ValidationError as error:
            line = _fault(where, error, data, theirs)
        yield ((game, str(episode)) if told else None), line


def _fault(
    where: str, error: ValidationError, data: Mapping[str, Any], theirs: Mapping[str, str]
) -> TomevalError:
    """Return what is wrong with a line by itself: a field that is missing, or has a wrong value."""
    faults = error.errors(include_url=False, include_context=False)
    wrong = min(faults, key=lambda one: one["type"] != "missing")
    name = str(wrong["loc"][0])
    if wrong["type"] == "missing":
        near = did_you_mean(theirs[name], [key for key in data if key not in FIELDS])
        return TomevalError(f"{where}: has no field {theirs[name]!r}{near}")
    shown = json.dumps(data[theirs[name]])[:60]
    what = Fields.model_fields[name].description
    return TomevalError(f"{where}, {theirs[name]}: {shown} is not {what}")


def _match(lines: list[Line]) -> Match:
    """Return the lines of one game as a match, checked as far as that goes without its rules."""
    first, start = lines[0], lines[0].data.step
    name = str(first.data.episode)
    kind, wording, game, raw = textarena_kind(first.data.game, f"{first.file}, line {first.number}")
    for number, line in enumerate(lines, start):
        if line.data.step != number or start > 1:
            wanted = "0 or 1" if line is first else str(number)
            text = f"{line.data.step} where {wanted} was expected in game {name!r}"
            raise line.wrong("step", text)
    deals = [line for line in lines if line.data.deal is not None]
    deal = deals[0].data.deal if deals else None
    if other := [line for line in deals if line.data.deal != deal]:
        raise other[0].wrong("deal", f"differs from that of line {deals[0].number}")
    seats = _seats(game, wording, lines)
    for line in lines:
        if line.data.seat >= seats:
            text = f"{line.data.seat} in a game with seats 0 to {seats - 1}"
            raise line.wrong("seat", text)
        for field, what in (("players", "names"), ("rewards", "numbers")):
            listed = getattr(line.data, field)
            if listed is not None and len(listed) != seats:
                raise line.wrong(field, f"{len(listed)} {what} in a game of {seats} seats")
    players, rewards = _players(lines, seats), _rewards(lines, seats)
    return Match(name, game, kind, wording, raw, seats, players, rewards, deal, lines)


def _seats(game: str, wording: Wording, lines: list[Line]) -> int:
    """Return the number of seats: the game's, or as many as a list of the file or a seat tells."""
    known = wording.seats
    if len(known) == 1:
        return known[0]
    for line in lines:
        for name in ("players", "rewards", "deal"):
            listed = getattr(line.data, name)
            if isinstance(listed, list) and len(listed) not in known:
                text = f"{len(listed)} seats; {game} has {known[0]} to {known[-1]}"
                raise line.wrong(name, text)
            if isinstance(listed, list):
                return len(listed)
    for line in lines:
        if shown := re.search("Players: (.*)", line.data.observation or ""):
            seats = shown[1].count("Player ")
            if seats not in known:
                raise lines[0].wrong("observation", f"lists {seats} players")
            return seats
    text = "does not say how many seats there are; give 'players'"
    raise lines[0].wrong("observation", text)


def _players(lines: list[Line], seats: int) -> tuple[str, ...]:
    """Return names by seat, which must be the same on every line."""
    names: dict[int, str] = {}
    for line in lines:
        said = [("players", seat, name) for seat, name in enumerate(line.data.players or ())]
        if line.data.player is not None:
            said.append(("player", line.data.seat, line.data.player))
        for source, seat, name in said:
            if names.setdefault(seat, name) != name:
                raise line.wrong(source, f"{name!r}, but seat {seat} was {names[seat]!r}")
    return tuple(names.get(seat, f"seat {seat}") for seat in range(seats))


def _rewards(lines: list[Line], seats: int) -> tuple[float, ...]:
    """Return the final reward of every seat; NaN where the file does not say.

    That is its last line's `reward`; earlier ones are null, 0, or the same. `rewards` says it for
    all seats.
    """
    last = {line.data.seat: line.data.reward for line in lines}
    for line in lines:
        seat, reward = line.data.seat, line.data.reward
        if reward is not None and reward not in (0, last[seat]):
            ends = "none" if last[seat] is None else format(last[seat], "g")
            text = f"{reward:g}, but the last line of seat {seat} has {ends}"
            raise line.wrong("reward", text)
    final = {seat: reward for seat, reward in last.items() if reward is not None}
    for line in lines:
        for seat, reward in enumerate(line.data.rewards or ()):
            if final.setdefault(seat, reward) != reward:
                text = f"{reward:g} for seat {seat}, but it has {final[seat]:g}"
                raise line.wrong("rewards", text)
    if not final:
        raise lines[-1].wrong("reward", "no line of this game has one: did it end?")
    return tuple(final.get(seat, math.nan) for seat in range(seats))
