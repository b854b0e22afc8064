"""Games that were played elsewhere, as JSON lines: read, and checked before any rule."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat

from tomeval.core.errors import TomevalError
from tomeval.core.resources import read_text
from tomeval.games.arena.named_games import Kind, textarena_kind
from tomeval.games.arena.wording import Wording
from tomeval.runs.experiment import read_table


def _printable(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise ValueError(f"must be a printable name, is {name!r}")
    return name


Name = Annotated[str, AfterValidator(_printable)]


class Fields(BaseModel):
    """The fields of a line; docs/arena/trajectories.md says what they mean."""

    model_config = ConfigDict(strict=True)
    game: str
    episode: str | int
    step: int = Field(ge=0)
    seat: int = Field(ge=0)
    action: str
    observation: str | None = None
    rewards: list[FiniteFloat] | None = None
    players: list[Name] | None = None
    deal: Any = None


@dataclass(frozen=True)
class Line:
    """One action of one seat: where it stands in which file, and its fields."""

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
    rewards : list of (Line, int, float)
        What the file says of final rewards: where, of which seat, how much.
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
    rewards: list[tuple[Line, int, float]]
    deal: Any
    lines: list[Line]


def read_trajectories(path: Path) -> list[Match]:
    """Read a file of trajectories.

    Raises
    ------
    TomevalError
        The file cannot be read or is empty, or the first fault that it has: file, line, field,
        value.
    """
    games: dict[tuple[str, str], list[Line]] = {}
    for number, text in enumerate(read_text(path).split("\n"), 1):
        if text.strip():
            line = _line(path, number, text)
            games.setdefault((line.data.game, str(line.data.episode)), []).append(line)
    if not games:
        raise TomevalError(f"{path}: the file is empty")
    return [_match(lines) for lines in games.values()]


def _line(path: Path, number: int, text: str) -> Line:
    """Return a line of the file, whose fields are checked one by one."""
    where = f"{path}, line {number}"
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        why = getattr(error, "msg", "nested too deeply")
        raise TomevalError(f"{where}: not valid JSON ({why})") from None
    if not isinstance(data, dict):
        raise TomevalError(f"{where}: not a JSON object")
    return Line(path, number, read_table(Fields, data, where))


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
    said = [line for line in lines if line.data.rewards]
    if not said:
        raise lines[-1].wrong("rewards", "no line of this game has them: did it end?")
    seats, known = len(said[0].data.rewards or ()), wording.seats
    if seats not in known:
        text = f"of {seats} seats; {game} has {known[0]} to {known[-1]}"
        raise said[0].wrong("rewards", text)
    names = tuple(f"seat {seat}" for seat in range(seats))
    for line in lines:
        if line.data.seat >= seats:
            text = f"{line.data.seat} in a game with seats 0 to {seats - 1}"
            raise line.wrong("seat", text)
        for field, what in (("players", "names"), ("rewards", "numbers")):
            listed = getattr(line.data, field)
            if listed is not None and len(listed) != seats:
                raise line.wrong(field, f"{len(listed)} {what} in a game of {seats} seats")
        names = tuple(line.data.players or names)
    rewards = [
        (line, seat, reward) for line in said for seat, reward in enumerate(line.data.rewards or ())
    ]
    deal = next((line.data.deal for line in lines if line.data.deal is not None), None)
    return Match(name, game, kind, wording, raw, seats, names, rewards, deal, lines)
