"""V* and Q* by enumeration: every own action, every answer of the others, every chance move.

The oracle of all solvers. It knows a game and its policies only through their contracts, and keeps
one belief (weighted states that the seat cannot tell apart) per information state.
"""

from __future__ import annotations

import itertools
from collections import defaultdict


class BruteForce:
    """Values of one seat; `legal(view, ask)` lists the actions that it may choose from.

    A belief is a list of (weight, state, memories), memories by seat; weights need not sum to 1,
    and values are sums over them.
    """

    def __init__(self, game, seat, policies, legal):
        self.game, self.seat, self.policies, self.legal = game, seat, policies, legal

    def begin(self, deals):
        """Return the beliefs after the deal, by what the seat sees; `deals` are (weight, state)."""
        found = defaultdict(list)
        for weight, state in deals:
            memories = {s: p.start(self.game.view(state, s)) for s, p in self.policies.items()}
            found[self.seen(state)].append((weight, state, memories))
        return found

    def seen(self, state):
        """Return the seat's information state."""
        return self.game.view(state, self.seat).events

    def ask(self, belief):
        """Return the seat's decision in the coming stage, or None."""
        asks = {ask for _, state, _ in belief for ask in self.game.due(state)}
        return next((ask for ask in asks if ask.seat == self.seat), None)

    def value(self, belief):
        """Return V*, summed over weights."""
        over = [entry for entry in belief if not self.game.due(entry[1])]
        total = sum(weight * self.game.rewards(state)[self.seat] for weight, state, _ in over)
        going = [entry for entry in belief if self.game.due(entry[1])]
        if not going:
            return total
        ask = self.ask(going)
        if ask is None:
            return total + self.q(going, None)
        view = self.game.view(going[0][1], self.seat)
        return total + max(self.q(going, action) for action in self.legal(view, ask))

    def q(self, belief, action):
        """Return Q* of an action (None: the seat is not due), summed over weights."""
        return sum(self.value(after) for after in self.successors(belief, action).values())

    def successors(self, belief, action):
        """Return the beliefs after a stage, by what the seat sees."""
        found = defaultdict(list)
        for weight, state, memories in belief:
            due = self.game.due(state)
            others = [ask for ask in due if ask.seat != self.seat]
            own = {self.seat: action} if len(others) < len(due) else {}
            answers = [
                self.policies[ask.seat].choices(
                    self.game.view(state, ask.seat), ask, memories[ask.seat]
                )
                for ask in others
            ]
            for combination in itertools.product(*answers):
                chance, actions = weight, dict(own)
                for ask, (p, said) in zip(others, combination, strict=True):
                    chance *= p
                    actions[ask.seat] = said
                for p, after in self.game.outcomes(state, actions):
                    kept = {
                        s: policy.observe(self.game.view(after, s), memories[s])
                        if policy.remembers
                        else memories[s]
                        for s, policy in self.policies.items()
                    }
                    found[self.seen(after)].append((chance * p, after, kept))
        return found
