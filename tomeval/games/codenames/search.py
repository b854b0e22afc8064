"""V* and Q* by a search that looks at what is most promising first, and gives bounds if cut off.

For games that `tomeval.games.enumeration` cannot list: thousands of clues, thousands of boards. The
other seats draw nothing and have no memory, so that what follows from a state is played out once.
What was not played out may win or lose.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from tomeval.games.codenames.policies import EmbeddingPlayer, greedy_clues
from tomeval.games.codenames.rules import Codenames
from tomeval.games.codenames.state import State
from tomeval.games.game import Action, Event
from tomeval.games.solver import Bound

Belief = tuple[tuple[float, State], ...]
"""States with weights, which need not sum to 1: then values are multiples as well."""

OPEN = Bound(-1.0, 1.0)
"""What is always known: a game is at worst lost and at best won."""
ROUNDING = 1e-9
"""Values closer than this count as equal: sums of probabilities round."""
CLUE_COST, CHOICE_COST, STEP_COST = 20, 10, 2
"""What is charged for a spymaster's search for clues, for every action of the others that is played
out, and for every board on which an action of the subject is tried."""

WHOLE = 10
"""With at most so many covered words a spymaster tries every clue."""
PLAYED_WHOLE, PLAYED = 4_000_000, 200_000
"""What is played out for a spymaster's value with so few words, and with more."""
WIDTHS = (1, 3, 10, 10**9)
"""How many clues are tried in a position with more words, while no win is found."""
MOST_PER_WORD = 3
"""Decisions per covered word of those who take a word per clue: the clue, the word, a pass."""
GUESSED, GUESSED_LATER, GUESSED_ASIDE = 1_000_000, 300_000, 30_000
"""What is played out for an operative's V*, then for Q* of an action, and of every other one."""


def without_log(state: State) -> State:
    """Return a state without its history, so that equal positions are equal states."""
    return state._replace(log=())


def stepped(game: Codenames, state: State, action: Action) -> State:
    """Return the state after the decision that is due; chance has no part in it."""
    return game.then(state, {state.seat: action})


def play_on(
    game: Codenames,
    policies: Mapping[int, EmbeddingPlayer],
    state: State,
    until: Set[int],
    log: bool = False,
) -> tuple[State, int]:
    """Play until the game is over or one of some seats is due, and return what that costs.

    The history is kept if `log`.
    """
    cost = 0
    while not state.ending and state.seat not in until:
        cost += CHOICE_COST + CLUE_COST * (state.clue is None)
        state = stepped(game, state, policies[state.seat].action(game.view(state, state.seat)))
        state = state if log else without_log(state)
    return state, cost


class Search(ABC):
    """Values of beliefs of one seat in one game.

    Attributes
    ----------
    left : int
        What may still be played out, in the unit of the costs; what is begun is finished.
    hidden : bool
        Whether the seat cannot tell states apart but by events.
    """

    hidden: bool
    later: int = 0

    def __init__(self, game: Codenames, seat: int, policies: Mapping[int, EmbeddingPlayer]) -> None:
        self.game, self.seat, self.policies, self.left = game, seat, policies, 0
        self._waited: dict[State, State] = {}

    @abstractmethod
    def best(self, belief: Belief) -> tuple[Bound, Action]:
        """Return V* of a belief, and an action that attains its low; None if none is known."""

    @abstractmethod
    def of(self, belief: Belief, action: Action) -> Bound:
        """Return Q* of an action."""

    @abstractmethod
    def worth(self, belief: Belief, width: int) -> Bound:
        """Return the value of a belief in which the seat is due, with at most `width` clues."""

    def settled(self, after: Iterable[tuple[float, State]], width: int = 0) -> Bound:
        """Return the value of what an action led to, before the others play."""
        low = high = 0.0
        groups: dict[tuple[Event, ...] | State, list[tuple[float, State]]] = {}
        for weight, state in after:
            ends = self._following(state)
            if ends is None:
                low, high = low - weight, high + weight
            elif ends.ending:
                reward = weight * self.game.rewards(ends)[self.seat]
                low, high = low + reward, high + reward
            else:
                seen = ends.log if self.hidden else ends
                groups.setdefault(seen, []).append((weight, without_log(ends)))
        for group in groups.values():
            value = self.worth(tuple(group), width)
            low, high = low + value.low, high + value.high
        return Bound(low, high)

    def _following(self, state: State) -> State | None:
        """Return where the seat is due next, or the game over; None if it is not played out."""
        if state.ending or state.seat == self.seat:
            return state
        if state not in self._waited:
            if self.left <= 0:
                return None
            ends, cost = play_on(self.game, self.policies, state, {self.seat}, self.hidden)
            self.left -= cost
            self._waited[state] = ends
        return self._waited[state]


class ClueSearch(Search):
    """The search of a spymaster, who sees all.

    A greedy operative takes the same words for many clues, so that few clues are left of the bank.
    """

    hidden = False

    def __init__(self, game: Codenames, seat: int, policies: Mapping[int, EmbeddingPlayer]) -> None:
        super().__init__(game, seat, policies)
        self._known: dict[State, Bound] = {}
        self._partly: dict[State, Bound] = {}
        self._clues: dict[int, Sequence[Action]] = {}

    def best(self, belief: Belief) -> tuple[Bound, Action]:
        """Return V* and a clue; see `Search.best`."""
        state = self._position(belief[0][1])
        return self._deepened(state, lambda width: self._expand(state, width))

    def of(self, belief: Belief, action: Action) -> Bound:
        """Return Q* of any clue, whoever it is known to; None ends the turn."""
        state = self._position(belief[0][1])
        return self.expected(state, self._answered(state, action and tuple(action[:2])))

    def expected(self, state: State, after: State) -> Bound:
        """Return the value of what follows from a clue in a state, before the others play."""
        settled = ((1.0, self._position(after)),)
        return self._deepened(state, lambda width: (self.settled(settled, width), None))[0]

    def _position(self, state: State) -> State:
        """Return a state without its log, and without its counts where they cannot end the game.

        Operatives take a word per clue and need at most `MOST_PER_WORD` decisions for each; the
        next clue may be unknown to its operative: two decisions without a word.
        """
        enough = state.used + 2 + MOST_PER_WORD * state.covered.bit_count() < self.game.length
        return state._replace(log=(), used=0, round=0) if enough else without_log(state)

    def _deepened(
        self, state: State, value: Callable[[int], tuple[Bound, Action]]
    ) -> tuple[Bound, Action]:
        """Value something in positions from a state on, with more and more clues tried."""
        whole = state.covered.bit_count() <= WHOLE
        self.left = PLAYED_WHOLE if whole else PLAYED
        known, kept = OPEN, None
        for width in WIDTHS[-1:] if whole else WIDTHS:
            self._partly.clear()
            bound, action = value(width)
            if bound.exact:
                return bound, action
            kept = action if kept is None or bound.low > known.low else kept
            known = Bound(max(known.low, bound.low), min(known.high, bound.high))
            if self.left <= 0:
                break
        return known, kept

    def _answered(self, state: State, action: Action) -> State:
        """Return the state after a clue and all that the operative does with it."""
        heard = without_log(stepped(self.game, state, action))
        return play_on(self.game, self.policies, heard, {0, 1, 2, 3} - {self.seat + 1})[0]

    def worth(self, belief: Belief, width: int) -> Bound:
        """Return the value of one state, met on one way or several; see `Search.worth`."""
        weight, state = sum(weight for weight, _ in belief), self._position(belief[0][1])
        bound = self._known.get(state) or self._partly.get(state)
        if bound is None:
            bound = self._expand(state, width)[0]
            (self._known if bound.exact else self._partly)[state] = bound
        return Bound(weight * bound.low, weight * bound.high)

    def _expand(self, state: State, width: int) -> tuple[Bound, Action]:
        """Return the value of a position by its clues, and the clue with the best low."""
        if state.covered not in self._clues:
            mate = self.policies[self.seat + 1]
            self._clues[state.covered] = greedy_clues(self.game, mate, state, self.seat)
        low, high, chosen = -1.0, -1.0, None
        for tried, action in enumerate(self._clues[state.covered]):
            if tried >= width or self.left <= 0:
                return Bound(low, 1.0), chosen
            value = self.settled([(1.0, self._answered(state, action))], width)
            if chosen is None or value.low > low:
                low, chosen = value.low, action
            high = max(high, value.high)
            if low > 1.0 - ROUNDING:
                return Bound(1.0, 1.0), chosen
        return (OPEN if chosen is None else Bound(low, high)), chosen


class GuessSearch(Search):
    """The search of an operative over what it may believe."""

    hidden = True
    later = GUESSED_LATER

    def __init__(self, game: Codenames, seat: int, policies: Mapping[int, EmbeddingPlayer]) -> None:
        super().__init__(game, seat, policies)
        self._known: dict[Belief, Bound] = {}

    def best(self, belief: Belief) -> tuple[Bound, Action]:
        """Return V* and a guess, or a pass; see `Search.best`."""
        self.left = GUESSED
        return self._expand(belief)

    def of(self, belief: Belief, action: Action) -> Bound:
        """Return Q* of a guess or a pass."""
        self.left = self.later
        return self.settled(self._stepped(belief, action))

    def _expand(self, belief: Belief) -> tuple[Bound, Action]:
        board, covered = belief[0][1].board, belief[0][1].covered
        options = []
        for action in (*board.named(covered), None):
            after = self._stepped(belief, action)
            ends = [self.game.rewards(s)[self.seat] if s.ending else 1.0 for _, s in after]
            most = sum(weight * end for (weight, _), end in zip(after, ends, strict=True))
            options.append((most, action, after))
        low, high, chosen = float("-inf"), float("-inf"), None
        for most, action, after in sorted(options, key=lambda option: -option[0]):
            if most <= low:
                break
            settled = self.settled(after)
            if settled.low > low:
                low, chosen = settled.low, action
            high = max(high, settled.high if settled.exact else min(settled.high, most))
        return Bound(low, high), chosen

    def _stepped(self, belief: Belief, action: Action) -> Belief:
        self.left -= STEP_COST * len(belief)
        return tuple((weight, stepped(self.game, state, action)) for weight, state in belief)

    def worth(self, belief: Belief, width: int) -> Bound:
        """Return the value of a belief; see `Search.worth`."""
        if belief not in self._known:
            if self.left <= 0:
                weight = sum(weight for weight, _ in belief)
                return Bound(-weight, weight)
            value = self._expand(belief)[0]
            if not value.exact:
                return value
            self._known[belief] = value
        return self._known[belief]
