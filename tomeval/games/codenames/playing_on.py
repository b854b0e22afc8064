"""What follows while the subject waits: states with probabilities, equal ones joined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tomeval.games.codenames.policies import EmbeddingPlayer
from tomeval.games.codenames.rules import Codenames
from tomeval.games.codenames.state import State
from tomeval.games.game import Action
from tomeval.games.policy import Policy
from tomeval.games.solver import Bound

States = dict[State, float]

OPEN = Bound(-1.0, 1.0)
"""What is always known: a game is at worst lost and at best won."""

ROUNDING = 1e-9
"""Values closer than this count as equal: sums of probabilities round."""
MOST_PER_WORD = 3
"""Decisions per covered word of those who take a word per clue: the clue, the word, a pass."""
CLUE_COST, CHOICE_COST, STEP_COST = 20, 10, 2
"""What is charged for a spymaster's search for clues, for every action of the others that is played
out, and for every board on which an action of the subject is tried."""


@dataclass
class Budget:
    """How much may still be played out, in the unit of the costs; what is begun is finished."""

    left: int


def without_log(state: State) -> State:
    """Return a state without its history, so that equal positions are equal states."""
    return state._replace(log=())


def stepped(game: Codenames, state: State, action: Action) -> State:
    """Return the state after the decision that is due; chance has no part in it."""
    return game.outcomes(state, {state.seat: action})[0][1]


def play_on(
    game: Codenames,
    policies: Mapping[int, Policy],
    states: States,
    until: Iterable[int],
    budget: Budget,
    log: bool = False,
) -> States:
    """Play until the game is over or one of some seats is due.

    Parameters
    ----------
    states : dict
        States with weights.
    until : iterable of int
        The seats that nobody decides for.
    budget : Budget
        What it is charged to.
    log : bool
        Whether histories are kept, which keeps states apart.
    """
    waits, done, going = frozenset(until), States(), states
    while going:
        following = States()
        for state, weight in going.items():
            if state.ended or state.seat in waits:
                done[state] = done.get(state, 0.0) + weight
                continue
            (ask,) = game.due(state)
            view = game.view(state, state.seat)
            choices = policies[state.seat].choices(view, ask, None)
            budget.left -= CHOICE_COST * len(choices) + CLUE_COST * (state.clue is None)
            for chance, action in choices:
                after = stepped(game, state, action)
                after = after if log else without_log(after)
                following[after] = following.get(after, 0.0) + weight * chance
        going = following
    return done


class Search:
    """What the searches of both roles share: the other seats, and how much is played out.

    Attributes
    ----------
    budget : Budget
        What may still be played out.
    """

    def __init__(self, game: Codenames, seat: int, policies: Mapping[int, Policy]) -> None:
        self.game, self.seat, self.policies = game, seat, policies
        self.budget = Budget(0)
        self._waited: dict[State, States] = {}

    def following(self, state: State, log: bool = False, allowed: bool = True) -> States | None:
        """Return where the subject is due next, or the game over; None if not played out."""
        if state.ended or state.seat == self.seat:
            return {state: 1.0}
        if state not in self._waited:
            if self.budget.left <= 0 or not allowed:
                return None
            until = [self.seat]
            self._waited[state] = play_on(
                self.game, self.policies, {state: 1.0}, until, self.budget, log
            )
        return self._waited[state]

    def reward(self, state: State) -> float:
        """Return what the subject gets in a game that is over."""
        return self.game.rewards(state)[self.seat]


def uncounted(game: Codenames, policies: Mapping[int, Policy], state: State) -> State:
    """Return a state with its counts of decisions put to 0 where they cannot end the game.

    Operatives that take a word per clue need at most `MOST_PER_WORD` decisions for each.
    """
    sure = all(isinstance(policy, EmbeddingPlayer) for seat, policy in policies.items() if seat % 2)
    # The subject's next clue may be unknown to its operative: two decisions without a word.
    enough = state.used + 2 + MOST_PER_WORD * state.covered.bit_count() < game.length
    return state._replace(used=0, begun=0) if sure and enough else state


def regret_of(best: Bound, value: Bound) -> Bound:
    """Return the regret of an action that is worth `value`; what is known of it bounds V* too.

    A clue that is not in the bank can be worth more than V*, which is over the bank: no regret.
    """
    low, high = (
        max(best.low, value.low) - value.high,
        max(best.high, value.low) - value.low,
    )
    return Bound(*(gap if gap > ROUNDING else 0.0 for gap in (low, high)))
