"""The rules of Colonel Blotto: hidden allocations, fields, rounds, and how a match ends.

Rules after TextArena's ColonelBlotto, restated. Nothing is hidden but what the other seat is doing
in the coming round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from tomeval.core.errors import TomevalError
from tomeval.games.blotto.allocations import (
    LISTED,
    Allocation,
    best_reply,
    best_result,
    count,
    drawn,
    even,
    every,
    listed,
    result,
    results,
)
from tomeval.games.game import (
    Action,
    ArenaGame,
    Ask,
    Broken,
    Event,
    Form,
    Probe,
    Public,
    Said,
    Stepwise,
    View,
    What,
)

FIELD_NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

ALLOCATE = "allocate"
PROBE = "allocation"
"""The literal question: what will the other seat allocate in the coming round?"""


class BlottoRules(BaseModel):
    """Parameters.

    Attributes
    ----------
    fields, units, rounds : int
        2 to 26 fields; units of each seat in each round; the most rounds. Units can be divided
        in at most 400,000 ways.
    reward : str
        ``match``: for winning it, and it ends once a player has more than half of all rounds;
        ``rounds``: for each round more that one takes than the other player, and all are played.
    win, tie, loss : float
        Reward of a match by its result; with ``rounds``: for taking all rounds, for as many as the
        other player, and for losing all, and in equal steps between.
    rules : str
        ``textarena-0.7.4`` plays the same game, and refuses boards that TextArena alters: fewer
        units than fields.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    fields: int = Field(3, ge=2, le=len(FIELD_NAMES))
    units: int = Field(20, ge=1, le=1000)
    rounds: int = Field(9, ge=1, le=99)
    reward: Literal["match", "rounds"] = "match"
    win: float = Field(1.0, allow_inf_nan=False)
    tie: float = Field(0.0, allow_inf_nan=False)
    loss: float = Field(-1.0, allow_inf_nan=False)
    rules: Literal["own", "textarena-0.7.4"] = "own"

    def worth(self, lead: int) -> float:
        """Return the reward of a match that ends with a lead in rounds, negative if behind."""
        end = self.win if lead > 0 else self.loss
        if self.reward == "match":
            return end if lead else self.tie
        return self.tie + (end - self.tie) * abs(lead) / self.rounds

    @property
    def round_worth(self) -> float | None:
        """What each round taken adds to the reward, and each one lost takes; None without such."""
        up, down = self.win - self.tie, self.tie - self.loss
        return up / self.rounds if self.reward == "rounds" and math.isclose(up, down) else None


PRESETS: dict[str, dict[str, Any]] = {
    "v0": {"fields": 3, "units": 20, "rounds": 9},
    "small": {"fields": 3, "units": 20, "rounds": 5},
    "large": {"fields": 5, "units": 50, "rounds": 15},
}
"""Three of TextArena's four boards; its largest has 324,540,216 allocations."""

ENDINGS = {
    "majority": "a player took more than half of the rounds",
    "most_rounds": "all rounds were played, and a player took more of them",
    "tie": "all rounds were played, and both players took as many of them",
    "forfeit": "a player broke the rules, which cost it the match",
}


class State(NamedTuple):
    """A match under way."""

    # Finished rounds: what seat 0 and seat 1 allocated.
    past: tuple[tuple[Allocation, Allocation], ...] = ()
    taken: tuple[int, int] = (0, 0)  # rounds that each seat took
    round: int = 1  # the one that was begun last, from 1
    ending: str = ""  # see `ENDINGS`; empty while the match goes on
    lost: tuple[int, ...] = ()  # the seat that broke the rules for good
    # The rounds: number, both allocations, who took it, rounds taken by then; and a forfeit.
    log: tuple[Event, ...] = ()


class BlottoView(View[State]):
    """What a seat knows: all finished rounds."""

    __slots__ = ()
    game: Blotto

    number = Public[int]("round")
    """The coming round, from 1."""

    @property
    def last(self) -> tuple[Allocation, Allocation] | None:
        """The last finished round: the seat's own allocation and the other's."""
        if not self._state.past:
            return None
        first, second = self._state.past[-1]
        return (first, second) if self.seat == 0 else (second, first)

    @property
    def taken(self) -> int:
        """Rounds that the seat took."""
        return self._state.taken[self.seat]

    @property
    def lost(self) -> int:
        """Rounds that the other seat took."""
        return self._state.taken[1 - self.seat]


class Blotto(ArenaGame[State]):
    """Colonel Blotto, two seats.

    In every round both seats allocate all their units to fields, hidden from each other. A field
    goes to who has more units there, a round to who takes more fields; the match to who first takes
    more than half of the rounds, or the most after the last.

    Examples
    --------
    >>> game = Blotto(BlottoRules(fields=3, units=20, rounds=1))
    >>> (_, state), = game.outcomes(State(), {0: (0, 10, 10), 1: (7, 7, 6)})
    >>> game.ending(state), game.rewards(state)
    ('majority', (1.0, -1.0))
    """

    name: ClassVar[str] = "blotto"
    without_chance = True
    on_broken: ClassVar[tuple[str, ...]] = ("forfeit", "default")
    views = BlottoView
    role = "commander"
    endings = ENDINGS
    lines: ClassVar[Mapping[str, str]] = {"forfeit": "{who} forfeits the match"}
    seats = 2

    def __init__(self, rules: BlottoRules) -> None:
        if (size := count(rules.fields, rules.units)) > LISTED:
            raise TomevalError(
                f"blotto: {rules.units} units on {rules.fields} fields can be divided in {size:,}"
                f" ways, but at most {LISTED:,} can be listed; choose fewer units or fields"
            )
        if rules.rules != "own" and (rules.units < rules.fields or rules.reward != "match"):
            raise TomevalError(
                f"blotto: rules {rules.rules!r} need a unit per field and the reward 'match', not"
                f" {rules.units} on {rules.fields} and {rules.reward!r}"
            )
        if not rules.win > rules.loss or not rules.win >= rules.tie >= rules.loss:
            raise TomevalError(
                f"blotto: rewards must descend from win to loss, are win {rules.win:g}, tie"
                f" {rules.tie:g}, loss {rules.loss:g}"
            )
        self.rules = rules
        self.fields, self.units = rules.fields, rules.units
        self.field_names = tuple(FIELD_NAMES[: rules.fields])
        self.length, self.usual = 2 * rules.rounds, rules.rounds
        written = Form(PROBE, int, rules.fields)
        self.forms = {ALLOCATE: written, PROBE: written}
        self.evenly = even(rules.fields, rules.units)
        #: Rounds that win the match at once; None if all are played.
        self.needed = rules.rounds // 2 + 1 if rules.reward == "match" else None

    def deal(self, rng: np.random.Generator) -> State:
        """Return the empty match: chance decides nothing."""
        return State()

    def due(self, state: State) -> tuple[Ask, ...]:
        """Return both seats, until the match is over."""
        return () if state.ending else _BOTH

    def then(self, state: State, actions: Mapping[int, Action]) -> State:
        """Return what follows a round."""
        first, second = actions[0], actions[1]
        sign, past, ending = result(first, second), (*state.past, (first, second)), ""
        taken = (state.taken[0] + (sign > 0), state.taken[1] + (sign < 0))
        told = (state.round, first, second, (None, 0, 1)[sign], *taken)
        if self.needed in taken:
            ending = "majority"
        elif state.round == self.rules.rounds:
            ending = "tie" if taken[0] == taken[1] else "most_rounds"
        log = (*state.log, Event("round", None, told))
        return State(past, taken, state.round + (not ending), ending, (), log)

    def fault(self, view: Any, ask: Ask, action: Action) -> Broken | None:
        """Return how an allocation breaks the rules: a negative number, its sum."""
        for name, units in zip(self.field_names, action, strict=True):
            if units < 0:
                return Broken("rule", f"field {name} cannot get {units} units")
        if sum(action) != self.units:
            return Broken("rule", f"the units add up to {sum(action)}, not to {self.units}")
        return None

    def default(self, view: BlottoView, ask: Ask) -> Allocation:
        """Return the even split, the remainder on the first fields."""
        return self.evenly

    def random(self, view: BlottoView, ask: Ask, rng: np.random.Generator) -> Allocation:
        """Draw an allocation, each with the same probability."""
        return drawn(self.fields, self.units, rng)

    def struck(self, state: State, ask: Ask, how: str) -> State:
        """Return the match as lost by the seat; a game of two cannot eliminate a player."""
        event = Event("forfeit", ask.seat, None)
        return state._replace(ending="forfeit", lost=(ask.seat,), log=(*state.log, event))

    def rewards(self, state: State) -> tuple[float, float]:
        """Return what each seat gets, see `BlottoRules`; who forfeits has lost, the other won."""
        if state.lost:
            pair = self.rules.loss, self.rules.win
            return pair if state.lost == (0,) else pair[::-1]
        lead = state.taken[0] - state.taken[1]
        return self.rules.worth(lead), self.rules.worth(-lead)

    def line(self, event: Event) -> str:
        """Return a round, or a forfeit, as a line."""
        if event.kind != "round":
            return super().line(event)
        number, first, second, winner, *taken = event.data
        outcome = "a tie" if winner is None else f"{self.seat_name(winner)} takes the round"
        return (
            f"Round {number}: {self.seat_name(0)} {self.shown(first)}; {self.seat_name(1)}"
            f" {self.shown(second)}; {outcome}; rounds {taken[0]} to {taken[1]}"
        )

    def shown(self, allocation: Allocation) -> str:
        """Return an allocation with the names of the fields, such as ``A 7, B 7, C 6``."""
        return ", ".join(f"{n} {u}" for n, u in zip(self.field_names, allocation, strict=True))

    def probes(self, state: State, ask: Ask, done: Action, said: Said) -> tuple[Probe, ...]:
        """Return the question for the other seat's allocation in the same round."""
        return (Probe(PROBE, 1 - ask.seat),) if done is None else ()

    def meant(self, view: BlottoView, what: What, items: Sequence[Any]) -> Any:
        """Return the items as an allocation, if it is legal."""
        return self.broken(items) or tuple(items)

    def told(self, kind: str, answer: Action) -> str:
        """Return an allocation with the names of the fields."""
        return "nothing" if answer is None else self.shown(answer)

    def broken(self, items: Sequence[Any]) -> Broken | None:
        """Return why items are not a legal allocation, or None."""
        return self.forms[ALLOCATE].fault(items) or self.fault(None, _BOTH[0], items)

    def guess(self, view: Any, probe: Probe, rng: np.random.Generator) -> Allocation:
        """Draw an allocation."""
        return self.random(view, _BOTH[0], rng)

    def chance(
        self, view: Any, probe: Probe, truth: Action, rng: np.random.Generator
    ) -> float | None:
        """Return how likely a random allocation is the right one."""
        return 1 / count(self.fields, self.units)

    def step_worths(self, view: Any, said: Mapping[Probe, Action]) -> Mapping[Action, float]:
        """Return what each allocation earns in the round; of large boards nothing."""
        stated = [answer for probe, answer in said.items() if probe.name == PROBE]
        rows, worth = listed(self.fields, self.units), self.rules.round_worth
        if not stated or not rows or worth is None:
            return {}
        found = worth * results(every(self.fields, self.units), stated[0])
        return dict(zip(rows, found.tolist(), strict=True))

    def step_reply(self, view: Any, said: Mapping[Probe, Action]) -> Allocation | None:
        """Return the best reply to the stated allocation, see `allocations.best_reply`."""
        stated = [answer for probe, answer in said.items() if probe.name == PROBE]
        return best_reply(stated[0]) if stated else None

    def stepwise(
        self, state: State, seat: int, actions: Mapping[int, Action], reply: Action | None
    ) -> Stepwise | None:
        """Return what the round pays, in reward, the other seat's allocation held fixed.

        None where the reward is no sum over rounds: that of a match, and rewards that rounds taken
        raise by another amount than rounds lost lower them.
        """
        if (worth := self.rules.round_worth) is None:
            return None
        other = actions[1 - seat]
        replied = math.nan if reply is None else worth * result(reply, other)
        return Stepwise(worth * result(actions[seat], other), worth * best_result(other), replied)


_BOTH = (Ask(0, ALLOCATE), Ask(1, ALLOCATE))
