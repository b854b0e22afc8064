"""Values that follow from rules alone: against other solvers, as recorded, and worked by hand."""

import itertools
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest

from tomeval.games.arena.named_games import get_kind
from tomeval.games.blotto.allocations import every
from tomeval.games.blotto.rules import Blotto, BlottoRules
from tomeval.games.enumeration import enumeration
from tomeval.games.game import ArenaGame, Ask, Event, Probe, View
from tomeval.games.played import frozen
from tomeval.games.solver import Policy


class Listed(Blotto):
    """Blotto with its allocations as options; of the past only the lead and plans matter."""

    def options(self, view, ask):
        return [tuple(row) for row in every(self.fields, self.units).tolist()]


class Shorter(Listed):
    def __init__(self, rules):
        super().__init__(rules)
        self.worth = rules.round_worth

    def essence(self, state, seat):
        rounds = (((0,), (0,)),) * (len(state.past) - 1) + state.past[-1:]
        lead = state.taken[seat] - state.taken[1 - seat]
        return state._replace(past=rounds, taken=(0, 0), log=()), self.worth * lead


def blotto(kind=Listed, **rules):
    return kind(BlottoRules(fields=3, units=4, rounds=2, win=2.0, tie=0.5, **rules))


def _plan(name, noise, first=(2, 1, 1)):
    return get_kind("blotto").policies[name](first, noise=noise)


def _mixture():
    return get_kind("blotto").policies["mixture"]([(2, 2, 0), (0, 0, 4)], [1.0, 3.0])


KNOWN = json.loads(Path(__file__).with_name("known_values.json").read_text(encoding="utf-8"))
"""Games of many settings: what everybody did, and what the dilemma's and Secret Mafia's own solvers
said of it before they went; they shared no code with `enumeration`."""


@pytest.mark.parametrize("name", KNOWN)
def test_values_are_those_of_solvers_that_are_gone(name):
    known = KNOWN[name]
    kind, seat = get_kind(known["game"]), known["seat"]
    game = kind.make(kind.rules(**known["rules"]))
    others = {
        int(s): kind.policies[table["kind"]](
            **{k: frozen(table[k]) for k in table.keys() - {"kind"}}
        )
        for s, table in known["others"].items()
    }
    solver = kind.solver(game, seat, others)
    assert [solver.value(), solver.chance()] == close(known["before"])
    state = game.deal(np.random.default_rng(known["seed"]))
    follower = solver.follow(game.view(state, seat))
    for stage in known["stages"]:
        for ask in game.due(state):
            if ask.seat == seat:
                view = game.view(state, seat)
                check_decision(follower.values(view, ask), stage["values"])
        did = {int(s): frozen(action) for s, action in stage["did"].items()}
        state = game.outcomes(state, did)[stage["place"]][1]
        follower.observe(game.view(state, seat))


def check_decision(values, known):
    known = {name: frozen(value) for name, value in known.items()}
    assert [values.of(action) for action in known["actions"]] == close(known["q"])
    assert values.best == close(known["best"])
    assert values.best_actions()[0] == known["action"]
    for probe, chances, guess, attainable in known["probes"]:
        assert values.observer(Probe(*probe)) == close(dict(chances))
        assert values.answer(Probe(*probe))[0] == guess
        assert values.answer(Probe(*probe))[1] == close(attainable)
    reply = values.reply({Probe(*probe): answer for *probe, answer in known["said"]})
    assert reply == known["reply"]
    assert reply is None or values.regret(reply) == close(known["regret"])


def close(number):
    return pytest.approx(number, rel=1e-12, abs=1e-12)


def test_the_reply_is_best_if_the_others_do_what_was_stated():
    game, others = blotto(reward="rounds"), {1: _plan("copy", 0.0)}
    state = game.deal(np.random.default_rng(0))
    view, (ask, _) = game.view(state, 0), game.due(state)
    values = enumeration(game, 0, others).follow(view).values(view, ask)
    reply = values.reply({Probe("allocation", 1): (0, 0, 4)})
    # It beats (0, 0, 4), and what beats its own copy in the second round is still to be had.
    assert game.then(state, {0: reply, 1: (0, 0, 4)}).taken == (1, 0)
    assert values.reply({}) is None
    assert values.observer(Probe("allocation", 1)) == {(2, 1, 1): 1.0}


def test_too_many_positions_and_what_the_policies_do_not_allow_have_no_values():
    game, others = blotto(reward="rounds"), {1: _plan("copy", 0.0)}
    state = game.deal(np.random.default_rng(0))
    view, (ask, _) = game.view(state, 0), game.due(state)
    assert enumeration(game, 0, others, most=200) is None
    follower = enumeration(game, 0, others).follow(view)
    later = game.then(state, {0: (4, 0, 0), 1: (0, 4, 0)})  # it plays (2, 1, 1)
    follower.observe(game.view(later, 0))
    assert follower.values(game.view(later, 0), ask) is None
    assert enumeration(Blotto(game.rules), 0, others) is None  # no options
    with mock.patch.object(Blotto, "starts", return_value=()):
        assert enumeration(game, 0, others) is None


def test_what_a_seat_does_unseen_leaves_it_without_values():
    class Silent(Shorter):
        def events(self, state):
            return tuple(Event("round", None, number) for number, _ in enumerate(state.past))

    game, others = Silent(blotto(reward="rounds").rules), {1: _plan("copy", 0.0)}
    state = game.deal(np.random.default_rng(0))
    follower = enumeration(game, 0, others).follow(game.view(state, 0))
    later = game.then(state, {0: (4, 0, 0), 1: (2, 1, 1)})
    follower.observe(game.view(later, 0))
    assert follower.values(game.view(later, 0), game.due(later)[0]) is None


def test_an_unseen_action_that_earns_something_of_its_own_leaves_it_without_values():
    """What follows is the same whatever it did, but not what it has."""

    class Unseen(Shorter):
        def essence(self, state, seat):
            lead = state.taken[seat] - state.taken[1 - seat]
            shape = (((0,), (0,)),) * len(state.past)
            return state._replace(past=shape, taken=(0, 0), log=()), self.worth * lead

        def events(self, state):
            return tuple(Event("round", None, number) for number, _ in enumerate(state.past))

    game, others = Unseen(blotto(reward="rounds").rules), {1: _mixture()}
    state = game.deal(np.random.default_rng(0))
    follower = enumeration(game, 0, others).follow(game.view(state, 0))
    later = game.then(state, {0: (4, 0, 0), 1: (2, 2, 0)})
    follower.observe(game.view(later, 0))
    assert follower.values(game.view(later, 0), game.due(later)[0]) is None


class Tossed(NamedTuple):
    log: tuple[Event, ...] = ()
    round: int = 1
    ending: str = ""
    lost: tuple[int, ...] = ()
    coin: int = 0
    points: float = 0.0


class TossedView(View[Tossed]):
    @property
    def coin(self):
        return self._state.coin if self.seat else None


class Guessing(ArenaGame[Tossed]):
    """Seat 1 says heads (1) as often as its coin, which it alone has seen; seat 0 guesses."""

    name, seats, length, usual, views = "guessing", 2, 6, 3, TossedView

    def deal(self, rng):
        return Tossed(coin=int(rng.integers(2)))

    def starts(self):
        return [(0.5, Tossed(coin=coin)) for coin in range(2)]

    def due(self, state):
        return () if state.ending else (Ask(0, "say"), Ask(1, "say"))

    def then(self, state, actions):
        last = state.round == 3
        return state._replace(
            log=(*state.log, Event("said", None, (actions[0], actions[1]))),
            round=state.round + (not last),
            ending="played" if last else "",
            points=state.points + (actions[0] == actions[1]),
        )

    def rewards(self, state):
        return state.points, 0.0

    def options(self, view, ask):
        return (0, 1)

    def probes(self, state, ask, done, said):
        return (Probe("say", 1),) if ask.seat == 0 and done is None else ()

    def essence(self, state, seat):
        return state._replace(log=(), points=0.0), state.points * (seat == 0)


HEADS = (0.3, 0.8)


@dataclass(frozen=True)
class Coin(Policy):
    about = "heads as often as its coin"

    def choices(self, view, ask, memory):
        p = HEADS[view.coin]
        return ((p, 1), (1 - p, 0))


def likelihood(coin, said):
    return 0.5 * math.prod(HEADS[coin] if one else 1 - HEADS[coin] for one in said)


def test_beliefs_about_a_hidden_coin_are_bayes_own():
    """By hand: in every round the likelier answer, given what was said so far."""
    game = Guessing()
    solver = enumeration(game, 0, {1: Coin()})
    value = sum(
        max(sum(likelihood(coin, (*said, own)) for coin in range(2)) for own in range(2))
        for rounds in range(3)
        for said in itertools.product(range(2), repeat=rounds)
    )
    assert solver.value() == pytest.approx(value, abs=1e-12)
    assert solver.chance() == pytest.approx(1.5, abs=1e-12)
    for said in itertools.product(range(2), repeat=2):
        state, earned = Tossed(coin=1), 0
        follower = solver.follow(game.view(state, 0))
        for one in said:
            state, earned = game.then(state, {0: 1, 1: one}), earned + one
            follower.observe(game.view(state, 0))
        values = follower.values(game.view(state, 0), Ask(0, "say"))
        both = [sum(likelihood(coin, (*said, own)) for coin in range(2)) for own in range(2)]
        heads = both[1] / sum(both)
        assert values.of(1) == pytest.approx(earned + heads, abs=1e-12)
        assert values.observer(Probe("say", 1)) == pytest.approx({1: heads, 0: 1 - heads})
        assert values.reply({Probe("say", 1): 0}) == 0
