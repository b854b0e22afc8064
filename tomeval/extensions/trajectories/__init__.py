"""Games that TextArena played elsewhere, in MindGames' shape, as runs of the arena."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from tomeval.core.errors import unknown
from tomeval.core.files import first_line
from tomeval.core.parts import CommandPart
from tomeval.core.printing import show, tell
from tomeval.extensions.trajectories.file import Match, read_trajectories
from tomeval.extensions.trajectories.judging import judged
from tomeval.games.arena.cells import slot_name
from tomeval.games.played import PlayedGame
from tomeval.games.records import as_record
from tomeval.report.facts import counted
from tomeval.runs.recorded import Recorded


def import_(
    games: Annotated[
        Path, typer.Argument(help="Trajectories as JSON lines, see docs/arena/trajectories.md.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The run folder to make. Default: runs/ and the file's name."),
    ] = None,
    subject: Annotated[
        str,
        typer.Option(
            "--subject", help="The player who is measured. Default: whoever has the first seat."
        ),
    ] = "",
) -> None:
    """Make a run folder from games played in TextArena."""
    from tomeval.extensions.trajectories import recorded_games
    from tomeval.runs.domain import get_domain
    from tomeval.runs.recorded import import_games

    folder = out or Path("runs") / games.stem
    recorded = import_games(get_domain("arena"), partial(recorded_games, games, subject), folder)
    for note in recorded.notes:
        tell(note)
    show(folder)


def _are_actions(name: str) -> bool:
    line = first_line(Path(name)) if name.endswith(".jsonl") else ""
    return '"seat"' in line and '"action"' in line


IMPORT = CommandPart(import_, _are_actions)


SEED = 0
"""The seed of recorded line-ups: they have none, and it has to be the same in all of them."""


def recorded_games(path: Path, subject: str = "") -> Recorded:
    """Read a file of trajectories; see `tomeval.runs.recorded.Recorded`.

    Parameters
    ----------
    subject : str
        The player who is measured in every game that it plays; in all others, and by default, that
        is the player in the first seat.
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
    steps = sum(len(game.decisions) for _, games in lineups.values() for game in games)
    counts = (len(matches), "game"), (steps, "decision"), (len(lineups), "line-up")
    note = f"{path.name}: {', '.join(counted(*each) for each in counts)}"
    return Recorded(
        [
            (said, [as_record(game, slot_name) for game in games])
            for said, games in lineups.values()
        ],
        [note],
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
        "seed": SEED,
        "matches": [],
        "deals": [],
    }
