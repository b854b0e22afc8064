"""V* and Q* by a search that looks at what is most promising first, and gives bounds if cut off.

For games that `tomeval.games.enumeration` cannot list: thousands of clues, thousands of boards. The
other seats have no memory, so that what follows from a state is played out once. What was not
played out may win or lose.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from tomeval.games.codenames.policies import EmbeddingPlayer, greedy_clues
from tomeval.games.codenames.rules import Codenames
from tomeval.games.codenames.state import State
from tomeval.games.game import Action, Event
from tomeval.games.policy import Policy
from tomeval.games.solver import Bound

States = dict[State, float]
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
LISTED = 1_000
"""The most clues, with numbers, that are tried for an operative that draws."""
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
    policies: Mapping[int, Policy],
    states: States,
    until: Set[int],
    log: bool = False,
) -> tuple[States, int]:
    """Play until the game is over or one of some seats is due, and return what that costs.

    Histories are kept if `log`, which keeps states apart; else equal states are joined.
    """
    done, going, cost = States(), states, 0
    while going:
        following = States()
        for state, weight in going.items():
            if state.ending or state.seat in until:
                done[state] = done.get(state, 0.0) + weight
                continue
            (ask,) = game.due(state)
            choices = policies[state.seat].choices(game.view(state, state.seat), ask, None)
            cost += CHOICE_COST * len(choices) + CLUE_COST * (state.clue is None)
            for chance, action in choices:
                after = stepped(game, state, action)
                after = after if log else without_log(after)
                following[after] = following.get(after, 0.0) + weight * chance
        going = following
    return done, cost


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

    def __init__(self, game: Codenames, seat: int, policies: Mapping[int, Policy]) -> None:
        self.game, self.seat, self.policies, self.left = game, seat, policies, 0
        self._waited: dict[State, States] = {}

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
            following = self._following(state)
            if following is None:
                low, high = low - weight, high + weight
                continue
            for ends, chance in following.items():
                if ends.ending:
                    reward = weight * chance * self.game.rewards(ends)[self.seat]
                    low, high = low + reward, high + reward
                else:
                    seen = ends.log if self.hidden else ends
                    groups.setdefault(seen, []).append((weight * chance, without_log(ends)))
        for group in groups.values():
            value = self.worth(tuple(group), width)
            low, high = low + value.low, high + value.high
        return Bound(low, high)

    def _following(self, state: State) -> States | None:
        """Return where the seat is due next, or the game over; None if it is not played out."""
        if state.ending or state.seat == self.seat:
            return {state: 1.0}
        if state not in self._waited:
            if self.left <= 0:
                return None
            start = {state: 1.0}
            ends, cost = play_on(self.game, self.policies, start, {self.seat}, self.hidden)
            self.left -= cost
            self._waited[state] = ends
        return self._waited[state]


class ClueSearch(Search):
    """The search of a spymaster, who sees all.

    A greedy operative takes the same words for many clues, so that few clues are left of the bank.
    """

    hidden = False

    def __init__(self, game: Codenames, seat: int, policies: Mapping[int, Policy]) -> None:
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

    def expected(self, state: State, after: Belief) -> Bound:
        """Return the value of what follows from a clue in a state, before the others play."""
        after = tuple((weight, self._position(one)) for weight, one in after)
        return self._deepened(state, lambda width: (self.settled(after, width), None))[0]

    def _position(self, state: State) -> State:
        """Return a state without its log, and without its counts where they cannot end the game.

        Operatives that take a word per clue need at most `MOST_PER_WORD` decisions for each; the
        next clue may be unknown to its operative: two decisions without a word.
        """
        seats = self.policies.items()
        sure = all(isinstance(policy, EmbeddingPlayer) for seat, policy in seats if seat % 2)
        enough = state.used + 2 + MOST_PER_WORD * state.covered.bit_count() < self.game.length
        return state._replace(log=(), used=0, round=0) if sure and enough else without_log(state)

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

    def _answered(self, state: State, action: Action) -> Belief:
        """Return the states after a clue and all that the operative does with it."""
        heard = {without_log(stepped(self.game, state, action)): 1.0}
        ends, _ = play_on(self.game, self.policies, heard, {0, 1, 2, 3} - {self.seat + 1})
        return tuple((weight, after) for after, weight in ends.items())

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
            self._clues[state.covered] = self._options(state)
        low, high, chosen = -1.0, -1.0, None
        for tried, action in enumerate(self._clues[state.covered]):
            if tried >= width or self.left <= 0:
                return Bound(low, 1.0), chosen
            value = self.settled(self._answered(state, action), width)
            if chosen is None or value.low > low:
                low, chosen = value.low, action
            high = max(high, value.high)
            if low > 1.0 - ROUNDING:
                return Bound(1.0, 1.0), chosen
        return (OPEN if chosen is None else Bound(low, high)), chosen

    def _options(self, state: State) -> Sequence[Action]:
        """Return the clues that are tried; none if the operative draws and there are too many."""
        mate = self.policies[self.seat + 1]
        if isinstance(mate, EmbeddingPlayer) and mate.guess_temperature == 0:
            return greedy_clues(self.game, mate, state, self.seat)
        own = state.covered & state.board.masks[self.seat // 2]
        numbers = range(1, min(self.game.parameters.number, own.bit_count()) + 1)
        places = self.game.legal_clues(state.board.words).tolist()
        if len(places) * len(numbers) > LISTED:
            return ()
        return [(self.game.bank.clues[place], n) for place in places for n in numbers]


class GuessSearch(Search):
    """The search of an operative over what it may believe."""

    hidden = True
    later = GUESSED_LATER

    def __init__(self, game: Codenames, seat: int, policies: Mapping[int, Policy]) -> None:
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
