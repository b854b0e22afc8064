"""Games that TextArena played elsewhere, in MindGames' shape, as runs of the arena."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from tomeval.cli.options import NewRun
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.parts import CommandPart
from tomeval.core.printing import show
from tomeval.core.resources import read_text
from tomeval.extensions.trajectories.judging import judged
from tomeval.games.arena.cells import slot_name
from tomeval.games.arena.named_games import Kind, textarena_kind
from tomeval.games.arena.wording import Wording
from tomeval.games.played import PlayedGame
from tomeval.games.records import as_record
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import read_table
from tomeval.runs.folder import Recorded, import_games


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
    players: list[str] | None = None
    deal: Any = None
    _where: str  # file and line

    def wrong(self, name: str, what: str) -> TomevalError:
        """Return the error for a field."""
        return TomevalError(f"{self._where}, {name}: {what}")


class Match(NamedTuple):
    """One game of the file: its lines, what it is played by, and who sits where."""

    name: str  # what the file calls it
    game: str  # TextArena's id without additions
    kind: Kind  # our game
    wording: Wording  # how its players write
    raw: bool  # whether TextArena's wrappers were left out
    players: tuple[str, ...]  # by seat
    lines: list[Line]
    deal: Any  # as the file gives it, or None


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
            where = f"{path}, line {number}"
            line = read_table(Line, text, where)
            line._where = where
            games.setdefault((line.game, str(line.episode)), []).append(line)
    if not games:
        raise TomevalError(f"{path}: the file is empty")
    return [_match(lines) for lines in games.values()]


def _match(lines: list[Line]) -> Match:
    """Return the lines of one game as a match, checked as far as that goes without its rules."""
    first, start, name = lines[0], lines[0].step, str(lines[0].episode)
    kind, wording, game, raw = textarena_kind(first.game, first._where)
    for number, line in enumerate(lines, start):
        if line.step != number or start > 1:
            wanted = "0 or 1" if line is first else str(number)
            text = f"{line.step} where {wanted} was expected in game {name!r}"
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
    deal = next((line.deal for line in lines if line.deal is not None), None)
    return Match(name, game, kind, wording, raw, tuple(names), lines, deal)


def import_(
    games: Annotated[
        Path, typer.Argument(help="Trajectories as JSON lines, see docs/arena/trajectories.md.")
    ],
    out: NewRun = None,
    subject: Annotated[
        str,
        typer.Option(
            "--subject", help="The player who is measured. Default: whoever has the first seat."
        ),
    ] = "",
) -> None:
    """Make a run folder from games played in TextArena."""
    folder = out or Path("runs") / games.stem
    import_games(get_domain("arena"), partial(recorded_games, games, subject), folder)
    show(folder)


def _are_actions(name: str) -> bool:
    if not name.endswith(".jsonl"):
        return False
    line = read_text(Path(name)).partition("\n")[0]
    return '"seat"' in line and '"action"' in line


IMPORT = CommandPart(import_, _are_actions)


def recorded_games(path: Path, subject: str = "") -> Recorded:
    """Read a file of trajectories; see `tomeval.runs.folder.Recorded`.

    `subject` is measured in every game that it plays; in all others, and by default, the player in
    the first seat is.
    """
    matches = read_trajectories(path)
    known = {name for match in matches for name in match.players}
    if subject and subject not in known:
        raise unknown("player", subject, sorted(known), str(path))
    source = {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    lineups: dict[str, tuple[dict[str, Any], list[PlayedGame]]] = {}
    for deal, match in enumerate(matches):
        rules = match.kind.rules(**match.wording.parameters(match.game, len(match.players)))
        game = match.kind.make(rules)
        played, dealt = judged(match, game)
        played.deal, played.seats = deal, _slots(match, game.sides, subject)
        for decision in played.decisions:
            decision.slot = played.seats.index(decision.seat)
        names = [match.players[seat] for seat in played.seats]
        dumped = rules.model_dump(mode="json")
        key = json.dumps([match.game, dumped, names])
        if key not in lineups:
            lineups[key] = (_definition(match, dumped, names) | {"source": source}, [])
        definition, games = lineups[key]
        played.index = len(games)
        games.append(played)
        definition["episodes"] = len(games)
        definition["matches"].append(match.name)
        definition["deals"].append(dealt)
    kept = lineups.values()
    return Recorded(
        [(said, [as_record(one, slot_name) for one in games]) for said, games in kept], []
    )


def _slots(match: Match, sides: Sequence[tuple[int, ...]], subject: str) -> tuple[int, ...]:
    """Return the seats in the order of players: who is measured, its mates, the others by name.

    Where teams are dealt, as in Secret Mafia, mates are not known and count as others.
    """
    players = match.players
    first = players.index(subject) if subject in players else 0
    mates = next((team for team in sides if first in team), ())
    rest = [seat for seat in range(len(match.players)) if seat != first]
    return (first, *sorted(rest, key=lambda seat: (seat not in mates, players[seat], seat)))


def _definition(match: Match, rules: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return what a line-up is, still without games."""
    several = len(match.wording.seats) > 1
    name = f"{match.game}, {len(match.players)} players" if several else match.game
    known = {"kind": "recorded", "options": {}, "model": "", "strategy": ""}
    return {
        "game": {"name": name, "kind": match.kind.name, "rules": rules},
        "players": [{"name": player, **known} for player in names],
        "on_invalid": match.wording.policy,
        "attempts": match.wording.attempts,
        "probes": False,
        "values": False,
        "templates": "",
        "without_chance": False,
        "pool": None,
        "seed": 0,
        "matches": [],
        "deals": [],
    }
