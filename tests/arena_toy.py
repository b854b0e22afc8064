"""A tiny game of the arena: three seats talk in turn, then all vote at once, for two days.

One of them is secretly the fool, who alone knows it and wants votes; the others want none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tomeval.games.game import (
    NOTHING,
    UNDECIDED,
    ArenaGame,
    Ask,
    Broken,
    Event,
    Form,
    Probe,
    View,
)
from tomeval.strategies.templates import Prompts

LONGEST = 60

LINES = {"fool": "{who} is the fool", "talk": "{who} says: {what}", "vote": "votes: {data}"}
TEMPLATES = {
    "rules": "You are {{ game.seat_name(view.seat) }} at a table of three."
    "{% if view.fool %} You are the fool.{% endif %}",
    "event": "{{ 'You: ' if event.seat == view.seat }}{{ game.line(event) }}",
    "ask/talk": "What do you say to all?",
    "ask/vote": "Whom do you vote for?",
    "probe/vote": "Whom will {{ game.seat_name(probe.about) }} vote for?",
    "probe/fool": "Who is the fool?",
    "examples/talk": 'Example: I greet.\n{{ marker }} {"message": ["Hello"]}',
    "examples/vote": 'Example: They voted for me.\n{{ marker }} {"vote": ["Player 2"]}',
}


@dataclass(frozen=True)
class State:
    fool: int
    done: tuple[tuple[str, int | None, Any], ...] = ()


class ToyView(View[State]):
    __slots__ = ()

    @property
    def fool(self) -> bool:
        return self._state.fool == self.seat


class Toy(ArenaGame[State]):
    name = "toy"
    seats, length, usual = 3, 12, 2
    views = ToyView
    lines = LINES

    def __init__(self, free_votes: bool = False) -> None:
        self.forms = {"talk": Form("message", str, limit=LONGEST)}
        self.free_votes = free_votes  # they cannot be scored

    def form(self, view, what):
        free = self.free_votes and isinstance(what, Ask) and what.kind == "vote"
        return Form("vote", str) if free else super().form(view, what)

    def deal(self, rng):
        return State(int(rng.integers(3)))

    def due(self, state):
        days = sum(kind == "vote" for kind, _, _ in state.done)
        talked = len([kind for kind, _, _ in state.done if kind == "talk"]) - 3 * days
        if days == 2:
            return ()
        if talked < 3:
            return (Ask(talked, "talk"),)
        return tuple(Ask(seat, "vote") for seat in range(3))

    def then(self, state, actions):
        if len(actions) == 1:
            [(seat, said)] = actions.items()
            return replace(state, done=(*state.done, ("talk", seat, said)))
        votes = tuple(actions[seat] for seat in range(3))
        return replace(state, done=(*state.done, ("vote", None, votes)))

    def options(self, view, what):
        if isinstance(what, Probe):
            return tuple(seat for seat in range(3) if seat != what.about)
        return () if what.kind == "talk" else [seat for seat in range(3) if seat != what.seat]

    def fault(self, view, ask, action):
        if ask.kind == "vote" and action == ask.seat:
            return Broken("target", "nobody votes for themselves")
        return super().fault(view, ask, action)

    def meant(self, view, ask, items):
        if ask.kind == "talk":
            return items[0]
        number = items[0].removeprefix("Player ")
        return int(number) if number in {*"012"} else Broken("target", f"there is no {items[0]!r}")

    def random(self, view, ask, rng):
        return "" if ask.kind == "talk" else int((ask.seat + 1 + rng.integers(2)) % 3)

    def rewards(self, state):
        votes = [vote for kind, _, said in state.done if kind == "vote" for vote in said]
        return tuple(float(votes.count(s) * (1 if s == state.fool else -1)) for s in range(3))

    def events(self, state):
        hidden = Event("fool", state.fool, True, (state.fool,))
        return (hidden, *(Event(*entry) for entry in state.done))

    def written(self, view, what, action):
        return [action] if what.kind == "talk" else [self.seat_name(action)]

    def probes(self, state, ask, done=UNDECIDED, said=NOTHING):
        if ask.kind == "talk" or done is not UNDECIDED:
            return ()
        others = [seat for seat in range(3) if seat != ask.seat]
        return (*(Probe("vote", seat) for seat in others), Probe("fool"))

    def truth(self, probe, seat, trail, at, end):
        return end.fool if probe.name == "fool" else super().truth(probe, seat, trail, at, end)


class ToyPrompts(Prompts):
    """The shipped templates of the arena, and those of the toy game, which nobody ships."""

    def __init__(self, folder: Path) -> None:
        for name, body in TEMPLATES.items():
            path = folder / "arena" / "toy" / f"{name}.j2"
            path.parent.mkdir(parents=True, exist_ok=True)
            head = f'+++\ntitle = "{name}"\nsource = "a test"\nversion = "1"\n+++\n'
            path.write_text(head + body, encoding="utf-8")
        super().__init__("arena", folder)

    def _check_names(self, folder: Path) -> None:
        pass
