"""A game at the terminal: its models are opened, and a person can quit at any time."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE
from tomeval.core.printing import Console, QuitGame
from tomeval.games.llm.scene import SeatScene
from tomeval.games.people.terminal import HumanSeat
from tomeval.games.play import Table, play_game
from tomeval.games.played import PlayedGame
from tomeval.models import open_model
from tomeval.models.base import ContextExceeded, LocalModel, Model
from tomeval.play.engine import spec_key, started
from tomeval.play.engines import run_loop


@dataclass
class Sitting:
    """A game that a person is to play.

    Attributes
    ----------
    cell : Cell
        The player that it has in the person's seat stands in for the person.
    slot : str
        What the cell calls the person's place.
    scene : SeatScene
        What the person is told.
    played : PlayedGame
        Filled as the game goes.
    table_of : callable
        Returns the table, given the models by slot; each is opened once.
    names : sequence of str
        Who plays, by slot.
    endings : mapping of str to str
        What the words of `ArenaGame.ending` mean.
    """

    cell: Any
    slot: str
    scene: SeatScene
    played: PlayedGame
    table_of: Callable[[Mapping[str, Model]], Table]
    names: Sequence[str]
    endings: Mapping[str, str]


def play_session(sitting: Sitting, console: Console) -> bool:
    """Play a game with a person; tell whether it went on to an end, or until it could not go on."""
    scene, played, cell = sitting.scene, sitting.played, sitting.cell

    async def play(models: Mapping[str, Model]) -> PlayedGame:
        table = sitting.table_of(models)
        table.players = [*table.players]
        table.players[table.seats.index(scene.seat)] = HumanSeat(scene, console)
        return await play_game(table, played.index, played.deal, played)

    console.say("Type ? for help at any time.")
    specs = {slot: spec for slot, spec in cell.models.items() if slot != sitting.slot}
    try:
        _with_models(specs, play, cell.experiment.base, cell.scores)
    except (QuitGame, KeyboardInterrupt):
        console.say("\nThe game was not finished.")
        return False
    _say_ending(sitting, console)
    return True


def _say_ending(sitting: Sitting, console: Console) -> None:
    """Print how a game ended, and who had which seat."""
    game, played = sitting.scene.game, sitting.played
    if played.status != COMPLETE:
        broke = [d for d in played.decisions if d.verdict == "invalid"]
        why = "".join(f" {game.seat_name(d.seat)}, {d.kind}: {d.error.text}." for d in broke[:1])
        console.say(f"\nThe game cannot continue.{why}")
        return
    meaning = sitting.endings.get(played.ending, played.ending.replace("_", " "))
    console.say(f"\nThe game is over: {meaning}.")
    for slot, seat in sorted(enumerate(played.seats), key=lambda pair: pair[1]):
        role = f", {played.roles[seat]}" if len(set(played.roles)) > 1 else ""
        who = f"{game.seat_name(seat)} ({sitting.names[slot]}{role})"
        console.say(f"  {who}: reward {played.rewards[seat]:g}, win {played.wins[seat]:g}")


def _with_models(
    specs: Mapping[str, Any],
    play: Callable[[Mapping[str, Model]], Awaitable[PlayedGame]],
    base: Any,
    scores: bool,
) -> PlayedGame:
    """Play one game, given the models of its seats."""
    asked = {seat: spec_key(spec) for seat, spec in specs.items()}
    opened: dict[str, Model | LocalModel] = {
        key: open_model(json.loads(key), base=base, scores=scores) for key in set(asked.values())
    }

    async def session() -> PlayedGame:
        if threading.current_thread() is threading.main_thread():
            # asyncio would keep the first Ctrl-C for later, and the person waiting.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        async with started(opened) as lines:
            with lines.episode(list(asked.values())) as mine:
                return await play({seat: mine[key].episode(0) for seat, key in asked.items()})

    try:
        return run_loop(session())
    except ContextExceeded as error:
        raise TomevalError(f"the game cannot continue: {error}") from None
