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
    GUESSED_LATER,
    LOSS,
    ROUNDING,
    WIN,
    Belief,
    ClueSearch,
    GuessSearch,
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
from tomeval.games.solver import Follower, Solver, Values, Weighed, arrangements

MOST_BOARDS = 12_000
"""Boards times clues that a belief is made from, at most."""


class CodenamesSolver(Solver):
    """Values of a seat against embedding players, which draw and remember nothing."""

    def __init__(self, game: Codenames, seat: int, policies: Mapping[int, Any]) -> None:
        self.table = game, seat, policies

    def follow(self, view: CodenamesView) -> Follower:
        """Return a follower of a game."""
        if view.spymaster:
            return ClueFollower(ClueSearch(*self.table), ClueSearch(*self.table))
        later = (GUESSED_LATER, GUESSED_ASIDE)
        return GuessFollower(*(GuessSearch(*self.table, most) for most in later))


OPTIONS = 8
"""Random clues, and random words that are taken, that a clue is weighed against."""


class SearchedValues(Values):
    """V* and Q* of a decision, from a search.

    What the scores need is searched `aside`, so that what is known of later decisions is the same.
    `given` is what the seat knows: the state, or a belief.
    """

    def __init__(self, search: Any, given: Any, aside: Any) -> None:
        self.search, self.given, self.aside = search, given, aside
        self._of: dict[Action, float | None] = {}

    @cached_property
    def _best(self) -> tuple[float | None, Action]:
        found: tuple[float | None, Action] = self.search.best(self.given)
        return found

    @property
    def best(self) -> float | None:
        """V*; a spymaster's is over the bank's clues."""
        return self._best[0]

    def of(self, action: Action) -> float | None:
        """Return Q*."""
        if action not in self._of:
            self._best  # noqa: B018 (found first, as what is played out counts for both)
            self._of[action] = self.search.of(self.given, action)
        return self._of[action]

    def regret(self, action: Action) -> float | None:
        """Return V* - Q*; nothing is better than a win.

        A clue that is not in the bank can be worth more than V*: no regret.
        """
        best, value = self.best, self.of(action)
        if value is not None and value >= WIN - ROUNDING:
            return 0.0
        if best is None or value is None:
            return None
        return best - value if best - value > ROUNDING else 0.0


class SpymasterValues(SearchedValues):
    """Values of a clue."""

    def best_actions(self) -> Sequence[Action]:
        """Return a clue that attains V*, or of no known V* the first; empty: there is none."""
        return () if self._best[1] is None else (self._best[1],)

    def weighed(
        self, action: Action, rng: np.random.Generator, said: Mapping[Probe, Action] | None = None
    ) -> Weighed | None:
        """Return what the clue is worth, beside the best one and the mean of random ones.

        With what she says will be taken, the clue is worth what that leads to, and chance are
        random words that are taken.
        """
        game, aside = self.search.game, self.aside
        view = game.view(self.given, self.search.seat)
        if said is None:
            ask = Ask(self.search.seat, CLUE)
            drawn = (game.random(view, ask, rng) for _ in range(OPTIONS))
            found = [self.of(action), *(aside.of(self.given, clue) for clue in drawn)]
        else:
            ((probe, words),) = said.items()
            if self._led_to(tuple(probe.given), words) is None:
                return None
            taken = [words, *(game.guess(view, probe, rng) for _ in range(OPTIONS))]
            led = (self._led_to(tuple(probe.given), words) for words in taken)
            found = [aside.expected(to, to) for to in led if to is not None]
        known = [value for value in (self.best, *found) if value is not None]
        if len(known) <= len(found) or len(found) < 2:
            return None
        best, chosen, *others = known
        return Weighed(max(best, chosen), chosen, fmean(others))

    def reply(self, said: Mapping[Probe, Action]) -> Action | None:
        """Return the clue that was given, if what she expects of it is best, or else the best one.

        She is taken to be certain of the words that she says will be taken, and right about all
        other clues. None if the words contradict the key or the rules, or if a value that this
        hangs on is not known.
        """
        takes = next(((p, words) for p, words in said.items() if p.name == "takes"), None)
        if takes is None:
            return None
        clue = tuple(takes[0].given)
        if (state := self._led_to(clue, takes[1])) is None:
            return None
        expected, (value, best) = self.search.expected(state, state), self._best
        least = LOSS if expected is None else expected
        if least >= (WIN if value is None else value) - ROUNDING or (best and clue[:2] == best[:2]):
            return clue
        return None if expected is None or value is None else best

    def _led_to(self, clue: Action, words: Words) -> Any:
        """Return the state that these words would lead to; None: there is no such one."""
        game, mate = self.search.game, self.search.seat + 1
        state = stepped(game, self.given, clue)
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
        heard = without_log(stepped(search.game, self.given, tuple(probe.given)))
        others = {0, 1, 2, 3} - {search.seat + 1}
        end, _ = play_on(search.game, search.policies, heard, others, log=True)
        return {tuple(event.data[0] for event in end.log if event.kind == "guess"): 1.0}


class OperativeValues(SearchedValues):
    """Values of a guess or a pass; `meant` are the chances of what the clue means."""

    def __init__(
        self,
        search: GuessSearch,
        belief: Belief,
        aside: GuessSearch,
        meant: Mapping[Words, float] | None,
    ) -> None:
        super().__init__(search, belief, aside)
        self.meant = meant

    def best_actions(self) -> Sequence[Action]:
        """Return the guess, or pass, that is worth most as far as is known."""
        return (self._best[1],)

    def worths(self, said: Mapping[Probe, Action] | None = None) -> Mapping[Action, float]:
        """Return Q* of all words and the pass on boards that agree with what was said.

        What was meant are words of the own team. Empty if any is not known exactly.
        """
        stated = {probe.name: answer for probe, answer in (said or {}).items()}
        own, wanted = self.search.seat // 2, set(stated.get("meant", ()))
        belief = tuple(
            (weight, state)
            for weight, state in self.given
            if wanted <= {*state.board.named(state.board.masks[own])}
            and stated.get("assassin") in (None, state.board.words[_assassin(state)])
        )
        if not belief or (self.best is None if said is None else not said):
            return {}
        words = belief[0][1].board.named(belief[0][1].covered)
        found: dict[Action, float] = {}
        for action in (*words, None):
            if (value := self.aside.of(belief, action)) is None:
                return {}
            found[action] = value
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
        whole = sum(weight for weight, _ in self.given)
        for weight, state in self.given:
            word = state.board.words[_assassin(state)]
            posterior[word] = posterior.get(word, 0.0) + weight / whole
        return posterior

    def answer(self, probe: Probe) -> tuple[Action, float] | None:
        """Return the answer that scores most in expectation, and its score."""
        if probe.name != "meant":
            return super().answer(probe)
        return best_set(self.meant) if self.meant else None


def _assassin(state: State) -> int:
    """Return the place of the assassin."""
    return state.board.key.index(ASSASSIN)


class ClueFollower(Follower):
    """Follows a spymaster, whose view says all."""

    def __init__(self, search: ClueSearch, aside: ClueSearch) -> None:
        self.search, self.aside = search, aside

    def values(self, view: CodenamesView, ask: Ask) -> SpymasterValues:
        """Return the values of a clue."""
        return SpymasterValues(self.search, without_log(view._state), self.aside)


class GuessFollower(Follower):
    """Keeps the belief of an operative, as soon as few enough boards are possible."""

    def __init__(self, search: GuessSearch, aside: GuessSearch) -> None:
        self.search, self.aside = search, aside
        self.belief: Belief | None = None
        self.seen = 0
        self.meant: Mapping[Words, float] | None = None

    def values(self, view: CodenamesView, ask: Ask) -> OperativeValues | None:
        """Return the values of a guess; None without a belief."""
        self._catch_up(view)
        # A belief is empty if a spymaster gave a clue that its policy never gives.
        if not self.belief:
            return None
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
