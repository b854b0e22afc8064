"""A game of one person with scripted players or language models, at the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE
from tomeval.core.printing import Console
from tomeval.games.arena.cells import SUBJECT, ArenaCell
from tomeval.games.arena.named_games import named_game
from tomeval.games.arena.players import RANDOM
from tomeval.games.arena.seating import table_of
from tomeval.games.arena.terminal import HumanSeat
from tomeval.games.play import play_game
from tomeval.games.played import PlayedGame
from tomeval.games.seated.session import at_the_terminal, persons_chair
from tomeval.models.base import Model
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

    async def play(models: Mapping[str, Model]) -> PlayedGame:
        table = table_of(cell, episode, models, lambda: None)
        person = HumanSeat(persons_chair(seat, deal), console, prompts)
        table.players = [person, *table.players[1:]]
        return await play_game(table, episode, deal)

    played = at_the_terminal(cell, SUBJECT, play, console, cell.scores)
    if played is not None:
        for line in _ending(cell, played):
            console.say(line)
    return played


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


def _ending(cell: ArenaCell, played: PlayedGame) -> list[str]:
    """Return how a game ended, and who sat where."""
    game = cell.game
    if played.status != COMPLETE:
        broke = [d for d in played.decisions if d.verdict == "invalid"]
        why = "".join(f" {game.seat_name(d.seat)}, {d.kind}: {d.error.text}." for d in broke[:1])
        return [f"\nThe game cannot continue.{why}"]
    meaning = cell.table.kind.endings.get(played.ending, played.ending.replace("_", " "))
    lines = [f"\nThe game is over: {meaning}."]
    for slot, seat in sorted(enumerate(played.seats), key=lambda pair: pair[1]):
        who = "you" if slot == 0 else cell.players[slot].name
        role = f", {played.roles[seat]}" if len(set(played.roles)) > 1 else ""
        reward, win = played.rewards[seat], played.wins[seat]
        lines.append(f"  {game.seat_name(seat)} ({who}{role}): reward {reward:g}, win {win:g}")
    return lines
