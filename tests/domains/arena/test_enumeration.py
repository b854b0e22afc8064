"""Values that follow from rules alone, against the solvers of the games, which do not enumerate."""

from unittest import mock

import numpy as np
import pytest
from domains.arena.ipd3.cases import game_of, policy

from tomeval.domains.arena.enumeration import enumeration
from tomeval.domains.arena.game import Event, Probe
from tomeval.domains.arena.games import get_kind
from tomeval.domains.arena.games.blotto.allocations import every
from tomeval.domains.arena.games.blotto.rules import Blotto, BlottoRules
from tomeval.domains.arena.games.mafia.policies import POLICIES as MAFIA


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
        return state._replace(past=rounds, taken=(0, 0)), self.worth * lead


def blotto(kind=Listed, **rules):
    return kind(BlottoRules(fields=3, units=4, rounds=2, win=2.0, tie=0.5, **rules))


def mafia(seat, *names, **options):
    game = get_kind("mafia").make(get_kind("mafia").rules(players=4))
    others = [s for s in range(4) if s != seat]
    return game, {s: MAFIA[n](**options) for s, n in zip(others, names, strict=True)}


def dilemma(**rules):
    others = {1: policy("tit_for_tat", noise=0.25), 2: policy("coin", p=0.25)}
    return game_of(talk=0, rounds=2, **rules), others


CASES = {
    "blotto by rounds": lambda: (blotto(reward="rounds"), {1: _plan("copy", 0.0)}),
    "blotto with an essence": lambda: (
        Shorter(BlottoRules(fields=3, units=2, rounds=3, reward="rounds")),
        {1: _plan("shift", 0.2, (1, 1, 0))},
    ),
    "blotto by match": lambda: (blotto(), {1: _mixture()}),
    "dilemma by points": lambda: dilemma(),
    "dilemma by rank": lambda: dilemma(reward="rank"),
    "mafia, hidden roles": lambda: mafia(0, "follower", "reactive", "believer", pick="lowest"),
    "mafia of another seat": lambda: mafia(3, "believer", "liar", "grudge", pick="next"),
}


def _plan(name, noise, first=(2, 1, 1)):
    return get_kind("blotto").policies[name](first, noise)


def _mixture():
    return get_kind("blotto").policies["mixture"]([(2, 2, 0), (0, 0, 4)], [1.0, 3.0])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_values_are_those_of_the_game_s_own_solver(name, seed):
    game, others = CASES[name]()
    [me] = set(range(game.seats)) - set(others)
    own, rng = get_kind(game.name).solver(game, me, others), np.random.default_rng(seed)
    solver = enumeration(game, me, others)
    if game.name != "mafia":  # whose own says nothing of all deals at once where it is slow
        assert solver.value() == pytest.approx(own.value(), abs=1e-12)
        if own.chance() is not None:
            assert solver.chance() == pytest.approx(own.chance(), abs=1e-12)
    state = game.deal(rng)
    follower, its = (s.follow(game.view(state, me)) for s in (solver, own))
    memories = {s: p.start(game.view(state, s)) for s, p in others.items()}
    compared = 0
    while due := game.due(state):
        said = {
            ask.seat: others[ask.seat].act(game.view(state, ask.seat), ask, memories[ask.seat], rng)
            for ask in due
            if ask.seat != me
        }
        if mine := [ask for ask in due if ask.seat == me]:
            view = game.view(state, me)
            values, wanted = follower.values(view, mine[0]), its.values(view, mine[0])
            for action in (options := game.options(view, mine[0])):
                assert values.of(action) == pytest.approx(wanted.of(action), abs=1e-12)
            assert values.best == pytest.approx(wanted.best, abs=1e-12)
            said[me] = options[rng.integers(len(options))]
            compared += 1
        state = game.after(state, said, rng)[1]
        for s, p in others.items():
            memories[s] = p.observe(game.view(state, s), memories[s])
        for one in (follower, its):
            one.observe(game.view(state, me))
    assert compared


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
            return state._replace(past=shape, taken=(0, 0)), self.worth * lead

        def events(self, state):
            return tuple(Event("round", None, number) for number, _ in enumerate(state.past))

    game, others = Unseen(blotto(reward="rounds").rules), {1: _mixture()}
    state = game.deal(np.random.default_rng(0))
    follower = enumeration(game, 0, others).follow(game.view(state, 0))
    later = game.then(state, {0: (4, 0, 0), 1: (2, 2, 0)})
    follower.observe(game.view(later, 0))
    assert follower.values(game.view(later, 0), game.due(later)[0]) is None
