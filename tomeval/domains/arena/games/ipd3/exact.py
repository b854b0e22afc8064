"""V*, Q* and the exact observer of one seat against two machines.

Both machines' states follow from what everybody sees, so the seat knows them, and what is left is a
decision process over (rounds left, stage, both states), with the leads on both opponents where
ranks are the reward. `plan` solves it; its docstring says when values are bounds.

The best reply to stated moves is the action with the largest Q* if the coming moves were as stated
for certain: the round pays accordingly, and both machines go on from where those moves take them,
also where the machine would not have made them. An opponent of whom nothing or only a part is
stated plays as the observer expects given that part; if the part is impossible, all moves that
agree with it are equally likely. Statements about one opponent that contradict each other have no
reply.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from tomeval.domains.arena.games.ipd3.machine import Automaton
from tomeval.domains.arena.games.ipd3.plan import Plan, Point
from tomeval.domains.arena.games.ipd3.product import Branch, Pair, Product
from tomeval.domains.arena.games.ipd3.rules import Ipd3
from tomeval.domains.arena.games.ipd3.states import DECIDE, OPPONENTS, PAIRS, PLACE, Ipd3View
from tomeval.domains.arena.games.ipd3.tables import ACT_PAIRS, Draws
from tomeval.domains.arena.games.ipd3.talk import SILENT, Acts, acts_of, kept, sentence_of
from tomeval.games.game import Action, Ask, Probe
from tomeval.games.policy import Policy
from tomeval.games.solver import Bound, Follower, Solver, Values

_KEPT = 30_000_000
"""Values of all plans but that of the whole game that are kept at once."""


def solver(game: Ipd3, seat: int, policies: Mapping[int, Policy]) -> Solver | None:
    """Return the solver; None if an opponent is not a machine."""
    machines = [policies.get(other) for other in OPPONENTS[seat]]
    if not all(isinstance(m, Automaton) for m in machines):
        return None
    return Ipd3Solver(game, seat, [m for m in machines if isinstance(m, Automaton)])


class Ipd3Solver(Solver):
    """Values of one seat against two machines."""

    def __init__(self, game: Ipd3, seat: int, machines: list[Automaton]) -> None:
        self.game, self.seat = game, seat
        self.product = Product(game, seat, machines)
        self.root = Point(game.rules.rounds, self.product.first, self.product.start)
        self._plans: OrderedDict[Point, Plan] = OrderedDict()
        self._size = 0
        self._whole: Plan | None = None

    @property
    def whole(self) -> Plan:
        """The plan of the whole game."""
        if self._whole is None:
            self._whole = Plan(self.product, self.root)
        return self._whole

    def follow(self, view: Ipd3View) -> Follower:
        """Return a follower."""
        return Ipd3Follower(self)

    def value(self) -> Bound:
        """Return V* of the whole game."""
        ends = self.whole.value(self.root)
        assert ends is not None
        return self.reward(0, ends)

    def chance(self) -> Bound:
        """Return the value of random moves without talk."""
        ends = Plan(self.product, self.root, random=True).value(self.root)
        assert ends is not None
        return self.reward(0, ends)

    def reward(self, units: int, value: tuple[float, float]) -> Bound:
        """Return a value as reward, given the units that the seat has."""
        if self.game.rules.reward == "rank":
            return Bound(*value)
        low, high = (self.game.rules.scale * (units + v) / self.game.parts for v in value)
        return Bound(low, high)

    def worth(self, point: Point, branches: list[Branch]) -> tuple[float, float]:
        """Return bounds of the value of an option of a point."""
        left = point.left - (point.stage == DECIDE)
        stage = self.product.following(point.stage)
        rank = self.game.rules.reward == "rank"
        low = high = 0.0
        for chance, pair, (mine, first, second) in branches:
            ahead = (point.ahead[0] + first, point.ahead[1] + second) if rank else (0, 0)
            a, b = self._value(point, Point(left, stage, pair, ahead))
            low += chance * (a + (0 if rank else mine))
            high += chance * (b + (0 if rank else mine))
        return low, high

    def _value(self, point: Point, after: Point) -> tuple[float, float]:
        """Return bounds of the value of what may follow a point.

        From the plan of the whole game if it has it exactly, else from one that begins at the
        point; from one of its own if known machines cannot bring it about.
        """
        ends = self.whole.value(after)
        if ends is not None and ends[0] == ends[1]:
            return ends
        near = self._plan(point).value(after) if ends is not None else None
        if near is None:
            near = self._plan(after).value(after)
        assert near is not None
        return near if ends is None else (max(near[0], ends[0]), min(near[1], ends[1]))

    def _plan(self, root: Point) -> Plan:
        """Return the plan of a point, kept for a while."""
        if root not in self._plans:
            self._plans[root] = Plan(self.product, root)
            self._size += self._plans[root].size
            while self._size > _KEPT and len(self._plans) > 1:
                self._size -= self._plans.popitem(last=False)[1].size
        self._plans.move_to_end(root)
        return self._plans[root]


class Ipd3Follower(Follower):
    """Keeps the states of both machines."""

    def __init__(self, solver: Ipd3Solver) -> None:
        self.solver = solver
        self._pair: Pair = solver.product.start
        self._known = 0

    def observe(self, view: Ipd3View) -> None:
        """Take in the events that are new."""
        product = self.solver.product
        for event in view.log[self._known :]:
            if event.kind == "talk":
                acts = ACT_PAIRS.index(acts_of(event.data, OPPONENTS[event.seat or 0]))
                self._pair = product.said(event.seat or 0, self._pair, acts).pair
            elif event.kind == "moves":
                self._pair = product.after_round(self._pair, event.data)
        self._known = len(view.log)

    def values(self, view: Ipd3View, ask: Ask) -> Values | None:
        """Return the decision's values; None once a seat is out, as the opponents then differ."""
        if view.out:
            return None
        mine = view.units[view.seat]
        ahead = (0, 0)
        if self.solver.game.rules.reward == "rank":
            first, second = (mine - view.units[seat] for seat in view.opponents)
            ahead = first, second
        left = self.solver.game.rules.rounds - view.round + 1
        point = Point(left, view.stage, self._pair, ahead)
        return Ipd3Values(self.solver, point, mine, view.acts)


class Ipd3Values(Values):
    """Values of one decision.

    Attributes
    ----------
    point : Point
    units : int
        What the seat has.
    acts : mapping
        What was announced in the round, by seat.
    """

    def __init__(
        self, solver: Ipd3Solver, point: Point, units: int, acts: Mapping[int, Acts]
    ) -> None:
        self.solver, self.point, self.units, self.acts = solver, point, units, acts
        options = solver.product.options(point.stage, point.pair)
        self._worth = [solver.worth(point, branches) for branches in options]

    @property
    def best(self) -> Bound:
        """V*."""
        low, high = (max(worth[k] for worth in self._worth) for k in range(2))
        return self.solver.reward(self.units, (low, high))

    def of(self, action: Action) -> Bound:
        """Return Q* of moves, or of a message, which counts by its acts."""
        if self.point.stage == DECIDE:
            index = PAIRS.index(action)
        else:
            index = ACT_PAIRS.index(acts_of(action, self.solver.product.opponents))
        return self.solver.reward(self.units, self._worth[index])

    def best_actions(self) -> list[Action]:
        """Return the moves, or the messages of acts, with the best lower value."""
        lows = [low for low, _ in self._worth]
        best = [index for index, low in enumerate(lows) if low == max(lows)]
        if self.point.stage == DECIDE:
            return [PAIRS[index] for index in best]
        return [sentence_of(ACT_PAIRS[index], self.solver.product.opponents) for index in best]

    def observer(self, probe: Probe) -> Mapping[Action, float] | None:
        """Return the chances of a probe's answers."""
        if self.point.stage != DECIDE or probe.about not in self.solver.product.opponents:
            return None
        chances: dict[Action, float] = {}
        for p, moves in self._plays(probe.about):
            answer = self._answer(probe, PAIRS[moves])
            chances[answer] = chances.get(answer, 0.0) + p
        return chances

    def reply(self, said: Mapping[Probe, Action]) -> Action | None:
        """Return the best reply to stated moves; see the module."""
        opponents = self.solver.product.opponents
        stated = {p: a for p, a in said.items() if p.about in opponents and a is not None}
        if self.point.stage != DECIDE or not stated:
            return None
        draws = []
        for seat in opponents:
            own = {p: a for p, a in stated.items() if p.about == seat}
            agreeing = {
                m for m in range(4) if all(self._answer(p, PAIRS[m]) == a for p, a in own.items())
            }
            if not agreeing:
                return None
            expected = [(p, m) for p, m in self._plays(seat) if m in agreeing]
            total = sum(p for p, _ in expected)
            draws.append(
                tuple((p / total, m) for p, m in expected)
                if expected
                else tuple((1 / len(agreeing), m) for m in sorted(agreeing))
            )
        options = self.solver.product.decisions(self.point.pair, draws)
        worth = [self.solver.worth(self.point, branches) for branches in options]
        middle = [low + high for low, high in worth]
        return PAIRS[middle.index(max(middle))]

    def _plays(self, seat: int) -> Draws:
        index = self.solver.product.opponents.index(seat)
        return self.solver.product.machines[index].plays(self.point.pair[index])

    def _answer(self, probe: Probe, moves: tuple[str, str]) -> Action:
        """Return the true answer to a probe if an opponent makes these moves."""
        about, seat = probe.about, self.solver.seat
        assert about is not None
        if probe.name == "word":
            return "yes" if kept(self.acts.get(about, SILENT), moves) else "no"
        return moves[PLACE[about][seat if probe.name == "move" else 3 - seat - about]]
