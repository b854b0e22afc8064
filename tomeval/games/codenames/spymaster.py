"""V* and Q* of a spymaster, who sees all: a search over the clues of the bank.

Positions are the covered words (and the decisions made, where the limit of the game can matter). A
greedy operative takes the same words for many clues, so that few outcomes are left of the bank; a
softmax operative's are sums over sets of words. What the search leaves open is a bound: what was
not tried may win, and what was not played out may win or lose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from tomeval.games.codenames.bank_outcomes import greedy_outcomes, softmax_values
from tomeval.games.codenames.board import COLOURS, Board
from tomeval.games.codenames.playing_on import (
    OPEN,
    ROUNDING,
    Budget,
    Search,
    States,
    play_on,
    regret_of,
    stepped,
    uncounted,
    without_log,
)
from tomeval.games.codenames.policies import EmbeddingPlayer
from tomeval.games.codenames.probes import Words, best_sequence
from tomeval.games.codenames.rules import Codenames
from tomeval.games.codenames.state import CLUE, CodenamesView, State
from tomeval.games.game import Action, Ask, Probe, View
from tomeval.games.policy import Policy
from tomeval.games.solver import Bound, Follower, Values

WHOLE = 10
"""With at most so many covered words every clue is tried."""
PLAYED_WHOLE, PLAYED = 4_000_000, 200_000
"""What is played out for a value with so few words, and with more; see `playing_on.Budget`."""
ALL = 10**9
WIDTHS = (1, 3, 10, ALL)
"""How many outcomes are tried in a position with more words, while no win is found."""
MOST_OBSERVED = 3
"""The highest number of a clue for which a softmax operative's sequences are listed."""


class ClueSearch(Search):
    """The search of one game from the seat of a spymaster."""

    def __init__(self, game: Codenames, seat: int, policies: Mapping[int, Policy]) -> None:
        super().__init__(game, seat, policies)
        self._known: dict[State, Bound] = {}
        self._partly: dict[State, Bound] = {}
        self._options: dict[int, list[Any]] = {}

    @property
    def mate(self) -> Policy:
        """The operative's policy."""
        return self.policies[self.seat + 1]

    @cached_property
    def greedy(self) -> bool:
        """Whether the operative takes the same words whenever it hears the same clue."""
        return isinstance(self.mate, EmbeddingPlayer) and self.mate.guess_temperature == 0

    def best(self, state: State) -> tuple[Bound, Action]:
        """Return V* of a position in which a clue is due, and a clue that attains its low."""
        state = self._position(state)
        return self._deepened(state, lambda width: self._expand(state, width))

    def of(self, state: State, action: Action) -> Bound:
        """Return Q* of any clue."""
        taken = self.answered(state, action)
        state = self._position(state)
        return self._deepened(state, lambda width: (self._mean(taken, width), action))[0]

    def worth(self, state: State) -> Bound:
        """Return the value of a state in which the other team's clue is due, or that is over."""
        positions = {self._position(state): 1.0}
        return self._deepened(state, lambda width: (self._mean(positions, width), None))[0]

    def _position(self, state: State) -> State:
        return uncounted(self.game, self.policies, without_log(state))

    def _deepened(
        self, state: State, value: Callable[[int], tuple[Bound, Action]]
    ) -> tuple[Bound, Action]:
        """Value something in positions from a state on, with more and more outcomes tried."""
        whole = state.covered.bit_count() <= WHOLE
        self.budget = Budget(PLAYED_WHOLE if whole else PLAYED)
        best: tuple[Bound, Action] = OPEN, None
        for width in (ALL,) if whole or not self.greedy else WIDTHS:
            self._partly.clear()
            bound, action = value(width)
            if bound.exact:
                return bound, action
            known, kept = best
            kept = action if kept is None or bound.low > known.low else kept
            best = Bound(max(known.low, bound.low), min(known.high, bound.high)), kept
            if self.budget.left <= 0:
                break
        return best

    def answered(self, state: State, action: Action) -> States:
        """Return the states after a clue and all that the operative does with it."""
        heard = stepped(self.game, self._position(state), action)
        others = [seat for seat in range(4) if seat != self.seat + 1]
        return play_on(self.game, self.policies, {without_log(heard): 1.0}, others, Budget(0))

    def _mean(self, states: States, width: int) -> Bound:
        values = [(weight, self._after(state, width)) for state, weight in states.items()]
        return Bound(sum(w * v.low for w, v in values), sum(w * v.high for w, v in values))

    def _after(self, state: State, width: int) -> Bound:
        """Return the value of a state in which the other team's clue is due, or that is over."""
        following = self.following(state, allowed=self.greedy or _whole(state))
        if following is None:
            return OPEN
        values = [
            (weight, self._ended(after) if after.ended else self._value(after, width))
            for after, weight in following.items()
        ]
        return Bound(sum(w * v.low for w, v in values), sum(w * v.high for w, v in values))

    def _ended(self, state: State) -> Bound:
        reward = self.reward(state)
        return Bound(reward, reward)

    def _value(self, state: State, width: int) -> Bound:
        state = self._position(state)
        for kept in (self._known, self._partly):
            if state in kept:
                return kept[state]
        bound = self._expand(state, width)[0]
        (self._known if bound.exact else self._partly)[state] = bound
        return bound

    def _expand(self, state: State, width: int) -> tuple[Bound, Action]:
        """Return the value of a position by its clues, and the clue with the best low."""
        if self.greedy:
            return self._expand_greedy(state, width)
        # Sums over sets of words do not know which word was the last before the limit of turns.
        turn = self.game.left(state, self.seat // 2) + 3
        if isinstance(self.mate, EmbeddingPlayer) and state.used + turn < self.game.length:
            return self._expand_softmax(state)
        return self._expand_any(state) if _whole(state) else (OPEN, None)

    def _expand_greedy(self, state: State, width: int) -> tuple[Bound, Action]:
        assert isinstance(self.mate, EmbeddingPlayer)
        if state.covered not in self._options:
            self._options[state.covered] = greedy_outcomes(self.game, self.mate, state, self.seat)
        low, high, chosen = -1.0, -1.0, None
        for tried, (action, places) in enumerate(self._options[state.covered]):
            if tried >= width or self.budget.left <= 0:
                return Bound(low, 1.0), chosen
            value = self._after(self._taken(state, action, places), width)
            if chosen is None or value.low > low:
                low, chosen = value.low, action
            high = max(high, value.high)
            if low > 1.0 - ROUNDING:
                return Bound(1.0, 1.0), chosen
        return Bound(low, high), chosen

    def _taken(self, state: State, action: Action, places: tuple[int, ...]) -> State:
        """Return the state after a clue, the words that the operative takes, and perhaps a pass."""
        state = stepped(self.game, state, action)
        for place in places:
            if not state.ended:  # by the last word before, or by the limit of turns
                state = stepped(self.game, state, state.board.words[place])
        if not state.ended and state.seat == self.seat + 1:
            state = stepped(self.game, state, None)
        return without_log(state)

    def _expand_softmax(self, state: State) -> tuple[Bound, Action]:
        assert isinstance(self.mate, EmbeddingPlayer)

        def value(places: tuple[int, ...], number: int) -> Bound:
            return self._after(self._taken(state, ("", number), places), ALL)

        return softmax_values(self.game, self.mate, state, self.seat, value, _whole(state))

    def _expand_any(self, state: State) -> tuple[Bound, Action]:
        low, high, chosen = -1.0, -1.0, None
        most = min(self.game.parameters.number, self.game.left(state, self.seat // 2))
        for place in self.game.legal_clues(state.board.words).tolist():
            for number in range(1, most + 1):
                if self.budget.left <= 0:
                    return Bound(low, 1.0), chosen
                action = (self.game.bank.clues[place], number)
                value = self._mean(self.answered(state, action), ALL)
                if chosen is None or value.low > low:
                    low, chosen = value.low, action
                high = max(high, value.high)
        return Bound(low, high), chosen


def _whole(state: State) -> bool:
    return state.covered.bit_count() <= WHOLE


class SpymasterValues(Values):
    """V* over the bank's clues, and Q* of any clue."""

    def __init__(self, search: ClueSearch, state: State) -> None:
        self.search, self.state = search, state
        self._of: dict[Action, Bound] = {}

    @cached_property
    def _best(self) -> tuple[Bound, Action]:
        return self.search.best(self.state)

    @property
    def best(self) -> Bound:
        """V*: the value of the bank's best clue."""
        return self._best[0]

    def best_actions(self) -> Sequence[Action]:
        """Return a clue that attains V*, or the lower bound of it; empty: none was found."""
        return () if self._best[1] is None else (self._best[1],)

    def of(self, action: Action) -> Bound:
        """Return Q* of a clue; no clue ends the turn."""
        clue = None if action is None else tuple(action[:2])
        if clue not in self._of:
            self._of[clue] = self.search.of(self.state, clue)
        return self._of[clue]

    def regret(self, action: Action) -> Bound:
        """Return V* - Q*."""
        return regret_of(self.best, self.of(action))

    def reply(self, said: Mapping[Probe, Action]) -> Action | None:
        """Return the clue that was given, if what she expects of it is best, or else the best one.

        She is taken to be certain of the words that she says will be taken, and right about all
        other clues. None if the words contradict the key or the rules, or if the bounds leave it
        open.
        """
        takes = next(((p, words) for p, words in said.items() if p.name == "takes"), None)
        if takes is None:
            return None
        clue, words = tuple(takes[0].given), takes[1]
        expected = self._expected(clue, words)
        if expected is None:
            return None
        best = self._best[1]
        if expected.low >= self.best.high - ROUNDING or (best and clue[:2] == best[:2]):
            return clue
        return best if expected.high < self.best.low else None

    def _expected(self, clue: Action, words: Words) -> Bound | None:
        """Return the value of the position that these words would lead to; None: no such one."""
        state = stepped(self.search.game, self.state, clue)
        for word in words:
            going = not state.ended and state.seat == self.search.seat + 1
            if not going or not state.covered >> state.board.place[word] & 1:
                return None
            state = stepped(self.search.game, state, word)
        if not state.ended and state.seat == self.search.seat + 1:
            state = stepped(self.search.game, state, None)
        return self.search.worth(state)

    def observer(self, probe: Probe) -> Mapping[Action, float] | None:
        """Return the chances of the sequences of words that the operative may take.

        None for a softmax operative and a clue for more than `MOST_OBSERVED` words.
        """
        if probe.name != "takes" or probe.given is None:
            return None
        if not self.search.greedy and probe.given[1] > MOST_OBSERVED:
            return None
        heard = stepped(self.search.game, without_log(self.state), tuple(probe.given))
        others = [seat for seat in range(4) if seat != self.search.seat + 1]
        ends = play_on(
            self.search.game,
            self.search.policies,
            {without_log(heard): 1.0},
            others,
            Budget(0),
            True,
        )
        chances: dict[Action, float] = {}
        for state, weight in ends.items():
            words = tuple(event.data[0] for event in state.log if event.kind == "guess")
            chances[words] = chances.get(words, 0.0) + weight
        return chances

    def answer(self, probe: Probe) -> tuple[Action, float] | None:
        """Return the sequence that scores most in expectation."""
        chances = self.observer(probe)
        return best_sequence(chances) if chances else None


class SpymasterFollower(Follower):
    """Follows a spymaster, who needs no memory: the view says all."""

    def __init__(self, search: ClueSearch, view: CodenamesView) -> None:
        assert view.key is not None
        key = tuple(COLOURS.index(colour) for colour in view.key.values())
        self.board, self.search = Board(view.words, key), search

    def values(self, view: View[Any], ask: Ask) -> Values | None:
        """Return the values of a clue."""
        assert isinstance(view, CodenamesView)
        if ask.kind != CLUE:
            return None
        state = State(self.board, view.mask, ask.seat, None, 0, view.used, view.turn, "", None, ())
        return SpymasterValues(self.search, state)
