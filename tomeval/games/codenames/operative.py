"""V* and Q* of an operative: a search over what the operative may believe.

A belief is a list of boards, as they may be coloured, with weights: all that agree with the words
uncovered, weighted by the chance that the spymasters, who see the colours, gave the clues that were
heard. Where there are too many, nothing is known but that values lie between -1 and 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import factorial, prod
from typing import Any

from tomeval.games.codenames.board import ASSASSIN, COLOURS, Board
from tomeval.games.codenames.playing_on import (
    OPEN,
    STEP_COST,
    Budget,
    Search,
    regret_of,
    stepped,
    without_log,
)
from tomeval.games.codenames.probes import Words, best_set
from tomeval.games.codenames.rules import Codenames
from tomeval.games.codenames.state import GUESS, CodenamesView, State
from tomeval.games.game import Action, Ask, Event, Probe, View
from tomeval.games.policy import Policy
from tomeval.games.solver import Bound, Follower, Values

MOST_BOARDS = 12_000
"""Boards times clues that a belief is made from, at most."""
PLAYED, PLAYED_LATER = 1_000_000, 300_000
"""What is played out for V*, and then for Q* of an action; see `playing_on.Budget`."""

Belief = tuple[tuple[float, State], ...]


def colourings(words: Words, found: Mapping[str, str], left: Mapping[str, int]) -> Iterator[Board]:
    """Return every board that agrees with the words found and the number of words left."""
    key = [COLOURS.index(found[word]) if word in found else -1 for word in words]
    counts = [left[colour] for colour in COLOURS]

    def fill(place: int) -> Iterator[Board]:
        if place == len(key):
            yield Board(words, tuple(key))
        elif words[place] in found:
            yield from fill(place + 1)
        else:
            for colour in range(len(COLOURS)):
                if counts[colour]:
                    counts[colour] -= 1
                    key[place] = colour
                    yield from fill(place + 1)
                    counts[colour] += 1

    yield from fill(0)


def total(belief: Belief) -> float:
    """Return the sum of a belief's weights."""
    return sum(weight for weight, _ in belief)


class BeliefSearch(Search):
    """Values of beliefs, summed over their weights."""

    def __init__(self, game: Codenames, seat: int, policies: Mapping[int, Policy]) -> None:
        super().__init__(game, seat, policies)
        self._known: dict[Belief, Bound] = {}

    def value(self, belief: Belief) -> tuple[Bound, Action]:
        """Return the value of a belief and a guess that attains its low."""
        board, covered = belief[0][1].board, belief[0][1].covered
        actions: list[Action] = [*board.named(covered), None]
        options = []
        for action in actions:
            after = self._stepped(belief, action)
            most = sum(w * (self.reward(s) if s.ended else 1.0) for w, s in after)
            options.append((most, action, after))
        low, high, chosen = float("-inf"), float("-inf"), None
        # The most promising first, so that the others need not be looked at.
        for most, action, after in sorted(options, key=lambda option: -option[0]):
            if most <= low:
                break
            settled = self._settled(after)
            if settled.low > low:
                low, chosen = settled.low, action
            high = max(high, settled.high if settled.exact else min(settled.high, most))
        return Bound(low, high), chosen

    def of(self, belief: Belief, action: Action) -> Bound:
        """Return the value of a guess or a pass."""
        return self._settled(self._stepped(belief, action))

    def _stepped(self, belief: Belief, action: Action) -> Belief:
        self.budget.left -= STEP_COST * len(belief)
        return tuple((weight, stepped(self.game, state, action)) for weight, state in belief)

    def _settled(self, belief: Belief) -> Bound:
        """Return the value of what follows a guess, whose event is the states' log."""
        done, unknown = 0.0, 0.0
        groups: dict[tuple[Event, ...], list[tuple[float, State]]] = {}
        for weight, state in belief:
            following = self.following(state, log=True)
            if following is None:
                unknown += weight
                continue
            for after, chance in following.items():
                if after.ended:
                    done += weight * chance * self.reward(after)
                else:
                    entry = (weight * chance, without_log(after))
                    groups.setdefault(after.log, []).append(entry)
        low, high = done - unknown, done + unknown
        for group in groups.values():
            value = self._kept(tuple(group))
            low, high = low + value.low, high + value.high
        return Bound(low, high)

    def _kept(self, belief: Belief) -> Bound:
        if belief not in self._known:
            if self.budget.left <= 0:
                return Bound(-total(belief), total(belief))
            value = self.value(belief)[0]
            if not value.exact:
                return value
            self._known[belief] = value
        return self._known[belief]


class UnknownValues(Values):
    """What is always known: a game is at worst lost and at best won."""

    best = OPEN

    def of(self, action: Action) -> Bound:
        """Return all of [-1, 1]."""
        return OPEN


class OperativeValues(Values):
    """V* and Q* of a guess, from a belief."""

    def __init__(
        self, search: BeliefSearch, belief: Belief, meant: Mapping[Words, float] | None
    ) -> None:
        self.search, self.belief, self.meant = search, belief, meant
        self._sum = total(belief)
        self._best: tuple[Bound, Action] | None = None
        self._of: dict[Action, Bound] = {}

    def _value(self) -> tuple[Bound, Action]:
        if self._best is None:
            self.search.budget = Budget(PLAYED)
            value, action = self.search.value(self.belief)
            self._best = self._scaled(value), action
        return self._best

    def _scaled(self, value: Bound) -> Bound:
        low = value.low / self._sum
        return Bound(low, low if value.exact else value.high / self._sum)

    @property
    def best(self) -> Bound:
        """V*: the value of the best guess, or of a pass."""
        return self._value()[0]

    def best_actions(self) -> Sequence[Action]:
        """Return a guess that attains V*, or the lower bound of it."""
        return (self._value()[1],)

    def of(self, action: Action) -> Bound:
        """Return Q* of a guess or a pass."""
        if action not in self._of:
            self._value()
            self.search.budget = Budget(PLAYED_LATER)
            self._of[action] = self._scaled(self.search.of(self.belief, action))
        return self._of[action]

    def regret(self, action: Action) -> Bound:
        """Return V* - Q*."""
        return regret_of(self.best, self.of(action))

    def reply(self, said: Mapping[Probe, Action]) -> Action | None:
        """Return the first word that was named as meant: as if certain, a word of the own team.

        None if none was named, or if it was also named as the assassin.
        """
        named = {probe.name: answer for probe, answer in said.items()}
        meant = named.get("meant") or ()
        if not meant or named.get("assassin") in meant:
            return None
        return meant[0]

    def observer(self, probe: Probe) -> Mapping[Action, float] | None:
        """Return the posterior over the assassin, or over the words that were meant."""
        if probe.name == "meant":
            return self.meant
        if probe.name != "assassin":
            return None
        posterior: dict[Action, float] = {}
        for weight, state in self.belief:
            word = state.board.words[state.board.key.index(ASSASSIN)]
            posterior[word] = posterior.get(word, 0.0) + weight / self._sum
        return posterior

    def answer(self, probe: Probe) -> tuple[Action, float] | None:
        """Return the words that score most in expectation, or the likeliest assassin."""
        if probe.name != "meant":
            return super().answer(probe)
        return best_set(self.meant) if self.meant else None


class OperativeFollower(Follower):
    """Keeps the belief of one game, as soon as few enough boards are possible."""

    def __init__(self, game: Codenames, seat: int, policies: Mapping[int, Policy]) -> None:
        self.search = BeliefSearch(game, seat, policies)
        self.belief: Belief | None = None
        self.seen = 0
        self.meant: Mapping[Words, float] | None = None

    def values(self, view: View[Any], ask: Ask) -> Values | None:
        """Return the values of a guess."""
        assert isinstance(view, CodenamesView)
        if ask.kind != GUESS:
            return None
        self._catch_up(view)
        # A belief is empty if a spymaster gave a clue that its policy never gives.
        if not self.belief:
            return UnknownValues()
        return OperativeValues(self.search, self.belief, None if view.guessed else self.meant)

    def _catch_up(self, view: CodenamesView) -> None:
        events = view.events
        if self.belief is None:
            left = view.left
            boards = factorial(sum(left.values())) // prod(map(factorial, left.values()))
            clues = sum(event.kind == "clue" for event in events)
            if boards * max(1, clues) > MOST_BOARDS:
                return
            boards_left = colourings(view.words, view.found, left)
            self.belief = tuple(
                (1 / boards, without_log(self.search.game.begin(board))) for board in boards_left
            )
        for event in events[self.seen :]:
            self._take(event)
        self.seen = len(events)

    def _take(self, event: Event) -> None:
        """Update the belief by an event."""
        assert self.belief is not None
        if event.kind == "clue":
            self._hear(event)
        elif event.kind in ("guess", "pass", "no_clue"):
            action = event.data[0] if event.kind == "guess" else None
            after = [(w, stepped(self.search.game, state, action)) for w, state in self.belief]
            self.belief = tuple((w, without_log(s)) for w, s in after if s.log == (event,))

    def _hear(self, event: Event) -> None:
        """Weigh boards by the chance of a clue, and collect what it may mean."""
        game, seat = self.search.game, event.seat
        assert self.belief is not None
        assert seat is not None
        meant: dict[Words, float] | None = {}
        kept = []
        for weight, state in self.belief:
            (ask,) = game.due(state)
            choices = self.search.policies[seat].choices(game.view(state, seat), ask, None)
            chance = 0.0
            for share, action in choices:
                if action[:2] != event.data:
                    continue
                chance += share
                if len(action) == 2:
                    meant = None
                elif meant is not None:
                    meant[action[2:]] = meant.get(action[2:], 0.0) + weight * share
            if chance:
                kept.append((weight * chance, without_log(stepped(game, state, event.data))))
        self.belief = tuple(kept)
        whole = total(self.belief)
        mine = seat == self.search.seat - 1
        self.meant = {k: v / whole for k, v in meant.items()} if meant and mine and whole else None
