"""Any game of TextArena as a game of the arena: unplanned, without exact values.

States hold the record of a game. The environment behind them moves on with the newest state; an
older one gets a fresh environment, in which the record is replayed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.game import (
    Action,
    ArenaGame,
    Ask,
    Broken,
    Event,
    Form,
    Probe,
    Stage,
)
from tomeval.extensions.textarena.library import PREFIX, Entry, find_entry
from tomeval.extensions.textarena.state import (
    MOST_PLAYERS,
    Behind,
    Rules,
    State,
    TextArenaView,
)
from tomeval.extensions.textarena.table import Table

CLIPPED = 1000
"""Characters that TextArena keeps of a text, the last ones, where it cuts any off."""

ASK = "act"
NEXT = "next_action"
_TEXT = Form("action", str)
_BRACKETED = re.compile(r"\[([^\[\]]+)\]")


class TextArenaGame(ArenaGame[State]):
    """One id of TextArena with a number of players.

    Attributes
    ----------
    usual : int
        Rounds are actions here. How many to expect nobody knows, so 1: no game counts as cut short.
    """

    name: ClassVar[str] = "textarena"
    views = TextArenaView
    usual = 1
    forms, probe_forms = {ASK: _TEXT}, {NEXT: _TEXT}

    def __init__(self, rules: Rules, entry: Entry) -> None:
        self.rules, self.entry = rules, entry
        table = self._first_table()
        self.seats, self.length = len(table.prompts), rules.most
        self._names, self._teams = table.names, table.teams

    def _first_table(self) -> Table:
        """Return a table for as many players as the rules say, or for as few as it can seat."""
        if self.rules.players is not None:
            return Table(self.entry, self.rules.players, 0)
        refused = ""
        for players in range(2, MOST_PLAYERS + 1):
            try:
                return Table(self.entry, players, 0)
            except TomevalError as error:
                refused = refused or str(error)
        raise TomevalError(f"no number of players from 2 to {MOST_PLAYERS} fits: {refused}")

    # Rules

    def deal(self, rng: np.random.Generator) -> State:
        """Draw the seed of the game's own generators."""
        return self._dealt(int(rng.integers(2**32)))

    def _dealt(self, seed: int) -> State:
        table = Table(self.entry, self.seats, seed)
        start = State(seed, (), None, prompts=table.prompts)
        return self._now(start, table, table.opening, Behind(table))

    def _now(
        self, past: State, table: Table, news: tuple[Event, ...], behind: Behind, *done: str
    ) -> State:
        """Return the state that a table is in, after a past one and the actions `done`."""
        actions = (*past.actions, *done)
        seat, rewards, how = table.seat, None, ""
        if seat is None:
            found = table.rewards
            if missing := [i for i in range(self.seats) if i not in found]:
                raise TomevalError(
                    f"{PREFIX}{self.entry.id}: it ended without rewards for seats {missing}"
                )
            rewards, how = tuple(found[i] for i in range(self.seats)), "ended"
        elif len(actions) >= self.rules.most:
            seat, rewards, how = None, (0.0,) * self.seats, "broken_off"
        actors = past.actors if past.seat is None else (*past.actors, past.seat)
        return State(
            *(past.seed, actions, seat, actors),
            how=how,
            prompts=past.prompts,
            news=past.news + news,
            roles=table.roles,
            rewards=rewards,
            behind=behind,
        )

    def due(self, state: State) -> tuple[Ask, ...]:
        """Return the one decision that TextArena asks for."""
        return () if state.seat is None else (Ask(state.seat, ASK),)

    def then(self, state: State, actions: Mapping[int, Action]) -> State:
        """Return the one state that follows: chance was dealt as a seed."""
        assert state.seat is not None
        after = self._tried(state, actions[state.seat])
        if isinstance(after, Broken):
            raise TomevalError(f"{PREFIX}{self.entry.id}: {after.text}")
        return after

    def _tried(self, state: State, text: str) -> State | Broken:
        """Return what follows an action, or how it breaks the rules."""
        behind = state.behind
        assert behind is not None
        if behind.at == len(state.actions) + 1 and behind.ahead and behind.ahead[0] == text:
            return behind.ahead[1]
        if behind.at != len(state.actions):
            behind = self._replayed(state)
        taken = behind.table.take(text)
        if taken.fault is not None:
            if not taken.silent:
                behind.at = -1
            return Broken("format" if taken.silent else "rule", taken.fault)
        behind.at += 1
        after = self._now(state, behind.table, taken.events, behind, text)
        behind.ahead = (text, after)
        return after

    def _replayed(self, state: State) -> Behind:
        """Return a fresh environment in which the record of a state was played again."""
        behind = Behind(Table(self.entry, self.seats, state.seed))
        seen = list(behind.table.opening)
        for text in state.actions:
            taken = behind.table.take(text)
            seen.extend(taken.events)
            behind.at += 1
        if tuple(seen) != state.news:
            raise TomevalError(
                f"{PREFIX}{self.entry.id}: it does not play the same record the same way again"
            )
        return behind

    def fault(self, view: TextArenaView, ask: Ask, action: Action) -> Broken | None:
        """Let the environment judge an action; one that it refuses leaves no trace in the game."""
        if not action.strip():
            return Broken("format", "the answer is empty")
        if self.entry.clipped and len(action) > CLIPPED:
            return Broken(
                "format",
                f"the answer has {len(action)} characters, of which TextArena would keep the last "
                f"{CLIPPED}",
            )
        found = self._tried(view._state, action)
        return found if isinstance(found, Broken) else None

    def random(self, view: TextArenaView, ask: Ask, rng: np.random.Generator) -> NoReturn:
        """Refuse: nobody knows which actions are legal."""
        raise TomevalError(
            f"{PREFIX}{self.entry.id}: no random action can be drawn: TextArena does not "
            "say which are legal; give a player of kind 'texts'"
        )

    def struck(self, state: State, ask: Ask, how: str) -> State:
        """Return the game as lost by a seat: it gets -1, and the others share 1."""
        rewards = tuple(
            -1.0 if seat == ask.seat else 1 / (self.seats - 1) for seat in range(self.seats)
        )
        return State(
            *(state.seed, state.actions, None, state.actors),
            how=how,
            loser=ask.seat,
            prompts=state.prompts,
            news=state.news,
            roles=state.roles,
            rewards=rewards,
        )

    # What it came to

    def rewards(self, state: State) -> tuple[float, ...]:
        """Return TextArena's rewards; see `struck` and `Rules` for other endings."""
        assert state.rewards is not None
        return state.rewards

    def wins(self, state: State) -> tuple[float, ...]:
        """Return shares of the win: the seats with the highest reward have won.

        Together in games for teams, else they share it; if all rewards are equal, all share it.
        """
        rewards = self.rewards(state)
        top = [reward == max(rewards) for reward in rewards]
        whole = self._teams and not all(top)
        return tuple((1.0 if whole else 1 / sum(top)) if won else 0.0 for won in top)

    def ending(self, state: State) -> str:
        """Return how a game ended."""
        return state.how

    def rounds(self, state: State) -> int:
        """Return the number of actions."""
        return len(state.actions)

    def roles(self, state: State) -> tuple[str, ...]:
        """Return TextArena's roles; ``player`` for all without."""
        return state.roles

    # What seats know

    def events(self, state: State) -> tuple[Event, ...]:
        """Return all messages."""
        return state.news

    def seat_name(self, seat: int) -> str:
        """Return TextArena's name of a seat."""
        return self._names[seat]

    def line(self, event: Event) -> str:
        """Return a message with its sender."""
        sender = "Game" if event.seat is None else self.seat_name(event.seat)
        return f"{sender}: {' '.join(str(event.data).split())}"

    # Questions and answers

    def probes(self, view: TextArenaView, ask: Ask) -> tuple[Probe, ...]:
        """Return the question for the next action of another seat; none if it is free talk."""
        return (Probe(NEXT),) if self.entry.bracketed else ()

    def stated(self, view: TextArenaView, probe: Probe, items: Sequence[Any]) -> Action | Broken:
        """Return the command that is predicted."""
        return command(items[0]) or Broken("format", "the prediction is empty")

    def truth(
        self, probe: Probe, seat: int, trail: Sequence[Stage[State]], at: int, end: State
    ) -> Action:
        """Return the first command of another seat after stage `at`; None if nobody acted again."""
        for stage in trail[at + 1 :]:
            for actor, text in stage.actions.items():
                if actor != seat:
                    return command(text)
        return None


def command(text: str) -> str:
    """Return what an action says, whatever its case and spaces: its last command in brackets.

    Examples
    --------
    >>> command("I go first. [ 1  Two ]"), command("one two")
    ('1 two', 'one two')
    """
    found = _BRACKETED.findall(text)
    return " ".join((found[-1] if found else text).lower().split())


def make(rules: Rules, name: str) -> TextArenaGame:
    """Return a game of TextArena, given its id without prefix."""
    return TextArenaGame(rules, find_entry(name))
