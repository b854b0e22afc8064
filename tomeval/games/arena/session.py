"""A game of one person with scripted players or language models, at the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.games.arena.cells import SUBJECT, ArenaCell
from tomeval.games.arena.named_games import named_game
from tomeval.games.arena.players import RANDOM
from tomeval.games.people.session import Sitting
from tomeval.runs.experiment import make_experiment

PERSON = "person"


def sit(
    game: str,
    others: Sequence[str] = (),
    seat: int = 0,
    deal: int = 0,
    *,
    seed: int = 0,
    rules: Mapping[str, Any] | None = None,
    strategy: str = "QA",
) -> Sitting:
    """Return a game with a person in a seat.

    Parameters
    ----------
    game : str
        A kind of game.
    others : sequence of str
        Kinds of scripted players, or models; one for all other seats, or one for each.
    deal : int
        Which game of the seed, from 0: it decides what is dealt.
    rules : mapping, optional
        Parameters of the game, and ``preset``.
    strategy : str
        Of language models.
    """
    names = list(others) or [_usual(game, rules or {})]
    tables = {name: _table(name, strategy) for name in names}
    data = {
        "domain": "arena",
        "seed": seed,
        "games": {game: {"game": game, **(rules or {})}},
        "players": {**tables, PERSON: {"kind": RANDOM}},
        "lineups": [
            {"game": game, "subject": PERSON, "others": names[0] if len(names) == 1 else [names]}
        ],
        "probes": False,
        "values": False,
    }
    cell = make_experiment(data, base=Path(), where="play").cells[0]
    assert isinstance(cell, ArenaCell)
    episode = _episode(cell, seat, deal)
    return Sitting(cell, SUBJECT, episode, ["you", *cell.names[1:]], cell.table.kind.endings)


def _usual(game: str, rules: Mapping[str, Any]) -> str:
    """Return the first scripted player of a game that can play it without options."""
    table = named_game(game, {"game": game, **rules}, "play")
    for name, policy in table.kind.policies.items():
        try:
            policy().fits(table.game)
        except (TypeError, TomevalError):  # it needs options, or other parameters of the game
            continue
        return name
    raise TomevalError(f"every player of {game} needs options: name one with --other")


def _table(name: str, strategy: str) -> dict[str, Any]:
    """Return a player's table: a model if the name is one, such as ``hf:NAME``, else a kind."""
    if ":" in name:
        return {"model": name, "strategy": strategy}
    return {"kind": name}


def _episode(cell: ArenaCell, seat: int, deal: int) -> int:
    """Return the episode that plays a deal with the person in a seat."""
    seats = [rotation[0] for rotation in cell.game.rotations]
    if seat not in seats:
        names = ", ".join(f"{s} ({cell.game.seat_name(s)})" for s in sorted(set(seats)))
        raise TomevalError(f"--seat {seat}: no such seat; the seats are {names}")
    return deal * len(seats) + seats.index(seat)
