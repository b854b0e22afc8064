"""What one seat's decisions are worth in Secret Mafia, and what an exact observer would believe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.games.mafia.answers import AFTER, truth
from tomeval.domains.arena.games.mafia.beliefs import Belief, Beliefs, belief, best
from tomeval.domains.arena.games.mafia.policies import MODELS
from tomeval.domains.arena.games.mafia.positions import Positions
from tomeval.domains.arena.games.mafia.rules import Mafia
from tomeval.domains.arena.games.mafia.scripts import Script
from tomeval.domains.arena.games.mafia.state import MAFIA, NOBODY, MafiaView
from tomeval.games.game import Action, ArenaGame, Ask, Event, Probe, View
from tomeval.games.policy import Policy
from tomeval.games.solver import Bound, Follower, Solver, Values

PLAYERS = 8
"""With more there are no values: the deals alone are too many."""

MOST = 100_000
"""Steps of an exact solution, for each role and each set of fellows; see docs/arena/mafia.md."""

PATIENCE = {"villager": 6}
"""How many times as many steps a role gets: most seats are a villager's, and have one root."""

LOOK = 20_000
"""Combinations of what others do that are looked at for the bounds of one decision."""


class MafiaSolver(Solver):
    """Values of one seat against scripts in the others."""

    def __init__(
        self,
        game: Mafia,
        seat: int,
        policies: Mapping[int, Script],
        most: int = MOST,
        look: int = LOOK,
    ) -> None:
        self.positions = Positions(game, seat, policies)
        self.beliefs = Beliefs(self.positions, MODELS, most, look)
        self._roots: dict[tuple[str, tuple[int, ...]], tuple[float, Belief]] = {}
        deals: dict[tuple[str, tuple[int, ...]], list[int]] = {}
        for roles in game.deals():
            state = game.dealt(roles)
            view = game.view(state, seat)
            deals.setdefault((view.role, view.fellows), []).append(self.positions.number(state))
        total = sum(len(places) for places in deals.values())
        for key, places in deals.items():
            self._roots[key] = len(places) / total, belief((at, 1.0) for at in places)[1]
        self._tried: set[Belief] = set()

    def root(self, view: MafiaView) -> Belief:
        """Return the belief after the deal, solved if that ends in time."""
        return self._solved(self._roots[view.role, view.fellows][1])

    def _solved(self, root: Belief) -> Belief:
        if root not in self._tried:
            self._tried.add(root)
            role = self.positions.view(root[0][0]).role
            self.beliefs.solve(root, PATIENCE.get(role, 1))
        return root

    def follow(self, view: View[Any]) -> MafiaFollower:
        """Return a follower of a new game."""
        assert isinstance(view, MafiaView)
        return MafiaFollower(self, view)

    def value(self) -> Bound:
        """Return V* before the deal."""
        return self._mean(self._roots)

    def by_role(self) -> dict[str, Bound]:
        """Return V* after the deal, by the role of the seat, over all deals with it."""
        roles = dict.fromkeys(role for role, _ in self._roots)
        return {role: self._mean(key for key in self._roots if key[0] == role) for role in roles}

    def _mean(self, keys: Iterable[tuple[str, tuple[int, ...]]]) -> Bound:
        low = high = total = 0.0
        for weight, root in (self._roots[key] for key in keys):
            bound = best(self.beliefs.values(self._solved(root)).values())
            low, high = low + weight * bound.low, high + weight * bound.high
            total += weight
        return Bound(low / total, high / total)

    def chance(self) -> Bound:
        """Return the value of actions drawn as the game draws them, before the deal."""
        value = sum(
            weight * p * self.positions.value("drawing", at)
            for weight, root in self._roots.values()
            for at, p in root
        )
        return Bound(value, value)


class MafiaFollower(Follower):
    """Keeps the belief of one seat through one game."""

    def __init__(self, solver: MafiaSolver, view: MafiaView) -> None:
        self._beliefs, self._positions = solver.beliefs, solver.positions
        self._at = solver.root(view)
        self._read = len(view.events)

    def observe(self, view: View[Any]) -> None:
        """Keep the positions that fit what the seat has seen of a stage."""
        assert isinstance(view, MafiaView)
        events = view.events
        new, self._read = events[self._read :], len(events)
        if view.phase == "over" or view.seat not in view.alive:
            return
        positions = self._positions
        did = positions.plain(self._at[0][0], _did(new, view.seat))
        seen = positions.seen(new)
        after: dict[int, float] = {}
        for position, weight in self._at:
            for p, _, following in positions.stage(position, did, seen):
                after[following] = after.get(following, 0.0) + weight * p
        if not after:
            raise TomevalError(
                f"mafia: what {view.game.seat_name(view.seat)} has seen on day {view.day} is "
                f"impossible against the policies for which its values are computed"
            )
        _, self._at = belief(after.items())

    def values(self, view: View[Any], ask: Ask) -> MafiaValues:
        """Return the coming decision's values."""
        return MafiaValues(self._beliefs, self._at)


def _did(events: tuple[Event, ...], seat: int) -> Action:
    """Return what a seat did in a stage; None if it was not due."""
    for event in events:
        if event.seat == seat and event.kind in ("kill", "protect", "vote", "act", "talk"):
            return event.data
        if event.kind == "finding":
            return event.data[0]
    return None


class MafiaValues(Values):
    """Values of one decision.

    Parameters
    ----------
    beliefs : Beliefs
    at : Belief
        What the seat believes.
    """

    def __init__(self, beliefs: Beliefs, at: Belief) -> None:
        self._beliefs, self._at = beliefs, at

    @property
    def best(self) -> Bound:
        """V*."""
        return best(self._beliefs.values(self._at).values())

    def of(self, action: Action) -> Bound:
        """Return Q*; a message is worth what the act is that it counts as."""
        plain = self._beliefs.positions.plain(self._at[0][0], action)
        return self._beliefs.values(self._at)[plain]

    def best_actions(self) -> tuple[Action, ...]:
        """Return the actions whose lower bound is the highest."""
        low = self.best.low - 1e-12
        bounds = self._beliefs.values(self._at).items()
        return tuple(action for action, bound in bounds if bound.low >= low)

    def reply(self, said: Mapping[Probe, Action]) -> Action | None:
        """Return the best reply to the roles that the seat stated.

        Positions that contradict what was stated are dropped, and the others keep their weights; in
        each, an action is worth what it is to a player that sees all roles. The first action wins
        ties, in the order of `Mafia.options`. Who dies or is voted out is no reason to act.
        """
        roles = {probe: answer for probe, answer in said.items() if probe.name not in AFTER}
        positions = self._beliefs.positions
        fits = [
            (at, weight)
            for at, weight in self._at
            if all(self._role(probe, at) == answer for probe, answer in roles.items())
        ]
        if not roles or not fits:
            return None
        highest: tuple[float, Action] | None = None
        for action in self._beliefs.options(self._at):
            value = sum(w * positions.after("all-seeing", at, action) for at, w in fits)
            if highest is None or value > highest[0] + 1e-12 * sum(w for _, w in fits):
                highest = value, action
        assert highest is not None
        return highest[1]

    def _role(self, probe: Probe, at: int) -> Action:
        state = self._beliefs.positions.states[at]
        return truth(probe, state, state)

    def observer(self, probe: Probe) -> Mapping[Action, float] | None:
        """Return the posterior; of who dies or is voted out, given what the seat itself decided."""
        late = probe.name in AFTER
        if late and probe.given is None:
            return None
        chances: dict[Action, float] = {}
        for at, weight in self._at:
            answers = self._fates(at, probe.given) if late else {self._role(probe, at): 1.0}
            for answer, p in answers.items():
                chances[answer] = chances.get(answer, 0.0) + weight * p
        return chances

    def _fates(self, at: int, action: Action) -> dict[Action, float]:
        """Return who leaves the game in this stage: one seat, or `NOBODY`."""
        positions = self._beliefs.positions
        chances: dict[Action, float] = {}
        for p, after in positions.blind(at, action):
            gone = set(positions.states[at].alive) - set(positions.states[after].alive)
            fate = gone.pop() if gone else NOBODY
            chances[fate] = chances.get(fate, 0.0) + p
        return chances

    def answer(self, probe: Probe) -> tuple[Action, float] | None:
        """Return the likeliest answer; of the Mafia, the seats that are each the likeliest.

        Of equally likely seats the lowest; the score is the expected share of the Mafia named.
        """
        if probe.name != "mafia":
            return super().answer(probe)
        positions, single = self._beliefs.positions, dict[int, float]()
        for at, weight in self._at:
            for seat, role in enumerate(positions.states[at].roles):
                if role == MAFIA:
                    single[seat] = single.get(seat, 0.0) + weight
        named = sorted(single, key=lambda seat: (-single[seat], seat))[: positions.game.mafia]
        return tuple(sorted(named)), sum(single[seat] for seat in named) / len(named)


def solver(game: ArenaGame[Any], seat: int, policies: Mapping[int, Policy]) -> MafiaSolver | None:
    """Return a solver against scripts; None with more than `PLAYERS` or other policies."""
    assert isinstance(game, Mafia)
    scripts = {s: policy for s, policy in policies.items() if isinstance(policy, Script)}
    if len(scripts) < len(policies) or game.seats > PLAYERS:
        return None
    return MafiaSolver(game, seat, scripts)
