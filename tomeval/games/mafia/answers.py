"""Decisions and literal questions of Secret Mafia: what may be said, how it is written and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tomeval.games.game import (
    Action,
    ArenaGame,
    Ask,
    Broken,
    Event,
    Probe,
    Said,
    Stage,
    What,
)
from tomeval.games.mafia.state import (
    DETECTIVE,
    DOCTOR,
    MAFIA,
    NIGHT,
    NOBODY,
    MafiaView,
    State,
    acts,
    label,
    parse,
)

if TYPE_CHECKING:
    from tomeval.games.mafia.rules import MafiaRules

SEATS = ("kill", "protect", "investigate", "vote")
"""Decisions that name a seat; the others are ``act``, a speech act, and ``talk``, a message."""

PROBES: dict[str, str] = {
    "mafia": "who is Mafia",
    "doctor": "who is the doctor",
    "detective": "who is the detective",
    "dies": "who dies tonight",
    "voted_out": "who is voted out",
}
"""The literal questions. Which seats are Mafia (asked of the village by day); which is the doctor,
or the detective (asked before a vote of all who are not); and, after a decision, as the answer
depends on it: who dies tonight (of all who decide at night; `NOBODY` is an answer), who is voted
out (of all who vote)."""

Question = Literal["mafia", "doctor", "detective", "dies", "voted_out"]
DEFAULT: tuple[Question, ...] = ("mafia", "dies", "voted_out")

AFTER = ("dies", "voted_out")
"""Questions that are asked after a decision."""

_LINES = {
    "role": "{who} is dealt the role {data}",
    "mafia": "The Mafia: {whom}",
    "night": "Night {data}",
    "kill": "{who} of the Mafia votes to kill {whom}",
    "protect": "{who} protects {whom}",
    "finding": "{who} learns that Player {data[0]} is {verdict}Mafia",
    "died": "{who} is found dead",
    "peace": "Nobody died in the night",
    "day": "Day breaks; the order of talk: {whom}",
    "silent": "{who} says nothing",
    "talk": "{who} says: {data}",
    "accuse": "{who} accuses Player {data[1]}",
    "defend": "{who} defends Player {data[1]}",
    "result": "{who} claims to have learned as the detective that Player {data[1]} is "
    "{verdict}Mafia",
    "vote": "{who} votes for {whom}",
    "out": "{who} is voted out",
    "stay": "Nobody is voted out",
    "struck": "{who} is out for breaking the rules",
    "over": "The game is over: {winner}",
}
_WINNERS = {"mafia": "the Mafia win", "village_forfeits": "the Mafia win", "days": "nobody wins"}


class MafiaAnswers(ArenaGame[State]):
    """What the game asks, and how that is answered."""

    rules: MafiaRules
    mafia: int
    textarena: bool
    views = MafiaView
    questions = PROBES
    consequences = AFTER

    # Decisions

    def options(self, view: MafiaView, what: What) -> Sequence[Action]:
        """Return all seats or acts that can be said; of messages, and of several Mafia, none."""
        if what.kind in SEATS:
            return view.targets(what.kind)
        if isinstance(what, Ask):
            return acts(view.others) if what.kind == "act" else ()
        if what.kind == "mafia":
            return [(seat,) for seat in self._possible(view, what)] if self.mafia == 1 else ()
        return self._possible(view, what)

    def fault(self, view: MafiaView, ask: Ask, action: Action) -> Broken | None:
        """Return how an action breaks the rules."""
        if ask.kind == "talk" or action in self.options(view, ask):
            return super().fault(view, ask, action)
        if ask.kind == "act":
            return Broken("target", f"Player {action[1]} is not another living player")
        if not 0 <= action < self.seats:
            return Broken("target", f"there is no Player {action}")
        if action not in view.alive:
            return Broken("target", f"Player {action} is dead")
        if action == view.seat:
            return Broken("rule", "no player may name themselves")
        return Broken("rule", f"Player {action} belongs to the Mafia, who do not kill their own")

    def default(self, view: MafiaView, ask: Ask) -> Action:
        """Return silence, or the next seat that may be named, so that no seat is hit most."""
        if ask.kind not in SEATS:
            return super().default(view, ask)
        targets = view.targets(ask.kind)
        return next((seat for seat in targets if seat > view.seat), targets[0])

    def meant(self, view: MafiaView, what: What, items: Sequence[Any]) -> Action | Broken:
        """Return the seat, the act, whoever it is about, or the message.

        For the probe ``mafia`` all seats, ascending, as a tuple.
        """
        if isinstance(what, Ask):
            (item,) = items
            if what.kind != "act":
                return item
            return parse(item) or Broken("format", f"{item!r} is not a speech act")
        for item in items:
            if item not in self._possible(view, what):
                return Broken("target", f"Player {item} is not a possible answer")
        if len(set(items)) < len(items):
            return Broken("target", "a player is named twice")
        return tuple(sorted(items)) if what.name == "mafia" else items[0]

    def written(self, view: MafiaView, what: What, action: Action) -> list[Any]:
        """Return seats, an act such as ``accuse 3``, or a message."""
        return [label(action)] if what.kind == "act" else super().written(view, what, action)

    # In words for readers

    def line(self, event: Event) -> str:
        """Return an event as a line for readers."""
        kind, data = event.kind, event.data
        if kind == "act" or (kind == "talk" and not data):
            kind = data[0] if data else "silent"
        return _LINES[kind].format(
            who=f"Player {event.seat}",
            data=data,
            whom="somebody" if data is None else _named(data),
            verdict="" if isinstance(data, tuple) and data[-1] in (True, "mafia") else "not ",
            winner=_WINNERS.get(str(data), "the village wins"),
        )

    def told(self, kind: str, answer: Action) -> str:
        """Return the players who are named, an act or a message."""
        if kind in ("act", "talk"):
            return label(answer) if kind == "act" else str(answer)
        return _named(answer)

    # Literal questions

    def probes(self, state: State, ask: Ask, done: Action, said: Said) -> tuple[Probe, ...]:
        """Return the questions before a decision, in the order of `PROBES`, or the one after it."""
        night = ask.kind in NIGHT.values()
        if done is not None:
            name = "voted_out" if ask.kind == "vote" else "dies" if night else ""
            return (Probe(name, given=done),) if name in self.rules.probes else ()
        role, asked = state.roles[ask.seat], set[str]()
        if not night and role != MAFIA:
            asked.add("mafia")
        if ask.kind == "vote":
            asked |= {DOCTOR, DETECTIVE} - {role}
        return tuple(Probe(n) for n in PROBES if n in asked and n in self.rules.probes)

    def _possible(self, view: MafiaView, probe: Probe) -> tuple[int, ...]:
        if probe.name == "dies":
            return (NOBODY, *view.alive)
        if probe.name == "voted_out":
            return view.alive
        known = (view.seat, *view.fellows)
        return tuple(seat for seat in range(self.seats) if seat not in known)

    def fact(self, view: MafiaView, probe: Probe, stage: Stage[State], after: State) -> Action:
        """Return the true answer: from the roles, or from what the stage led to."""
        roles = stage.state.roles
        if probe.name == "mafia":
            return tuple(seat for seat, role in enumerate(roles) if role == MAFIA)
        if probe.name not in AFTER:
            return roles.index(probe.name)
        if probe.given is None:
            return None
        for event in after.log[len(stage.state.log) :]:
            if event.kind == ("died" if probe.name == "dies" else "out"):
                return event.seat
            if event.kind in ("peace", "stay"):
                return NOBODY if probe.name == "dies" else None
        return None

    def guess(self, view: MafiaView, probe: Probe, rng: np.random.Generator) -> Action:
        """Draw as many possible seats as are Mafia, or an answer that is listed."""
        if probe.name != "mafia":
            return super().guess(view, probe, rng)
        drawn = rng.choice(self._possible(view, probe), self.mafia, replace=False)
        return tuple(sorted(drawn.tolist()))

    def chance(
        self, view: MafiaView, probe: Probe, truth: Action, rng: np.random.Generator
    ) -> float | None:
        """Return the share of the Mafia that random seats name, or that of right answers."""
        if probe.name != "mafia":
            return super().chance(view, probe, truth, rng)
        return self.mafia / len(self._possible(view, probe))

    def likeliest(self, probe: Probe, chances: Mapping[Action, float]) -> Action:
        """Return the likeliest answer; of the Mafia, the seats that are each the likeliest.

        Of equally likely seats the lowest.
        """
        if probe.name != "mafia":
            return super().likeliest(probe, chances)

        def doubt(seat: int) -> float:
            return round(-sum(p for who, p in chances.items() if seat in who), 12)

        order = sorted(range(self.seats), key=doubt)
        return tuple(sorted(order[: self.mafia]))

    def hit(self, probe: Probe, said: Action, truth: Action) -> float:
        """Return the share of the Mafia that was named; 1 or 0 for other questions."""
        if probe.name == "mafia":
            return len(set(said) & set(truth)) / len(truth)
        return float(said == truth)


def _named(seats: Any) -> str:
    """Return one seat or several in words."""
    every = seats if isinstance(seats, tuple) else (seats,)
    return ", ".join("nobody" if seat == NOBODY else f"Player {seat}" for seat in every)
