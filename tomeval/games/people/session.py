"""A game at the terminal: its models are opened, and a person can quit at any time."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE
from tomeval.core.printing import Console, QuitGame
from tomeval.games.cells import GameCell
from tomeval.games.game import ArenaGame
from tomeval.games.llm.scene import SeatScene
from tomeval.games.people.terminal import HumanSeat
from tomeval.games.play import play_game
from tomeval.games.played import PlayedGame
from tomeval.models import open_model
from tomeval.models.base import ContextExceeded, LocalModel, Model
from tomeval.play.engine import episode_models, spec_key, started
from tomeval.play.engines import run_loop
from tomeval.strategies.templates import load_prompts


@dataclass
class Sitting:
    """A game that a person is to play.

    Attributes
    ----------
    cell : GameCell
        The player that it has in the person's slot stands in for the person.
    slot : str
    episode : int
    names : sequence of str
        Who plays, by slot.
    endings : mapping of str to str
        What the words of `ArenaGame.ending` mean.
    scenes : type of SeatScene
        What the person is told.
    played : PlayedGame
        Filled as the game goes.
    """

    cell: GameCell
    slot: str
    episode: int
    names: Sequence[str]
    endings: Mapping[str, str]
    scenes: type[SeatScene] = SeatScene
    played: PlayedGame = field(init=False)
    game: ArenaGame[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.played = PlayedGame(self.episode, *self.cell.seated(self.episode))

    async def play(self, models: Mapping[str, Model], console: Console) -> None:
        """Play, given the models of the other slots."""
        table, experiment = (
            self.cell.new_table(self.episode, models, lambda: None),
            self.cell.experiment,
        )
        prompts = load_prompts(experiment.domain, experiment.prompts, experiment.base)
        place, self.game = self.cell.slots.index(self.slot), table.game
        scene = self.scenes(prompts, table.game, table.seats[place])
        table.players = [*table.players]
        table.players[place] = HumanSeat(scene, console)
        await play_game(table, self.episode, self.played.deal, self.played)


def play_session(sitting: Sitting, console: Console) -> bool:
    """Play a game with a person; tell whether it went on to an end, or until it could not go on."""
    cell = sitting.cell
    console.say("Type ? for help at any time.")
    specs = {slot: spec for slot, spec in cell.models.items() if slot != sitting.slot}
    try:
        _with_models(
            specs, lambda models: sitting.play(models, console), cell.experiment.base, cell.scores
        )
    except (QuitGame, KeyboardInterrupt):
        console.say("\nThe game was not finished.")
        return False
    _say_ending(sitting, console)
    return True


def _say_ending(sitting: Sitting, console: Console) -> None:
    """Print how a game ended, and who had which seat."""
    game, played = sitting.game, sitting.played
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
    play: Callable[[Mapping[str, Model]], Awaitable[None]],
    base: Any,
    scores: bool,
) -> None:
    """Play one game, given the models of its seats."""
    asked = {seat: spec_key(spec) for seat, spec in specs.items()}
    opened: dict[str, Model | LocalModel] = {
        key: open_model(json.loads(key), base=base, scores=scores) for key in set(asked.values())
    }

    async def session() -> None:
        if threading.current_thread() is threading.main_thread():
            # asyncio would keep the first Ctrl-C for later, and the person waiting.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        async with started(opened) as lines:
            with episode_models(lines, asked) as mine:
                await play({seat: model.episode(0) for seat, model in mine.items()})

    try:
        run_loop(session())
    except ContextExceeded as error:
        raise TomevalError(f"the game cannot continue: {error}") from None
