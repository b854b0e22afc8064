"""A game at the terminal: its models are opened, and a person can quit at any time."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE
from tomeval.core.printing import Console, QuitGame
from tomeval.core.text import ascii_signs
from tomeval.games.cells import GameCell
from tomeval.games.game import Action, ArenaGame, Ask, Broken, Form
from tomeval.games.llm.scene import SeatScene
from tomeval.games.play import play_game
from tomeval.games.played import PlayedGame
from tomeval.games.seats import Answer, Seat
from tomeval.models import open_model
from tomeval.models.base import ContextExceeded, LocalModel, Model
from tomeval.play.engine import episode_models, spec_key, started
from tomeval.play.engines import run_loop
from tomeval.strategies.templates import load_prompts

_PLAYER = re.compile(r"player\s+(?=-?\d+$)", re.IGNORECASE)
_NUMBERS = re.compile(r"(?<!\d)-?\d+|[^\s,;-]\S*")
_PARTS = re.compile(r"\s*[,;]\s*")


class HumanSeat(Seat):
    """A person: rules, events and questions are the words that language models get."""

    def __init__(self, scene: SeatScene, console: Console) -> None:
        self.scene, self.console, self._told = scene, console, 0

    def begin(self, view: Any) -> None:
        """Show the rules and what the seat was dealt."""
        self.scene.see(view)
        self.console.say(f"\n{self.scene.rules_text}\n")
        self.tell(view)

    def tell(self, view: Any) -> None:
        """Show what is new."""
        self.scene.see(view)
        for line in self.scene.lines[self._told :]:
            self.console.say(f"  {line}")
        self._told = len(self.scene.lines)

    async def observe(self, view: Any) -> tuple[dict[str, Any], ...]:
        """Show the stage that is over."""
        self.tell(view)
        return ()

    async def answer(self, view: Any, ask: Ask) -> Answer:
        """Ask until the game takes the answer."""
        form = view.game.form(view, ask)

        def parse(line: str) -> tuple[Action] | str:
            read = view.game.read(view, ask, typed(line, form))
            if isinstance(read, Broken):
                return read.text[:1].upper() + read.text[1:]
            return (read,)

        self.console.say(f"\n{self.scene.render(f'ask/{ask.kind}', view=view, ask=ask, given='')}")
        text = form.kind is str and form.size == 1 and not form.labels
        told = pages(how_to_type(form), self.scene.past, self.scene.rules_text)
        (action,) = self.console.question("> ", parse, told, may_be_empty=text)
        return Answer(action)


def pages(how: str, history: str, rules: str) -> dict[str, str]:
    """Return what a person can ask for by a word, given how an answer is typed."""
    words = "history: all that you have seen; rules: the rules again; quit: stop"
    help_ = f"  Type {how}\n  {words}"
    return {"?": help_, "help": help_, "history": history, "rules": rules}


def label_typed(line: str, labels: Iterable[str]) -> str | None:
    """Return the label that a person typed, in any case; None if it is none of them."""
    folded = {ascii_signs(label).casefold(): label for label in labels}
    return folded.get(ascii_signs(line).casefold())


def how_to_type(form: Form) -> str:
    """Return how a person writes an answer.

    Examples
    --------
    >>> how_to_type(Form("vote", str, labels=("Ann", "Bob")))
    'one of: Ann, Bob'
    >>> how_to_type(Form("allocation", int, 3))
    '3 numbers, with commas between'
    """
    if form.labels and form.size == 1:
        return f"one of: {', '.join(form.labels)}"
    what = "text" if form.kind is str else "number"
    if form.size == 1:
        return f"a {what}"
    return f"{form.size or 'all'} {what}s, with commas between"


def typed(line: str, form: Form) -> list[Any]:
    """Return the items that a person typed.

    A text alone is the whole line; several are separated by commas, or else by spaces; numbers by
    either, digits also by nothing or a dash. The case of labels does not matter, nor the word
    "Player" before a number.

    Examples
    --------
    >>> typed("5 10,5", Form("allocation", int, 3)), typed("ann", Form("vote", str, 1, ("Ann",)))
    ([5, 10, 5], ['Ann'])
    """
    if (said := label_typed(line, form.labels)) is not None:
        return form.items(said)
    if form.kind is str and form.size == 1:
        return [line]
    inner = line.strip("[](){} \t")
    if form.kind is str:
        return _PARTS.split(inner) if "," in inner else inner.split()
    parts = _NUMBERS.findall(_PLAYER.sub("", inner))
    if len(parts) == 1 < form.size and parts[0].isdecimal():
        parts = [*parts[0]]
    return [int(one) if re.fullmatch(r"-?\d{1,9}", one) else one for one in parts]


@dataclass
class Sitting:
    """A game that a person is to play."""

    cell: GameCell  # the player that it has in the person's slot stands in for the person
    slot: str
    episode: int
    played: PlayedGame = field(init=False)  # filled as the game goes
    game: ArenaGame[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.played = PlayedGame(self.episode, *self.cell.seated(self.episode))

    async def play(self, models: Mapping[str, Model], console: Console) -> None:
        """Play, given the models of the other slots."""
        table = self.cell.new_table(self.episode, models, lambda: None)
        experiment = self.cell.experiment
        prompts = load_prompts(experiment.domain, experiment.prompts, experiment.base)
        place, self.game = self.cell.slots.index(self.slot), table.game
        scenes = resolve_name(experiment.PLAYER.OPTIONS).SEAT.scenes  # what models are told
        scene = scenes(prompts, table.game, table.seats[place])
        table.players = [*table.players]
        table.players[place] = HumanSeat(scene, console)
        await play_game(table, self.episode, self.played.deal, self.played)


def play_session(sitting: Sitting, console: Console) -> bool:
    """Play a game with a person; tell whether it went on to an end, or until it could not go on."""
    cell = sitting.cell
    console.say("Type ? for help at any time.")
    asked = {slot: spec_key(spec) for slot, spec in cell.models.items() if slot != sitting.slot}
    base, scores = cell.experiment.base, cell.scores

    async def session(opened: Mapping[str, Model | LocalModel]) -> None:
        if threading.current_thread() is threading.main_thread():
            # asyncio would keep the first Ctrl-C for later, and the person waiting.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        async with started(opened) as lines:
            with episode_models(lines, asked) as mine:
                models = {seat: model.episode(0) for seat, model in mine.items()}
                await sitting.play(models, console)

    try:
        keys = set(asked.values())
        run_loop(session({k: open_model(json.loads(k), base=base, scores=scores) for k in keys}))
    except ContextExceeded as error:
        raise TomevalError(f"the game cannot continue: {error}") from None
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
    meaning = game.endings.get(played.ending, played.ending.replace("_", " "))
    console.say(f"\nThe game is over: {meaning}.")
    for slot, seat in sorted(enumerate(played.seats), key=lambda pair: pair[1]):
        role = f", {played.roles[seat]}" if len(set(played.roles)) > 1 else ""
        who = f"{game.seat_name(seat)} ({sitting.cell.names[slot]}{role})"
        console.say(f"  {who}: reward {played.rewards[seat]:g}, win {played.wins[seat]:g}")
