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


class Line(BaseModel):
    """One action of one seat; docs/arena/trajectories.md says what the fields mean."""

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
    _place: tuple[Path, int]  # file and line

    def wrong(self, name: str, what: str) -> TomevalError:
        """Return the error for a field."""
        return TomevalError(f"{self.where}, {name}: {what}")

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return "{}, line {}".format(*self._place)

    @property
    def number(self) -> int:
        """The line, from 1."""
        return self._place[1]


@dataclass(frozen=True)
class Match:
    """One game of the file: its lines, what it is played by, and who sits where."""

    game: str  # TextArena's id without additions
    kind: Kind  # our game
    wording: Wording  # how its players write
    raw: bool  # whether TextArena's wrappers were left out
    players: tuple[str, ...]  # by seat
    lines: list[Line]

    @property
    def name(self) -> str:
        """What the file calls it."""
        return str(self.lines[0].episode)

    @property
    def deal(self) -> Any:
        """As the file gives it, or None."""
        return next((line.deal for line in self.lines if line.deal is not None), None)


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
            games.setdefault((line.game, str(line.episode)), []).append(line)
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
    line = read_table(Line, data, where)
    line._place = path, number
    return line


def _match(lines: list[Line]) -> Match:
    """Return the lines of one game as a match, checked as far as that goes without its rules."""
    first, start = lines[0], lines[0].step
    kind, wording, game, raw = textarena_kind(first.game, first.where)
    for number, line in enumerate(lines, start):
        if line.step != number or start > 1:
            wanted = "0 or 1" if line is first else str(number)
            text = f"{line.step} where {wanted} was expected in game {str(first.episode)!r}"
            raise line.wrong("step", text)
    said = next((line for line in lines if line.rewards), None)
    if said is None:
        raise lines[-1].wrong("rewards", "no line of this game has them: did it end?")
    seats, known = len(said.rewards or ()), wording.seats
    if seats not in known:
        text = f"of {seats} seats; {game} has {known[0]} to {known[-1]}"
        raise said.wrong("rewards", text)
    names = [f"seat {seat}" for seat in range(seats)]
    for line in lines:
        if line.seat >= seats:
            raise line.wrong("seat", f"{line.seat} in a game with seats 0 to {seats - 1}")
        for field, what in (("players", "names"), ("rewards", "numbers")):
            listed = getattr(line, field)
            if listed is not None and len(listed) != seats:
                raise line.wrong(field, f"{len(listed)} {what} in a game of {seats} seats")
        names = line.players or names
    return Match(game, kind, wording, raw, tuple(names), lines)
