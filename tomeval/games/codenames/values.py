"""What is known of a decision in Codenames: values from a search, and a Bayesian observer.

An operative believes in all boards that agree with the words uncovered, and on which the
spymasters, who see the colours, give the clues that were heard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import factorial, prod
from statistics import fmean
from typing import Any

import numpy as np

from tomeval.games.codenames.clues import Words, best_set
from tomeval.games.codenames.rules import Codenames
from tomeval.games.codenames.search import (
    GUESSED_ASIDE,
    OPEN,
    ROUNDING,
    Belief,
    ClueSearch,
    GuessSearch,
    Search,
    play_on,
    stepped,
    without_log,
)
from tomeval.games.codenames.state import (
    ASSASSIN,
    CLUE,
    COLOURS,
    Board,
    CodenamesView,
    State,
)
from tomeval.games.game import Action, Ask, Event, Probe
from tomeval.games.solver import (
    Bound,
    Follower,
    Solver,
    Values,
    Weighed,
    arrangements,
    exactly,
)

MOST_BOARDS = 12_000
"""Boards times clues that a belief is made from, at most."""


class CodenamesSolver(Solver):
    """Values of a seat against embedding players, which draw and remember nothing."""

    def __init__(self, game: Codenames, seat: int, policies: Mapping[int, Any]) -> None:
        self.table = game, seat, policies

    def follow(self, view: CodenamesView) -> Follower:
        """Return a follower of a game."""
        search = ClueSearch if view.spymaster else GuessSearch
        aside = search(*self.table)
        aside.later = GUESSED_ASIDE
        return CodenamesFollower(search(*self.table), aside)


OPTIONS = 8
"""Random clues, and random words that are taken, that a clue is weighed against."""


class SearchedValues(Values):
    """V* and Q* of a decision, from a search.

    What the scores need is searched `aside`, so that what is known of later decisions is the same.
    """

    def __init__(self, search: Search, belief: Belief, aside: Search) -> None:
        self.search, self.belief, self.aside = search, belief, aside
        self._of: dict[Action, Bound] = {}

    @cached_property
    def _whole(self) -> float:
        return sum(weight for weight, _ in self.belief)

    @cached_property
    def _best(self) -> tuple[Bound, Action]:
        bound, action = self.search.best(self.belief)
        return self._scaled(bound), action

    def _scaled(self, value: Bound) -> Bound:
        return Bound(value.low / self._whole, value.high / self._whole)

    @property
    def best(self) -> Bound:
        """V*; a spymaster's is over the bank's clues."""
        return self._best[0]

    def best_actions(self) -> Sequence[Action]:
        """Return an action that attains V*, or the lower bound of it; empty: none was found."""
        action = self._best[1]
        return () if action is None and not self.search.hidden else (action,)

    def of(self, action: Action) -> Bound:
        """Return Q*."""
        if action not in self._of:
            self._best  # noqa: B018 (found first, as what is played out counts for both)
            self._of[action] = self._scaled(self.search.of(self.belief, action))
        return self._of[action]

    def regret(self, action: Action) -> Bound:
        """Return V* - Q*; what is known of the action bounds V* too.

        A clue that is not in the bank can be worth more than V*: no regret.
        """
        best, value = self.best, self.of(action)
        low, high = max(best.low, value.low) - value.high, max(best.high, value.low) - value.low
        return Bound(*(gap if gap > ROUNDING else 0.0 for gap in (low, high)))


class SpymasterValues(SearchedValues):
    """Values of a clue."""

    search: ClueSearch
    aside: ClueSearch

    def weighed(
        self, action: Action, rng: np.random.Generator, said: Mapping[Probe, Action] | None = None
    ) -> Weighed | None:
        """Return what the clue is worth, beside the best one and the mean of random ones.

        With what she says will be taken, the clue is worth what that leads to, and chance are
        random words that are taken.
        """
        game, aside = self.search.game, self.aside
        view = game.view(self.belief[0][1], self.search.seat)
        if said is None:
            ask = Ask(self.search.seat, CLUE)
            drawn = (game.random(view, ask, rng) for _ in range(OPTIONS))
            found = [self.of(action), *(aside.of(self.belief, clue) for clue in drawn)]
        else:
            ((probe, words),) = said.items()
            if self._led_to(tuple(probe.given), words) is None:
                return None
            taken = [words, *(game.guess(view, probe, rng) for _ in range(OPTIONS))]
            led = (self._led_to(tuple(probe.given), words) for words in taken)
            found = [aside.expected(to, to) for to in led if to is not None]
        known = [value for value in map(exactly, (self.best, *found)) if value is not None]
        if len(known) <= len(found) or len(found) < 2:
            return None
        best, chosen, *others = known
        return Weighed(max(best, chosen), chosen, fmean(others))

    def reply(self, said: Mapping[Probe, Action]) -> Action | None:
        """Return the clue that was given, if what she expects of it is best, or else the best one.

        She is taken to be certain of the words that she says will be taken, and right about all
        other clues. None if the words contradict the key or the rules, or if the bounds leave it
        open.
        """
        takes = next(((p, words) for p, words in said.items() if p.name == "takes"), None)
        if takes is None:
            return None
        clue = tuple(takes[0].given)
        if (state := self._led_to(clue, takes[1])) is None:
            return None
        expected, best = self.search.expected(state, state), self._best[1]
        if expected.low >= self.best.high - ROUNDING or (best and clue[:2] == best[:2]):
            return clue
        return best if expected.high < self.best.low else None

    def _led_to(self, clue: Action, words: Words) -> Any:
        """Return the state that these words would lead to; None: there is no such one."""
        game, mate = self.search.game, self.search.seat + 1
        state = stepped(game, self.belief[0][1], clue)
        for word in words:
            covered = state.covered >> state.board.place[word] & 1
            if state.ending or state.seat != mate or not covered:
                return None
            state = stepped(game, state, word)
        return stepped(game, state, None) if not state.ending and state.seat == mate else state

    def observer(self, probe: Probe) -> Mapping[Action, float] | None:
        """Return the words that the operative will take, which is certain."""
        search = self.search
        if probe.name != "takes" or probe.given is None:
            return None
        heard = without_log(stepped(search.game, self.belief[0][1], tuple(probe.given)))
        others = {0, 1, 2, 3} - {search.seat + 1}
        end, _ = play_on(search.game, search.policies, heard, others, log=True)
        return {tuple(event.data[0] for event in end.log if event.kind == "guess"): 1.0}


class UnknownValues(Values):
    """What is always known: a game is at worst lost and at best won."""

    best = OPEN

    def of(self, action: Action) -> Bound:
        """Return all of [-1, 1]."""
        return OPEN


class OperativeValues(SearchedValues):
    """Values of a guess or a pass; `meant` are the chances of what the clue means."""

    def __init__(
        self,
        search: GuessSearch,
        belief: Belief,
        aside: Search,
        meant: Mapping[Words, float] | None,
    ) -> None:
        super().__init__(search, belief, aside)
        self.meant = meant

    def worths(self, said: Mapping[Probe, Action] | None = None) -> Mapping[Action, float]:
        """Return Q* of all words and the pass on boards that agree with what was said.

        What was meant are words of the own team. Empty if any is not known exactly.
        """
        stated = {probe.name: answer for probe, answer in (said or {}).items()}
        own, wanted = self.search.seat // 2, set(stated.get("meant", ()))
        belief = tuple(
            (weight, state)
            for weight, state in self.belief
            if wanted <= {*state.board.named(state.board.masks[own])}
            and stated.get("assassin") in (None, state.board.words[_assassin(state)])
        )
        if not belief or (not self.best.exact if said is None else not said):
            return {}
        whole = sum(weight for weight, _ in belief)
        words = belief[0][1].board.named(belief[0][1].covered)
        found: dict[Action, float] = {}
        for action in (*words, None):
            if (value := exactly(self.aside.of(belief, action))) is None:
                return {}
            found[action] = value / whole
        return found

    def reply(self, said: Mapping[Probe, Action]) -> Action | None:
        """Return the first word that was named as meant: as if certain, a word of the own team.

        None if none was named, or if it was also named as the assassin.
        """
        named = {probe.name: answer for probe, answer in said.items()}
        meant = named.get("meant") or ()
        return None if not meant or named.get("assassin") in meant else meant[0]

    def observer(self, probe: Probe) -> Mapping[Action, float] | None:
        """Return the posterior over the assassin, or over the words that were meant."""
        if probe.name != "assassin":
            return self.meant if probe.name == "meant" else None
        posterior: dict[Action, float] = {}
        for weight, state in self.belief:
            word = state.board.words[_assassin(state)]
            posterior[word] = posterior.get(word, 0.0) + weight / self._whole
        return posterior

    def answer(self, probe: Probe) -> tuple[Action, float] | None:
        """Return the answer that scores most in expectation, and its score."""
        if probe.name != "meant":
            return super().answer(probe)
        return best_set(self.meant) if self.meant else None


def _assassin(state: State) -> int:
    """Return the place of the assassin."""
    return state.board.key.index(ASSASSIN)


class CodenamesFollower(Follower):
    """Keeps the belief of an operative, as soon as few enough boards are possible.

    A spymaster needs none: the view says all.
    """

    def __init__(self, search: ClueSearch | GuessSearch, aside: ClueSearch | GuessSearch) -> None:
        self.search, self.aside = search, aside
        self.belief: Belief | None = None
        self.seen = 0
        self.meant: Mapping[Words, float] | None = None

    def values(self, view: CodenamesView, ask: Ask) -> Values:
        """Return the values of a clue or a guess."""
        if isinstance(self.search, ClueSearch):
            belief = ((1.0, without_log(view._state)),)
            return SpymasterValues(self.search, belief, self.aside)
        self._catch_up(view)
        # A belief is empty if a spymaster gave a clue that its policy never gives.
        if not self.belief:
            return UnknownValues()
        meant = None if view.guessed else self.meant
        return OperativeValues(self.search, self.belief, self.aside, meant)

    def _catch_up(self, view: CodenamesView) -> None:
        events = view.events
        if self.belief is None:
            left = view.left
            boards = factorial(sum(left.values())) // prod(map(factorial, left.values()))
            if boards * max(1, sum(event.kind == "clue" for event in events)) > MOST_BOARDS:
                return
            starts = map(self.search.game.begin, colourings(view.words, view.found, left))
            self.belief = tuple((1 / boards, without_log(state)) for state in starts)
        for event in events[self.seen :]:
            if event.kind == "clue":
                self._hear(event)
            elif event.kind in ("guess", "pass", "no_clue"):
                action = event.data[0] if event.kind == "guess" else None
                after = [(w, stepped(self.search.game, state, action)) for w, state in self.belief]
                self.belief = tuple((w, without_log(s)) for w, s in after if s.log == (event,))
        self.seen = len(events)

    def _hear(self, event: Event) -> None:
        """Keep the boards on which a clue is given, and collect what it means."""
        game, seat = self.search.game, event.seat
        assert self.belief is not None
        assert seat is not None
        meant: dict[Words, float] = {}
        kept = []
        for weight, state in self.belief:
            action = self.search.policies[seat].action(game.view(state, seat))
            if action[:2] == event.data:
                meant[action[2:]] = meant.get(action[2:], 0.0) + weight
                kept.append((weight, without_log(stepped(game, state, event.data))))
        self.belief, whole = tuple(kept), sum(weight for weight, _ in kept)
        mine = seat == self.search.seat - 1
        self.meant = {k: v / whole for k, v in meant.items()} if mine and whole else None


def colourings(words: Words, found: Mapping[str, str], left: Mapping[str, int]) -> Iterator[Board]:
    """Return every board that agrees with the words found and the number of words left."""
    colours = [colour for colour in COLOURS for _ in range(left[colour])]
    covered = [word for word in words if word not in found]
    for order in arrangements(colours):
        key = {**found, **dict(zip(covered, order, strict=True))}
        yield Board(words, tuple(COLOURS.index(key[word]) for word in words))
