"""Positions without their past, and what follows from them against known scripts.

A position is a state without its log and without what no script at the table reads: all that the
rules and the scripts depend on. Positions are numbered, so that beliefs over them stay small.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tomeval.domains.arena.games.mafia.rules import Mafia
from tomeval.domains.arena.games.mafia.scripts import Script
from tomeval.domains.arena.games.mafia.state import DETECTIVE, MAFIA, NOBODY, MafiaView, State, poll
from tomeval.domains.arena.games.mafia.talk import acts, heard, say
from tomeval.games.game import Action, Ask, Event
from tomeval.games.policy import Choices

Seen = tuple[Event, ...]

_OPEN = ("kill", "vote", "act", "talk")
"""Events that show what another seat did in a stage."""


class TooMany(Exception):
    """More had to be looked at than was allowed."""


class Moves(NamedTuple):
    """What follows a decision, up to the seat's next one.

    Attributes
    ----------
    done : float
        Expected reward of all ways that lead to none: the game is over, or the seat is dead.
    ways : tuple of (float, int, int)
        Probability, what is seen on the way (a number), and the next position.
    cost : int
        Combinations of what others do that were looked at.
    """

    done: float
    ways: tuple[tuple[float, int, int], ...]
    cost: int


_HERE = Moves(0.0, ((1.0, NOBODY, NOBODY),), 0)
"""Nothing follows but the seat's own decision, here."""


class Positions:
    """Positions of one game as `seat` may meet them; `policies` play the other seats.

    Attributes
    ----------
    reads : frozenset of str
        What the scripts at the table listen to.
    allowed : float
        Steps of `work` that are left.
    """

    def __init__(self, game: Mafia, seat: int, policies: Mapping[int, Script]) -> None:
        self.game, self.seat, self.policies = game, seat, policies
        self.states: list[State] = []
        self._numbers: dict[State, int] = {}
        self._sights: dict[tuple[Seen, int], int] = {}
        self._stages: dict[tuple[int, Action], list[tuple[float, Seen, int]]] = {}
        self._moves: dict[tuple[int, Action], Moves] = {}
        self._blind: dict[tuple[int, Action], list[tuple[float, int]]] = {}
        self._values: dict[tuple[Script | str, int], float] = {}
        self.allowed = math.inf
        self.reads = frozenset().union(*(policy.reads for policy in policies.values()))

    def work(self, steps: int) -> None:
        """Count work; `TooMany` if it is more than `allowed`."""
        self.allowed -= steps
        if self.allowed < 0:
            raise TooMany

    def number(self, state: State) -> int:
        """Return the number of a state's position."""
        changes: dict[str, object] = {"log": ()}
        if "against" not in self.reads:
            changes["against"] = (NOBODY,) * self.game.seats
        if "last" not in self.reads:
            changes["last"] = NOBODY
        if "claims" not in self.reads:
            changes["claims"] = ()
        if "votes" not in self.reads:
            changes["votes"] = ()
        if DETECTIVE not in {state.roles[seat] for seat in state.alive}:
            changes["findings"] = ()
        state = state._replace(**changes)  # type: ignore[arg-type]
        number = self._numbers.setdefault(state, len(self.states))
        if number == len(self.states):
            self.states.append(state)
        return number

    def view(self, position: int) -> MafiaView:
        """Return what the seat knows, its past apart."""
        view: MafiaView = self.game.view(self.states[position], self.seat)
        return view

    def ask(self, position: int) -> Ask | None:
        """Return the seat's decision, if it is due."""
        due = self.game.due(self.states[position])
        return next((ask for ask in due if ask.seat == self.seat), None)

    def settled(self, position: int) -> bool:
        """Tell whether the seat has nothing more to decide."""
        state = self.states[position]
        return bool(state.ending) or self.seat not in state.alive

    def legal(self, position: int) -> tuple[Action, ...]:
        """Return the seat's actions; of all messages, one for each act that it may count as."""
        ask = self.ask(position)
        assert ask is not None
        view = self.view(position)
        if ask.kind == "talk":
            return tuple(say(act) for act in acts(view.others))
        return tuple(self.game.options(view, ask))

    def plain(self, position: int, action: Action) -> Action:
        """Return the action among `legal` that counts as the same."""
        ask = self.ask(position)
        if ask is None or ask.kind != "talk":
            return action
        others = self.view(position).others
        return say(heard(self.game.displayed(action), others))

    # One stage

    def stage(
        self, position: int, action: Action, seen: Seen | None = None
    ) -> list[tuple[float, Seen, int]]:
        """Return what may follow a stage: probability, what the seat sees, the next position.

        What it sees is without its own decision. Given `seen`, only what agrees with it; None as an
        action if the seat is not due.
        """
        key = (position, action)
        if seen is None and key in self._stages:
            return self._stages[key]
        if seen is None:
            self.work(self.combinations(position))
        answers = self._answers(position, action)
        if seen is not None:
            answers = [(asks, self._fitting(asks, choices, seen)) for asks, choices in answers]
        branches = []
        for p, after in self._outcomes(position, answers):
            sees = self.seen(after.log)
            if seen is None or sees == seen:
                branches.append((p, sees, self.number(after)))
        if seen is None:
            self._stages[key] = branches
        return branches

    def combinations(self, position: int) -> int:
        """Return in how many ways the others may decide in a stage."""
        return math.prod(len(choices) for _, choices in self._answers(position, None))

    def _answers(
        self, position: int, action: Action, together: tuple[str, ...] = ()
    ) -> list[tuple[tuple[Ask, ...], Choices]]:
        """Return what all who are due may do, with probabilities.

        Votes of the kinds `together` count as one decision, with which all vote for whom the vote
        falls on; so do those of the Mafia at night for all who do not see them.
        """
        state = self.states[position]
        if state.roles[self.seat] != MAFIA:
            together = ("kill", *together)
        answers: list[tuple[tuple[Ask, ...], Choices]] = []
        polled: dict[str, list[tuple[Ask, Choices]]] = {}
        for ask in self.game.due(state):
            if ask.seat == self.seat:
                choices: Choices = ((1.0, action),)
            else:
                view = self.game.view(state, ask.seat)
                choices = self.policies[ask.seat].choices(view, ask, None)
            if ask.kind in together:
                polled.setdefault(ask.kind, []).append((ask, choices))
            else:
                answers.append(((ask,), choices))
        for votes in polled.values():
            answers.append((tuple(a for a, _ in votes), poll(tuple(c for _, c in votes))))
        return answers

    def _outcomes(
        self, position: int, answers: list[tuple[tuple[Ask, ...], Choices]]
    ) -> Iterator[tuple[float, State]]:
        """Yield what follows every combination of answers, with probabilities."""
        for combination in itertools.product(*(choices for _, choices in answers)):
            weight, chosen = 1.0, dict[int, Action]()
            for (asks, _), (p, did) in zip(answers, combination, strict=True):
                weight *= p
                for ask in asks:
                    chosen[ask.seat] = did
            for p, after in self.game.outcomes(self.states[position], chosen):
                yield weight * p, after

    def _fitting(self, asks: tuple[Ask, ...], choices: Choices, seen: Seen) -> Choices:
        """Return the choices that agree with the observations."""
        for event in seen:
            if event.seat == asks[0].seat and event.kind in _OPEN and event.data is not None:
                shown = self.game.displayed if event.kind == "talk" else lambda did: did
                return tuple(choice for choice in choices if shown(choice[1]) == event.data)
        return choices

    def seen(self, events: Sequence[Event]) -> Seen:
        """Return what the seat sees of events, its own decisions apart."""
        mine = (*_OPEN, "protect")
        return tuple(
            event
            for event in events
            if event.seen_by(self.seat) and not (event.seat == self.seat and event.kind in mine)
        )

    # Up to the next decision

    def moves(self, position: int, action: Action, most: float = math.inf) -> Moves:
        """Return what follows an action (None: the seat is not due) up to the next decision.

        `TooMany` if its cost is above `most`, whether it is known already or not.
        """
        key = (position, action)
        if key in self._moves:
            if self._moves[key].cost > most:
                raise TooMany
            return self._moves[key]
        done, ways, cost = 0.0, dict[tuple[int, int], float](), self.combinations(position)
        if cost > most:
            raise TooMany
        for p, sees, after in self.stage(position, action):
            if self.settled(after):
                done += p * self.value("settled", after)
                continue
            further = _HERE
            if self.ask(after) is None:
                further = self.moves(after, None, most - cost)
                cost += further.cost
                done += p * further.done
            for q, later, end in further.ways:
                sight = self._sights.setdefault((sees, later), len(self._sights))
                way = (sight, after if end == NOBODY else end)
                ways[way] = ways.get(way, 0.0) + p * q
        moves = Moves(done, tuple((p, sight, end) for (sight, end), p in ways.items()), cost)
        self._moves[key] = moves
        return moves

    def blind(self, position: int, action: Action) -> list[tuple[float, int]]:
        """Return the positions that may follow a stage, whatever is seen of it."""
        key = (position, action)
        if key in self._blind:
            return self._blind[key]
        together = ("kill",) if "votes" in self.reads else ("kill", "vote")
        answers = self._answers(position, action, together)
        self.work(math.prod(len(choices) for _, choices in answers))
        merged: dict[int, float] = {}
        for p, after in self._outcomes(position, answers):
            at = self.number(after)
            merged[at] = merged.get(at, 0.0) + p
        branches = [(p, at) for at, p in merged.items()]
        self._blind[key] = branches
        return branches

    # Values of players that see, or follow, or draw

    def after(self, way: Script | str, position: int, action: Action) -> float:
        """Return the value of an action, if the seat goes on in one of these ways."""
        return sum(p * self.value(way, at) for p, at in self.blind(position, action))

    def value(self, way: Script | str, position: int) -> float:
        """Return the value for a player that goes on in some way.

        A script; ``all-seeing``: it sees all roles and plays best; ``drawing``: it draws its
        actions as `ArenaGame.random` does; ``settled``: it has nothing more to decide.
        """
        state = self.states[position]
        if state.ending:
            return self.game.rewards(state)[self.seat]
        if self.seat not in state.alive:
            way = "settled"
        key = (way, position)
        if key not in self._values:
            ask = self.ask(position)
            if ask is None:
                value = self.after(way, position, None)
            elif way == "all-seeing":
                value = max(self.after(way, position, a) for a in self.legal(position))
            elif way == "drawing":
                legal = self.legal(position) if ask.kind != "talk" else ("",)
                value = sum(self.after(way, position, a) for a in legal) / len(legal)
            else:
                assert isinstance(way, Script)
                choices = way.choices(self.view(position), ask, None)
                value = sum(p * self.after(way, position, action) for p, action in choices)
            self._values[key] = value
        return self._values[key]
