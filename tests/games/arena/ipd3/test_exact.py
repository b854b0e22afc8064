"""Values against enumeration."""

import itertools

import numpy as np
import pytest
from games.arena.ipd3.cases import brute, game_of, legal, machines, policy
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.games.enumeration import enumeration as solver
from tomeval.games.game import Ask, Probe
from tomeval.games.ipd3.states import OPPONENTS, PAIRS, PLACE, sentence_of
from tomeval.games.solver import Policy

C, D = "cooperate", "defect"


def check_everywhere(game, seat, policies, rng, steps=2):
    """Compare V* and all Q* with enumeration, at the start and along random play."""
    enumeration = brute(game, seat, policies)
    found = solver(game, seat, policies)
    [belief] = enumeration.begin([(1.0, game.deal(rng))]).values()
    follower = found.follow(game.view(belief[0][1], seat))
    value = found.value()
    assert value == pytest.approx(enumeration.value(belief), abs=1e-9)
    while game.due(belief[0][1]) and steps:
        ask = enumeration.ask(belief)
        view = game.view(belief[0][1], seat)
        action = None
        if ask is not None:
            steps -= 1
            weight = sum(w for w, _, _ in belief)
            values = follower.values(view, ask)
            options = legal(view, ask)
            expected = [enumeration.q(belief, option) / weight for option in options]
            for option, q in zip(options, expected, strict=True):
                assert values.of(option) == pytest.approx(q, abs=1e-9)
            assert values.best == pytest.approx(max(expected), abs=1e-9)
            assert values.best == max(values.of(option) for option in options)
            check_observer(game, enumeration, belief, values, ask)
            action = options[rng.integers(len(options))]
        following = list(enumeration.successors(belief, action).values())
        belief = following[rng.integers(len(following))]
        follower.observe(game.view(belief[0][1], seat))


def check_observer(game, enumeration, belief, values, ask):
    """Compare the observer with the chances of what opponents do, read off the moves shown."""
    if ask.kind == "talk":
        return
    seat, (_, state, _) = ask.seat, belief[0]
    said = dict(game.view(state, seat).acts)
    total = sum(w for w, _, _ in belief)
    rounds = [
        (sum(w for w, _, _ in after) / total, after[0][1].log[-2].data)
        for after in enumeration.successors(belief, (C, C)).values()
    ]
    for probe in game.probes(state, ask, None, {}):
        chances = {}
        for p, moves in rounds:
            own = moves[probe.about]
            third = 3 - seat - probe.about
            if probe.name == "word":
                broken = [
                    (act, move)
                    for act, move in zip(said[probe.about], own, strict=True)
                    if (act, move) in (("promise", D), ("threaten", C))
                ]
                answer = "no" if broken else "yes"
            else:
                answer = own[PLACE[probe.about][seat if probe.name == "move" else third]]
            chances[answer] = chances.get(answer, 0.0) + p
        assert values.observer(probe) == pytest.approx(chances)
        assert values.answer(probe)[1] == pytest.approx(max(chances.values()))


@st.composite
def partners(draw, seat, talk):
    """Draw two opponents."""
    return {other: draw(machines(talk=talk)) for other in OPPONENTS[seat]}


REWARDS = [("points", "own"), ("rank", "own"), ("rank", "textarena-0.7.4")]


@settings(max_examples=15, deadline=None)
@given(st.data(), st.integers(0, 2), st.sampled_from(REWARDS), st.integers(0, 2**32 - 1))
def test_values_without_talk_are_those_of_enumeration(data, seat, reward, seed):
    game = game_of(rounds=2, talk=0, reward=reward[0], rules=reward[1])
    policies = data.draw(partners(seat, talk=False))
    check_everywhere(game, seat, policies, np.random.default_rng(seed))


@settings(max_examples=12, deadline=None)
@given(st.data(), st.integers(0, 2), st.sampled_from(["points", "rank"]), st.integers(0, 2**32 - 1))
def test_values_with_talk_are_those_of_enumeration(data, seat, reward, seed):
    game = game_of(rounds=1, reward=reward, payoffs={"R": 0.3, "T": 0.5, "S": -1, "P": 0}, scale=2)
    policies = data.draw(partners(seat, talk=True))
    check_everywhere(game, seat, policies, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("names", "reward", "seat"),
    [
        (("believer", "once_bitten"), "points", 0),
        (("once_bitten", "promise_breaker"), "rank", 1),
        (("once_bitten", "retaliator"), "rank", 2),
    ],
)
def test_two_rounds_with_talk(names, reward, seat):
    """What is said in a round changes the next one: with three listeners, both rounds count."""
    game = game_of(rounds=2, reward=reward)
    policies = dict(zip(OPPONENTS[seat], map(policy, names), strict=True))
    check_everywhere(game, seat, policies, np.random.default_rng(1), steps=1)


def test_against_tit_for_tat_by_hand():
    """Cooperate with both until the last round, then defect: 4 * 6 + 10; and the known lines."""
    game = game_of(talk=0)
    both = {1: policy("tit_for_tat"), 2: policy("tit_for_tat")}
    assert solver(game, 0, both).value() == 34
    against = {1: policy("always_defect"), 2: policy("always_cooperate")}
    # Defecting on both in every round: 5 * (1 + 5); random moves: half of 1 and 0, of 5 and 3.
    assert solver(game, 0, against).value() == 30
    assert solver(game, 0, against).chance() == pytest.approx(22.5)


def test_talk_is_worth_what_a_believer_gives_for_it():
    """A believer pays 5 for a promise that is broken, and 1 without; nobody else listens."""
    game = game_of(rounds=3)
    others = {1: policy("believer"), 2: policy("always_defect")}
    found = solver(game, 0, others)
    assert found.value() == 3 * (5 + 1)
    start = game.view(game.deal(None), 0)
    values = found.follow(start).values(start, Ask(0, "talk"))
    promise, nothing = sentence_of(("promise", "none"), (1, 2)), "Nice weather."
    assert values.of(promise) == values.best == 18
    assert values.of(nothing) == 14
    assert values.of("I will cooperate with player 1 this round! And the weather...") == 18
    # A seat before the believer is heard by it; one after it is heard too, but decides as well.
    assert solver(game, 2, {0: policy("always_defect"), 1: policy("believer")}).value() == 18


def random_value(game, seat, policies):
    """Return the value of random moves without talk, by enumeration."""
    enumeration = brute(game, seat, policies)
    [belief] = enumeration.begin([(1.0, game.deal(None))]).values()

    def value(belief):
        if not game.due(belief[0][1]):
            return sum(w * game.rewards(state)[seat] for w, state, _ in belief)
        ask = enumeration.ask(belief)
        actions = [None] if ask is None else [""] if ask.kind == "talk" else PAIRS
        found = [
            sum(map(value, enumeration.successors(belief, action).values())) for action in actions
        ]
        return sum(found) / len(found)

    return value(belief)


@settings(max_examples=10, deadline=None)
@given(st.data(), st.integers(0, 2), st.sampled_from(["points", "rank"]), st.integers(0, 1))
def test_the_value_of_random_play(data, seat, reward, talk):
    game = game_of(rounds=2 - talk, talk=talk, reward=reward)
    policies = data.draw(partners(seat, talk=bool(talk)))
    expected = random_value(game, seat, policies)
    found = solver(game, seat, policies)
    assert found.chance() == pytest.approx(expected, abs=1e-9)
    assert found.chance() <= found.value() + 1e-9


# Best replies


def stated(move_1, other_1, move_2, other_2):
    return {
        Probe("move", 1): move_1,
        Probe("other", 1): other_1,
        Probe("move", 2): move_2,
        Probe("other", 2): other_2,
    }


def at_start(game, policies, seat=0):
    start = game.view(game.deal(None), seat)
    return solver(game, seat, policies).follow(start).values(start, Ask(seat, "moves"))


def test_replies_to_impossible_moves_by_hand():
    """Two rounds against grim players, of whom one is expected to defect at once.

    Whatever they do, the last round is one to defect in, which pays 5 from who still cooperates,
    else 1. Grim players cooperate in round 2 with who cooperated: so in round 1 cooperation with
    each brings its 3 or 0 and then 5, and defection 5 or 1 and then 1. Against a stated C: 8
    against 6; against a stated D: 5 against 2. Cooperating with both is the reply to everything.
    """
    game = game_of(rounds=2, talk=0)
    values = at_start(game, {1: policy("grim"), 2: policy("grim")})
    for said in itertools.product((C, D), repeat=4):
        assert values.reply(stated(*said)) == (C, C)


@settings(max_examples=25, deadline=None)
@given(
    st.data(),
    st.integers(0, 2),
    st.sampled_from(["points", "rank"]),
    st.tuples(*[st.sampled_from(PAIRS)] * 2),
)
def test_replies_are_best_against_machines_that_do_as_stated(data, seat, reward, said):
    """Against players whose first moves are the stated ones, and who then are the known ones."""
    game = game_of(rounds=2, talk=0, reward=reward)
    known = {other: data.draw(machines(talk=False)) for other in OPPONENTS[seat]}
    statement, doing = {}, {}
    for other, moves in zip(OPPONENTS[seat], said, strict=True):
        third = 3 - seat - other
        statement[Probe("move", other)] = moves[PLACE[other][seat]]
        statement[Probe("other", other)] = moves[PLACE[other][third]]
        doing[other] = Opening(known[other], moves)
    reply = at_start(game, known, seat).reply(statement)
    values = at_start(game, doing, seat)
    assert values.of(reply) == pytest.approx(values.best, abs=1e-9)


class Opening(Policy):
    """Makes given moves in the first round, and is another machine from then on."""

    remembers = True

    def __init__(self, then, moves):
        self.then, self.moves = then, moves

    def choices(self, view, ask, memory):
        return ((1.0, self.moves),) if memory is None else self.then.choices(view, ask, memory)

    def observe(self, view, memory):
        return self.then.observe(view, self.then.start(view) if memory is None else memory)


def test_replies_to_a_part_and_to_contradictions():
    game = game_of(rounds=1)
    state = game.deal(None)
    policies = {1: policy("promise_keeper"), 2: policy("always_defect")}
    follower = solver(game, 0, policies).follow(game.view(state, 0))
    for seat, text in enumerate(("", sentence_of(("promise", "promise"), OPPONENTS[1]), "")):
        state = game.then(state, {seat: text})
        follower.observe(game.view(state, 0))
    values = follower.values(game.view(state, 0), Ask(0, "moves"))
    assert values.observer(Probe("word", 1)) == {"yes": 1}
    assert values.reply({Probe("word", 1): "no"}) == (D, D)
    assert values.reply({Probe("move", 1): C}) == (D, D)
    both = {Probe("move", 1): C, Probe("other", 1): C}
    assert values.reply({Probe("word", 1): "no", **both}) is None
    assert values.reply({}) is None
    assert values.reply({Probe("word", 2): "no"}) is None
