"""A game of one person with scripted players or language models, at the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.printing import Console
from tomeval.games.arena.cells import SUBJECT, ArenaCell
from tomeval.games.arena.named_games import named_game
from tomeval.games.arena.players import RANDOM
from tomeval.games.arena.seating import table_of
from tomeval.games.llm.scene import SeatScene
from tomeval.games.people.session import play_person, say_ending
from tomeval.games.played import PlayedGame
from tomeval.runs.experiment import make_experiment
from tomeval.strategies.templates import load_prompts

PERSON = "person"


def play_session(
    game: str,
    others: Sequence[str],
    console: Console,
    *,
    seat: int = 0,
    deal: int = 0,
    settings: Mapping[str, Any] | None = None,
    rules: Mapping[str, Any] | None = None,
    strategy: str = "QA",
) -> PlayedGame | None:
    """Play one game with a person in a seat.

    Parameters
    ----------
    game : str
        A kind of game.
    others : sequence of str
        Kinds of scripted players, or models; one for all other seats, or one for each.
    seat : int
        The person's.
    deal : int
        Which game of the seed, from 0: it decides what is dealt.
    settings : mapping, optional
        Further keys of `ArenaExperiment`, such as ``seed``.
    rules : mapping, optional
        Parameters of the game, and ``preset``.
    strategy : str
        Of language models.

    Returns
    -------
    PlayedGame or None
        None if the game was broken off.
    """
    names = list(others) or [_usual(game, rules or {})]
    tables = {name: _table(name, strategy) for name in names}
    data = {
        **(settings or {}),
        "domain": "arena",
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
    prompts = load_prompts("arena", cell.experiment.prompts, cell.experiment.base)
    _, seats = cell.seated(episode)
    played = PlayedGame(episode, deal, seats)
    over = play_person(
        *(cell, SUBJECT, SeatScene(prompts, cell.game, seat)),
        *(lambda models: table_of(cell, episode, models, lambda: None), played, console),
    )
    if over:
        names = ["you", *(player.name for player in cell.players[1:])]
        say_ending(cell.game, played, names, cell.table.kind.endings, console)
    return played if over else None


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
