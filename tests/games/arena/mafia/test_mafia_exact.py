"""Values of Secret Mafia against enumeration through the contract alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from games.arena.brute_force import BruteForce
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.games.game import Probe
from tomeval.games.mafia import KIND
from tomeval.games.mafia.policies import POLICIES
from tomeval.games.mafia.state import acts, say


def make(**parameters):
    return KIND.make(KIND.rules(**parameters))


def messages(view, ask):
    return (
        tuple(say(a) for a in acts(view.others))
        if ask.kind == "talk"
        else view.game.options(view, ask)
    )


def table(game, seat, *names, **options):
    """Return policies for all other seats, named in turn."""
    others = [s for s in range(game.seats) if s != seat]
    return {s: POLICIES[names[i % len(names)]](**options) for i, s in enumerate(others)}


def enumerated(game, seat, policies):
    brute = BruteForce(game, seat, policies, messages)
    return brute, brute.begin(game.starts())


def check_path(game, seat, policies, rng, solver=None, depth=99, probes=True):
    """Compare V*, all Q*, and the observer, along one line of play against enumeration."""
    brute, roots = enumerated(game, seat, policies)
    solver = solver or KIND.solver(game, seat, policies)
    beliefs = list(roots.values())
    belief = beliefs[rng.integers(len(beliefs))]
    follower = solver.follow(game.view(belief[0][1], seat))
    checked = 0
    while depth:
        belief = [entry for entry in belief if game.due(entry[1])]
        if not belief or seat not in belief[0][1].alive:
            break
        ask, action = brute.ask(belief), None
        if ask is not None:
            view = game.view(belief[0][1], seat)
            values, mass = follower.values(view, ask), sum(entry[0] for entry in belief)
            expected = {a: brute.q(belief, a) / mass for a in messages(view, ask)}
            for a, q in expected.items():
                assert values.of(a) == pytest.approx(q, abs=1e-9)
            assert values.best == pytest.approx(max(expected.values()), abs=1e-9)
            action = list(expected)[rng.integers(len(expected))]
            if probes:
                check_observer(game, brute, belief, mass, ask, action, values)
            checked, depth = checked + 1, depth - 1
        following = list(brute.successors(belief, action).values())
        belief = following[rng.integers(len(following))]
        follower.observe(game.view(belief[0][1], seat))
    return checked


def check_observer(game, brute, belief, mass, ask, action, values):
    expected = {name: {} for name in ("mafia", "doctor", "detective", "dies", "voted_out")}
    for weight, state, _ in belief:
        roles = state.roles
        mafia = tuple(s for s in range(game.seats) if roles[s] == "mafia")
        for name, answer in (
            ("mafia", mafia),
            ("doctor", roles.index("doctor")),
            ("detective", roles.index("detective")),
        ):
            expected[name][answer] = expected[name].get(answer, 0) + weight / mass
    if ask.kind not in ("act", "talk"):
        name = "voted_out" if ask.kind == "vote" else "dies"
        for after in brute.successors(belief, action).values():
            for weight, state, _ in after:
                gone = set(belief[0][1].alive) - set(state.alive)
                fate = gone.pop() if gone else -1
                expected[name][fate] = expected[name].get(fate, 0) + weight / mass
        assert values.observer(Probe(name)) is None  # it depends on what the seat does
    for name, posterior in expected.items():
        if posterior:
            found = values.observer(Probe(name, given=action))
            assert found == pytest.approx(posterior, abs=1e-9)
    best = max(
        sum(p * game.hit(Probe("mafia"), said, truth) for truth, p in expected["mafia"].items())
        for said in itertools.combinations(range(game.seats), game.mafia)
    )
    guess = values.answer(Probe("mafia"))[0]
    share = sum(p * game.hit(Probe("mafia"), guess, t) for t, p in expected["mafia"].items())
    assert share == pytest.approx(best, abs=1e-9)
    assert values.answer(Probe("mafia"))[1] == pytest.approx(best, abs=1e-9)


@settings(max_examples=8, deadline=None)
@given(
    names=st.lists(st.sampled_from(sorted(set(POLICIES) - {"random"})), min_size=1, max_size=3),
    pick=st.sampled_from(("lowest", "next")),
    rules=st.sampled_from(("own", "textarena-0.7.4")),
    seat=st.integers(0, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_four_players_without_talk(names, pick, rules, seat, seed):
    game = make(players=4, rules=rules)
    policies = table(game, seat, *names, pick=pick)
    check_path(game, seat, policies, np.random.default_rng(seed))


@pytest.mark.parametrize(
    "options",
    [pytest.param({"pick": "random"}, marks=pytest.mark.slow), {"pick": "next", "noise": 0.25}],
)
def test_four_players_that_draw(options):
    game = make(players=4)
    assert check_path(game, 1, table(game, 1, "reactive", **options), np.random.default_rng(6))


@settings(max_examples=8, deadline=None)
@given(
    names=st.lists(st.sampled_from(sorted(set(POLICIES) - {"random"})), min_size=1, max_size=3),
    pick=st.sampled_from(("lowest", "next")),
    order=st.sampled_from(("seats", "rotating", "random")),
    seat=st.integers(0, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_four_players_with_one_act_a_day(names, pick, order, seat, seed):
    game = make(players=4, talk="acts", order=order)
    policies = {s: type(p)(pick=pick, accuses=True) for s, p in table(game, seat, *names).items()}
    check_path(game, seat, policies, np.random.default_rng(seed))


def test_free_talk_counts_as_acts():
    game = make(players=4, talk="free", talk_rounds=1)
    policies = table(game, 1, "reactive", "believer", "liar")
    for seed in range(2):
        check_path(game, 1, policies, np.random.default_rng(seed))


def test_chance_is_the_mean_of_play():
    game = make(players=5, talk="acts")
    policies = table(game, 2, "reactive", accuses=True)
    expected = KIND.solver(game, 2, policies).chance()
    rng, total, games = np.random.default_rng(3), 0.0, 1000
    for _ in range(games):
        state = game.deal(rng)
        while due := game.due(state):
            chosen = {}
            for ask in due:
                view = game.view(state, ask.seat)
                if ask.seat == 2:
                    chosen[2] = game.random(view, ask, rng)
                else:
                    chosen[ask.seat] = policies[ask.seat].act(view, ask, None, rng)
            _, state = game.after(state, chosen, rng)
        total += game.rewards(state)[2]
    assert total / games == pytest.approx(expected, abs=4 / games**0.5)


def test_a_lone_villager_of_four_by_hand():
    # One Mafia, doctor, detective, villager; all others take the lowest stranger. Seat 3 is the
    # villager. At night the Mafia kill the lowest other seat, and the doctor protects the lowest.
    # Either nobody dies, or three are left and the villager's vote decides between two.
    game = make(players=4)
    solver = KIND.solver(game, 3, table(game, 3, "follower"))
    [dealt] = [one for seen, one in solver.dealt.items() if seen[1][0].data == "villager"]
    # Mafia 0: kills 1. Doctor 1 or 2 protects 0. 1 dies; 2 votes for 0 (lowest), and so can 3: +1.
    # Mafia 1: kills 0. Doctor 0 protects 1; doctor 2 protects 0: saved if 2 is the doctor.
    #   Doctor 0 dies; 2, detective, found 0 (lowest): not Mafia, dead; 1 votes 2, 2 votes 1.
    #   Saved: 0 is the detective, has found 1: votes 1; 1 votes 0; 2 votes 0.
    # Mafia 2: kills 0. Doctor 0 protects 1; doctor 1 protects 0: saved if 1 is the doctor.
    #   Doctor 0 dies; 1, detective, has found 0; 1 votes 2, 2 votes 1.
    #   Saved: 0 is the detective, has found 1 innocent: votes 2; 1 votes 0; 2 votes 0.
    # After a death of 1, only Mafia 0 is possible: vote 0, +1 in both deals.
    # After a death of 0, Mafia is 1 or 2, alike: the vote wins half of two deals: 0 in the mean.
    # Nobody dies in two deals: votes so far 1-0-0 against {0: 2, 1: 1}, and {0: 2, 2: 1}.
    #   A vote for 0 loses the detective: the Mafia kill one of the last three... and win.
    #   A vote for 1 ties 0 and 1 where 1 is Mafia: +1 or a loss; else 0 goes: a loss.
    stay = max(-1.0, (0.5 * 1 + 0.5 * -1 + -1) / 2)
    assert solver.search.worth(dealt.belief) == pytest.approx((2 * 1 + 2 * 0 + 2 * stay) / 6)


def test_what_cannot_happen_ends_the_values():
    game = make(players=4)
    solver = KIND.solver(game, 3, table(game, 3, "follower"))
    state = game.dealt(("mafia", "doctor", "detective", "villager"))
    follower = solver.follow(game.view(state, 3))
    (_, after), *_ = game.outcomes(state, {0: 2, 1: 0, 2: 0})
    follower.observe(game.view(after, 3))
    assert follower.values(game.view(after, 3), game.due(after)[-1]) is None


def test_the_reply_votes_for_the_stated_mafia():
    game = make(players=4)
    solver = KIND.solver(game, 3, table(game, 3, "follower"))
    state = game.dealt(("doctor", "mafia", "detective", "villager"))
    follower = solver.follow(game.view(state, 3))
    (_, after), *_ = game.outcomes(state, {0: 1, 1: 0, 2: 0})
    view = game.view(after, 3)
    follower.observe(view)
    ask = next(a for a in game.due(after) if a.seat == 3)
    values = follower.values(view, ask)
    assert values.observer(Probe("mafia")) == {(1,): 0.5, (2,): 0.5}
    assert values.reply({Probe("mafia"): (1,)}) == 1
    assert values.reply({Probe("mafia"): (2,)}) == 2
    assert values.reply({Probe("mafia"): (0,)}) is None  # Player 0 was killed, and not by itself
    assert values.reply({Probe("voted_out", given=1): 1}) is None
