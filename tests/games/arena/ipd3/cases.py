"""Machines and games that the tests of the three-player prisoner's dilemma share."""

from games.arena.brute_force import BruteForce
from hypothesis import strategies as st

from tomeval.games.ipd3 import KIND
from tomeval.games.ipd3.states import ACT_PAIRS, OPPONENTS, PAIRS, sentence_of


def game_of(**rules):
    return KIND.make(KIND.rules(**rules))


def policy(name, **options):
    return KIND.policies[name](**options)


def legal(view, ask):
    """Every action that can make a difference: what a message says beyond its acts cannot."""
    if ask.kind == "talk":
        return [sentence_of(acts, OPPONENTS[ask.seat]) for acts in ACT_PAIRS]
    return list(PAIRS)


def brute(game, seat, policies):
    return BruteForce(game, seat, policies, legal)


@st.composite
def machines(draw, talk):
    """Draw a machine, which may err; one that talks or listens only where there is talk."""
    names = [name for name, made in KIND.policies.items() if talk or not made().talks]
    return policy(draw(st.sampled_from(names)), noise=draw(st.sampled_from([0.0, 0.25])))
