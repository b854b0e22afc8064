"""Trajectories of games played elsewhere as a run: definitions of line-ups, and their games."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.arena.played import PlayedGame
from tomeval.domains.arena.storing import as_block
from tomeval.extensions.trajectories.file import Left, Match, read_trajectories
from tomeval.extensions.trajectories.judging import judged
from tomeval.report.facts import counted
from tomeval.runs.runner import Recorded

RECORDED = "recorded"
"""The kind of players who were recorded."""

SEED = 0
"""The seed of recorded line-ups: they have none, and it has to be the same in all of them."""


@dataclass
class _Lineup:
    """Games of the same players at the same game."""

    match: Match
    rules: dict[str, Any]
    names: tuple[str, ...]
    games: list[PlayedGame] = field(default_factory=list)
    matches: list[str] = field(default_factory=list)
    deals: list[Any] = field(default_factory=list)


def recorded_games(
    path: Path, columns: Mapping[str, str] | None = None, subject: str = "", skip_bad: bool = False
) -> Recorded:
    """Read a file of trajectories; see `tomeval.runs.runner.Recorded`.

    Parameters
    ----------
    columns : mapping, optional
        The file's own names of the fields.
    subject : str
        The player who is measured in every game that it plays; in all others, and by default, that
        is the player in the first seat.
    skip_bad : bool
        Leave out games that cannot be read, and list them.
    """
    matches, left = read_trajectories(path, columns=columns, skip_bad=skip_bad)
    known = {name for match in matches for name in match.players}
    if subject and subject not in known:
        raise unknown("player", subject, sorted(known), str(path))
    lineups: dict[str, _Lineup] = {}
    for deal, match in enumerate(matches):
        try:
            _add(lineups, match, deal, subject)
        except TomevalError as error:
            if not skip_bad:
                raise
            left.append(Left(match.name, len(match.lines), str(error)))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    source = {"file": path.name, "sha256": sha256}
    cells = [(_definition(lineup, source), as_block(lineup.games)) for lineup in lineups.values()]
    if not cells:
        raise TomevalError(f"{path}: no game can be read; the first fault: {left[0].why}")
    played = [game for lineup in lineups.values() for game in lineup.games]
    steps = sum(len(game.decisions) for game in played)
    counts = (len(played), "game"), (steps, "decision"), (len(cells), "line-up")
    note = f"{path.name}: {', '.join(counted(*each) for each in counts)}"
    return Recorded(cells, [note, *_left_lines(path, left)])


def _left_lines(path: Path, left: list[Left]) -> list[str]:
    """Return what was left out, in lines."""
    if not left:
        return []
    rows = counted(sum(one.rows for one in left), "line")
    lines = [f"left out: {counted(len(left), 'game')}, {rows} of {path.name}"]
    return lines + [
        f"  {f'game {one.name!r} ' if one.name else ''}({counted(one.rows, 'line')}): {one.why}"
        for one in left
    ]


def _add(lineups: dict[str, _Lineup], match: Match, deal: int, subject: str) -> None:
    """Judge a match and add it to its line-up."""
    rules = match.kind.rules(**match.wording.parameters(match.game, match.seats))
    game = match.kind.make(rules)
    played, dealt = judged(match, game)
    played.deal, played.seats = deal, _slots(match, game.sides, subject)
    slots = {seat: slot for slot, seat in enumerate(played.seats)}
    for decision in played.decisions:
        decision.slot = slots[decision.seat]
    names = tuple(match.players[seat] for seat in played.seats)
    dumped = rules.model_dump(mode="json")
    key = json.dumps([match.game, dumped, names])
    lineup = lineups.setdefault(key, _Lineup(match, dumped, names))
    played.index = len(lineup.games)
    lineup.games.append(played)
    lineup.matches.append(match.name)
    lineup.deals.append(dealt)


def _slots(match: Match, sides: Sequence[tuple[int, ...]], subject: str) -> tuple[int, ...]:
    """Return the seats in the order of players: who is measured, its mates, the others by name.

    Where teams are dealt, as in Secret Mafia, mates are not known and count as others.
    """
    players = match.players
    first = players.index(subject) if subject in players else 0
    mates = next((team for team in sides if first in team), ())
    rest = [seat for seat in range(match.seats) if seat != first]
    return (first, *sorted(rest, key=lambda seat: (seat not in mates, players[seat], seat)))


def _definition(lineup: _Lineup, source: dict[str, str]) -> dict[str, Any]:
    """Return what a line-up is."""
    match = lineup.match
    several = len(match.wording.seats) > 1
    name = f"{match.game}, {match.seats} players" if several else match.game
    known = {"kind": RECORDED, "options": {}, "model": "", "strategy": ""}
    return {
        "game": {"name": name, "kind": match.kind.name, "rules": lineup.rules},
        "players": [{"name": player, **known} for player in lineup.names],
        "on_invalid": match.wording.policy,
        "attempts": match.wording.attempts,
        "probes": False,
        "values": False,
        "templates": "",
        "without_chance": False,
        "episodes": len(lineup.games),
        "pool": None,
        "seed": SEED,
        "source": source,
        "matches": lineup.matches,
        "deals": lineup.deals,
    }
