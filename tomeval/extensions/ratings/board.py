"""The board of a league: every game weighs the same, and who reads roles stands beside who wins."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.records import Records, Row, games_of, players_of, share
from tomeval.domains.arena.results import ArenaRunCell
from tomeval.runs.columns import flat_share
from tomeval.runs.domain import Rows
from tomeval.runs.results import Run
from tomeval.statistics.shares import clustered_sums

MAFIA = "mafia"
"""The game, its probe and its role of this name."""

ENDS = ("", "_ci95_low", "_ci95_high")


class Told(NamedTuple):
    """Whether a player of the village was right about who is Mafia, and what chance would give."""

    player: str
    deal: str
    hit: float
    chance: float


def board_rows(run: Run, records: Records) -> tuple[Rows, list[str]]:
    """Return a row per player who sat in every game, best first, and notes.

    ``score`` is the mean over games of the player's share of the win, in percent, so that each game
    weighs the same however often it was played; its interval combines Wilson's of the games, which
    are independent (Zou and Donner 2008). Then the share in each game. Where Secret Mafia was
    played, ``named_percent``: which share of the Mafia the player names as one of the village when
    asked beside its decisions; ``votes_percent``: how many of its public votes as one of the
    village are for Mafia, and ``votes_chance_percent``: how many of a voter's who picks any other
    living player. Games on one deal are one unit.

    Raises
    ------
    TomevalError
        No player sat in every game with others.
    """
    games = games_of(records)
    named, voted = list(_named(run)), list(_voted(run))
    rows: Rows = []
    absent = []
    for player in players_of(records):
        shares = {game: _win_share(records, player, game) for game in games}
        if any(math.isnan(of_game["win_percent"]) for of_game in shares.values()):
            absent.append(player)
            continue
        row: Row = {"player": player, **_score(list(shares.values()))}
        for game, of_game in shares.items():
            row |= {key.replace("win_percent", f"{game}, win %"): of_game[key] for key in of_game}
        row |= _told("named_percent", [one for one in named if one.player == player])
        mine = [one for one in voted if one.player == player]
        row |= _told("votes_percent", mine)
        row["votes_chance_percent"] = (
            100 * float(np.mean([one.chance for one in mine])) if mine else math.nan
        )
        rows.append(row)
    if not rows:
        raise TomevalError(
            f"{run.folder}: no player sat in every game ({', '.join(games)}) with others"
        )
    rows.sort(key=lambda row: -row["score"])
    notes = [f"not in all games, so not on the board: {', '.join(absent)}"] if absent else []
    return rows, notes


def _win_share(records: Records, player: str, game: str) -> Row:
    """Return a player's share of the win in one game, in all its seats, in percent.

    What it plays against itself alone says nothing of it, and is left out.
    """
    seated = [
        (record, record.wins[seat])
        for record in records
        if record.game == game and record.complete and len(set(record.players)) > 1
        for seat, name in enumerate(record.players)
        if name == player
    ]
    return share([record for record, _ in seated], "win_percent", [won for _, won in seated])


def _score(shares: Sequence[Row]) -> Row:
    """Return the mean of independent shares with the interval that theirs make.

    The distance of each end from the mean is the root of the summed squares of the shares' own,
    by their number: Zou and Donner's method of variance estimates recovery.
    """
    value, low, high = (np.array([one[f"win_percent{end}"] for one in shares]) for end in ENDS)
    mean = float(value.mean())
    below = math.sqrt(float(((value - low) ** 2).sum())) / len(shares)
    above = math.sqrt(float(((high - value) ** 2).sum())) / len(shares)
    ends = {"score_ci95_low": mean - below, "score_ci95_high": mean + above}
    return {"score": mean, "score_ci95": (below + above) / 2, **ends}


def _told(name: str, told: Sequence[Told]) -> Row:
    """Return the share of right answers in percent, by deal."""
    hits = [one.hit for one in told]
    return flat_share(name, clustered_sums(hits, np.ones(len(hits)), [one.deal for one in told]))


def _cells(run: Run) -> Iterator[ArenaRunCell]:
    for cell in run.cells:
        if isinstance(cell, ArenaRunCell) and cell.table.kind.name == MAFIA:
            yield cell


def _deal(cell: ArenaRunCell, deal: Any) -> str:
    return f"{cell.seed} {deal} {cell.table.stream}"


def _named(run: Run) -> Iterator[Told]:
    """Yield whom measured players of the village named as Mafia; those who were asked."""
    for cell in _cells(run):
        played = cell.played
        answers = zip(played.probed, played.question, played.told["hit"], strict=True)
        for game, question, hit in answers:
            if question == MAFIA and np.isfinite(hit):
                yield Told(cell.player, _deal(cell, played.deal[game]), float(hit), math.nan)


def _voted(run: Run) -> Iterator[Told]:
    """Yield every public vote of a player of the village, whoever is measured.

    All who live vote at once, so that the voters of a day are who can be voted for. A vote that
    was not the player's own is none.
    """
    for cell in _cells(run):
        names = [player["name"] for player in cell.definition["players"]]
        told = cell.store.read("episodes", ("episode", "deal", "roles"), cell.number, complete=True)
        games = {episode: (deal, json.loads(roles)) for episode, deal, roles in told}
        columns = ("episode", "stage", "seat", "slot", "action", "verdict", "kind")
        rows = cell.store.read("steps", columns, cell.number, complete=True)
        votes = (row for row in rows if row[-1] == "vote")
        for (episode, _), day in groupby(votes, key=lambda row: row[:2]):
            deal, roles = games[episode]
            voters = list(day)
            living = sum(roles[row[2]] == MAFIA for row in voters)
            for _, _, seat, slot, action, verdict, _ in voters:
                if roles[seat] != MAFIA and verdict == "valid":
                    hit = float(roles[json.loads(action)] == MAFIA)
                    chance = living / (len(voters) - 1)
                    yield Told(names[slot], _deal(cell, deal), hit, chance)
