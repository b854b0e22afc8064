"""V* and Q* by a search that looks at what is most promising first; None if it is cut off.

For games that `tomeval.games.enumeration` cannot list: thousands of clues, thousands of boards. The
other seats draw nothing and have no memory, so that what follows from a state is played out once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set

from tomeval.games.codenames.policies import EmbeddingPlayer, greedy_clues
from tomeval.games.codenames.rules import Codenames
from tomeval.games.codenames.state import State
from tomeval.games.game import Action, Event

Belief = tuple[tuple[float, State], ...]
"""States with weights, which need not sum to 1: then values are multiples as well."""

WIN, LOSS = 1.0, -1.0
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


class _Search:
    """What is played out for one seat in one game.

    Attributes
    ----------
    left : int
        What may still be played out, in the unit of the costs; what is begun is finished.
    """

    hidden = False  # whether the seat cannot tell states apart but by events

    def __init__(self, game: Codenames, seat: int, policies: Mapping[int, EmbeddingPlayer]) -> None:
        self.game, self.seat, self.policies, self.left = game, seat, policies, 0
        self._waited: dict[State, State] = {}

    def following(self, state: State) -> State | None:
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


class ClueSearch(_Search):
    """The search of a spymaster, who sees all.

    A greedy operative takes the same words for many clues, so that few clues are left of the bank.
    With few of these tried, only a win is a value.
    """

    def __init__(self, game: Codenames, seat: int, policies: Mapping[int, EmbeddingPlayer]) -> None:
        super().__init__(game, seat, policies)
        self._known: dict[State, float] = {}
        self._open: set[State] = set()  # positions without a value at the width that is tried
        self._clues: dict[int, Sequence[Action]] = {}

    def best(self, state: State) -> tuple[float | None, Action]:
        """Return V* and the first of the best clues; None: no V*, no clue."""
        state = self._position(state)
        return self._widened(state, lambda width: self._expand(state, width))

    def of(self, state: State, action: Action) -> float | None:
        """Return Q* of any clue, whoever it is known to; None ends the turn."""
        state = self._position(state)
        return self.expected(state, self._answered(state, action and tuple(action[:2])))

    def expected(self, state: State, after: State) -> float | None:
        """Return the value of what follows from a clue in a state, before the others play."""
        settled = self._position(after)
        return self._widened(state, lambda width: (self._settled(settled, width), None))[0]

    def _position(self, state: State) -> State:
        """Return a state without its log, and without its counts where they cannot end the game.

        Operatives take a word per clue and need at most `MOST_PER_WORD` decisions for each; the
        next clue may be unknown to its operative: two decisions without a word.
        """
        enough = state.used + 2 + MOST_PER_WORD * state.covered.bit_count() < self.game.length
        return state._replace(log=(), used=0, round=0) if enough else without_log(state)

    def _widened(
        self, state: State, value: Callable[[int], tuple[float | None, Action]]
    ) -> tuple[float | None, Action]:
        """Value something in positions from a state on, with more and more clues tried."""
        whole = state.covered.bit_count() <= WHOLE
        self.left = PLAYED_WHOLE if whole else PLAYED
        for width in WIDTHS[-1:] if whole else WIDTHS:
            self._open.clear()
            found, action = value(width)
            if found is not None or self.left <= 0:
                break
        return found, action

    def _answered(self, state: State, action: Action) -> State:
        """Return the state after a clue and all that the operative does with it."""
        heard = without_log(stepped(self.game, state, action))
        return play_on(self.game, self.policies, heard, {0, 1, 2, 3} - {self.seat + 1})[0]

    def _settled(self, after: State, width: int) -> float | None:
        """Return the value of what a clue led to, before the others play."""
        ends = self.following(after)
        if ends is None:
            return None
        if ends.ending:
            return self.game.rewards(ends)[self.seat]
        state = self._position(ends)
        if state not in self._known and state not in self._open:
            value = self._expand(state, width)[0]
            if value is None:
                self._open.add(state)
            else:
                self._known[state] = value
        return self._known.get(state)

    def _expand(self, state: State, width: int) -> tuple[float | None, Action]:
        """Return the value of a position by its clues, and the first of the best ones."""
        if state.covered not in self._clues:
            mate = self.policies[self.seat + 1]
            self._clues[state.covered] = greedy_clues(self.game, mate, state, self.seat)
        best, chosen, known = LOSS, None, True
        for tried, action in enumerate(self._clues[state.covered]):
            if tried >= width or self.left <= 0:
                return None, chosen
            value = self._settled(self._answered(state, action), width)
            known = known and value is not None
            if chosen is None or (value is not None and value > best):
                best, chosen = LOSS if value is None else value, action
            if best > WIN - ROUNDING:
                return WIN, chosen
        return (best if known and chosen is not None else None), chosen


Ends = tuple[float, float]
"""Between what a value lies; the search stops where they meet."""


class GuessSearch(_Search):
    """The search of an operative over what it may believe.

    Parameters
    ----------
    later : int
        What may be played out for Q* of an action.
    """

    hidden = True

    def __init__(
        self,
        game: Codenames,
        seat: int,
        policies: Mapping[int, EmbeddingPlayer],
        later: int,
    ) -> None:
        super().__init__(game, seat, policies)
        self._later = later
        self._known: dict[Belief, Ends] = {}

    def best(self, belief: Belief) -> tuple[float | None, Action]:
        """Return V* and the guess, or pass, that is worth most as far as is known."""
        self.left = GUESSED
        ends, action = self._expand(belief)
        return _met(ends, belief), action

    def of(self, belief: Belief, action: Action) -> float | None:
        """Return Q* of a guess or a pass."""
        self.left = self._later
        return _met(self._settled(self._stepped(belief, action)), belief)

    def _expand(self, belief: Belief) -> tuple[Ends, Action]:
        board, covered = belief[0][1].board, belief[0][1].covered
        options = []
        for action in (*board.named(covered), None):
            after = self._stepped(belief, action)
            ends = [self.game.rewards(s)[self.seat] if s.ending else WIN for _, s in after]
            most = sum(weight * end for (weight, _), end in zip(after, ends, strict=True))
            options.append((most, action, after))
        low, high, chosen = float("-inf"), float("-inf"), None
        for most, action, after in sorted(options, key=lambda option: -option[0]):
            if most <= low:
                break
            least, at_most = self._settled(after)
            if least > low:
                low, chosen = least, action
            high = max(high, at_most if least == at_most else min(at_most, most))
        return (low, high), chosen

    def _stepped(self, belief: Belief, action: Action) -> Belief:
        self.left -= STEP_COST * len(belief)
        return tuple((weight, stepped(self.game, state, action)) for weight, state in belief)

    def _settled(self, after: Belief) -> Ends:
        """Return between what the value of what an action led to lies, before the others play."""
        low = high = 0.0
        groups: dict[tuple[Event, ...], list[tuple[float, State]]] = {}
        for weight, state in after:
            ends = self.following(state)
            if ends is None:
                low, high = low + weight * LOSS, high + weight * WIN
            elif ends.ending:
                reward = weight * self.game.rewards(ends)[self.seat]
                low, high = low + reward, high + reward
            else:
                groups.setdefault(ends.log, []).append((weight, without_log(ends)))
        for group in groups.values():
            least, most = self._worth(tuple(group))
            low, high = low + least, high + most
        return low, high

    def _worth(self, belief: Belief) -> Ends:
        """Return between what the value of a belief lies in which the seat is due."""
        if belief in self._known:
            return self._known[belief]
        if self.left <= 0:
            weight = sum(weight for weight, _ in belief)
            return weight * LOSS, weight * WIN
        ends, _ = self._expand(belief)
        if ends[0] == ends[1]:
            self._known[belief] = ends
        return ends


def _met(ends: Ends, belief: Belief) -> float | None:
    """Return a value for sure, by the weight of the belief; None if its ends have not met."""
    whole = sum(weight for weight, _ in belief)
    low, high = (end / whole for end in ends)
    return low if low == high else None
