"""The rules of the three-player iterated prisoner's dilemma with talk.

Nothing is hidden but what others decide in the same stage.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import ClassVar

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.games.game import (
    Action,
    ArenaGame,
    Ask,
    Event,
    Form,
    Probe,
    Said,
    Stage,
    What,
)
from tomeval.games.ipd3.states import (
    ACT_PAIRS,
    DECIDE,
    MOVES,
    OPPONENTS,
    PAIRS,
    PLACE,
    SILENT,
    Ipd3View,
    Rules,
    State,
    acts_of,
    kept,
    sentence_of,
)
from tomeval.games.ipd3.states import NOTHING as NO_WORDS

_MOST_UNITS = 2**40


class Ipd3(ArenaGame[State]):
    """The game with its parameters.

    Attributes
    ----------
    rules : Rules
    parts : int
        Points are counted in *units*, whole numbers, so that ties are exact: this many are a point.
    pay : dict
        Units by (own move, other's move).
    """

    name: ClassVar[str] = "ipd3"
    without_chance = True
    on_broken: ClassVar[tuple[str, ...]] = ("forfeit", "eliminate", "default")
    views = Ipd3View
    seats = 3
    sums = ("points",)
    endings: ClassVar[Mapping[str, str]] = {
        "played": "all rounds were played",
        "forfeit": "a player broke the rules for good and lost",
        "alone": "two players were eliminated",
    }
    questions: ClassVar[Mapping[str, str]] = {
        "move": "move of {}",
        "other": "move of {} toward the third player",
        "word": "whether {} keeps its word",
    }

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        exact = {key: Fraction(repr(value)) for key, value in rules.payoffs}
        if rules.dilemma:
            r, t, s, p = rules.payoffs.R, rules.payoffs.T, rules.payoffs.S, rules.payoffs.P
            if not (t > r > p > s and 2 * r > t + s):
                raise TomevalError(
                    f"ipd3: payoffs R = {r:g}, T = {t:g}, S = {s:g}, P = {p:g} are no prisoner's "
                    "dilemma (T > R > P > S and 2 R > T + S); for another game set dilemma = false"
                )
        self.parts = lcm(*(value.denominator for value in exact.values()))
        units = {key: int(value * self.parts) for key, value in exact.items()}
        if max(map(abs, units.values())) * rules.rounds > _MOST_UNITS:
            raise TomevalError(
                f"ipd3: payoffs {rules.payoffs.model_dump()} differ too much in size for exact "
                "sums; give fewer digits"
            )
        c, d = MOVES
        self.pay = {(c, c): units["R"], (d, c): units["T"], (c, d): units["S"], (d, d): units["P"]}
        self._swing = 2 * (max(units.values()) - min(units.values()))
        self.length = 3 * rules.rounds * (1 + rules.talk)
        self.usual = rules.rounds
        self._first = 0 if rules.talk else DECIDE
        move, limit = Form("move", str, 1, MOVES), rules.message_limit
        word = Form("answer", str, 1, ("yes", "no"))
        talk = Form("message", str, limit=limit if rules.rules == "own" else 0)
        self.forms = {"talk": talk, "move": move, "other": move, "word": word}

    # Rules

    def deal(self, rng: np.random.Generator) -> State:
        """Return the start, in which nothing is drawn."""
        return State((), 1, self._first, (0, 0, 0))

    def due(self, state: State) -> tuple[Ask, ...]:
        """Return one seat's talk, or the decisions of all."""
        if state.ending:
            return ()
        if state.stage < DECIDE:
            return (Ask(state.stage, "talk"),)
        return tuple(Ask(seat, "moves") for seat in range(3) if seat not in state.out)

    def then(self, state: State, actions: Mapping[int, Action]) -> State:
        """Return the one state that follows: chance never moves."""
        if state.stage < DECIDE:
            text = self._heard(actions[state.stage])
            log = (*state.log, Event("talk", state.stage, text))
            return state._replace(log=log, stage=_next(state.stage, state.out))
        moves = tuple(actions.get(seat) for seat in range(3))
        gains = self.gains(moves)
        units = tuple(a + b for a, b in zip(state.units, gains, strict=True))
        won, total = (
            (u[0] / self.parts, u[1] / self.parts, u[2] / self.parts) for u in (gains, units)
        )
        points = Event("points", None, (state.round, won, total))
        over = state.round == self.rules.rounds
        return state._replace(
            log=(*state.log, Event("moves", None, moves), points),
            round=state.round + (not over),
            stage=_next(-1, state.out) if self.rules.talk else DECIDE,
            units=units,
            ending=state.ending or ("played" if over else ""),
        )

    def gains(self, moves: Sequence[tuple[str, str] | None]) -> tuple[int, int, int]:
        """Return the units that a round pays to every seat; None marks a seat that is out."""
        units = [0, 0, 0]
        for i, j in ((0, 1), (0, 2), (1, 2)):
            mine, theirs = moves[i], moves[j]
            if mine is not None and theirs is not None:
                a, b = mine[PLACE[i][j]], theirs[PLACE[j][i]]
                units[i] += self.pay[a, b]
                units[j] += self.pay[b, a]
        return units[0], units[1], units[2]

    def options(self, view: Ipd3View, what: What) -> Sequence[Action]:
        """Return the four pairs of moves; messages have no list."""
        return PAIRS if what.kind == "moves" else super().options(view, what)

    def random(self, view: Ipd3View, ask: Ask, rng: np.random.Generator) -> Action:
        """Stay silent, or draw one of the four actions."""
        return NO_WORDS if ask.kind == "talk" else PAIRS[int(rng.random() * 4)]

    def struck(self, state: State, ask: Ask, how: str) -> State:
        """Take a seat out, or end the game."""
        if how == "forfeit":
            return super().struck(state, ask, how)
        log = (*state.log, Event("struck", ask.seat, how))
        out = tuple(sorted({*state.out, ask.seat}))
        stage = state.stage if state.stage not in out else _next(state.stage, out)
        ending = "alone" if len(out) > 1 else state.ending
        return state._replace(log=log, out=out, stage=stage, ending=ending)

    # For exact values

    def essence(self, state: State, seat: int) -> tuple[State, float]:
        """Return the state without what was said and won; where ranks count, with leads.

        A lead that the rounds left cannot undo counts as the least such lead.
        """
        own = state.units[seat]
        if self.rules.reward == "points":
            return state._replace(log=(), units=(0, 0, 0)), self.points_reward(own)
        left = 0 if state.ending else self.rules.rounds - state.round + 1
        most = left * self._swing + 1
        leads = tuple([min(max(other - own, -most), most) for other in state.units])
        return state._replace(log=(), units=leads), 0.0

    def distinct(self, view: Ipd3View, ask: Ask) -> Sequence[Action]:
        """Return the moves, or a message for each pair of acts."""
        if ask.kind == "moves":
            return PAIRS
        return [sentence_of(acts, OPPONENTS[ask.seat]) for acts in ACT_PAIRS]

    def like(self, view: Ipd3View, ask: Ask, action: Action) -> Action:
        """Return the moves, or the message with these acts."""
        if ask.kind == "moves":
            return action
        return sentence_of(acts_of(action, OPPONENTS[ask.seat]), OPPONENTS[ask.seat])

    # What it came to

    def rewards(self, state: State) -> tuple[float, ...]:
        """Return points or ranks.

        Points: an eliminated seat keeps what it had; one that forfeited gets the least that a whole
        game can bring. Ranks: places from 1 to -1, the tied sharing the mean of their places, so
        that the sum is always 0; under the rules ``textarena-0.7.4`` the different scores are
        spread evenly from -1 to 1, and all get 0 if there is one. Who forfeited is placed below who
        was eliminated, and both below all others, whatever their points.
        """
        if self.rules.reward == "points":
            least = 2 * self.rules.rounds * min(self.pay.values())
            return tuple(
                self.points_reward(least if seat in state.lost else units)
                for seat, units in enumerate(state.units)
            )
        standing = self._standing(state)
        if self.rules.rules == "own":
            return tuple(
                (sum(a > b for b in standing) - sum(a < b for b in standing)) / 2 for a in standing
            )
        groups = sorted(set(standing))
        steps = max(1, len(groups) - 1)
        return tuple((2 * groups.index(a) - len(groups) + 1) / steps for a in standing)

    def points_reward(self, units: int) -> float:
        """Return the reward for points, given in units."""
        return self.rules.scale * units / self.parts

    def wins(self, state: State) -> tuple[float, ...]:
        """Return shares of the win: those of most points among the seats that are still in."""
        standing = self._standing(state)
        most = max(standing)
        first = [seat for seat in range(3) if standing[seat] == most and most[0] == 0]
        return tuple(1 / len(first) if seat in first else 0.0 for seat in range(3))

    # What seats know

    def opponents(self, seat: int) -> tuple[int, int]:
        """Return a seat's opponents in the order of its moves."""
        return OPPONENTS[seat]

    def line(self, event: Event) -> str:
        """Return an event in one line."""
        if event.kind == "talk":
            return super().line(event._replace(data=" ".join(event.data.split()))).strip()
        if event.kind == "moves":
            return "; ".join(
                f"{self.seat_name(seat)} {_verb(own[0])} {self.seat_name(OPPONENTS[seat][0])}, "
                f"{_verb(own[1])} {self.seat_name(OPPONENTS[seat][1])}"
                for seat, own in enumerate(event.data)
                if own is not None
            )
        if event.kind == "points":
            number, gains, totals = event.data
            return f"Round {number} over, points: " + ", ".join(
                f"{self.seat_name(seat)} {totals[seat]:g} ({gains[seat]:+g})" for seat in range(3)
            )
        return super().line(event)

    # Questions and answers

    def probes(self, state: State, ask: Ask, done: Action, said: Said) -> tuple[Probe, ...]:
        """Ask, beside a decision, for every opponent's moves and whether it keeps its word.

        ``move``: its move toward the seat; ``other``: its move toward the third; ``word``: whether
        it does all that it announced in this round, if it announced anything.
        """
        if ask.kind == "talk" or done is not None:
            return ()
        view = self.view(state, ask.seat)
        left = [seat for seat in OPPONENTS[ask.seat] if seat not in view.out]
        names = ("move", "other") if len(left) == 2 else ("move",)
        probes = [Probe(name, seat) for seat in left for name in names]
        acts = view.acts
        return (*probes, *(Probe("word", s) for s in left if acts.get(s, SILENT) != SILENT))

    def fact(self, view: Ipd3View, probe: Probe, stage: Stage[State], after: State) -> Action:
        """Return the move that was made, or whether the word was kept."""
        about = probe.about
        moves = None if about is None else stage.actions.get(about)
        if about is None or moves is None:
            return None
        if probe.name == "word":
            return "yes" if kept(view.acts.get(about, SILENT), moves) else "no"
        toward = view.seat if probe.name == "move" else 3 - view.seat - about
        return moves[PLACE[about][toward]]

    def supposed(
        self, view: Ipd3View, said: Mapping[Probe, Action]
    ) -> Mapping[int, tuple[str, str]] | None:
        """Return stated moves toward the seat; what the others do to each other pays it nothing."""
        stated = {probe.about: move for probe, move in said.items() if probe.name == "move"}
        left = [seat for seat in OPPONENTS[view.seat] if seat not in view.out]
        if any(seat not in stated for seat in left):
            return None
        return {seat: (stated[seat], stated[seat]) for seat in left}

    def payoff(self, state: State, seat: int, actions: Mapping[int, Action]) -> float | None:
        """Return what the round pays in reward, a message nothing; None where ranks are the reward.

        After a message there is nothing to reply to, so that whatever is said replies best.
        """
        if self.rules.reward == "rank" or seat not in actions:
            return None
        if state.stage < DECIDE:
            return 0.0
        return self.points_reward(self.gains([actions.get(s) for s in range(3)])[seat])

    # Inside

    def _heard(self, text: str) -> str:
        if self.rules.rules == "own":
            return text
        return re.sub(r"\s+", " ", text[-self.rules.message_limit :])

    def _standing(self, state: State) -> list[tuple[int, int]]:
        """Return what seats are ranked by: who stayed in goes first, then points."""
        return [
            (-2 if seat in state.lost else -1 if seat in state.out else 0, units)
            for seat, units in enumerate(state.units)
        ]


def _next(stage: int, out: tuple[int, ...]) -> int:
    """Return the stage after one of a round, without the talk of those who are out."""
    stage += 1
    while stage in out and stage < DECIDE:
        stage += 1
    return stage


def _verb(move: str) -> str:
    return "cooperates with" if move == "cooperate" else "defects on"
